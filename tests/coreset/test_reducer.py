"""Reduction: draws are unbiased, and calibrated cells keep their weight, mean and scatter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from modicum.coreset.bucket import Bucket
from modicum.coreset.cells import Cells
from modicum.coreset.reducer import Reducer

METHODS = ["sensitivity", "mixture", "lightweight", "uniform"]


def rows(count=400, seed=0):
    """Clusters of different size and spread, with weights."""
    rng = np.random.default_rng(seed)
    label = rng.choice(6, count, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01])
    X = 10 * rng.normal(size=(6, 3))[label] + rng.uniform(0.2, 2, 6)[label, None] * rng.normal(size=(count, 3))
    return X, rng.uniform(0.2, 3, count)


def reduced(X, weight, n_points, *, method="sensitivity", n_cells=5, calibrate=True, seed=0):
    return Reducer(method, n_cells, calibrate)([Bucket.of_rows(X, weight)], n_points, np.random.default_rng(seed))


def squares(X, centers):
    return cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")


def cells_of(bucket):
    """Points and weights, cell by cell."""
    edges = bucket.starts[1:]
    return zip(np.split(bucket.points, edges), np.split(bucket.weights, edges), strict=True)


def weight_mean_and_scatter(X, weight):
    mean = np.average(X.astype(np.float64), axis=0, weights=weight)
    return weight.sum(), mean, weight @ squares(X, mean[None])[:, 0]


# ---- what is drawn -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_unbiased_without_calibration(method):
    X, w = rows()
    reduce = Reducer(method, 5, calibrate=False)
    centers = [X[:1], X[100:104], X[:20]]
    true = np.array([w.sum(), *(w @ squares(X, C).min(axis=1) for C in centers)])
    found = []
    for seed in range(400):
        bucket = reduce([Bucket.of_rows(X, w)], 40, np.random.default_rng(seed))
        found.append([bucket.weights.sum(), *(bucket.weights @ squares(bucket.points, C).min(axis=1) for C in centers)])
    error = np.std(found, axis=0) / np.sqrt(400)
    assert (np.abs(np.mean(found, axis=0) - true) < 5 * error + 1e-9 * true).all()  # one false alarm in 100,000


@pytest.mark.parametrize("method", METHODS)
def test_estimates_stay_unbiased_when_buckets_are_reduced_again(method):
    X, w = rows()
    reduce = Reducer(method, 5, calibrate=False)
    true = w @ squares(X, X[:4]).min(axis=1)
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        halves = [reduce([Bucket.of_rows(X[half], w[half])], 40, rng) for half in (slice(150), slice(150, None))]
        bucket = reduce(halves, 40, rng)
        found.append(bucket.weights @ squares(bucket.points, X[:4]).min(axis=1))
    assert abs(np.mean(found) - true) < 5 * np.std(found) / np.sqrt(300)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_points", [1, 7, 399, 400, 1000])
def test_the_given_number_of_points_is_drawn_and_all_are_rows(method, n_points):
    X, w = rows()
    bucket = reduced(X, w, n_points, method=method, calibrate=False)
    assert len(bucket) == len(bucket.weights) == min(n_points, 400)
    assert_array_equal(squares(bucket.points, X).min(axis=1), 0)
    assert len(np.unique(bucket.points, axis=0)) == len(bucket)
    if n_points >= 400:
        order = squares(bucket.points, X).argmin(axis=1)
        assert_allclose(bucket.weights, w[order], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_as_heavy_as_all_others_is_always_kept_with_its_weight(method):
    X, w = rows()
    w[17] = 1e6
    for seed in range(10):
        bucket = reduced(X, w, 60, method=method, calibrate=False, seed=seed)
        assert_allclose(bucket.weights[(bucket.points == X[17]).all(axis=1)], [1e6])


def test_far_and_rare_rows_are_drawn_more_often_than_by_chance():
    X, w = rows(1000)[0], np.ones(1000)
    X[500:503] += 200
    counts = {method: sum(len_far(reduced(X, w, 40, method=method, seed=s)) for s in range(20)) for method in METHODS}
    assert counts["uniform"] < 10  # 2.4 are expected
    assert all(counts[method] > 30 for method in ("sensitivity", "mixture", "lightweight"))


def len_far(bucket):
    return (bucket.points.mean(axis=1) > 100).sum()


# ---- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sensitivity", "mixture"])
@pytest.mark.parametrize(("n_points", "n_cells", "offset"), [(80, 5, 0.0), (80, 5, 1e6), (40, 20, 0.0), (5, 40, 0.0)])
def test_weight_mean_and_scatter_of_each_cell_are_exact(method, n_points, n_cells, offset):
    """The same draws without calibration show which cells have points: all rows are divided among those."""
    X, w = rows()
    X = X + offset
    plain, made = (reduced(X, w, n_points, method=method, n_cells=n_cells, calibrate=c, seed=3) for c in (False, True))
    assert_array_equal(made.starts, plain.starts)
    centers = Cells.around_seeds(X, w, n_cells, np.random.default_rng(3)).centers
    labels = squares(plain.points, centers).argmin(axis=1)
    drawn = labels[plain.starts]
    assert (np.diff(drawn) > 0).all()
    if n_points < n_cells:
        assert len(drawn) < len(centers)
    home = squares(X, centers[drawn]).argmin(axis=1)
    several = 0
    for cell, ((points, weights), (as_drawn, _)) in enumerate(zip(cells_of(made), cells_of(plain), strict=True)):
        weight, mean, scatter = weight_mean_and_scatter(X[home == cell], w[home == cell])
        got = weight_mean_and_scatter(points, weights)
        assert_allclose(got[0], weight, rtol=1e-12)
        assert_allclose(got[1], mean, rtol=1e-12, atol=1e-10)
        if len(points) > 1:
            several += 1
            assert_allclose(got[2], scatter, rtol=1e-6)
            turned = np.diff(points, axis=0) / np.diff(as_drawn, axis=0)  # moved and scaled together
            assert_allclose(turned, turned[0, 0], rtol=1e-5)
        else:
            assert_allclose(got[2], 0, atol=1e-12 * (1 + offset) ** 2)
    assert several or n_points < n_cells


@pytest.mark.parametrize("n_points", [1, 3, 30, 300])
def test_total_weight_and_mean_are_exact(n_points):
    X, w = rows()
    for seed in range(10):
        bucket = reduced(X, w, n_points, n_cells=10, seed=seed)
        assert_allclose(bucket.weights.sum(), w.sum(), rtol=1e-12)
        assert_allclose(np.average(bucket.points, axis=0, weights=bucket.weights), np.average(X, axis=0, weights=w))


def test_equal_points_drawn_from_a_cell_of_different_rows():
    """Equal points can't be scaled: the mean is exact, the scatter is not, and all numbers stay finite."""
    rng = np.random.default_rng(0)
    X = rng.integers(10, size=(2000, 1)) + np.where(rng.random((2000, 1)) < 0.95, 0.0, rng.normal(size=(2000, 2)))
    flat = 0
    for seed in range(10):
        bucket = reduced(X, np.ones(2000), 60, n_cells=10, seed=seed)
        assert_allclose(np.average(bucket.points, axis=0, weights=bucket.weights), X.mean(axis=0), rtol=1e-10)
        flat += sum(len(points) > 1 and np.ptp(points, axis=0).max() < 1e-9 for points, _ in cells_of(bucket))
    assert flat


def test_only_small_cells_are_calibrated():
    X, w = rows()
    for method in METHODS:
        small = method in ("sensitivity", "mixture")
        assert reduced(X, w, 30, method=method).calibrated == small
        assert not reduced(X, w, 30, method=method, calibrate=False).calibrated
        assert (squares(reduced(X, w, 30, method=method).points, X).min() > 0) == small
    assert not Bucket.of_rows(X, w).calibrated


# ---- attributes of buckets -----------------------------------------------------------------------


def test_levels_and_variance_factors_add_up():
    X, w = rows()
    reduce, rng = Reducer("sensitivity", 5, True), np.random.default_rng(0)
    leaf = Bucket.of_rows(X, w)
    assert (leaf.level, leaf.variance_factor) == (0, 0)
    one = reduce([leaf], 30, rng)
    assert (one.level, one.variance_factor) == (1, 1)
    two = reduce([one, one], 30, rng)  # two halves, each with a variance of 1 in units of its own weight
    assert two.level == 2
    assert_allclose(two.variance_factor, 1 + 2 * 0.5**2)
    three = reduce([two, leaf], 30, rng)  # two thirds of the weight, and rows without a variance
    assert three.level == 3
    assert_allclose(three.variance_factor, 1 + 1.5 * (2 / 3) ** 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types(method, dtype):
    X, w = rows()
    bucket = reduced(X.astype(dtype), w, 30, method=method)
    assert (bucket.points.dtype, bucket.weights.dtype, bucket.starts.dtype) == (dtype, np.float64, np.int32)
    assert bucket.starts[0] == 0
    assert (np.diff(bucket.starts, append=len(bucket)) > 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("calibrate", [True, False])
@pytest.mark.parametrize("X", [np.full((50, 2), 3.3), np.repeat([[1.0], [2.0]], 25, axis=0), np.arange(50.0)[:, None]])
def test_rows_alike(method, calibrate, X):
    bucket = reduced(X, np.ones(50), 10, method=method, calibrate=calibrate)
    assert np.isfinite(bucket.points).all()
    assert X.min() - 20 < bucket.points.min() <= bucket.points.max() < X.max() + 20
    assert len(bucket) == 10
    if len(np.unique(X)) < 3:
        assert_allclose(squares(bucket.points, X).min(axis=1), 0, atol=1e-12)
        assert_allclose(bucket.weights.sum(), 50, rtol=0.3)
