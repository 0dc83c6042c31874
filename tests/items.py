"""Rows and items of every family, for tests of clumps and of what is made of them."""

import numpy as np
import pytest

from modicum.clumps.items import Items
from modicum.families import as_family


def _rows(name, count, width=3, seed=0):
    """Rows of three kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, count)
    if name == "multinomial":
        frequencies = 0.1 + 0.7 * np.eye(3)[:, :width]
        return rng.multinomial(40, frequencies[kinds] / frequencies[kinds].sum(axis=1, keepdims=True)).astype(float)
    return rng.normal(size=(count, width)) * [0.5, 1.0, 2.0][:width] + 6.0 * (kinds[:, None] - 1)


def _items(name, seed=0, count=30, n_clumps=3):
    """Weighted rows and clumps of eight rows each; weights of every third seed are wild."""
    rng = np.random.default_rng(seed)
    X = _rows(name, count, seed=seed)
    weights = [np.ones(count), rng.uniform(0.1, 3.0, count), 10 ** rng.uniform(-3, 3, count)][seed % 3]
    family = as_family(name).bind(X, weights)
    clumps = [family.statistics(_rows(name, 8, seed=100 + i)).sum(axis=0) for i in range(n_clumps)]
    sums = np.reshape(clumps, (n_clumps, family.n_statistics))
    return Items(family, X, weights, np.full(n_clumps, 8.0), sums)


@pytest.fixture
def rows():
    return _rows


@pytest.fixture
def make_items():
    return _items


@pytest.fixture(params=["gaussian", "diagonal", "multinomial"])
def name(request):
    """Of a family."""
    return request.param
