"""What holds for every kernel."""

import copy

import numpy as np
import pytest

from modicum.kernels import (
    RBF,
    FunctionKernel,
    Hamming,
    Laplacian,
    Linear,
    Matern32,
    Normalized,
    Polynomial,
    Precomputed,
    WeisfeilerLehman,
)
from modicum.state.files import from_bytes, to_bytes


def test_symmetric_and_positive_semidefinite(any_kernel, rows):
    X = rows(any_kernel, 25, 0)
    K = any_kernel(X, X)
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)


def test_diagonal(any_kernel, rows):
    X = rows(any_kernel, 25, 0)
    np.testing.assert_allclose(any_kernel.diagonal(X), np.diag(any_kernel(X, X)), rtol=1e-12, atol=1e-12)


def test_chunks_are_rows_side_by_side(any_kernel, rows):
    A, B = rows(any_kernel, 9, 0), rows(any_kernel, 7, 1)
    found = any_kernel(A, B)
    assert found.shape == (9, 7)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.vstack([any_kernel(A[:4], B), any_kernel(A[4:], B)]), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found, any_kernel(B, A).T, rtol=1e-12, atol=1e-13)


def test_empty_chunks(any_kernel, rows):
    X = rows(any_kernel, 3, 0)
    assert any_kernel(X[:0], X).shape == (0, 3)
    assert any_kernel(X, X[:0]).shape == (3, 0)
    assert any_kernel.diagonal(X[:0]).shape == (0,)


def test_files_hold_kernels(any_kernel, rows):
    loaded = from_bytes(to_bytes({"kernel": any_kernel}))["kernel"]
    assert repr(loaded).split("(")[0] == repr(any_kernel).split("(")[0]
    if isinstance(any_kernel, FunctionKernel):
        with pytest.raises(ValueError, match="the function 'overlap', which a file can't hold"):
            loaded(rows(any_kernel, 2, 0), rows(any_kernel, 2, 0))
        return
    assert loaded == any_kernel
    A, B = rows(any_kernel, 5, 0), rows(any_kernel, 6, 1)
    np.testing.assert_array_equal(loaded(A, B), any_kernel(A, B))


def test_kernels_never_change(any_kernel, rows):
    before = to_bytes({"kernel": any_kernel})
    any_kernel.fitted(rows(any_kernel, 5, 0))
    any_kernel.with_log_params(any_kernel.log_params + 1.0)
    assert to_bytes({"kernel": any_kernel}) == before
    assert copy.deepcopy(any_kernel) is any_kernel


def test_log_params_go_out_and_in(any_kernel):
    moved = any_kernel.with_log_params(any_kernel.log_params + 0.25)
    np.testing.assert_allclose(moved.log_params, any_kernel.log_params + 0.25)
    assert (moved == any_kernel) == (len(any_kernel.log_params) == 0)


def test_equality_is_by_parameters():
    assert RBF(0.5) == RBF(0.5)
    assert RBF(1) == RBF(1.0)
    assert RBF([1.0, 2.0]) == RBF(np.array([1.0, 2.0]))
    assert RBF(0.5) != RBF(0.6)
    assert RBF(0.5) != Matern32(0.5)
    assert RBF(0.5) != RBF()
    assert RBF(0.5) != RBF([0.5, 0.5])
    assert 2 * RBF(0.5) + Linear() == 2.0 * RBF(0.5) + Linear()
    assert 2 * RBF(0.5) + Linear() != 2 * RBF(0.5) + Polynomial()
    assert FunctionKernel(max) != FunctionKernel(min)
    assert len({RBF(0.5), RBF(0.5), RBF(0.6)}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "RBF()",
        "RBF(0.5)",
        "RBF([0.5, 2. ])",
        "RBF(ard=True)",
        "Polynomial(3, offset=0.0)",
        "2.0 * RBF(0.5)",
        "RBF(0.5) + 0.1 * Linear()",
        "2.0 * (RBF(0.5) + Linear()) * Laplacian(1.0)",
        "Normalized(WeisfeilerLehman())",
        "Normalized(WeisfeilerLehman(5))",
        "Hamming(5.0)",
    ],
)
def test_text_makes_the_kernel_again(text):
    names = (RBF, Hamming, Laplacian, Linear, Normalized, Polynomial, WeisfeilerLehman)
    kernel = eval(text, {cls.__name__: cls for cls in names})
    assert repr(kernel) == text


def test_text_of_what_is_long():
    assert repr(Precomputed(np.eye(3))) == "Precomputed(<3 x 3 values>)"
    assert "..." in repr(RBF(np.ones(5000)))
    assert repr(FunctionKernel(max)) == "FunctionKernel(max)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(-1), "RBF: width must be a number above 0, or one such per column, or None; got -1"),
        (lambda: RBF([1.0, 0.0]), "RBF: width must be"),
        (lambda: RBF("wide"), "RBF: width must be"),
        (lambda: RBF(0.5, ard=True), "RBF: ard=True leaves the widths to `fitted`"),
        (lambda: Laplacian([1.0, 2.0]), "Laplacian: width must be a number above 0, or None"),
        (lambda: Hamming(0), "Hamming: width must be a number above 0, or None; got 0"),
        (lambda: Polynomial(0), "Polynomial: degree must be a positive int; got 0"),
        (lambda: Polynomial(2, offset=-1), "Polynomial: offset must be a number from 0; got -1"),
        (lambda: Polynomial(2, scale=0), "Polynomial: scale must be a number above 0, or None; got 0"),
        (lambda: 0 * RBF(1.0), "Scaled: scale must be a number above 0; got 0"),
        (lambda: WeisfeilerLehman(-1), "WeisfeilerLehman: iterations must be a non-negative int; got -1"),
        (lambda: Precomputed(np.ones((2, 3))), r"Precomputed: matrix must be square; got one of shape \(2, 3\)"),
        (lambda: Precomputed([[1, 2], [0, 1]]), "must be symmetric; got 2.0 in row 0, column 1 and 0.0 across"),
        (lambda: RBF() + WeisfeilerLehman(), "are not kernels on the same kind of rows"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), Hamming(), Polynomial(), RBF() + Linear()])
def test_unfitted_kernels_say_so(kernel):
    with pytest.raises(ValueError, match=r"yet: call fitted\(rows\) first"):
        kernel(np.ones((2, 3)), np.ones((2, 3)))


def test_widths_are_one_per_column():
    with pytest.raises(ValueError, match="it has 2 widths, one per column, but the rows have 3 columns"):
        RBF([1.0, 2.0])(np.ones((2, 3)), np.ones((2, 3)))
