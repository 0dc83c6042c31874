"""Memory of a stream of documents: clumps and single rows, each with its documents (gomes2008topics, section 3.4.3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from modicum._jit.cuts import cut
from modicum.clumps.compression import groups_of
from modicum.clumps.memory import Memory
from modicum.families import Family
from modicum.rows import is_sparse
from modicum.rules.invariants import Array, Is, Sparse, Whole
from modicum.state.part import Part
from modicum.topics.grouped_items import GroupedItems

TINY = 1e-290  # a divisor instead of 0
MERGED = -1  # the id of a group of several documents


class DocumentMemory(Part):
    """Clumps with their counts by group of documents (N_cs), rows with their documents, and groups of documents.

    Groups come first, then the documents of the current epoch. The last one is open: rows that follow may belong to it.
    """

    _invariants = {
        "sizes": Array("float64", "n_all", above=0.0),
        "ids": Array("int64", "n_all", low=MERGED),
        "n_documents": Whole("n_all"),
        "memory": Is(Memory, n="n_rows", n_clumps="n_clumps"),
        "of_rows": Array("int32", "n_rows", low=0, below="n_all"),
        "members": Sparse("n_clumps", "n_all", "float32"),
    }

    def __init__(self, like: Any, n_statistics: int, max_rows: int):
        self.memory = Memory(like, n_statistics, max_rows)
        self.of_rows = np.empty(0, np.int32)
        self.members = sparse.csr_matrix((0, 0), dtype=np.float32)
        self.sizes: np.ndarray = np.empty(0)  # D_s
        self.ids = np.empty(0, np.int64)
        self.n_documents = 0  # ever

    def add(self, rows: Any, weights: np.ndarray, begins: np.ndarray, ids: np.ndarray) -> None:
        """Add rows; `begins` is True where a document begins, and `ids` are those of documents that begin here."""
        of_rows = len(self.sizes) - 1 + np.cumsum(begins)
        self.memory.add(rows, weights)
        self.of_rows = np.append(self.of_rows, of_rows.astype(np.int32))
        self.sizes = np.append(self.sizes, np.ones(len(ids)))
        self.ids = np.append(self.ids, ids)
        self.members.resize(len(self.memory.clump_counts), len(self.sizes))
        self.n_documents += len(ids)

    @property
    def n_seen(self) -> int:
        """Rows learned: items or, of words, documents."""
        return self.n_documents if is_sparse(self.memory.rows.values) else self.memory.n_seen

    def items(self, family: Family) -> GroupedItems:
        """Clumps and rows with their counts by document."""
        known, n_rows = self.memory, len(self.of_rows)
        of_rows = sparse.csr_matrix((known.weights, self.of_rows, np.arange(n_rows + 1)), (n_rows, len(self.sizes)))
        members = sparse.vstack([self.members.astype(np.float64), of_rows], format="csr")
        return GroupedItems(
            family, known.rows.values, known.weights, known.clump_counts, known.clump_sums, members=members
        )

    def cut(self, family: Family, parts: int) -> None:
        """Turn the rows of the epoch into small clumps, about `parts` of each document that has more rows."""
        n_singlets = self.memory.n_singlets
        of_rows = self.of_rows[n_singlets:]
        starts = np.flatnonzero(np.diff(of_rows, prepend=-1))
        sizes = np.diff(starts, append=len(of_rows))
        if sizes.max(initial=0) < 2 * parts:
            return
        items = self.items(family)
        first = items.n_clumps + n_singlets
        centers = family.centers(items.averages(slice(first, len(items))))
        labels = np.empty(len(of_rows), np.int64)
        units = np.maximum(centers.std(axis=0), TINY)
        cut(centers / units, np.append(starts, len(of_rows)), np.maximum(1, sizes // parts), labels)
        kept = [np.array([at]) for at in range(first)]
        groups = kept + [first + group for group in groups_of(labels)]
        self.keep(items, groups, lambda group: len(group) == 1 and bool(group[0] >= items.n_clumps))

    def merge_documents(self, into: np.ndarray) -> None:
        """Merge documents and groups: the new group of each; the open document must stay the last."""
        counts = np.bincount(into)
        alone = np.flatnonzero(counts[into] == 1)
        ids = np.full(len(counts), MERGED, np.int64)
        ids[into[alone]] = self.ids[alone]
        self.members = self.members @ _mapping(into, len(counts))
        self.of_rows = into[self.of_rows].astype(np.int32)
        self.sizes, self.ids = np.bincount(into, self.sizes), ids

    def keep(self, items: GroupedItems, groups: list[np.ndarray], is_loose: Callable[[np.ndarray], bool]) -> None:
        """Turn groups of items into clumps; the rows of loose groups become single rows."""
        loose = [group for group in groups if is_loose(group)]
        clumps = [group for group in groups if not is_loose(group)]
        singlets = np.sort(np.concatenate(loose)) - items.n_clumps if loose else np.empty(0, np.intp)
        self.of_rows = self.of_rows[singlets]
        self.members = items.members_of(clumps).astype(np.float32)
        self.memory.keep(items, groups, is_loose)

    def merge(self, other: "DocumentMemory", family: Family, other_family: Family) -> None:
        """Absorb another memory; its rows are added to the current epoch."""
        self.memory.merge(other.memory, family, other_family)
        self.of_rows = np.append(self.of_rows, (other.of_rows + len(self.sizes)).astype(np.int32))
        self.members = sparse.block_diag([self.members, other.members], format="csr", dtype=np.float32)
        self.sizes, self.ids = np.append(self.sizes, other.sizes), np.append(self.ids, other.ids)
        self.n_documents += other.n_documents


def _mapping(into: np.ndarray, count: int) -> Any:
    """A matrix that adds up columns: column s becomes part of column into[s]."""
    return sparse.csr_matrix((np.ones(len(into), np.float32), into, np.arange(len(into) + 1)), (len(into), count))
