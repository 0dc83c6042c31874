"""The median heuristic: the width it gives, and what it makes of odd rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from modicum import Reservoir
from modicum.kernels import RBF, Hamming, Laplacian, Matern32, Polynomial, median_width
from modicum.numeric.distances import PROBED, column_widths


def test_median_of_distances():
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert median_width(X) == pytest.approx(np.median(pdist(X)))
    assert median_width(sparse.csr_matrix(X)) == pytest.approx(np.median(pdist(X)))
    assert RBF().fitted(X) == RBF(median_width(X))
    assert Laplacian().fitted(X).width == pytest.approx(np.median(pdist(X, "cityblock")))


def test_hamming_width():
    X = np.random.default_rng(0).integers(0, 4, (60, 6)).astype(np.float32)
    assert Hamming().fitted(X).width == pytest.approx(np.sqrt(np.median(pdist(X, "hamming") * 6)))


def test_many_rows_are_sampled_evenly():
    X = np.arange(100_000.0)[:, None]
    some = X[np.linspace(0, len(X) - 1, PROBED).astype(int)]
    assert median_width(X) == pytest.approx(np.median(pdist(some)))
    assert median_width(X) == median_width(X.copy())


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_equal_rows_are_left_out_when_they_are_many(kind):
    X = np.full((100, 2), 0.1)  # the mean of 100 such numbers is not exactly 0.1
    assert median_width(kind(X)) == 1.0
    assert RBF(ard=True).fitted(kind(X)) == RBF([1.0, 1.0])
    X[:10, 0] += 3.0
    assert median_width(kind(X)) == pytest.approx(3.0)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_rows(count):
    X = np.ones((count, 2))
    assert median_width(X) == 1.0
    assert Hamming().fitted(X) == Hamming(1.0)
    assert Polynomial().fitted(X).scale == (0.5 if count else 1.0)


def test_rows_of_a_reservoir():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    sample = Reservoir(budget=400, random_state=0).partial_fit(X)
    assert median_width(sample.points_) == pytest.approx(np.median(pdist(X[:1000])), rel=0.1)


def test_columns_count_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    units = np.array([1.0, 1000.0, 0.01])
    np.testing.assert_allclose(column_widths(X * units), column_widths(X) * units)
    alike = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(column_widths(alike), median_width(alike))
    np.testing.assert_allclose(column_widths(sparse.csr_matrix(X)), column_widths(X))
    assert Matern32(ard=True).fitted(X) == Matern32(column_widths(X))


def test_a_constant_column_has_some_width():
    X = np.c_[np.arange(10.0), np.full(10, 7.0)]
    widths = column_widths(X)
    assert (widths > 0).all()
    assert np.isfinite(RBF(widths)(X, X)).all()


def test_a_width_that_was_given_stays():
    X = np.random.default_rng(0).normal(size=(10, 2))
    for kernel in (RBF(0.5), RBF([0.5, 1.0]), Laplacian(0.5), Hamming(0.5), Polynomial(scale=2.0)):
        assert kernel.fitted(X) is kernel


def test_polynomial_scale_makes_rows_of_length_1():
    X = np.random.default_rng(0).normal(size=(50, 3))
    kernel = Polynomial(1, offset=0.0).fitted(X)
    assert kernel.diagonal(X).mean() == pytest.approx(1.0)
