"""Gradients by the logarithms of parameters against central differences."""

import numpy as np
import pytest
from scipy import sparse

from modicum.kernels import RBF, Laplacian, Linear, Matern52


def by_differences(function, at, step=1e-5):
    """d function / d at, entry by entry."""
    slopes = []
    for i in range(len(at)):
        move = np.zeros(len(at))
        move[i] = step
        slopes.append((function(at + move) - function(at - move)) / (2 * step))
    return np.array(slopes)


def test_gradient(numeric_kernel, rows):
    A, B = rows(numeric_kernel, 8, 0), rows(numeric_kernel, 6, 1)
    weight = np.random.default_rng(2).normal(size=(8, 6))
    expected = by_differences(
        lambda params: np.sum(weight * numeric_kernel.with_log_params(params)(A, B)), numeric_kernel.log_params
    )
    np.testing.assert_allclose(numeric_kernel.gradient(A, B, weight), expected, rtol=1e-6, atol=1e-7)


def test_differentiate_gives_the_matrix_too(any_kernel, rows):
    A, B = rows(any_kernel, 8, 0), rows(any_kernel, 6, 1)
    K, gradient = any_kernel.differentiate(A, B)
    np.testing.assert_allclose(K, any_kernel(A, B), rtol=1e-12, atol=1e-13)
    assert gradient(np.ones((8, 6))).shape == any_kernel.log_params.shape


@pytest.mark.parametrize("kernel", [RBF(1.5), RBF([1.0, 2.0, 0.5]), Matern52([1.0, 2.0, 0.5]), Laplacian(1.0)])
def test_sparse_rows_have_the_same_gradient(kernel):
    rng = np.random.default_rng(0)
    A, B, weight = rng.normal(size=(8, 3)), rng.normal(size=(6, 3)), rng.normal(size=(8, 6))
    found = kernel.gradient(sparse.csr_matrix(A), sparse.csr_matrix(B), weight)
    np.testing.assert_allclose(found, kernel.gradient(A, B, weight), rtol=1e-10)


def test_what_is_left_to_fitted_is_not_learned_yet():
    kernel = 2.0 * (RBF() + RBF(ard=True) * Linear())
    np.testing.assert_allclose(kernel.log_params, [np.log(2.0)])
    assert kernel.with_log_params(np.zeros(1)) == 1.0 * (RBF() + RBF(ard=True) * Linear())
    rows = np.random.default_rng(0).normal(size=(10, 3))
    assert len(kernel.fitted(rows).log_params) == 1 + 1 + 3
