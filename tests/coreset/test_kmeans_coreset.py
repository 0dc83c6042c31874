"""The k-means coreset of arrays and streams: weight, memory, merging, files, and rows of every kind."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from modicum import KMeansCoreset, Learner
from modicum.contract.validation import LARGEST_VALUE
from modicum.coreset.coreset import BUCKETFULS, MAX_CAPACITY
from modicum.datasets import mixture
from modicum.exceptions import BudgetError, DataError, StateError
from modicum.rules.budget import as_budget

METHODS = ["sensitivity", "lightweight", "uniform"]


def rows(count=4000, seed=0):
    return np.concatenate(list(mixture(count, 3, 8, random_state=seed))).astype(np.float64)


def streamed(coreset, X, chunk=70, weight=None):
    for start in range(0, len(X), chunk):
        rows = slice(start, start + chunk)
        coreset.partial_fit(X[rows], sample_weight=None if weight is None else weight[rows])
    return coreset


def cost(X, centers, weight=None):
    return np.average(cdist(X, centers, "sqeuclidean").min(axis=1), weights=weight) * (
        len(X) if weight is None else weight.sum()
    )


# ---- weight and estimates ------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunk", [1, 37, 300, 4000])
def test_weight_and_mean_of_all_rows_are_kept(weighted, chunk):
    X = rows(1500 if chunk == 1 else 4000)
    w = np.random.default_rng(1).uniform(0, 3, len(X)) if weighted else np.ones(len(X))
    coreset = streamed(KMeansCoreset(50, 5, random_state=0), X, chunk, w if weighted else None)
    points, weights = coreset.as_sample()
    assert points.shape == (50, 3)
    assert_allclose(weights.sum(), w.sum(), rtol=1e-11)
    assert_allclose(np.average(points, axis=0, weights=weights), np.average(X, axis=0, weights=w), rtol=1e-9)
    assert_array_equal(coreset.points_, points)
    assert_array_equal(coreset.point_weights_, weights)


@pytest.mark.parametrize("method", METHODS)
def test_costs_are_unbiased_through_the_tree_without_calibration(method):
    X = rows(300)
    centers = X[:3]
    found = []
    for seed in range(150):
        coreset = KMeansCoreset(15, 3, method=method, calibrate=False, random_state=seed)
        found.append(
            (coreset.partial_fit(X[:130]).partial_fit(X[130:]).cost(centers).value, coreset.point_weights_.sum())
        )
    true, error = [cost(X, centers), 300], np.std(found, axis=0) / np.sqrt(150)
    assert (np.abs(np.mean(found, axis=0) - true) < 4.5 * error + 1e-9).all()  # one false alarm in 70,000


@pytest.mark.parametrize("params", [{"calibrate": False}, {"method": "lightweight"}, {"method": "uniform"}], ids=str)
def test_points_that_are_not_calibrated_are_rows(params):
    X = rows()
    coreset = streamed(KMeansCoreset(50, 5, random_state=0, **params), X)
    assert_array_equal(cdist(coreset.points_, X).min(axis=1), 0)


def test_few_rows_are_kept_unchanged():
    X, w = rows(50), np.arange(1.0, 51)
    points, weights = KMeansCoreset(50, 5).fit(X, sample_weight=w).as_sample()
    assert_array_equal(points, X)
    assert_array_equal(weights, w)


@pytest.mark.parametrize("exponent", [-195, 195])
def test_units_of_weight_do_not_matter(exponent):
    X, w = rows(), np.random.default_rng(0).uniform(0.5, 2, 4000)
    plain, scaled = (KMeansCoreset(60, 5, random_state=0).fit(X, sample_weight=w * s) for s in (1.0, 2.0**exponent))
    assert_array_equal(scaled.points_, plain.points_)
    assert_array_equal(scaled.point_weights_, plain.point_weights_ * 2.0**exponent)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "exponent"), [(np.float32, -75), (np.float32, 55), (np.float64, 100)])
def test_units_of_columns_do_not_matter(method, dtype, exponent):
    """Squares of such numbers vanish in single precision, or nearly overflow."""
    X, scale = rows().astype(dtype), dtype(2.0**exponent)
    plain, scaled = (streamed(KMeansCoreset(60, 5, method=method, random_state=0), Z) for Z in (X, X * scale))
    assert_array_equal(scaled.points_, plain.points_ * scale)
    assert_allclose(scaled.cost(X[:4] * scale), np.array(plain.cost(X[:4])) * float(scale) ** 2, rtol=1e-9)


def test_far_from_the_origin_in_single_precision():
    X = (rows() + 1e6).astype(np.float32)
    coreset = streamed(KMeansCoreset(200, 8, random_state=0), X)
    centers = X[::500].astype(np.float64)
    assert_allclose(coreset.cost(centers).value, cost(X, centers), rtol=0.1)


def test_a_single_heavy_row():
    X, w = rows(), np.ones(4000)
    w[1234] = 1e9
    coreset = streamed(KMeansCoreset(100, 5, random_state=0), X, weight=w)
    assert_allclose(coreset.point_weights_.max(), 1e9, rtol=1e-3)
    assert_allclose(coreset.points_[coreset.point_weights_.argmax()], X[1234], atol=1e-2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "X", [np.full((900, 2), 3.3), np.repeat([[1.0, 0], [2, 0], [2, 1]], 300, axis=0), np.arange(900.0)[:, None]]
)
def test_rows_alike(method, X):
    coreset = streamed(KMeansCoreset(20, 6, method=method, random_state=0), X)
    assert_allclose(coreset.point_weights_.sum(), 900, rtol=0.3)
    assert_allclose(coreset.cost(X[:1]).value, cost(X, X[:1]), rtol=0.3, atol=1e-9)
    if len(np.unique(X)) < 5:
        assert_allclose(cdist(coreset.points_, X).min(axis=1), 0, atol=1e-12)


def test_more_clusters_than_rows():
    X = rows(30)
    coreset = streamed(KMeansCoreset(10, 500, random_state=0), X, 7)
    assert_allclose(coreset.point_weights_.sum(), 30)


# ---- answers -------------------------------------------------------------------------------------


def test_answering_changes_nothing():
    coreset = streamed(KMeansCoreset(50, 5, random_state=0), rows())
    before, first = coreset.to_bytes(), coreset.as_sample()
    coreset.cost(rows(3))
    assert coreset.to_bytes() == before
    copy = Learner.from_bytes(before)
    for mine, again, restored in zip(first, coreset.as_sample(), copy.as_sample(), strict=True):
        assert_array_equal(mine, again)
        assert_array_equal(mine, restored)


def test_the_number_of_points_may_be_changed_later():
    coreset = streamed(KMeansCoreset(50, 5, random_state=0), rows())
    points = coreset.points_
    assert len(coreset.set_params(n_points=20).points_) == 20
    assert_array_equal(coreset.set_params(n_points=50).points_, points)


def test_the_summary_may_be_written_to():
    coreset = KMeansCoreset(50, 5, random_state=0).fit(rows())
    points, weights = coreset.as_sample()
    kept = points.copy()
    points[:] = weights[:] = 0
    assert_array_equal(coreset.points_, kept)


def test_confidence_widens_the_bound():
    coreset = KMeansCoreset(50, 5, random_state=0).fit(rows())
    bounds = [coreset.cost(rows(5), confidence=c).error_bound for c in (0.5, 0.9, 0.99)]
    assert_allclose(np.array(bounds) / bounds[0], [1, 2.4387, 3.8189], rtol=1e-3)
    for confidence in (0, 1, 1.5, np.nan, "high"):
        with pytest.raises(ValueError, match="confidence must be a number strictly between 0 and 1"):
            coreset.cost(rows(5), confidence=confidence)


def test_invalid_centers():
    coreset = KMeansCoreset(50, 5, random_state=0).fit(rows())
    with pytest.raises(DataError, match="centers have 2 columns, rows 3"):
        coreset.cost(np.zeros((4, 2)))
    for centers in (np.zeros((0, 3)), [[0, np.nan, 0]], [[0, np.inf, 0]], [1, 2, 3]):
        with pytest.raises(ValueError):
            coreset.cost(centers)


def test_frames_have_names_and_centers_need_none():
    frame = pd.DataFrame(rows(), columns=["a", "b", "c"])
    coreset = KMeansCoreset(50, 5, random_state=0).fit(frame)
    assert coreset.column_names_ == ["a", "b", "c"]
    plain = KMeansCoreset(50, 5, random_state=0).fit(frame.to_numpy())
    for centers in (np.zeros((2, 3)), [[0, 0, 0], [1, 2, 3]], frame[:5]):
        assert coreset.cost(centers) == plain.cost(np.asarray(centers))
    with pytest.raises(ValueError, match="feature names"):
        coreset.partial_fit(frame[["c", "b", "a"]])


def test_values_whose_squares_would_overflow_are_refused():
    coreset = streamed(KMeansCoreset(50, 5, random_state=0), rows())
    before = coreset.to_bytes()
    for sign in (1, -1):
        with pytest.raises(DataError, match=r"KMeansCoreset: row 0, column 0 .* beyond 1e\+50"):
            coreset.partial_fit(np.full((1, 3), 2 * sign * LARGEST_VALUE))
    assert coreset.to_bytes() == before
    with pytest.raises(DataError):
        KMeansCoreset().fit(np.full((2, 2), 2 * LARGEST_VALUE))


def test_the_largest_values_have_costs():
    X = np.clip(rows(), -1, 1) * LARGEST_VALUE
    coreset = streamed(KMeansCoreset(50, 5, random_state=0), X)
    estimate = coreset.cost(X[:3])
    assert np.isfinite(estimate).all()
    assert_allclose(estimate.value / LARGEST_VALUE**2, cost(X / LARGEST_VALUE, X[:3] / LARGEST_VALUE), rtol=0.3)


# ---- memory --------------------------------------------------------------------------------------


def test_memory_for_any_chunks():
    X = rows(3000)
    for chunks in ([1] * 800, [3000], [399, 400, 401, 1, 799], [7] * 200):
        coreset, start = KMeansCoreset(20, 3, random_state=0), 0
        for count in chunks:
            coreset.partial_fit(X[start : start + count])
            start += count
            assert coreset.n_retained_ <= BUCKETFULS * 20
            assert coreset.nbytes_ <= coreset.plan(3).nbytes
            assert len(coreset.points_) <= 20


@pytest.mark.parametrize(("budget", "held"), [(None, 20), (200, 20), (209, 20), (310, 31), (10**6, 20 * MAX_CAPACITY)])
def test_a_budget_of_rows(budget, held):
    coreset = streamed(KMeansCoreset(20, 3, budget=budget, random_state=0), rows())
    assert coreset.plan(3).rows == BUCKETFULS * held
    assert max(map(len, coreset._tree.buckets)) == held
    assert len(coreset.points_) == 20


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("budget", ["12 KiB", "20 KB", "1 MiB"])
def test_a_budget_of_bytes(dtype, budget):
    coreset = KMeansCoreset(20, 3, budget=budget, random_state=0)
    limit, most = as_budget(budget).nbytes, 0
    assert coreset.plan(3, dtype).nbytes <= limit
    for chunk in np.array_split(rows().astype(dtype), 90):
        coreset.partial_fit(chunk)
        most = max(most, coreset.nbytes_)
    assert most <= coreset.plan(3, dtype).nbytes
    assert most > 0.7 * limit or budget == "1 MiB"


@pytest.mark.parametrize(
    ("budget", "needed"), [(199, "at least 200 rows; got 199"), ("6 KiB", "at least 7.57 KiB; got 6 KiB")]
)
def test_budgets_too_small(budget, needed):
    with pytest.raises(BudgetError, match=needed):
        KMeansCoreset(20, 3, budget=budget).fit(rows(5))


# ---- merging and files ---------------------------------------------------------------------------


@pytest.mark.parametrize("types", [(np.float32, np.float64), (np.float64, np.float32), (np.float64, np.float64)])
@pytest.mark.parametrize("budget", [None, "20 KiB"])
def test_shards_add_up(types, budget):
    shards = [rows(3000, seed).astype(dtype) for seed, dtype in enumerate(types)]
    left, right = (streamed(KMeansCoreset(20, 3, budget=budget, random_state=0), shard) for shard in shards)
    left.merge(right)
    points, weights = left.as_sample()
    assert points.dtype == types[0]
    assert_allclose(weights.sum(), 6000)
    mean = np.concatenate(shards).mean(axis=0)
    assert_allclose(np.average(points, axis=0, weights=weights), mean, atol=1e-6)
    assert left.nbytes_ <= left.plan(3, types[0]).nbytes
    assert Learner.from_bytes(left.to_bytes()).to_bytes() == left.to_bytes()


def test_shards_too_large_for_single_precision_are_refused():
    left = KMeansCoreset(20, 3, random_state=0).fit(rows().astype(np.float32))
    right = KMeansCoreset(20, 3, random_state=0).fit(rows() * 1e45)
    before = left.to_bytes()
    with pytest.raises(DataError, match=r"KMeansCoreset.merge: a value of .* too large for the float32 rows here"):
        left.merge(right)
    assert left.to_bytes() == before


def test_stopping_at_any_row_changes_nothing():
    X, w = rows(900), np.random.default_rng(0).uniform(0, 2, 900)
    straight = streamed(KMeansCoreset(10, 3, random_state=0), X, 23, w)
    stopped = KMeansCoreset(10, 3, random_state=0)
    for start in range(0, 900, 23):
        stopped.partial_fit(X[start : start + 23], sample_weight=w[start : start + 23])
        stopped = Learner.from_bytes(stopped.to_bytes())
    assert stopped.to_bytes() == straight.to_bytes()
    assert_array_equal(stopped.points_, straight.points_)
    assert stopped.cost(X[:3]) == straight.cost(X[:3])


def change(name):
    """Damage done to the first bucket of a tree."""

    def spoil(tree):
        bucket = tree.buckets[0]
        if name == "too few weights":
            bucket.weights = bucket.weights[:-1]
        elif name == "negative weights":
            bucket.weights = -bucket.weights
        elif name == "other columns":
            bucket.points = bucket.points[:, :2].copy()
        elif name == "other precision":
            bucket.points = bucket.points.astype(np.float32)
        elif name == "no numbers":
            bucket.points = bucket.points * np.nan
        elif name == "cells out of order":
            bucket.starts = bucket.starts[::-1].copy()
        elif name == "cells beyond the points":
            bucket.starts = np.append(bucket.starts, np.int32(len(bucket)))
        elif name == "points before the first cell":
            bucket.starts = bucket.starts[1:].copy()
        elif name == "too many buckets":
            tree.buckets = 20 * tree.buckets
        elif name == "too few rows":
            tree.rows._count -= 1

    return spoil


@pytest.mark.parametrize(
    "damage",
    [
        "too few weights",
        "negative weights",
        "other columns",
        "other precision",
        "no numbers",
        "cells out of order",
        "cells beyond the points",
        "points before the first cell",
        "too many buckets",
        "too few rows",
    ],
)
def test_damaged_files_are_refused(damage):
    coreset = streamed(KMeansCoreset(20, 5, random_state=0), rows(3000))
    assert len(coreset._tree.buckets[0].starts) > 1
    assert len(coreset._tree.rows) > 1
    change(damage)(coreset._tree)
    with pytest.raises(StateError):
        Learner.from_bytes(coreset.to_bytes())


def test_a_file_without_a_tree_is_refused():
    coreset = KMeansCoreset(20, 5, random_state=0).fit(rows())
    del coreset._tree
    with pytest.raises(StateError):
        Learner.from_bytes(coreset.to_bytes())
