"""What is done first, and what a merge is worth, against the free energy itself."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import entr

from modicum.families import FullGaussian
from modicum.mixture.components import Components
from modicum.mixture.compression import Compression, Cost
from modicum.mixture.items import Items, _shares
from modicum.mixture.search import Search
from modicum.mixture.sticks import Sticks


def items_of(X):
    family = FullGaussian(covariance=1.0).bind(X, np.ones(len(X)))
    return Items.of_rows(family, X, np.ones(len(X)))


def test_the_group_that_gains_most_is_split_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[200:300, 0] += 50
    X[300:, 0] += 60
    compression = Compression(items_of(X), 1.0, 1.0, Cost(row=2, clump=6))
    groups = compression._split_up([np.arange(200), np.arange(200, 400)], limit=18)  # two clumps, and room for a third
    assert sorted(map(tuple, groups)) == [tuple(range(200)), tuple(range(200, 300)), tuple(range(300, 400))]


def test_the_gain_of_a_merge_is_that_of_the_free_energy():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(80, 2)), rng.normal(size=(60, 2)) + np.array([3.0, 0.0])])
    items = items_of(X)
    counts, sums = items.totals([np.arange(80), np.arange(80, 140)])
    search = Search(items, 1e-12, 10)
    components = search.update(Components.new(items.family, 1.0, counts, sums)).components
    _, shares = _shares(items.averages(slice(0, len(X))), components)

    def free_energy(shares):
        counts = shares.sum(axis=0)
        evidence = items.family.log_evidence(counts, shares.T @ items.averages(slice(0, len(X)))).sum()
        return evidence + Sticks(counts, 1.0).log_evidence + entr(shares).sum()

    gain = free_energy(shares.sum(axis=1, keepdims=True)) - free_energy(shares)
    assert entr(shares).sum() > 1  # they do share rows
    assert_allclose(search._gains(components, np.array([[0, 1]]), -np.inf), [gain], atol=1e-3)
