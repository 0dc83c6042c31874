"""Cells against brute force."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from modicum.coreset.cells import Cells

pytestmark = pytest.mark.nojit


def squares(X, centers):
    return cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")


@pytest.mark.parametrize(
    ("dtype", "offset", "rtol"), [(np.float64, 0, 1e-10), (np.float64, 1e6, 1e-6), (np.float32, 0, 1e-10)]
)
def test_weight_cost_mean_and_scatter_of_each_cell(rows, dtype, offset, rtol):
    X, w = (rows[0] + offset).astype(dtype), rows[1]
    centers = X[::40]
    cells = Cells.around(X, w, centers)
    labels = squares(X, centers).argmin(axis=1)
    assert_array_equal(cells.labels, labels)
    for cell in range(len(centers)):
        own, share = X[labels == cell].astype(np.float64), w[labels == cell]
        mean = np.average(own, axis=0, weights=share)
        assert_allclose(cells.weights[cell], share.sum(), rtol=1e-12)
        assert_allclose(cells.costs[cell], share @ squares(own, centers[cell, None])[:, 0], rtol=rtol)
        assert_allclose(centers[cell] + cells.offsets[cell], mean, rtol=1e-12, atol=1e-12)
        assert_allclose(cells.scatters[cell], share @ squares(own, mean[None])[:, 0], rtol=rtol, atol=1e-20)


@pytest.mark.parametrize("count", [1, 4, 25])
def test_cells_around_seeds(rows, count):
    X, w = rows
    for seed in range(5):
        cells = Cells.around_seeds(X, w, count, np.random.default_rng(seed))
        assert len(cells.centers) == count + math.ceil(count / 10)
        assert (cells.weights > 0).all()
        assert_array_equal(squares(cells.centers, X).min(axis=1), 0)
        assert_array_equal(cells.labels, squares(X, cells.centers).argmin(axis=1))
        assert_allclose(cells.gaps, squares(X, cells.centers).min(axis=1), rtol=1e-12)


def test_seeds_of_a_sample_do_not_miss_what_is_rare():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    X[700] = 1e5
    for seed in range(10):  # seeds are drawn from 200 rows, and 1 of all of them
        cells = Cells.around_seeds(X, np.ones(1500), 2, np.random.default_rng(seed))
        assert (cells.centers == 1e5).all(axis=1).any()


def test_seeds_of_a_sample_are_drawn_by_weight():
    X = np.random.default_rng(0).normal(size=(500, 2))
    w = np.ones(500)
    w[123] = 1e6
    for seed in range(10):
        assert_array_equal(Cells.around_seeds(X, w, 1, np.random.default_rng(seed)).centers[0], X[123])


def test_few_different_rows_make_few_cells():
    X = np.repeat([[0.0, 1], [2, 3]], 40, axis=0)
    cells = Cells.around_seeds(X, np.ones(80), 10, np.random.default_rng(0))
    assert_array_equal(np.sort(cells.centers[:, 0]), [0, 2])
    assert_array_equal(cells.weights, [40, 40])
    assert_array_equal(cells.scatters, [0, 0])


def test_one_cell(rows):
    X, w = rows
    cells = Cells.around_mean(X, w)
    assert_allclose(cells.centers, np.average(X, axis=0, weights=w)[None])
    assert_allclose(cells.gaps, squares(X, cells.centers)[:, 0])
    assert_array_equal(Cells.undivided(X, w).labels, 0)
    assert Cells.around_mean(X.astype(np.float32), w).centers.dtype == np.float32


def test_rows_of_cells_left_out_go_to_the_nearest_that_remain(rows):
    X, w = rows
    cells = Cells.around(X, w, X[::40])
    fewer = cells.only(np.array([0, 2, 5]))
    assert_array_equal(fewer.labels, squares(X, X[::40][[0, 2, 5]]).argmin(axis=1))
    assert_allclose(fewer.weights.sum(), w.sum())
    assert cells.only(np.arange(len(cells.centers))) is cells
