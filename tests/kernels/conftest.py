"""Rows of every kind, and a kernel of every kind on them."""

import numpy as np
import pytest

from modicum.kernels import (
    RBF,
    FunctionKernel,
    Hamming,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Normalized,
    Polynomial,
    Precomputed,
    WeisfeilerLehman,
)

WIDTHS = np.array([0.7, 1.3, 2.0, 0.9])


def overlap(a, b):
    return float(np.minimum(np.abs(a), np.abs(b)).sum())


ON_NUMBERS = {
    "rbf": RBF(1.5),
    "rbf-ard": RBF(WIDTHS),
    "matern32": Matern32(1.5),
    "matern32-ard": Matern32(WIDTHS),
    "matern52": Matern52(1.5),
    "matern52-ard": Matern52(WIDTHS),
    "laplacian": Laplacian(2.5),
    "linear": Linear(),
    "quadratic": Polynomial(2, offset=0.5, scale=0.3),
    "cubic-without-offset": Polynomial(3, offset=0.0, scale=0.2),
    "hamming": Hamming(1.2),
    "sum": RBF(1.5) + 0.5 * Linear(),
    "product": RBF(WIDTHS) * Polynomial(1, offset=2.0, scale=0.5),
    "scaled": 2.5 * Matern52(WIDTHS),
    "nested": 0.5 * (RBF(1.5) + 2.0 * Matern32(1.0)) * Laplacian(3.0),
    "normalized": Normalized(Polynomial(2, offset=0.5, scale=0.3) + RBF(1.5)),
}
ON_ANYTHING = ON_NUMBERS | {
    "function": FunctionKernel(overlap),
    "graphs": WeisfeilerLehman(2),
    "normalized-graphs": Normalized(WeisfeilerLehman(2)),
    "precomputed": Precomputed(np.fromfunction(lambda i, j: np.minimum(i, j) + 1, (40, 40))),
}


def rows_for(kernel, count, seed):
    """Rows that the kernel takes; categories repeat, so that columns agree now and then."""
    rng = np.random.default_rng(seed)
    if isinstance(kernel, Precomputed):
        return rng.integers(0, 40, (count, 1)).astype(float)
    if isinstance(kernel, Hamming):
        return rng.integers(0, 3, (count, 4)).astype(float)
    if kernel.takes_objects:
        return [random_graph(rng) for _ in range(count)]
    return rng.normal(size=(count, 4))


def random_graph(rng):
    size = int(rng.integers(1, 7))
    edges = [(i, j) for i in range(size) for j in range(i) if rng.random() < 0.5]
    return edges, [str(label) for label in rng.choice(["C", "N", "O"], size)]


@pytest.fixture(params=ON_ANYTHING.values(), ids=ON_ANYTHING.keys())
def any_kernel(request):
    return request.param


@pytest.fixture(params=ON_NUMBERS.values(), ids=ON_NUMBERS.keys())
def numeric_kernel(request):
    return request.param


@pytest.fixture
def rows():
    """(kernel, count, seed) to rows."""
    return rows_for
