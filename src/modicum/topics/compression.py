"""Compression of the items of documents into clumps (gomes2008topics, section 3.5.2, eq. 3.23-3.26, 3.30)."""

import numpy as np

from modicum._jit.groups import count_groups
from modicum.clumps.allocation import Cost
from modicum.clumps.compression import Compression, Halves, groups_of
from modicum.topics.grouped_items import GroupedItems
from modicum.topics.proportions import LEAST_ALPHA, Proportions


class TopicCompression(Compression):
    """Clumps of items that would have the same topic however the stream continues.

    `growth` is for items and `document_growth` for documents (T_pts and T_docs over what has been seen). A clump takes
    memory for each group of documents that it has items of: `cell`.
    """

    def __init__(
        self,
        items: GroupedItems,
        labels: np.ndarray,
        proportions: Proportions,
        growth: float,
        document_growth: float,
        cost: Cost,
        cell: float,
    ):
        super().__init__(items, growth, cost)
        self._grouped = items
        self._labels = labels
        self._sizes = proportions.sizes
        self._alpha = float(proportions.alpha.sum() / items.counts.sum())  # per item
        self._document_growth = document_growth
        self._cell = cell
        self._seen, self._n_counted = np.zeros(len(self._sizes), np.int64), 0

    def _first_groups(self, limit: float) -> list[np.ndarray]:
        return groups_of(self._labels)

    def _cost_of_clump(self, group: np.ndarray) -> float:
        members = self._grouped.members
        self._n_counted += 1
        return self._cost.clump + self._cell * count_groups(
            members.indptr, members.indices, group, self._seen, self._n_counted
        )

    def _gains_of_weights(self, halves: list[Halves], counts: np.ndarray) -> np.ndarray:
        if not halves:
            return np.empty(0)
        first, second = (self._evidence([pair[side] for pair in halves]) for side in (0, 1))
        return first + second - self._evidence([np.concatenate(pair) for pair in halves])

    def _evidence(self, groups: list[np.ndarray]) -> np.ndarray:
        """Terms of the evidence of proportions that depend on each group, as if it were a topic."""
        known = self._proportions(groups)
        return self._document_growth * known.log_evidence_of(known.counts, known.alpha)

    def _proportions(self, groups: list[np.ndarray]) -> Proportions:
        """Proportions of groups of items in groups of documents."""
        counts = self._grouped.members_of(groups).T.toarray()
        return Proportions(self._sizes, counts, np.maximum(self._alpha * counts.sum(axis=0), LEAST_ALPHA))
