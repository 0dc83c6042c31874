"""Labelled of some rows: gradient, labels alone, latent categories, expected class sizes, the choice of settings."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from modicum.cluster.information.objective import Labelled, Objective
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.semi_supervised import ClassSizes, choose_settings, fit_labelled, labels_alone
from modicum.cluster.information.solve import Problem, Settings

CENTERS = 6.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
DEFAULT = Settings(1e-4, Prior())


def blobs(sizes, rng):
    """Rows of total variance 1 around the first centers, and their classes."""
    classes = np.repeat(np.arange(len(sizes)), sizes)
    X = CENTERS[classes] + rng.normal(size=(len(classes), 3))
    X -= X.mean(axis=0)
    return X / np.sqrt((X**2).sum(axis=1).mean()), classes


def problem_of(X, rows, classes):
    rows = np.asarray(rows)
    return Problem(X, np.full(len(X), 1 / len(X)), Labelled(rows, classes[rows]))


def predicted(fit, X):
    return fit.model.log_proba(X).argmax(axis=1)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gradient_with_labels_equals_a_numerical_one(rng):
    X, _ = blobs([10, 12, 8], rng)
    sizes = ClassSizes(np.array([0.5, 1.0, 1.5])).log_proportions(np.ones(4))
    labels = Labelled(np.array([0, 3, 12, 13, 25]), np.array([0, 0, 1, 2, 2]))
    objective = Objective(X, np.full(30, 1 / 30), 4, 0.01, log_prior=sizes, labels=labels, tau=0.7)
    params = rng.normal(size=4 * 4)
    numerical = approx_fprime(params, lambda at: objective(at)[0], 1e-7)
    np.testing.assert_allclose(objective(params)[1], numerical, atol=1e-6)


def test_tau_0_is_multilogit_regression(rng):
    X, classes = blobs([20, 20, 20], rng)
    problem = problem_of(X, range(0, 60, 4), classes)
    fit = fit_labelled(problem, 3, 10, Settings(0.01, Prior(), tau=0.0), 1, rng)
    twin = LogisticRegression(C=1 / (2 * 0.01 * 15), tol=1e-8, max_iter=1000).fit(X[::4], classes[::4])
    np.testing.assert_allclose(np.exp(fit.model.log_proba(X)), twin.predict_proba(X), atol=1e-5)


def test_labelled_classes_keep_their_numbers_and_unlabelled_rows_help(rng):
    X, classes = blobs([100, 100, 100], rng)
    for order in ([0, 1, 2], [2, 0, 1]):
        renamed = np.array(order)[classes]
        fit = fit_labelled(problem_of(X, [0, 100, 200], renamed), 3, 3, DEFAULT, 1, rng)
        assert np.mean(predicted(fit, X) == renamed) > 0.97


def test_a_latent_class_appears_and_others_vanish(rng):
    X, classes = blobs([100, 100, 100, 100], rng)
    rows = [i for i in range(0, 400, 8) if classes[i] < 3]
    found = predicted(fit_labelled(problem_of(X, rows, classes), 3, 12, DEFAULT, 1, rng), X)
    labelled = classes < 3
    assert np.mean(found[labelled] == classes[labelled]) > 0.95
    assert np.mean(found[~labelled] >= 3) > 0.95
    everywhere = fit_labelled(problem_of(X, range(0, 400, 8), classes), 4, 12, DEFAULT, 1, rng)
    assert np.mean(predicted(everywhere, X) == classes) > 0.95


def test_class_sizes_follow_the_labels_as_far_as_they_tell():
    np.testing.assert_allclose(ClassSizes.of(np.array([4, 4])).proportions, [1, 1])
    few, many = (ClassSizes.of(np.array(counts)).proportions for counts in ([3, 1], [300, 100]))
    assert 1 < few[0] < 1.25 < 1.45 < many[0] < 1.51
    assert few.sum() == pytest.approx(2)
    np.testing.assert_allclose(ClassSizes(many).log_proportions(np.ones(3)), np.log([*many, 1]))


def test_unequal_classes_stay_unequal(rng):
    X, classes = blobs([360, 40], rng)
    problem = problem_of(X, range(0, 400, 10), classes)
    settings = choose_settings(problem, 2, rng)
    assert np.mean(predicted(fit_labelled(problem, 2, 2, settings, 1, rng), X) == classes) > 0.95


def test_misleading_information_is_left_out(rng):
    """The gap between two groups of rows has nothing to do with the classes."""
    X = rng.normal(size=(600, 4))
    classes = (X[:, 1] > 0).astype(np.int64)
    X[::2, 0] += 8.0
    X /= np.sqrt(X.var(axis=0).sum())
    problem = problem_of(X - X.mean(axis=0), range(0, 600, 6), classes)
    settings = choose_settings(problem, 2, rng)
    alone = choose_settings(problem, 2, rng, taus=(0.0,))
    assert alone.tau == 0.0
    ours, theirs = fit_labelled(problem, 2, 2, settings, 1, rng), labels_alone(problem, 2, alone.regularization)
    ours, theirs = (np.mean(predicted(fit, problem.rows) == classes) for fit in (ours, theirs))
    assert ours > theirs - 0.02


def test_few_labels_give_the_defaults(rng):
    X, classes = blobs([30, 30], rng)
    settings = choose_settings(problem_of(X, [0, 30], classes), 2, rng)
    assert (settings.regularization, settings.tau) == (1e-4, 1.0)


@pytest.mark.parametrize("tau", [0.0, 1.0])
@pytest.mark.parametrize(
    ("rows", "labels"),
    [([5], [0]), (range(30), [0] * 30), ([0, 1, 2], [0, 1, 1]), (range(90), np.arange(90) // 30)],
    ids=["one row", "one class", "contradicting", "all rows"],
)
def test_odd_labels(rng, rows, labels, tau):
    X, _ = blobs([30, 30, 30], rng)
    X[1:3] = X[0]
    labels = Labelled(np.asarray(rows), np.asarray(labels))
    n_classes = labels.categories.max() + 1
    problem = Problem(X.astype(np.float32), np.full(90, 1 / 90), labels)
    choose_settings(problem, n_classes, rng)
    for max_clusters in (n_classes, 6):
        fit = fit_labelled(problem, n_classes, max_clusters, Settings(1e-4, Prior(), tau=tau), 1, rng)
        assert np.isfinite(fit.model.weights).all()
        assert len(fit.model) >= n_classes


def test_needs_labels(rng):
    X, _ = blobs([10], rng)
    with pytest.raises(ValueError, match="needs labels"):
        labels_alone(Problem(X, np.full(10, 0.1)), 1, 1e-4)
