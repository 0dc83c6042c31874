"""Kernel features: their inner products are the kernel's, and the penalty is the norm of section 5.5 of the thesis."""

import numpy as np
import pytest

from modicum import state
from modicum.cluster.information.kernel_features import KernelFeatures, independent
from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.objective import Objective
from modicum.kernels import RBF, FunctionKernel, Linear, Normalized, Precomputed, WeisfeilerLehman, as_kernel

N = 50


def rows(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, 3))


def even(n=N):
    return np.full(n, 1 / n)


def random_graph(rng):
    n = int(rng.integers(3, 8))
    return [(i, i + 1) for i in range(n - 1)], [str(name) for name in rng.choice(["C", "N", "O"], n)]


def common_length(a, b):
    return float(min(len(a), len(b)))


def centered(K):
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return K / (np.trace(K) / len(K))  # total variance 1


GRAPHS = [random_graph(np.random.default_rng(seed)) for seed in range(N)]
SETTINGS = {
    "rbf": (RBF(1.0), rows()),
    "linear": (Linear(), rows()),
    "callable": (as_kernel(lambda a, b: float(a @ b) ** 2), rows()),
    "precomputed": (Precomputed(RBF(0.8)(rows(), rows())), np.arange(N)[:, None]),
    "graphs": (WeisfeilerLehman(1), GRAPHS),
    "normalized-graphs": (Normalized(WeisfeilerLehman(2)), GRAPHS),
    "objects": (
        FunctionKernel(lambda a, b: float(min(len(a), len(b))), takes_objects=True),
        ["x" * i for i in range(N)],
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_inner_products_are_the_kernels(name):
    kernel, X = SETTINGS[name]
    features, phi = KernelFeatures.with_features(kernel, X, X, even())
    np.testing.assert_allclose(phi @ phi.T, centered(kernel(X, X)), atol=1e-8)
    np.testing.assert_allclose(features(X), phi, atol=1e-8)
    assert (phi**2).sum() / N == pytest.approx(1.0)


def test_low_rank_keeps_few_rows():
    features = KernelFeatures.of(Linear(), rows(), rows(), even())
    assert len(features.basis) == 3 == features(rows()).shape[1]
    twice = np.concatenate([rows(), rows()])
    assert len(KernelFeatures.of(RBF(1.0), twice, twice, even(2 * N)).basis) <= N


def test_shares_count_as_copies():
    X, weight = rows(), np.arange(1, N + 1)
    copies = np.repeat(X, weight, axis=0)
    weighted = KernelFeatures.of(RBF(1.0), X[:10], X, weight / weight.sum())
    copied = KernelFeatures.of(RBF(1.0), X[:10], copies, even(len(copies)))
    np.testing.assert_allclose(weighted(X), copied(X), atol=1e-10)


def test_a_model_has_the_same_logits_and_penalty_by_its_coefficients():
    X, kernel = rows(), RBF(1.0)
    features, phi = KernelFeatures.with_features(kernel, X[:20], X, even())
    rng = np.random.default_rng(1)
    model = Multilogit(rng.normal(size=(phi.shape[1], 4)), rng.normal(size=4))
    alpha, biases = features.dual(model)
    B = features.basis.values
    np.testing.assert_allclose(kernel(X, B) @ alpha + biases, phi @ model.weights + model.biases, atol=1e-10)
    scaled = np.trace(alpha.T @ kernel(B, B) @ alpha) * scale_of(kernel, B, X)
    assert scaled == pytest.approx(np.vdot(model.weights, model.weights))


def scale_of(kernel, B, X):
    """The total variance of X in the span of B: the kernel is divided by it."""
    K = kernel(X, B) @ np.linalg.solve(kernel(B, B), kernel(B, X))
    return np.trace(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()) / len(K)


def test_objective_is_that_of_the_coefficients():
    """Eq. 5.5.1 and the conditional model above it, with all rows as basis, for the kernel of total variance 1."""
    X, lam = rows(), 0.01
    features, phi = KernelFeatures.with_features(RBF(1.0), X, X, even())
    rng = np.random.default_rng(2)
    model = Multilogit(rng.normal(size=(phi.shape[1], 3)), rng.normal(size=3))
    alpha, biases = features.dual(model)
    B = features.basis.values
    p = np.exp(RBF(1.0)(X, B) @ alpha + biases)
    p /= p.sum(axis=1, keepdims=True)
    q = p.mean(axis=0)
    information = (p * np.log(p)).sum() / N - q @ np.log(q)
    norm = np.trace(alpha.T @ RBF(1.0)(B, B) @ alpha) * scale_of(RBF(1.0), B, X)
    objective = Objective(phi, even(), 3, lam)
    value = -objective(objective.pack(model.weights, model.biases))[0]
    assert value == pytest.approx(information - lam * norm, abs=1e-8)


def test_lambda_means_the_same_for_a_scaled_kernel():
    X = rows()
    one, other = (KernelFeatures.of(kernel, X, X, even())(X) for kernel in (RBF(1.0), 7.0 * RBF(1.0)))
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_factor_of_the_rows_that_are_kept():
    K = RBF(1.0)(rows(), rows())
    K[:, 7], K[7] = K[:, 3], K[3]
    K[7, 7] = K[3, 3]
    pivots, coefficients = independent(K)
    inverse = coefficients.T @ K[np.ix_(pivots, pivots)] @ coefficients
    np.testing.assert_allclose(inverse, np.eye(len(pivots)), atol=1e-6)
    assert not {3, 7} <= set(pivots.tolist())


def test_a_kernel_of_zeros_gives_zeros():
    kernel = Precomputed(np.zeros((4, 4)))
    numbers = np.arange(4)[:, None]
    assert not KernelFeatures.of(kernel, numbers, numbers, even(4))(numbers).any()


def test_the_order_of_tiles_does_not_matter():
    X = rows(n=2500)
    features = KernelFeatures.of(RBF(1.0), X[:30], X, even(2500))
    np.testing.assert_allclose(features(X)[1500:1510], features(X[1500:1510]), atol=1e-12)


def test_saved_and_loaded():
    features = KernelFeatures.of(RBF(1.0), rows()[:20], rows(), even())
    again = state.from_bytes(state.to_bytes({"features": features}))["features"]
    np.testing.assert_array_equal(again(rows()), features(rows()))
