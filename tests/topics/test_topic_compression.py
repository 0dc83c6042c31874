"""Compression of items of documents: gains by definition, costs, and what is conserved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

from modicum.clumps.allocation import Cost
from modicum.topics.compression import TopicCompression
from modicum.topics.proportions import Proportions

GROWTH, DOCUMENT_GROWTH, CELL = 3.0, 2.5, 2.0


def dense_averages(items):
    averages = items.averages(slice(0, len(items)))
    return averages.toarray() if hasattr(averages, "toarray") else averages


def compression_of(items, sizes, labels):
    shares = items.counts[:, None] * np.eye(labels.max() + 1)[labels]
    alpha = np.random.default_rng(0).gamma(1.0, 1.0, labels.max() + 1)
    proportions = Proportions(sizes, items.by_group(shares), alpha)
    cost = Cost(items.rows.shape[1], items.family.n_statistics + 1)
    return TopicCompression(items, labels, proportions, GROWTH, DOCUMENT_GROWTH, cost, CELL), alpha


def magnified(items, sizes, labels, alpha):
    """Minus eq. 3.30, up to constants, where every group of items is a topic; alpha is shared out by counts."""
    averages, members, total = dense_averages(items), items.members.toarray(), items.counts.sum()
    out = 0.0
    for label in np.unique(labels):
        here = labels == label
        count = items.counts[here].sum()
        out += items.family.log_evidence(
            np.array([GROWTH * count]), GROWTH * (items.counts[here] @ averages[here])[None]
        )[0]
        a = alpha.sum() * count / total
        for s, size in enumerate(sizes):
            out += DOCUMENT_GROWTH * size * (gammaln(a + members[here, s].sum() / size) - gammaln(a))
    for s, size in enumerate(sizes):
        length = members[:, s].sum() / size
        out += DOCUMENT_GROWTH * size * (gammaln(alpha.sum()) - gammaln(alpha.sum() + length))
    return out


@pytest.mark.parametrize("seed", range(4))
def test_gains_are_differences_of_the_magnified_free_energy(kind, grouped, seed):
    items, sizes = grouped(kind, seed)
    labels = np.random.default_rng(seed).integers(0, 3, len(items))
    compression, alpha = compression_of(items, sizes, labels)
    _, candidates = compression._candidates(compression._first_groups(0.0))
    assert candidates
    before = magnified(items, sizes, labels, alpha)
    for candidate in candidates:
        after = labels.copy()
        after[candidate.halves[0]] = 9
        assert_array_equal(np.sort(np.concatenate(candidate.halves)), candidate.group)
        assert_allclose(candidate.gain, magnified(items, sizes, after, alpha) - before, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_costs(kind, grouped, seed):
    """A clump takes a cell for each group of documents that it has items of."""
    items, sizes = grouped(kind, seed)
    compression, _ = compression_of(items, sizes, np.zeros(len(items), int))
    members, rng = items.members.toarray(), np.random.default_rng(seed)
    for _ in range(20):
        group = np.sort(rng.choice(len(items), rng.integers(1, 20), replace=False))
        clump = items.family.n_statistics + 1 + CELL * (members[group] > 0).any(axis=0).sum()
        rows = items.rows.shape[1] * len(group)
        loose = group[0] >= items.n_clumps and rows <= clump
        assert compression.is_loose(group) == loose
        assert compression.cost_of(group) == (rows if loose else clump)


@pytest.mark.parametrize("room", [1, 2, 5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_every_item_is_kept_once_within_the_limit(kind, grouped, seed, room):
    items, sizes = grouped(kind, seed, count=80)
    labels = np.random.default_rng(seed).integers(0, 3, len(items))
    compression, _ = compression_of(items, sizes, labels)
    limit = 3 * room * (items.family.n_statistics + 1 + 5 * CELL)
    groups = compression.run(limit)
    assert sum(map(compression.cost_of, groups)) <= limit
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(items)))


def test_equal_items_of_different_documents_may_be_kept_apart(grouped):
    """Gains of proportions count: a split by documents beats one that halves all documents."""
    items, sizes = grouped("gaussian", n_clumps=0, count=40)
    compression, _ = compression_of(items, sizes, np.zeros(40, int))
    of_items = items.members.toarray().argmax(axis=1)
    by_document = np.flatnonzero(of_items < 2), np.flatnonzero(of_items >= 2)
    across = np.arange(0, 40, 2), np.arange(1, 40, 2)
    first, second = compression._gains_of_weights([by_document, across], np.empty((2, 2)))
    assert first > second
