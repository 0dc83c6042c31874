"""Weights of a Dirichlet process against all orders, Monte Carlo and closed forms."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, digamma, gammaln

from modicum.mixture.sticks import Sticks


def betas(counts, concentration):
    """Parameters of fractions, for counts in the order in which they are broken off."""
    return 1 + counts, concentration + np.array([counts[k + 1 :].sum() for k in range(len(counts))])


def weights_of(a, b, draws, seed=0):
    """Weights by stick breaking, and what is left."""
    fractions = np.random.default_rng(seed).beta(a, b, size=(draws, len(a)))
    left = np.cumprod(1 - fractions, axis=1)
    return fractions * np.column_stack([np.ones(draws), left[:, :-1]]), left[:, -1]


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_first_is_the_best_of_all_orders(seed):
    rng = np.random.default_rng(seed)
    counts, concentration = rng.gamma(1.0, 3.0, size=rng.integers(1, 6)), 10 ** rng.uniform(-2, 2)
    orders = [np.array(order) for order in itertools.permutations(counts)]
    evidence = [(betaln(*betas(o, concentration)) - betaln(1, concentration)).sum() for o in orders]
    assert_allclose(Sticks(counts, concentration).log_evidence, max(evidence))


def test_evidence_against_draws_of_the_prior():
    counts, concentration = np.array([3.0, 2.0, 1.0]), 0.7
    weights, _ = weights_of(np.ones(3), np.full(3, concentration), 200_000)
    likelihoods = np.prod(weights**counts, axis=1)
    error = likelihoods.std() / np.sqrt(len(likelihoods))
    assert abs(np.exp(Sticks(counts, concentration).log_evidence) - likelihoods.mean()) < 5 * error


def test_expectations_against_draws_of_the_posterior():
    counts, concentration = np.array([3.0, 10.0, 1.0, 5.0]), 0.7
    order = np.argsort(-counts)
    weights, left = weights_of(*betas(counts[order], concentration), 100_000)
    found = Sticks(counts, concentration)
    for drawn, expected in ((weights, found.means[order]), (np.log(weights), found.expected_logs[order])):
        assert (np.abs(drawn.mean(axis=0) - expected) < 5 * drawn.std(axis=0) / np.sqrt(len(drawn))).all()
    assert abs(left.mean() - found.mean_rest) < 5 * left.std() / np.sqrt(len(left))
    assert_allclose(found.means.sum() + found.mean_rest, 1)


def test_divergence_is_that_of_beta_distributions():
    counts, concentration = np.array([7.0, 3.0, 2.5]), 0.7
    a, b = betas(counts, concentration)
    expected = betaln(1, concentration) - betaln(a, b) + counts * digamma(a) + (b - concentration) * digamma(b)
    expected += (1 + concentration - a - b) * digamma(a + b)
    assert_allclose(Sticks(counts, concentration).divergence, expected.sum())


def test_the_order_of_counts_is_kept():
    counts = np.array([2.0, 9.0, 4.0])
    order = np.array([2, 0, 1])
    one, other = Sticks(counts, 1.0), Sticks(counts[order], 1.0)
    assert_allclose(other.expected_logs, one.expected_logs[order])
    assert_allclose(other.means, one.means[order])
    assert_allclose(other.log_evidence, one.log_evidence)


def test_empty_components_cost_nothing():
    assert_allclose(Sticks(np.array([5.0, 0.0, 0.0]), 1.0).log_evidence, Sticks(np.array([5.0]), 1.0).log_evidence)


def test_below_the_chinese_restaurant():
    """Components in the order of size are one of the ways to reach a partition."""
    for concentration in (0.1, 1.0, 10.0):
        counts = np.array([6.0, 3.0, 1.0])
        restaurant = len(counts) * np.log(concentration) + gammaln(counts).sum()
        restaurant += gammaln(concentration) - gammaln(concentration + counts.sum())
        assert Sticks(counts, concentration).log_evidence < restaurant


def test_more_concentration_leaves_more_for_others():
    rests = [Sticks(np.array([6.0, 3.0]), concentration).mean_rest for concentration in (0.1, 1.0, 10.0)]
    assert rests == sorted(rests)
