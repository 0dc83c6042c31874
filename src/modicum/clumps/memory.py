"""Memory of a stream: clumps, single rows, and the rows of the current epoch (gomes2008, eq. 2.10 and 2.18)."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from modicum.clumps.items import Items
from modicum.families import Family
from modicum.rows import Rows, RowsOf, n_rows
from modicum.rules.invariants import Array, Whole
from modicum.state.part import Part

LEAST = 1e-100  # count of an item that has faded


class Memory(Part):
    """Clumps with their counts and sums of statistics, and weighted rows: single ones, then those of the epoch.

    A subclass may hold clumps in other arrays, named in `_per_clump`: it defines `_stored` and the property
    `clump_sums`.
    """

    _per_clump: ClassVar[tuple[str, ...]] = ("clump_counts", "clump_sums")

    _invariants = {
        "rows": RowsOf("n"),
        "weights": Array("float64", "n", above=0.0),
        "n_singlets": Whole(0, "n"),
        "clump_counts": Array("float64", "n_clumps", above=0.0),
        "clump_sums": Array("float64", "n_clumps", "n_statistics"),
        "n_seen": Whole("n"),
    }

    clump_counts: np.ndarray
    clump_sums: np.ndarray

    def __init__(self, like: Any, n_statistics: int, max_rows: int):
        self.rows = Rows.like(like, max_rows)
        self.weights = np.empty(0)
        self.n_singlets = 0
        self.n_seen = 0  # rows
        self._hold(np.empty(0), np.empty((0, n_statistics)))

    @staticmethod
    def clump_bytes(n_features: int, n_statistics: int) -> int:
        """Bytes held for a clump."""
        return 8 * (n_statistics + 1)

    def _stored(self, counts: np.ndarray, sums: np.ndarray) -> dict[str, np.ndarray]:
        """What is held of clumps with these counts and sums of statistics."""
        return {"clump_counts": counts, "clump_sums": sums}

    def _hold(self, counts: np.ndarray, sums: np.ndarray) -> None:
        for name, values in self._stored(counts, sums).items():
            setattr(self, name, values)

    def __len__(self) -> int:
        return len(self.clump_counts) + len(self.weights)

    @property
    def nbytes_of_clumps(self) -> int:
        return sum(getattr(self, name).nbytes for name in self._per_clump)

    @property
    def n_buffered(self) -> int:
        """Rows of the current epoch."""
        return len(self.weights) - self.n_singlets

    def add(self, X: Any, weight: np.ndarray) -> None:
        """Add rows to the current epoch."""
        self.rows.put(np.arange(len(self.weights), len(self.weights) + n_rows(X)), X)
        self.weights = np.append(self.weights, weight)
        self.n_seen += n_rows(X)

    def items(self, family: Family) -> Items:
        return Items(family, self.rows.values, self.weights, self.clump_counts, self.clump_sums)

    def keep(self, items: Items, groups: list[np.ndarray], is_loose: Callable[[np.ndarray], bool]) -> None:
        """Turn groups of items into clumps; the rows of loose groups become single rows."""
        clumps = [group for group in groups if not is_loose(group)]
        loose = [group for group in groups if is_loose(group)]
        singlets = np.sort(np.concatenate(loose)) - items.n_clumps if loose else np.empty(0, np.intp)
        self.rows.keep(singlets)
        self.weights = self.weights[singlets]
        self.n_singlets = len(singlets)
        self._hold(*items.totals(clumps))

    def fade(self, factor: float) -> None:
        """Multiply the counts of all items by a factor."""
        self.weights = np.maximum(self.weights * factor, LEAST)
        self._recount(np.maximum(self.clump_counts * factor, LEAST))

    def _recount(self, counts: np.ndarray) -> None:
        """Give clumps other counts; their means stay as they are."""
        self.clump_sums = self.clump_sums * (counts / self.clump_counts)[:, None]
        self.clump_counts = counts

    def drop_lighter_than(self, least: float) -> None:
        """Drop clumps and rows with a smaller count, if heavier ones are left."""
        clumps, rows = self.clump_counts >= least, self.weights >= least
        if (clumps.all() and rows.all()) or not (clumps.any() or rows.any()):
            return
        self.n_singlets = int(np.count_nonzero(rows[: self.n_singlets]))
        self.rows.keep(np.flatnonzero(rows))
        self.weights = self.weights[rows]
        for name in self._per_clump:
            setattr(self, name, getattr(self, name)[clumps])

    def merge(self, other: "Memory", family: Family, other_family: Family) -> None:
        """Absorb another memory; its rows are added to the current epoch."""
        moved = family.translated_from(other_family, other.clump_counts, other.clump_sums)
        for name, values in self._stored(other.clump_counts, moved).items():
            setattr(self, name, np.concatenate([getattr(self, name), values]))
        self.add(other.rows.values, other.weights)
        self.n_seen += other.n_seen - len(other.weights)
