"""Items against rows written out one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import entr, logsumexp

from modicum.clumps import items as module
from modicum.clumps.items import Items
from modicum.families import as_family


def some_scores(items, count, seed=0):
    """Slopes and offsets of components that items are assigned to at random."""
    shares = np.random.default_rng(seed).dirichlet(np.full(count, 0.5), size=len(items))
    weights = items.counts[:, None] * shares
    counts, sums = weights.sum(axis=0), weights.T @ items.averages(slice(0, len(items)))
    slopes, offsets = items.family.expected_log_likelihood(counts, sums)
    return slopes, offsets + np.log(counts)


def shares_of(items, scores, extra=0.0):
    """(log-likelihoods, shares) of all items."""
    slopes, offsets = scores
    values = items.averages(slice(0, len(items))) @ slopes.T + offsets + extra
    logs = logsumexp(values, axis=1)
    return logs, np.exp(values - logs[:, None])


def test_expectation(name, make_items):
    items = make_items(name, seed=1)
    known = some_scores(items, 4)
    found = items.expect(known)
    logs, shares = shares_of(items, known)
    weights = items.counts[:, None] * shares
    assert_allclose(found.likelihood, items.counts @ logs)
    assert_allclose(found.counts, weights.sum(axis=0))
    assert_allclose(found.sums, weights.T @ items.averages(slice(0, len(items))), atol=1e-8)
    assert_array_equal(found.labels, shares.argmax(axis=1))


def test_entropy_between_pairs(name, make_items):
    items = make_items(name, seed=1)
    known = some_scores(items, 4)
    _, shares = shares_of(items, known)
    pairs = np.array([[0, 1], [1, 3], [0, 2]])
    expected = []
    for one, two in pairs:
        both = shares[:, one] + shares[:, two]
        part = np.divide(shares[:, one], both, out=np.zeros_like(both), where=both > 0)
        expected.append(items.counts @ (both * (entr(part) + entr(1 - part))))
    assert_allclose(items.entropy_between(known, pairs), expected, atol=1e-8)


def test_terms_of_items_are_added_to_scores(name, make_items):
    """Such as those of documents in topic models."""
    items = make_items(name, seed=1, count=1200)
    scores, terms = some_scores(items, 4), np.random.default_rng(0).normal(size=(len(items), 4))
    logs, shares = shares_of(items, scores, terms)
    seen = np.empty_like(shares)

    def see(tile, weighted):
        seen[tile] = weighted

    found = items.expect(scores, lambda tile: terms[tile], see)
    assert_allclose(found.likelihood, items.counts @ logs)
    assert_allclose(seen, items.counts[:, None] * shares, rtol=1e-6, atol=1e-12)
    assert_allclose(found.counts, seen.sum(axis=0))
    assert_allclose(found.sums, seen.T @ items.averages(slice(0, len(items))), atol=1e-8)
    pair = np.array([[1, 2]])
    lost = entr(shares[:, 1]) + entr(shares[:, 2]) - entr(shares[:, 1] + shares[:, 2])
    assert_allclose(items.entropy_between(scores, pair, lambda tile: terms[tile]), items.counts @ lost)


def test_equal_rows_may_be_one_row_or_a_clump(name, rows):
    X, times = rows(name, 6), np.array([1, 3, 2, 1, 5, 1])
    family = as_family(name).bind(X, times.astype(float))
    repeated = Items.of_rows(family, np.repeat(X, times, axis=0), np.ones(times.sum()))
    weighted = Items.of_rows(family, X, times.astype(float))
    clumps = Items(family, X[:0], np.empty(0), times.astype(float), times[:, None] * family.statistics(X))
    known = some_scores(weighted, 3)
    expected = repeated.expect(known)
    for items in (weighted, clumps):
        found = items.expect(known)
        assert_allclose(found.likelihood, expected.likelihood)
        assert_allclose(found.counts, expected.counts)
        assert_allclose(found.sums, expected.sums, atol=1e-8)


def test_clumps_come_first(name, make_items):
    items = make_items(name)
    assert items.n_clumps == 3
    assert_array_equal(items.counts[:3], 8.0)
    assert_allclose(items.averages(slice(3, 33)), items.family.statistics(items.rows))
    assert_allclose(items.averages(np.array([1, 5])), items.averages(slice(0, 33))[[1, 5]])


def test_totals(name, make_items):
    items = make_items(name, seed=1)
    groups = [np.array([0, 4, 9]), np.arange(10, 33)]
    counts, sums = items.totals(groups)
    averages = items.averages(slice(0, len(items)))
    for at, group in enumerate(groups):
        assert_allclose(counts[at], items.counts[group].sum())
        assert_allclose(sums[at], items.counts[group] @ averages[group])


@pytest.mark.parametrize("limit", ["KEPT_BYTES", "MIN_TILE_ITEMS"])
def test_results_do_not_depend_on_how_the_work_is_divided(limit, name, make_items, monkeypatch):
    items = make_items(name, count=300)
    known = some_scores(items, 4)
    expected, pairs = items.expect(known), np.array([[0, 1], [2, 3]])
    entropy, totals = items.entropy_between(known, pairs), items.totals([np.arange(2, 250)])
    monkeypatch.setattr(module, limit, 7)
    again = make_items(name, count=300)
    found = again.expect(known)
    assert_allclose(found.likelihood, expected.likelihood)
    assert_allclose(found.sums, expected.sums, atol=1e-8)
    assert_array_equal(found.labels, expected.labels)
    assert_allclose(again.entropy_between(known, pairs), entropy)
    for left, right in zip(again.totals([np.arange(2, 250)]), totals, strict=True):
        assert_allclose(left, right)


@pytest.mark.parametrize("limit", [None, "KEPT_BYTES", "MIN_TILE_ITEMS"])
def test_sparse_rows_are_as_dense_ones(limit, make_items, monkeypatch):
    dense = make_items("multinomial", seed=1, count=300)
    if limit is not None:
        monkeypatch.setattr(module, limit, 7)
    clumps = dense.counts[:3], dense.averages(slice(0, 3)) * dense.counts[:3, None]
    thin = Items(dense.family, sparse.csr_matrix(dense.rows), dense.counts[3:], *clumps)
    scores, some, pairs = some_scores(dense, 4), np.array([1, 5, 250]), np.array([[0, 1], [2, 3]])
    assert sparse.issparse(thin.averages(some))
    assert_allclose(thin.averages(some).toarray(), dense.averages(some))
    assert_allclose(thin.scored(some, scores), dense.scored(some, scores))
    assert_allclose(thin.entropy_between(scores, pairs), dense.entropy_between(scores, pairs))
    left, right = thin.expect(scores), dense.expect(scores)
    assert_allclose(left.likelihood, right.likelihood)
    assert_allclose(left.sums, right.sums, atol=1e-8)
    assert_array_equal(left.labels, right.labels)
    for one, two in zip(thin.totals([some, np.arange(20)]), dense.totals([some, np.arange(20)]), strict=True):
        assert_allclose(one, two)


def test_words_are_one_hot_rows():
    """A document of counts has the sums of its words."""
    X = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    family = as_family("multinomial").bind(X, np.ones(2))
    words = sparse.csr_matrix((np.ones(3), [0, 2, 1], [0, 1, 2, 3]), shape=(3, 3))
    items = Items.of_rows(family, words, np.array([2.0, 1.0, 3.0]))
    counts, sums = items.totals([np.array([0, 1]), np.array([2])])
    assert_array_equal(counts, [3.0, 3.0])
    assert_array_equal(sums, X)
