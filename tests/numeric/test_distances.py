"""Squared distances by matrix products, compared with scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from modicum.numeric.distances import (
    FEW_TILES,
    TILE_ENTRIES,
    euclidean_distances,
    in_tiles,
    product,
    shaped_distances,
    square_distances,
    square_norms,
    times,
    typical_row,
)

rng = np.random.default_rng(0)
A, B = rng.normal(size=(70, 5)), rng.normal(size=(30, 5))
KINDS = {"dense": np.asarray, "float32": lambda X: X.astype(np.float32), "sparse": sparse.csr_matrix}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 0.3, np.array([1.0, 0.0, 2.0, 0.5, 3.0])], ids=["one", "number", "columns"])
def test_square_distances(kind, scale):
    found = square_distances(KINDS[kind](A), KINDS[kind](B), scale)
    assert found.dtype == np.float64
    assert_allclose(found, cdist(A * scale, B * scale, "sqeuclidean"), rtol=1e-5, atol=1e-5)


def test_far_from_the_origin():
    shift = 1e6
    assert_allclose(square_distances(A + shift, B + shift), cdist(A, B, "sqeuclidean"), rtol=1e-6)


def test_an_outlier_does_not_cost_precision():
    rows = np.concatenate([B, [[1e8] * 5]])
    assert_allclose(square_distances(A, rows)[:, :-1], cdist(A, B, "sqeuclidean"), rtol=1e-9)


def test_they_are_never_negative():
    assert (square_distances(A, A) >= 0).all()
    assert_allclose(square_distances(A, A).diagonal(), 0, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 30), (70, 0), (0, 0)])
def test_no_rows(shape):
    assert square_distances(A[: shape[0]], B[: shape[1]]).shape == shape


def test_shape_is_applied_to_every_entry_once():
    calls = []

    def shape(tile):
        calls.append(tile.size)
        tile += 1.0

    rows = rng.normal(size=(3 * FEW_TILES * TILE_ENTRIES // 30, 5))
    found = shaped_distances(rows, B, 1.0, shape)
    assert sum(calls) == found.size
    assert len(calls) > FEW_TILES
    assert_allclose(found, cdist(rows, B, "sqeuclidean") + 1.0, atol=1e-9)


@pytest.mark.parametrize(("count", "width"), [(0, 3), (1, 1), (100, 1000), (9 * FEW_TILES, TILE_ENTRIES), (50, 0)])
def test_tiles_cover_all_rows(count, width):
    covered = np.zeros(count, int)

    def work(tile):
        covered[tile] += 1

    in_tiles(work, count, width)
    assert (covered == 1).all()


def test_equal_rows_have_distance_zero():
    for kind in (np.asarray, sparse.csr_matrix):
        X = kind(np.concatenate([A, A[:10]]) * 1e3)
        found = euclidean_distances(X, X)
        assert_array_equal(found[np.arange(10), np.arange(10) + 70], 0)
        assert_allclose(found[:70, :70], cdist(A, A) * 1e3, rtol=1e-6, atol=1e-3)


def test_products_norms_and_scales_of_sparse_rows():
    thin, other = sparse.csr_matrix(A), sparse.csr_matrix(B)
    assert_allclose(product(thin, other), A @ B.T)
    assert_allclose(square_norms(thin), (A**2).sum(axis=1))
    assert_allclose(square_norms(A.astype(np.float32)), (A**2).sum(axis=1), rtol=1e-6)
    assert_allclose(times(thin, np.arange(5.0)).toarray(), A * np.arange(5.0))


def test_the_typical_row_is_not_an_outlier():
    rows = np.concatenate([A, np.full((5, 5), 1e9)])
    assert (np.abs(typical_row(rows)) < 5).all()
