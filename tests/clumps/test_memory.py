"""What is kept of a stream: nothing is lost of counts and sums."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from modicum.clumps.memory import Memory
from modicum.families import as_family


def filled(family, X, seed=0):
    """A memory of these rows, some of which are clumps already, and their weights."""
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
    memory = Memory(X, family.n_statistics, 100)
    memory.add(X[:20], weight[:20])
    items = memory.items(family)
    groups = [np.arange(0, 8), np.arange(8, 15), np.array([15, 17, 18]), np.array([16]), np.array([19])]
    memory.keep(items, groups, lambda group: len(group) <= 3)
    memory.add(X[20:], weight[20:])
    return memory, weight


def test_groups_become_clumps_and_single_rows(name, rows):
    X = rows(name, 26)
    family = as_family(name).bind(X, np.ones(26))
    memory, weight = filled(family, X)
    assert_allclose(memory.clump_counts, [weight[:8].sum(), weight[8:15].sum()])
    assert_allclose(memory.clump_sums[0], weight[:8] @ family.statistics(X[:8]))
    assert_array_equal(memory.rows.values, X[15:])
    assert_array_equal(memory.weights, weight[15:])
    assert (len(memory), memory.n_singlets, memory.n_buffered, memory.n_seen) == (13, 5, 6, 26)


def test_items_are_everything_in_memory(name, rows):
    X = rows(name, 26)
    family = as_family(name).bind(X, np.ones(26))
    memory, weight = filled(family, X)
    items = memory.items(family)
    assert (len(items), items.n_clumps) == (13, 2)
    counts, sums = items.totals([np.arange(13)])
    assert_allclose(counts[0], weight.sum())
    assert_allclose(sums[0], weight @ family.statistics(X))


def test_clumps_of_clumps(name, rows):
    X = rows(name, 26)
    family = as_family(name).bind(X, np.ones(26))
    memory, weight = filled(family, X)
    memory.keep(memory.items(family), [np.array([0, 1, 4]), np.array([2, 3, *range(5, 13)])], lambda group: False)
    assert (len(memory), memory.n_singlets, memory.n_buffered, memory.n_seen) == (2, 0, 0, 26)
    assert_allclose(memory.clump_counts.sum(), weight.sum())
    assert_allclose(memory.clump_sums.sum(axis=0), weight @ family.statistics(X))


def test_merging_another_memory(name, rows):
    """Its statistics were taken about another mean."""
    X, Y = rows(name, 26), rows(name, 26, seed=1) + 2
    here, there = (as_family(name).bind(Z, np.ones(26)) for Z in (X, Y))
    (memory, weight), (other, others) = filled(here, X), filled(there, Y, seed=1)
    memory.merge(other, here, there)
    counts, sums = memory.items(here).totals([np.arange(len(memory))])
    assert_allclose(counts[0], weight.sum() + others.sum())
    assert_allclose(sums[0], weight @ here.statistics(X) + others @ here.statistics(Y))
    assert memory.n_seen == 52
    assert other.n_seen == 26
