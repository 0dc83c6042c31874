"""Splits: what they gain, and that distant kinds of rows are separated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from modicum.clumps.splits import split_firmly, split_softly
from modicum.families import as_family

pytestmark = pytest.mark.nojit

ONE = np.zeros(1, np.intp)  # group, starting with the first item


def all_softly(family, counts, averages, starts=ONE, steps=10):
    along = family.projections(counts, averages, starts)[:, 0]
    return split_softly(family, counts, averages, starts, along, steps)


def softly(family, counts, averages, steps=10):
    return all_softly(family, counts, averages, steps=steps)[0]


def firmly(family, counts, averages, starts=ONE):
    return split_firmly(family, counts, averages, starts, 10)


def two_kinds(name, seed=0):
    """Rows of two kinds, and of which."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(40) % 3 == 0
    if name == "multinomial":
        return rng.multinomial(30, np.where(kinds[:, None], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8])).astype(float), kinds
    return rng.normal(size=(40, 3)) + np.where(kinds[:, None], 0.0, [9.0, -9.0, 0.0]), kinds


def gain_of(family, counts, averages, first):
    """Change of the evidence when items are parted."""
    parts = [first, ~first, np.ones_like(first)]
    evidence = family.log_evidence(
        np.array([counts[part].sum() for part in parts]), np.array([counts[part] @ averages[part] for part in parts])
    )
    return evidence[0] + evidence[1] - evidence[2]


def test_kinds_that_are_far_apart(name):
    X, kinds = two_kinds(name)
    family = as_family(name).bind(X, np.ones(40))
    averages = family.statistics(X)
    soft, firm = softly(family, np.ones(40), averages), firmly(family, np.ones(40), averages)
    assert len({*zip(firm.first, kinds, strict=True)}) == 2
    assert_allclose(np.sort(firm.counts[:, 0]), [14, 26])
    assert_allclose(soft.counts, [26, 14], atol=1e-3)  # the larger part is the first
    assert_allclose(soft.sums, [averages[~kinds].sum(axis=0), averages[kinds].sum(axis=0)], rtol=1e-3, atol=0.1)
    assert_allclose(soft.gain, firm.gains[0], atol=0.1)
    assert soft.gain > 0


def test_gain_of_a_firm_split_is_that_of_the_evidence(name, make_items):
    items = make_items(name, seed=1)
    averages = items.averages(slice(0, len(items)))
    found = firmly(items.family, items.counts, averages)
    assert 0 < found.first.sum() < len(items)
    assert_allclose(found.gains[0], gain_of(items.family, items.counts, averages, found.first))
    expected = [items.counts[found.first].sum(), items.counts[~found.first].sum()]
    assert_allclose(found.counts[:, 0], expected)


def test_gain_of_a_soft_split_has_the_entropy(name, make_items):
    """With no step, parts are those of the first cut: nothing is shared. Steps may only gain."""
    items = make_items(name, seed=1)
    averages = items.averages(slice(0, len(items)))
    cut = softly(items.family, items.counts, averages, 0)
    first = items.family.projections(items.counts, averages, ONE)[:, 0] > 0
    assert_allclose(cut.gain, gain_of(items.family, items.counts, averages, first))
    moved = softly(items.family, items.counts, averages, 20)
    evidence = items.family.log_evidence(moved.counts, moved.sums).sum()
    whole = items.family.log_evidence(moved.counts.sum(keepdims=True), moved.sums.sum(axis=0, keepdims=True))[0]
    assert evidence - whole <= moved.gain <= evidence - whole + items.counts.sum() * np.log(2)
    for split in (cut, moved):
        assert split.counts[0] >= split.counts[1]
        assert_allclose(split.counts.sum(), items.counts.sum())
        assert_allclose(split.sums.sum(axis=0), items.counts @ averages, rtol=1e-6, atol=1e-6)


def test_groups_are_split_alone(name, make_items):
    items = make_items(name, seed=1, count=60)
    averages, starts = items.averages(slice(0, len(items))), np.array([0, 20, 21, 40])
    together, shared = (split(items.family, items.counts, averages, starts) for split in (firmly, all_softly))
    for at, (start, stop) in enumerate(zip(starts, [*starts[1:], len(items)], strict=True)):
        alone = firmly(items.family, items.counts[start:stop], averages[start:stop])
        assert_array_equal(together.first[start:stop], alone.first)
        assert_allclose(together.gains[at], alone.gains[0], rtol=1e-6, atol=1e-8)
        assert_allclose(together.counts[:, at], alone.counts[:, 0])
        soft = softly(items.family, items.counts[start:stop], averages[start:stop])
        assert_allclose(shared[at].counts, soft.counts, atol=1e-6)
        assert_allclose(shared[at].gain, soft.gain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
@pytest.mark.parametrize("distance", [1e6, -1e6, 1e9, -1e9])
def test_a_far_part_does_not_drown_a_near_one(kind, distance):
    """The near one must not be computed as the whole minus the other: no digits would be left."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 3)), distance + rng.normal(size=(500, 3))])
    family = as_family(kind).bind(X[:10], np.ones(10))
    found = firmly(family, np.ones(510), family.statistics(X))
    assert_array_equal(found.first, found.first[0] == (np.arange(510) < 10))
    assert np.isfinite(found.gains).all()
    assert np.isfinite(softly(family, np.ones(510), family.statistics(X)).gain)


def test_equal_items(name, rows):
    X = np.repeat(rows(name, 1), 5, axis=0)
    family = as_family(name).bind(X, np.ones(5))
    found = softly(family, np.ones(5), family.statistics(X))
    assert np.isfinite(found.gain)
    assert_allclose(found.counts.sum(), 5)
    firm = firmly(family, np.ones(5), family.statistics(X))
    assert np.isfinite(firm.gains).all()
    assert_allclose(firm.counts.sum(), 5)


def test_weights_count_as_repetitions(name, rows):
    X, times = rows(name, 12), np.arange(12) % 3 + 1
    family = as_family(name).bind(X, times.astype(float))
    once, twice = family.statistics(X), np.repeat(family.statistics(X), times, axis=0)
    for split in (softly, firmly):
        weighted, repeated = split(family, times.astype(float), once), split(family, np.ones(times.sum()), twice)
        assert_allclose(weighted.counts, repeated.counts, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_split_of_two_kinds_gains_more_than_one_of_a_kind(name, seed):
    X, kinds = two_kinds(name, seed)
    family = as_family(name).bind(X, np.ones(40))
    both = softly(family, np.ones(40), family.statistics(X)).gain
    assert both > softly(family, np.ones((~kinds).sum()), family.statistics(X[~kinds])).gain


@pytest.mark.parametrize("seed", range(4))
def test_sparse_items_are_split_as_dense_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.3, 3.0, (60, 12))).astype(float)
    X[5] = 0.0
    family = as_family("multinomial").bind(X, np.ones(60))
    counts, starts, thin = rng.uniform(0.5, 2.0, 60), np.array([0, 20, 21]), sparse.csr_matrix(X)
    along = family.projections(counts, X, starts)
    assert_allclose(family.projections(counts, thin, starts), along, atol=1e-9)
    firm, other = (firmly(family, counts, averages, starts) for averages in (X, thin))
    assert_array_equal(other.first, firm.first)
    assert_allclose(other.gains, firm.gains, atol=1e-9)
    for left, right in zip(*(split_softly(family, counts, Y, starts, along[:, 0], 10) for Y in (X, thin)), strict=True):
        assert_allclose(left.counts, right.counts)
        assert_allclose(left.sums, right.sums, atol=1e-9)
        assert_allclose(left.gain, right.gain, atol=1e-9)
