"""The coreset for mixtures: likelihoods of all rows from a few points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from modicum import Learner, MixtureCoreset
from modicum.datasets import mixture


class Normal:
    """One spherical Gaussian."""

    def __init__(self, center, width):
        self.center, self.width = np.asarray(center), width

    def score_samples(self, X):
        return norm.logpdf(X, self.center, self.width).sum(axis=1)


def rows(count=4000, seed=0):
    return np.concatenate(list(mixture(count, 3, 6, random_state=seed))).astype(np.float64)


def streamed(coreset, X, chunk=70, weight=None):
    for start in range(0, len(X), chunk):
        rows = slice(start, start + chunk)
        coreset.partial_fit(X[rows], sample_weight=None if weight is None else weight[rows])
    return coreset


@pytest.mark.parametrize("density", [GaussianMixture(2, random_state=0), KernelDensity(bandwidth=2.0)])
def test_with_all_rows_the_bound_is_rounding_error(density):
    X, w = rows(100), np.arange(1.0, 101)
    density.fit(X)
    value, bound = MixtureCoreset(100, 3).fit(X, sample_weight=w).cost(density)
    assert_allclose(value, -w @ density.score_samples(X))
    assert bound < 1e-14 * value  # rounding


def test_likelihoods_are_unbiased_without_calibration():
    X, density = rows(300), Normal([1.0, 0, -1], 3.0)
    found = []
    for seed in range(150):
        coreset = MixtureCoreset(15, 3, calibrate=False, random_state=seed).partial_fit(X[:130]).partial_fit(X[130:])
        found.append(coreset.cost(density).value)
    true = -density.score_samples(X).sum()
    assert abs(np.mean(found) - true) < 4.5 * np.std(found) / np.sqrt(150)  # one false alarm in 70,000


@pytest.mark.parametrize("streaming", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("calibrate", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nine_in_ten_likelihoods_are_within_the_bound(streaming, calibrate):
    held, bounds, errors = [], [], []
    for seed in range(30):
        X = rows(seed=seed)
        coreset = MixtureCoreset(200, 6, calibrate=calibrate, random_state=seed)
        streamed(coreset, X) if streaming else coreset.fit(X)
        density = GaussianMixture(6, random_state=seed, max_iter=5, tol=1).fit(X[:300])
        true = -density.score_samples(X).sum()
        value, bound = coreset.cost(density)
        held.append(abs(value - true) <= bound)
        bounds.append(bound / true)
        errors.append((value - true) / true)
    assert np.mean(held) >= 0.8  # at a true rate of 0.9, one false alarm in 20
    assert np.mean(bounds) < 30 * np.sqrt(np.mean(np.square(errors)))


def test_calibration_keeps_weight_and_mean_of_all_rows():
    X, w = rows(), np.random.default_rng(0).uniform(0, 3, 4000)
    points, weights = streamed(MixtureCoreset(60, 5, calibrate=True, random_state=0), X, weight=w).as_sample()
    assert_allclose(weights.sum(), w.sum(), rtol=1e-11)
    assert_allclose(np.average(points, axis=0, weights=weights), np.average(X, axis=0, weights=w), rtol=1e-9)


def test_points_that_are_not_calibrated_are_rows():
    X = rows()
    coreset = streamed(MixtureCoreset(60, 5, random_state=0), X)
    assert_array_equal(cdist(coreset.points_, X).min(axis=1), 0)
    assert abs(coreset.point_weights_.sum() / 4000 - 1) < 0.5


@pytest.mark.parametrize("calibrate", [False, True])
def test_a_small_cluster_is_kept(calibrate):
    X = rows()
    X[2000:2008] += 100
    for seed in range(5):
        points, weights = streamed(MixtureCoreset(100, 6, calibrate=calibrate, random_state=seed), X).as_sample()
        far = points.mean(axis=1) > 50
        assert far.sum() >= 2
        assert_allclose(weights[far].sum(), 8, rtol=1e-6 if calibrate else 0.5)


def test_stopping_changes_nothing():
    X = rows(900)
    straight, stopped = streamed(MixtureCoreset(10, 3, random_state=0), X), MixtureCoreset(10, 3, random_state=0)
    for start in range(0, 900, 70):
        stopped = Learner.from_bytes(stopped.partial_fit(X[start : start + 70]).to_bytes())
    assert stopped.to_bytes() == straight.to_bytes()
    density = Normal([0.0, 0, 0], 2.0)
    assert stopped.cost(density) == straight.cost(density)


def test_confidence_is_checked():
    coreset = MixtureCoreset(50, 3, random_state=0).fit(rows())
    narrow, wide = (coreset.cost(Normal([0.0, 0, 0], 2.0), confidence=c).error_bound for c in (0.5, 0.99))
    assert_allclose(wide / narrow, 3.8189, rtol=1e-3)
    with pytest.raises(ValueError, match="confidence must be a number strictly between 0 and 1"):
        coreset.cost(Normal([0.0, 0, 0], 2.0), confidence=1)
