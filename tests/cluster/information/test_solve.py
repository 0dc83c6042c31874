"""Maximisation: F rises, empty categories go, the answer does not depend on tolerances."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.objective import Labelled, Objective
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Problem, Settings, _ascend, maximize, supervised
from modicum.cluster.information.start import kmeans_labels, oversegment


def three_clusters(n=240, seed=0):
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(3) / 3
    label = rng.integers(3, size=n)
    X = 10 * np.column_stack([np.cos(angles), np.sin(angles)])[label] + rng.normal(size=(n, 2))
    X -= X.mean(axis=0)
    return X / np.sqrt((X**2).sum() / n), label


X, LABEL = three_clusters()
SHARES = np.full(len(X), 1 / len(X))
PROBLEM = Problem(X, SHARES)
START = oversegment(PROBLEM, 50, 1, 1e-2, np.random.default_rng(0))


def value(model, settings, problem=PROBLEM):
    log_prior = settings.prior.log_proportions(model.sizes(problem.rows, problem.shares))
    shape = len(model), settings.regularization
    objective = Objective(problem.rows, problem.shares, *shape, log_prior=log_prior)
    return -objective(objective.pack(model.weights, model.biases))[0]


@pytest.mark.parametrize("regularization", [2e-4, 1e-3, 1e-2])
def test_three_clusters_of_fifty_categories(regularization):
    fit = maximize(PROBLEM, Settings(regularization, Prior()), START)
    labels = fit.model.log_proba(X).argmax(axis=1)
    assert len(fit.model) == 3
    assert adjusted_rand_score(LABEL, labels) > 0.98


def test_f_rises_and_is_what_it_says():
    settings = Settings(1e-3, Prior())
    fit = maximize(PROBLEM, settings, START)
    assert fit.value > value(START, settings)
    assert fit.value == pytest.approx(value(fit.model, settings))


@pytest.mark.parametrize("prior", ["uniform", "power law", [0.6, 0.3, 0.1]])
def test_f_rises_in_every_iteration(prior):
    """With the proportions of the start, as they stay for a whole ascent."""
    log_prior = Prior(prior).log_proportions(START.sizes(X, SHARES))
    steps = [Settings(1e-3, Prior(), max_iter=n) for n in (1, 2, 4, 8, 16)]
    values = [_ascend(PROBLEM, settings, START, log_prior, drop=False).value for settings in steps]
    assert (np.diff(values) > 0).all()


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
def test_the_number_of_clusters_does_not_depend_on_the_tolerance(tol):
    assert len(maximize(PROBLEM, Settings(1e-3, Prior(), tol=tol), START).model) == 3


@pytest.mark.parametrize("regularization", [1e-5, 1e-3, 1.0])
def test_every_category_has_rows(regularization):
    model = maximize(PROBLEM, Settings(regularization, Prior()), START).model
    assert len(np.unique(model.log_proba(X).argmax(axis=1))) == len(model)


def test_a_large_penalty_leaves_one_cluster():
    fit = maximize(PROBLEM, Settings(1.0, Prior()), START)
    assert len(fit.model) == 1
    assert fit.value == pytest.approx(0.0, abs=1e-6)


def test_without_dropping_empty_categories_have_no_weights_and_low_biases():
    """Figure 5.2 of the thesis."""
    model = maximize(PROBLEM, Settings(1e-3, Prior(), tol=1e-12, max_iter=3000), START, drop=False).model
    full = np.isin(np.arange(50), model.log_proba(X).argmax(axis=1))
    norms = np.linalg.norm(model.weights, axis=0)
    assert full.sum() == 3
    assert norms[~full].max() < 1e-3 * norms[full].min()
    assert model.biases[~full].max() < model.biases[full].min()


def test_shares_count_as_copies():
    weight = 1 + np.arange(len(X)) % 3
    copies = np.repeat(X, weight, axis=0)
    settings = Settings(1e-3, Prior(), tol=1e-12)
    weighted = maximize(Problem(X, weight / weight.sum()), settings, START)
    copied = maximize(Problem(copies, np.full(len(copies), 1 / len(copies))), settings, START)
    assert weighted.value == pytest.approx(copied.value, rel=1e-6)


@pytest.mark.parametrize("prior", ["uniform", "power law"])
def test_iterations_are_bounded(prior):
    fit = maximize(PROBLEM, Settings(1e-5, Prior(prior), tol=1e-12, max_iter=8), START, drop=False)
    assert fit.n_iter == 8 if prior == "uniform" else fit.n_iter <= 9  # one more for the proportions


def test_categories_of_labels_stay():
    labels = Labelled(np.array([0]), np.array([4]))
    model = maximize(Problem(X, SHARES, labels), Settings(1e-3, Prior()), START).model
    assert len(model) >= 5


def test_supervised_learns_its_categories():
    model = supervised(PROBLEM, LABEL, 3, 1e-3)
    assert adjusted_rand_score(LABEL, model.log_proba(X).argmax(axis=1)) > 0.98


def test_fewer_rows_than_categories():
    few = Problem(X[:5], np.full(5, 0.2))
    assert len(np.unique(kmeans_labels(few, 50, 1, np.random.default_rng(0)))) <= 5
    assert (
        len(maximize(few, Settings(1e-3, Prior()), oversegment(few, 50, 1, 1e-2, np.random.default_rng(0))).model) <= 5
    )


def test_a_model_of_some_categories():
    model = Multilogit(np.arange(6.0).reshape(2, 3), np.arange(3.0)).keep(np.array([0, 2]))
    assert model.weights.tolist() == [[0, 2], [3, 5]]
    assert model.biases.tolist() == [0, 2]


def test_supervised_learns_more_from_rows_of_larger_shares():
    weight = 1 + np.arange(len(X)) % 3
    some = supervised(Problem(X, weight / weight.sum()), LABEL, 3, 1e-3)
    copies = np.repeat(np.arange(len(X)), weight)
    same = supervised(Problem(X[copies], np.full(len(copies), 1 / len(copies))), LABEL[copies], 3, 1e-3)
    np.testing.assert_allclose(some.weights, same.weights, rtol=1e-6)
    assert np.abs(some.weights - supervised(PROBLEM, LABEL, 3, 1e-3).weights).max() > 1e-3
