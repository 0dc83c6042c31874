"""Fixtures of rows and items, and soft assignments to components."""

import numpy as np
import pytest

from items import make_items, name, rows  # noqa: F401
from modicum.mixture.components import Components


def _components(items, count, seed=0, concentration=1.0):
    """Components that items are assigned to at random."""
    shares = np.random.default_rng(seed).dirichlet(np.full(count, 0.5), size=len(items))
    weights = items.counts[:, None] * shares
    averages = items.averages(slice(0, len(items)))
    return Components.new(items.family, concentration, weights.sum(axis=0), weights.T @ averages)


@pytest.fixture
def make_components():
    return _components
