"""Every formula against a double loop over pairs of rows."""

import numpy as np
import pytest
from scipy import sparse

from modicum._jit.kernels import LOWEST, decay
from modicum.kernels import RBF, Hamming, Laplacian, Linear, Matern32, Matern52, Polynomial, rbf
from modicum.numeric import distances

pytestmark = pytest.mark.nojit

WIDTHS = np.array([0.5, 3.0, 1.0])


def distance(a, b, width):
    return np.sqrt(sum(((a - b) / width) ** 2))


FORMULAS = {
    "rbf": (RBF(0.8), lambda a, b: np.exp(-sum((a - b) ** 2) / (2 * 0.8**2))),
    "rbf-ard": (RBF(WIDTHS), lambda a, b: np.exp(-sum(((a - b) / WIDTHS) ** 2) / 2)),
    "matern32": (Matern32(0.8), lambda a, b: (1 + 3**0.5 * (s := distance(a, b, 0.8))) * np.exp(-(3**0.5) * s)),
    "matern32-ard": (
        Matern32(WIDTHS),
        lambda a, b: (1 + 3**0.5 * (s := distance(a, b, WIDTHS))) * np.exp(-(3**0.5) * s),
    ),
    "matern52": (
        Matern52(0.8),
        lambda a, b: (1 + 5**0.5 * (s := distance(a, b, 0.8)) + 5 * s * s / 3) * np.exp(-(5**0.5) * s),
    ),
    "laplacian": (Laplacian(0.8), lambda a, b: np.exp(-sum(abs(a - b)) / 0.8)),
    "linear": (Linear(), lambda a, b: sum(a * b)),
    "polynomial": (Polynomial(3, offset=0.5, scale=2.0), lambda a, b: (2 * sum(a * b) + 0.5) ** 3),
    "hamming": (Hamming(0.8), lambda a, b: np.exp(-sum(a != b) / (2 * 0.8**2))),
}


def by_pairs(formula, A, B):
    return np.array([[formula(a, b) for b in B] for a in A])


@pytest.fixture
def chunks():
    """Small whole numbers, so that Hamming distances are of all sizes."""
    rng = np.random.default_rng(0)
    return rng.integers(-2, 3, (17, 3)).astype(float), rng.integers(-2, 3, (11, 3)).astype(float)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS.values(), ids=FORMULAS.keys())
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_formulas(kernel, formula, dtype, chunks):
    A, B = (X.astype(dtype) for X in chunks)
    found = kernel(A, B)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, by_pairs(formula, *chunks), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [name for name, (kernel, _) in FORMULAS.items() if kernel.takes_sparse])
def test_sparse_rows_stay_sparse(name, chunks):
    kernel, formula = FORMULAS[name]
    A, B = (sparse.csr_matrix(X.astype(np.float32)) for X in chunks)
    expected = by_pairs(formula, *chunks)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(A, chunks[1]), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(by_pairs(formula, chunks[0], chunks[0])), rtol=1e-12)


@pytest.mark.parametrize("entries", [1, 3 * 11, 8 * 11])
@pytest.mark.parametrize(("kernel", "formula"), FORMULAS.values(), ids=FORMULAS.keys())
def test_many_tiles_are_one_matrix(kernel, formula, entries, chunks, monkeypatch):
    monkeypatch.setattr(distances, "TILE_ENTRIES", entries)
    np.testing.assert_allclose(kernel(*chunks), by_pairs(formula, *chunks), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", [*(kernel for kernel, _ in FORMULAS.values()), 2.5 * RBF(WIDTHS)], ids=str)
@pytest.mark.parametrize("count", [0, 11, 300])
def test_sums_are_products_with_the_matrix(kernel, count, chunks, monkeypatch):
    monkeypatch.setattr(rbf, "ROWS_PER_BLOCK", 128)  # the last one is not full
    rng, A = np.random.default_rng(0), chunks[0]
    B, weights = rng.integers(-2, 3, (count, 3)).astype(float), rng.normal(size=count)
    for left, right in ((A, B), (sparse.csr_matrix(A), sparse.csr_matrix(B)))[: 1 + kernel.takes_sparse]:
        K = kernel(left, right)
        np.testing.assert_allclose(kernel.sums(left, right, weights), K @ weights, atol=1e-6 * abs(K).sum(initial=1))


def test_sums_of_rows_far_away_have_their_digits_and_are_finite():
    rng = np.random.default_rng(0)
    A, B, weights = rng.normal(size=(20, 3)), rng.normal(size=(30, 3)), rng.normal(size=30)
    np.testing.assert_allclose(RBF(1.0).sums(A + 2.0**20, B + 2.0**20, weights), RBF(1.0)(A, B) @ weights, atol=1e-5)
    with np.errstate(over="raise", invalid="raise"):
        found = RBF(1e-30).sums(A, B, 1e100 * weights)
    assert np.isfinite(found).all()


def test_far_from_the_origin_no_digits_are_lost():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    np.testing.assert_allclose(RBF(1.0)(A + 2.0**20, B + 2.0**20), RBF(1.0)(A, B), rtol=1e-7)


def test_distances_are_never_negative():
    X = np.random.default_rng(0).normal(size=(50, 4))
    assert distances.square_distances(X, X).min() >= 0
    assert RBF(0.1)(X, X).max() <= 1


def test_read_only_rows_are_not_changed():
    X = np.random.default_rng(0).integers(0, 3, (20, 3)).astype(float)
    X.flags.writeable = False
    before = X.copy()
    for kernel, _ in FORMULAS.values():
        kernel(X, X[:5])
    np.testing.assert_array_equal(X, before)


def test_exponential():
    values = np.concatenate([np.linspace(0, 800, 999), np.geomspace(1e-12, 1, 50), [-1e-17, np.inf]])
    found = values.copy()
    decay(found, 0.9)
    exponents = -0.9 * np.maximum(values, 0)
    np.testing.assert_allclose(found, np.where(exponents < LOWEST, 0, np.exp(exponents)), rtol=5e-16)


def test_unknown_categories_are_refused():
    with pytest.raises(ValueError, match="categories must be given as numbers"):
        Hamming(1.0)(np.array([["a"]]), np.array([["b"]]))
