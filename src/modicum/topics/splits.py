"""Splits of topics in two, refined by updates of their items alone (gomes2008topics, section 3.5.1)."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.special import entr, expit

from modicum._jit.groups import add_group_values, add_halves_to_groups
from modicum.clumps.splits import ItemGroups
from modicum.topics.grouped_items import GroupedItems
from modicum.topics.model import Model
from modicum.topics.proportions import LEAST_ALPHA, Proportions

MEMBER = 0.01  # items with a smaller share in a topic do not take part in its split


class TopicSplits:
    """Topics that are split together: their items, sorted by topic, and the documents of these."""

    def __init__(self, items: GroupedItems, model: Model, shares: np.ndarray, topics: list[int]):
        members = {k: np.flatnonzero(shares[:, k] > MEMBER * items.counts) for k in topics}
        members = {k: which for k, which in members.items() if len(which) > 1}
        self._topics = list(members)
        self._model = model.taking(self._topics)
        which = np.concatenate([np.empty(0, np.intp), *members.values()])
        sizes = [len(group) for group in members.values()]
        self._starts = np.cumsum([0, *sizes[:-1]]) if sizes else np.empty(0, np.intp)
        self._weights = shares[which, np.repeat(np.array(self._topics, np.intp), sizes)]
        self._averages = items.averages(which)
        self._groups = ItemGroups(model.family, self._weights, self._averages, self._starts)
        documents = items.shares_of_groups(which)
        self._documents = documents.indptr, documents.indices, documents.data

    def along(self, direction: int) -> np.ndarray:
        """Items projected on a principal direction of their topics: of the items, or last of means of documents."""
        if direction == self._model.family.n_directions:
            return self._by_document()
        return self._model.family.projections(self._weights, self._averages, self._starts)[:, direction]

    def _by_document(self) -> np.ndarray:
        """Items projected as the means of their documents are on the principal direction of these."""
        indptr, documents, shares = self._documents
        item = np.repeat(np.arange(len(self._weights)), np.diff(indptr))
        topic, n_documents = self._groups.of_items[item], len(self._model.proportions.sizes)
        pairs, at = np.unique(topic * n_documents + documents, return_inverse=True)  # of a topic and a document
        sums = sparse.csr_matrix((self._weights[item] * shares, (at, item)), (len(pairs), len(self._weights)))
        counts = np.asarray(sums.sum(axis=1)).ravel()
        family, averages = self._model.family, sparse.diags_array(1 / counts).tocsr() @ (sums @ self._averages)
        means = family.statistics(family.centers(averages))  # as if documents had no spread of their own
        starts = np.searchsorted(pairs, n_documents * np.arange(len(self._topics)))
        along = family.projections(counts, means, starts)[:, 0]
        return np.bincount(item, shares * along[at], len(self._weights))

    def __len__(self) -> int:
        return len(self._topics)

    def halves(self, along: np.ndarray, steps: int) -> Iterator[tuple[int, Model, float]]:
        """Each topic that can be split, both halves, and the gain in free energy; first cut where `along` is 0."""
        part = (along > 0).astype(np.float64)
        for _ in range(steps):
            halves = self._divided(part)
            logs = halves.proportions.expected_logs
            part = self._groups.differences((halves.counts, halves.sums))
            add_group_values(*self._documents, np.subtract(*np.split(logs, 2, axis=1)), self._groups.of_items, part)
            part = expit(part)
        halves, n = self._divided(part), len(self._topics)
        gains = self._groups.gains((halves.counts, halves.sums)) + self._gains_of_weights(halves)
        gains += np.add.reduceat(self._weights * (entr(part) + entr(1 - part)), self._starts)
        for at in range(n):
            pair = halves.taking([at, n + at])
            if (pair.counts > 0).all():
                yield self._topics[at], pair, float(gains[at])

    def _divided(self, part: np.ndarray) -> Model:
        """All first halves, which have `part` of each item, and then all second halves."""
        counts, sums = self._groups.halves(part)
        known = self._model.proportions
        by_group = np.zeros((len(known.sizes), len(counts)))
        parts = self._weights * part, self._weights * (1 - part)
        add_halves_to_groups(*self._documents, *parts, self._groups.of_items, by_group)
        both = np.tile(np.add(*np.split(counts, 2)), 2)
        alpha = np.maximum(np.tile(known.alpha, 2) * counts / both, LEAST_ALPHA)
        return Model(self._model.family, counts, sums, Proportions(known.sizes, by_group, alpha), np.zeros(len(counts)))

    def _gains_of_weights(self, halves: Model) -> np.ndarray:
        """Gains in the evidence of proportions."""
        known = halves.proportions
        split = np.add(*np.split(known.log_evidence_of(known.counts, known.alpha), 2))
        whole = [np.add(*np.split(values, 2, axis=-1)) for values in (known.counts, known.alpha)]
        return split - known.log_evidence_of(*whole)
