"""The mixture of a stream against the one of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.mixture import GaussianMixture

from modicum.coreset.stream_gaussian_mixture import StreamGaussianMixture
from modicum.coreset.weighted_gaussian_mixture import WeightedGaussianMixture

CENTERS = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 4]])
SHARES = [0.6, 0.3, 0.1]


def rows(count, seed=0):
    """Rows of three clusters of different shapes, and where they are from."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, count, p=SHARES)
    return CENTERS[labels] + rng.normal(size=(count, 3)) * np.array([[1, 0.3, 2], [1, 1, 1], [0.5, 2, 1]])[
        labels
    ], labels


def streamed(model, X, chunk=500):
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    return model


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_close_to_the_mixture_of_all_rows(covariance_type):
    X, _ = rows(20_000)
    new, labels = rows(2_000, seed=1)
    model = streamed(StreamGaussianMixture(3, covariance_type=covariance_type, n_points=500, random_state=0), X)
    full = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    assert model.n_seen_ == 20_000
    assert model.n_retained_ < 5_000
    assert model.score(new) > full.score(new) - 0.05  # half the 29 numbers per point would be 0.03
    order = np.linalg.norm(model.means_[:, None] - CENTERS, axis=2).argmin(axis=0)
    assert_allclose(model.weights_[order], SHARES, atol=0.02)
    assert (model.predict(new) == order[labels]).mean() > 0.99


def test_few_rows_are_fitted_without_a_summary():
    X, _ = rows(300)
    model = streamed(StreamGaussianMixture(3, n_points=500, random_state=0), X, chunk=77)
    points, weights = model.as_sample()
    assert_array_equal(points, X)
    found = model.as_mixture()
    given = {"weights_init": found.weights_, "means_init": found.means_, "precisions_init": found.precisions_}
    again = GaussianMixture(3, **given).fit(X)
    assert_allclose(again.lower_bound_, model.score(X), atol=1e-3)  # within `tol`, there is nothing left to gain
    assert_allclose(weights, 1)


def test_answers_are_those_of_the_mixture():
    X, _ = rows(2_000)
    model = StreamGaussianMixture(3, n_points=200, random_state=0).fit(X)
    mixture = model.as_mixture()
    assert isinstance(mixture, WeightedGaussianMixture)
    for name in ("weights_", "means_", "covariances_", "precisions_cholesky_"):
        assert_array_equal(getattr(model, name), getattr(mixture, name))
    for name in ("score_samples", "predict", "predict_proba", "score", "bic"):
        assert_array_equal(getattr(model, name)(X[:50]), getattr(mixture, name)(X[:50]))
    assert mixture.sample(7)[0].shape == (7, 3)
    weight = np.arange(50.0)
    assert model.score(X[:50], sample_weight=weight) == mixture.score(X[:50], sample_weight=weight)


def test_a_small_far_cluster_is_found():
    """Of 20 rows in 20,000, a plain sample of 400 would miss all with probability two in three."""
    X, _ = rows(20_000)
    X[np.random.default_rng(5).choice(len(X), 20, replace=False)] += 100
    for seed in range(3):
        model = streamed(StreamGaussianMixture(4, n_points=400, random_state=seed), X)
        near = np.linalg.norm(model.means_ - (CENTERS.T @ SHARES + 100), axis=1).argmin()
        assert_allclose(model.weights_[near], 20 / 20_000, rtol=0.5)
        assert (model.means_[near] > 90).all()


def test_components_grow_with_the_rows():
    model = StreamGaussianMixture(3, n_points=50, random_state=0).partial_fit([[1.0, 2.0]])
    assert model.means_.shape == (1, 2)
    model.partial_fit(np.random.default_rng(0).normal(size=(30, 2)))
    assert model.means_.shape == (3, 2)


def test_warm_start_initializes_with_the_last_model():
    X, _ = rows(3_000)
    warm = StreamGaussianMixture(3, n_points=200, warm_start=True, random_state=0).partial_fit(X[:1500])
    first = warm.means_
    warm.partial_fit(X[1500:])
    assert_array_equal(np.linalg.norm(warm.means_[:, None] - first, axis=2).argmin(axis=1), [0, 1, 2])
    points, weights = warm.as_sample()
    assert_array_equal(warm.means_, StreamGaussianMixture.from_bytes(warm.to_bytes())._last["means_"])
    cold = StreamGaussianMixture(3, n_points=200, random_state=0).partial_fit(X[:1500]).partial_fit(X[1500:])
    assert_allclose(warm.score(points, sample_weight=weights), cold.score(points, sample_weight=weights), atol=0.01)


def test_merged_streams_are_one():
    X, _ = rows(8_000)
    new, _ = rows(1_000, seed=1)
    left, right = (streamed(StreamGaussianMixture(3, n_points=300, random_state=i), X[i::2]) for i in range(2))
    whole = GaussianMixture(3, random_state=0).fit(X)
    assert left.merge(right).n_seen_ == 8_000
    assert left.score(new) > whole.score(new) - 0.1


def test_plan_covers_what_is_held():
    model = StreamGaussianMixture(4, budget="256 KiB", random_state=0)
    X = np.random.default_rng(0).normal(size=(5_000, 6)).astype(np.float32)
    plan = model.plan(6, np.float32)
    assert plan.nbytes <= 256 * 1024
    streamed(model, X)
    solution = sum(value.nbytes for value in (model.weights_, model.means_, model.covariances_)) * 2
    assert model.nbytes_ + solution + sum(array.nbytes for array in model.as_sample()) <= 256 * 1024


def test_points_are_rows():
    X, _ = rows(20_000)
    points, _ = streamed(StreamGaussianMixture(3, n_points=200, random_state=0), X).as_sample()
    assert len(points) == 200
    assert set(map(tuple, points)) <= set(map(tuple, X))


@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning")  # one step shows where it started
def test_a_warm_start_uses_weights_means_and_covariances():
    X, _ = rows(2_000)  # all are held
    model = StreamGaussianMixture(3, n_points=300, tol=1e-9, max_iter=1, warm_start=True, random_state=0)
    last = model.partial_fit(X[:1_000]).as_mixture()
    found = model.partial_fit(X[1_000:]).as_mixture()
    given = {"weights_init": last.weights_, "means_init": last.means_, "precisions_init": last.precisions_}
    points, weights = model.as_sample()
    twin = WeightedGaussianMixture(3, tol=1e-9, max_iter=1, **given).fit(points, sample_weight=weights)
    assert_allclose(found.means_, twin.means_)
    assert_allclose(found.covariances_, twin.covariances_)
