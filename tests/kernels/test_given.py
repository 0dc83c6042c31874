"""Kernels that are given: by name, as a function, or as a matrix."""

import numpy as np
import pytest

from modicum.kernels import KERNEL, RBF, FunctionKernel, Kernel, Normalized, Precomputed, WeisfeilerLehman, as_kernel
from modicum.kernels.named import NAMED


def one_pair(a, b):
    return float(np.exp(-np.abs(a - b).sum()))


def all_pairs(A, B):
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2))


@pytest.mark.parametrize("name", NAMED)
def test_every_name_makes_a_kernel(name):
    kernel = as_kernel(name)
    assert isinstance(kernel, Kernel)
    assert KERNEL.accepts(name)
    if not kernel.takes_objects:
        X = np.random.default_rng(0).integers(0, 5, (12, 3)).astype(float)
        assert kernel.fitted(X)(X, X).shape == (12, 12)


def test_names_mean_what_they_say():
    X = np.random.default_rng(0).normal(size=(12, 3))
    assert as_kernel("rbf") == RBF()
    assert np.ndim(as_kernel("rbf-ard").fitted(X).width) == 1
    assert as_kernel("wl") == Normalized(WeisfeilerLehman())
    kernel = 2.0 * RBF(0.5)
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize("spec", ["rbff", 3, None])
def test_invalid_kernels_are_refused(spec):
    assert not KERNEL.accepts(spec)
    with pytest.raises(ValueError, match=r"kernel must be a kernel such as RBF\(0.5\), .*rbf-ard.*; got"):
        as_kernel(spec)


@pytest.mark.parametrize("shape", [(5, 4), (1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_functions_on_chunks_or_on_rows(shape, columns):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(shape[0], columns)), rng.normal(size=(shape[1], columns))
    expected = all_pairs(A, B)
    np.testing.assert_allclose(as_kernel(all_pairs)(A, B), expected)
    np.testing.assert_allclose(as_kernel(one_pair)(A, B), expected)


def test_functions_on_objects():
    kernel = as_kernel(lambda a, b: float(len(set(a) & set(b))), objects=True)
    assert kernel.takes_objects
    assert kernel(["tea", "oat"], ["eat"]).tolist() == [[3.0], [2.0]]
    assert kernel.diagonal(["tea", "coffee"]).tolist() == [3.0, 4.0]


def test_functions_combine():
    X = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose((2.0 * as_kernel(one_pair) + RBF(1.0))(X, X), 2 * all_pairs(X, X) + RBF(1.0)(X, X))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_functions_must_give_numbers(value):
    with pytest.raises(ValueError, match=f"the kernel gave {value} for a pair of rows"):
        FunctionKernel(lambda a, b: value)(np.ones((2, 2)), np.ones((2, 2)))


def test_precomputed_rows_are_numbers_of_rows():
    X = np.random.default_rng(0).normal(size=(8, 2))
    K = RBF(1.0)(X, X)
    kernel = Precomputed(K)
    A, B = np.array([[3], [0], [7]]), np.array([[1.0], [3.0]], np.float32)
    np.testing.assert_allclose(kernel(A, B), RBF(1.0)(X[[3, 0, 7]], X[[1, 3]]))
    np.testing.assert_allclose(kernel.diagonal(A), 1.0)
    np.testing.assert_array_equal(kernel([3, 0, 7], B), kernel(A, B))


@pytest.mark.parametrize(
    ("rows", "message"),
    [([[8]], "from 0 to 7; got 8"), ([[-1]], "got -1"), ([[0.5]], "got 0.5"), ([[0, 1]], "in one column; got 2")],
)
def test_precomputed_refuses_other_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(np.eye(8))(np.array(rows), np.array(rows))


def test_precomputed_keeps_its_own_matrix():
    K = np.eye(2)
    kernel = Precomputed(K)
    K[:] = 0
    assert kernel([0], [0]) == 1
