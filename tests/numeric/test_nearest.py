"""The nearest center against all differences in double precision."""

from contextlib import nullcontext

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from modicum.numeric.distances import FEW_TILES, TILE_ENTRIES
from modicum.numeric.nearest import by_label, nearest, several_nearest

pytestmark = pytest.mark.nojit


def some(count, width=3, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(dtype)


def assert_nearest(X, centers):
    # compiled loops do not warn of infinities; the same loops in plain Python do
    with np.errstate(all="ignore") if numba.config.DISABLE_JIT else nullcontext():
        labels, gaps = nearest(X, centers)
    squares = cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")
    assert (labels.dtype, gaps.dtype) == (np.int32, np.float64)
    assert_allclose(gaps, squares.min(axis=1), rtol=1e-12)
    assert_allclose(squares[np.arange(len(X)), labels], squares.min(axis=1), rtol=1e-12)
    return labels, gaps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "centers", "width"), [(1, 1, 1), (1, 7, 3), (50, 1, 3), (200, 30, 1), (200, 30, 150)])
def test_shapes(dtype, rows, centers, width):
    assert_nearest(some(rows, width, dtype), some(centers, width, dtype, seed=1))


@pytest.mark.parametrize("exponent", [-37, -25, -23, -22, -21, -20, -18, 17, 18, 18.5, 19, 19.3, 19.5, 20, 25, 37])
def test_squares_that_overflow_or_vanish_in_single_precision(exponent):
    X = some(400, dtype=np.float32) * np.float32(10**exponent)
    assert_nearest(X, X[:40])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_squares_near_the_ends_of_double_precision(scale):
    X = some(200) * scale
    assert_nearest(X, X[:20])


def test_a_product_overflows_where_no_norm_does():
    centers = np.array([[1.8e19], [0.5e19], [-0.5e19], [-1.8e19]], np.float32)  # 2 * 1e19 * 1.8e19 is too large
    labels, _ = assert_nearest(np.array([[1e19]], np.float32), centers)
    assert_array_equal(labels, [1])


@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 1e4), (np.float32, 1e6), (np.float64, 1e8)])
def test_far_from_the_origin(dtype, offset):
    X = (some(400) + offset).astype(dtype)
    assert_nearest(X, X[:30])
    assert_nearest(X, X[:30] - X.mean(axis=0))  # the centers are not near the rows


def test_tight_clusters_far_apart():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0], [1e-3], [2e-3], [1e6]], np.float32)
    assert_nearest(rng.uniform(0, 2e-3, (200, 1)).astype(np.float32), centers)


def test_a_center_far_from_all_rows():
    X = some(200, dtype=np.float32)
    centers = np.concatenate([X[:20], np.full((1, 3), 1e12, np.float32)])
    labels, _ = assert_nearest(X, centers)
    assert 20 not in labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_half_way_between_centers(dtype):
    """Rows as near to one center as to another, up to units of the last place: products can't distinguish them."""
    centers = some(40, 50, dtype)
    left, right = np.triu_indices(40, 1)
    assert_nearest((centers[left].astype(np.float64) + centers[right]).astype(dtype) / 2, centers)


def test_centers_are_not_rounded_to_the_precision_of_rows():
    centers = np.array([[1 + 2e-9], [1 - 1e-9]])  # both are 1 in single precision
    labels, gaps = nearest(np.ones((1, 1), np.float32), centers)
    assert_array_equal(labels, [1])
    assert_allclose(gaps, [1e-18], rtol=1e-6)


def test_the_first_of_equal_centers_is_taken():
    X = some(60)
    labels, gaps = nearest(X, np.concatenate([X[:20], X[:20], X[:20]]))
    assert labels.max() < 20
    assert_array_equal(labels[:20], np.arange(20))
    assert_array_equal(gaps[:20], 0)


def test_tiles_on_several_threads_are_put_together():
    centers = some(600)
    X = some((FEW_TILES + 2) * (TILE_ENTRIES // 600) + 1, seed=1)
    labels, gaps = assert_nearest(X, centers)
    one_by_one = [nearest(X[i : i + 1], centers) for i in range(0, len(X), 20)]
    assert_array_equal(labels[::20], np.concatenate([label for label, _ in one_by_one]))
    assert_array_equal(gaps[::20], np.concatenate([gap for _, gap in one_by_one]))


@pytest.mark.parametrize("count", [1, 3, 200, 300, 70_000])
def test_rows_of_a_label_are_together_and_in_their_order(count):
    labels = np.random.default_rng(0).integers(count, size=1000).astype(np.int32)
    labels[-1] = count - 1
    assert_array_equal(by_label(labels, count), np.lexsort([np.arange(1000), labels]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 4, 20])
def test_several_nearest_are_those_of_sorted_distances(dtype, count):
    X, centers = some(30, dtype=dtype) + dtype(1e3), some(20, dtype=dtype, seed=1) + dtype(1e3)
    ids, gaps = several_nearest(X, centers, count)
    squares = cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")
    assert_allclose(gaps, np.sort(squares, axis=1)[:, :count], rtol=1e-3)
    assert_allclose(gaps, np.take_along_axis(squares, ids, axis=1), rtol=1e-12)
    assert all(len(set(row)) == count for row in ids.tolist())


def test_several_nearest_of_equal_centers_are_different_ones():
    ids, gaps = several_nearest(np.ones((3, 2)), np.ones((9, 2)), 5)
    assert all(len(set(row)) == 5 for row in ids.tolist())
    assert not gaps.any()
