"""Expected proportions: which category expects which share, and what they are good for."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modicum.cluster.information.priors import PRIOR, STRENGTH, Prior
from modicum.cluster.information.solve import Problem, Settings, maximize
from modicum.cluster.information.start import oversegment

SIZES = np.array([0.1, 0.6, 0.3])


def test_uniform_needs_no_term():
    assert Prior().is_uniform
    assert Prior().log_proportions(SIZES).tolist() == [0, 0, 0]


def test_larger_categories_expect_larger_shares():
    found = np.exp(Prior([0.2, 0.7, 0.1]).log_proportions(SIZES))
    expected = np.array([0.1, 0.7, 0.2]) ** STRENGTH
    np.testing.assert_allclose(found, expected / expected.sum())


def test_power_law():
    found = np.exp(Prior("power law").log_proportions(SIZES))
    expected = (1 / np.array([3, 1, 2])) ** STRENGTH
    np.testing.assert_allclose(found, expected / expected.sum())


def test_categories_beyond_the_given_ones_expect_almost_nothing():
    found = np.exp(Prior([2, 1]).log_proportions(SIZES))
    assert found[0] < 0.1 * found[2] < found[1]


def test_fewer_categories_than_proportions():
    assert np.exp(Prior([0.5, 0.3, 0.1, 0.1]).log_proportions(SIZES[:2])).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("value", ["uniform", "power law", [0.5, 0.5], np.array([3.0, 1.0])])
def test_accepted(value):
    assert PRIOR.accepts(value)


@pytest.mark.parametrize("value", ["zipf", [], [0.5, 0.0], [0.5, np.nan], [[0.5, 0.5]], 3, None, ["a"]])
def test_refused(value):
    assert not PRIOR.accepts(value)


# ---- what they are good for --------------------------------------------------------------------------


def unequal_clusters(shares, seed, width=8, n=600):
    rng = np.random.default_rng(seed)
    label = rng.choice(len(shares), n, p=np.divide(shares, np.sum(shares)))
    X = 1.6 * rng.normal(size=(len(shares), width))[label] + rng.normal(size=(n, width))
    X -= X.mean(axis=0)
    return X / np.sqrt((X**2).sum() / n), label


def mean_ari(prior, shares, n_categories, regularization):
    found = []
    for seed in range(3):
        X, label = unequal_clusters(shares, seed)
        problem = Problem(X, np.full(len(X), 1 / len(X)))
        start = oversegment(problem, n_categories, 1, 1e-2, np.random.default_rng(seed))
        model = maximize(problem, Settings(regularization, Prior(prior)), start).model
        found.append(adjusted_rand_score(label, model.log_proba(X).argmax(axis=1)))
    return np.mean(found)


def test_given_proportions_help():
    shares = [0.5, 0.25, 0.15, 0.07, 0.03]
    assert mean_ari(shares, shares, 5, 5e-4) > mean_ari("uniform", shares, 5, 5e-4) + 0.03


def test_a_power_law_helps():
    shares = np.arange(1, 11) ** -1.5
    assert mean_ari("power law", shares, 30, 7e-4) > mean_ari("uniform", shares, 30, 7e-4) + 0.03


def test_a_power_law_does_not_collapse():
    X, _ = unequal_clusters(np.ones(5), 0)
    problem = Problem(X, np.full(len(X), 1 / len(X)))
    start = oversegment(problem, 20, 1, 1e-2, np.random.default_rng(0))
    assert len(maximize(problem, Settings(1e-3, Prior("power law")), start).model) >= 4
