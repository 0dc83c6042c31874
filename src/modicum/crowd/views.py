"""Labels of pairs ordered by view: the pairs that one item has in one answer."""

import numpy as np

from modicum.crowd.labels import PairLabels

PRIOR_LABELS = 20.0  # of the crowd's share of pairs in one group, added to the labels of each worker


class Views:
    """Labels twice, once for each item of the pair, sorted by item and answer."""

    def __init__(self, labels: PairLabels, kept: np.ndarray | None = None):
        """Views of all labels, or of those at the places `kept`."""
        kept = np.arange(len(labels)) if kept is None else kept
        n = len(kept)
        self.n_items, self.n_workers, self.n_labels = len(labels.items), len(labels.workers), n
        self.first, self.second = labels.first[kept], labels.second[kept]
        self.worker, self.label = labels.worker[kept], labels.label[kept]
        item = np.concatenate([self.first, self.second])
        answer = np.tile(labels.answer[kept], 2)
        order = np.lexsort((answer, item))
        begins = np.ones(2 * n, bool)
        begins[1:] = (np.diff(item[order]) != 0) | (np.diff(answer[order]) != 0)
        view = np.empty(2 * n, np.intp)  # of both items of each label
        view[order] = np.cumsum(begins) - 1
        self.first_view, self.second_view = view[:n], view[n:]
        self.start = np.append(np.flatnonzero(begins), 2 * n)
        self.view_worker = np.tile(self.worker, 2)[order][begins]
        self.item_start = np.searchsorted(item[order][begins], np.arange(self.n_items + 1))
        self.edge = order % n
        self.other = np.concatenate([self.second, self.first])[order]
        self.other_view = np.concatenate([self.second_view, self.first_view])[order]

    @property
    def n_views(self) -> int:
        return len(self.start) - 1

    def share_together(self) -> float:
        """The share of pairs that were put in one group, by weight."""
        together = self.label[self.label > 0].sum()
        return float((together + 1) / (np.abs(self.label).sum() + 2))

    def shares_together(self) -> np.ndarray:
        """The share of pairs that each worker puts in one group, drawn towards that of the crowd."""
        count = np.bincount(self.worker, np.abs(self.label), self.n_workers)
        together = np.bincount(self.worker, np.maximum(self.label, 0), self.n_workers)
        return (together + PRIOR_LABELS * self.share_together()) / (count + PRIOR_LABELS)
