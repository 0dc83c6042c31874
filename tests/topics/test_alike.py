"""Merges of topics by evidence."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import gammaln

from modicum.topics.alike import merged_topics

ETA = 0.1


def evidence(sums):
    total = ETA * len(sums)
    return (gammaln(sums + ETA) - gammaln(ETA)).sum() + gammaln(total) - gammaln(total + sums.sum())


def merged(sums, most):
    return merged_topics(sums, np.full(sums.shape[1], ETA), most)


def drawn(frequencies, masses, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.multinomial(mass, p) for mass, p in zip(masses, frequencies, strict=True)], float)


def test_topics_of_equal_frequencies_merge_and_others_stay():
    p = np.random.default_rng(1).dirichlet(np.full(200, 0.2), 4)
    sums = drawn(p[[0, 1, 2, 0, 3, 1, 0]], [3000, 2000, 500, 200, 900, 4000, 50])
    into = merged(sums, 100)
    assert into.max() == 3
    assert_array_equal(into[[0, 1, 0]], into[[3, 5, 6]])


def test_two_topics_merge_if_and_only_if_the_evidence_is_larger():
    found = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p, q = rng.dirichlet(np.full(50, 0.5), 2)
        near = 0.7 * p + 0.3 * q
        sums = drawn([p, near], rng.integers(20, 3000, 2), seed)
        merges = merged(sums, 9).max() == 0
        assert merges == (evidence(sums.sum(axis=0)) > evidence(sums[0]) + evidence(sums[1]))
        found.add(bool(merges))
    assert found == {True, False}


@pytest.mark.parametrize("most", [1, 2, 5, 12])
def test_no_more_topics_than_allowed(most):
    sums = drawn(np.random.default_rng(2).dirichlet(np.full(100, 0.05), 30), [1000] * 30)
    into = merged(sums, most)
    assert_array_equal(np.unique(into), np.arange(most))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (4, 3)])
def test_empty_topics_become_one(shape):
    assert_array_equal(merged(np.zeros(shape), 3), np.zeros(shape[0], int))


def test_topics_merge_where_that_predicts_better():
    sums = drawn(np.random.default_rng(2).dirichlet(np.full(100, 0.05), 4), [1000] * 4)
    prior = np.full(100, ETA)
    assert_array_equal(merged_topics(sums, prior, 9), np.arange(4))
    assert merged_topics(sums, prior, 9, lambda partners: np.array([0.0, 0.0, 1.0, 0.0])).max() == 2
