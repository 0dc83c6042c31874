"""Items of documents (gomes2008topics, eq. 3.15-3.21): each has counts in one or more groups of documents."""

from typing import Any

import numpy as np

from modicum._jit.groups import add_group_rows, add_to_groups
from modicum.clumps.items import Expectation, Items, Scores
from modicum.rows import as_csr


class GroupedItems(Items):
    """Items, and their counts by group: a CSR matrix of shape (items, groups)."""

    def __init__(self, *items: Any, members: Any):
        super().__init__(*items)
        self.members = members
        counts = np.repeat(self.counts, np.diff(members.indptr))
        self._shares = as_csr(members.data / counts, members.indices, members.indptr, members.shape[1])

    def assign(self, scores: Scores, logs: np.ndarray) -> tuple[Expectation, np.ndarray]:
        """Assignments of all items to topics (eq. 3.21), and N_c q_ck; `logs` are the expected logs of proportions."""
        kept = np.empty((len(self), len(scores[1])))
        found = self.expect(scores, lambda tile: self._of_documents(tile, logs), kept.__setitem__)
        return found, kept

    def _of_documents(self, tile: slice, logs: np.ndarray) -> np.ndarray:
        out = np.zeros((tile.stop - tile.start, logs.shape[1]))
        add_group_rows(self._shares.indptr, self._shares.indices, self._shares.data, logs, tile.start, out)
        return out

    def by_group(self, counts: np.ndarray) -> np.ndarray:
        """N_sk of eq. 3.15, for counts N_c q_ck of items in topics."""
        out = np.zeros((self.members.shape[1], counts.shape[1]))
        add_to_groups(self._shares.indptr, self._shares.indices, self._shares.data, counts, out)
        return out

    def members_of(self, sets: list[np.ndarray]) -> Any:
        """Counts by group of sets of items, as a CSR matrix."""
        which = np.concatenate([np.empty(0, np.intp), *sets])
        adding = as_csr(np.ones(len(which)), which, np.cumsum([0, *map(len, sets)]), len(self))
        return adding @ self.members

    def shares_of_groups(self, which: np.ndarray) -> Any:
        """The share of each group in some items, as a CSR matrix."""
        return self._shares[which]
