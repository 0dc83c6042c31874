"""Sums, products, scales and normalization do what they say, entry by entry."""

import numpy as np
import pytest

from modicum.kernels import RBF, Kernel, Laplacian, Linear, Normalized, Polynomial, WeisfeilerLehman


@pytest.fixture
def chunks():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 3)), rng.normal(size=(7, 3))


def test_identities(chunks):
    A, B = chunks
    k, other = RBF(1.0), Laplacian(2.0)
    np.testing.assert_allclose((k + other)(A, B), k(A, B) + other(A, B))
    np.testing.assert_allclose((k * other)(A, B), k(A, B) * other(A, B))
    np.testing.assert_allclose((3.0 * k)(A, B), 3 * k(A, B))
    np.testing.assert_allclose((k * 3)(A, B), 3 * k(A, B))
    np.testing.assert_allclose((k * (other + 2.0 * k))(A, B), k(A, B) * (other(A, B) + 2 * k(A, B)))


def test_a_product_of_rbf_kernels_is_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    np.testing.assert_allclose((RBF(3.0) * RBF(4.0))(X, X), RBF(2.4)(X, X), rtol=1e-12)  # 1/9 + 1/16 = 1/2.4^2


def test_numbers_of_numpy_scale_too():
    assert np.float64(2.0) * RBF(1.0) == 2.0 * RBF(1.0)
    assert RBF(1.0) * np.float32(2.0) == 2.0 * RBF(1.0)
    assert isinstance(np.int64(2) * RBF(1.0), Kernel)


def test_nonsense_is_refused():
    for nonsense in (lambda: RBF(1.0) + 1.0, lambda: RBF(1.0) * "a", lambda: np.ones(2) * RBF(1.0)):
        with pytest.raises(TypeError):
            nonsense()


def test_fitted_reaches_every_part(chunks):
    A, _ = chunks
    rbf, laplacian = RBF().fitted(A), Laplacian().fitted(A)
    assert (2.0 * (RBF() + Laplacian()) * Linear()).fitted(A) == 2.0 * (rbf + laplacian) * Linear()
    assert Normalized(RBF() + Linear()).fitted(A) == Normalized(rbf + Linear())


def test_traits_of_parts():
    assert (RBF(1.0) + Linear()).takes_sparse
    assert (2.0 * WeisfeilerLehman()).takes_objects
    assert Normalized(WeisfeilerLehman()).takes_objects


def test_normalized_is_the_cosine(chunks):
    A, B = chunks
    found = Normalized(Linear())(A, B)
    lengths = np.linalg.norm(A, axis=1)[:, None] * np.linalg.norm(B, axis=1)
    np.testing.assert_allclose(found, A @ B.T / lengths)
    np.testing.assert_allclose(Normalized(RBF(1.0))(A, B), RBF(1.0)(A, B))
    scaled, plain = Normalized(5.0 * Polynomial(2, scale=1.0)), Normalized(Polynomial(2, scale=1.0))
    np.testing.assert_allclose(scaled(A, B), plain(A, B))


def test_a_row_without_length_is_similar_to_none():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_allclose(Normalized(Linear())(X, X), [[0, 0], [0, 1]], atol=1e-15)
    assert Normalized(Linear()).diagonal(X).tolist() == [0.0, 1.0]
