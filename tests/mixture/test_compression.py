"""Compression: what is kept together, and what that may cost."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from modicum.clumps.allocation import Cost
from modicum.clumps.items import Items
from modicum.families import FullGaussian, as_family
from modicum.mixture import compression as module
from modicum.mixture.components import Components
from modicum.mixture.compression import MixtureCompression
from modicum.mixture.search import Search


def cost_of(items):
    """As the thesis counts."""
    return Cost(items.rows.shape[1], items.family.n_statistics + 1)


def components_of(items, labels):
    counts, sums = items.totals([np.flatnonzero(labels == k) for k in range(labels.max() + 1)])
    return Components.new(items.family, 1.0, counts, sums)


def compress(items, labels, limit, growth=2.0):
    compression = MixtureCompression(items, growth, cost_of(items), components_of(items, labels), 1e-3)
    groups = compression.run(limit)
    spent = sum(
        len(group) * cost_of(items).row if compression.is_loose(group) else cost_of(items).clump for group in groups
    )
    return groups, spent, compression


@pytest.mark.parametrize("room", [1, 3, 10, 40])
@pytest.mark.parametrize("seed", range(3))
def test_every_item_is_kept_once_within_the_limit(name, room, seed, make_items):
    items = make_items(name, seed=seed, count=60)
    limit = room * cost_of(items).clump
    groups, spent, _ = compress(items, np.zeros(len(items), int), limit)
    assert spent <= limit
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(items)))
    assert all((np.diff(group) > 0).all() for group in groups)


def test_nothing_is_compressed_that_fits(name, make_items):
    items = make_items(name, count=20)
    needed = items.n_clumps * cost_of(items).clump + 20 * cost_of(items).row
    groups, spent, compression = compress(items, np.zeros(len(items), int), needed)
    single = [group for group in groups if len(group) == 1 or compression.is_loose(group)]
    assert spent <= needed
    assert sum(map(len, single)) == len(items)


def test_more_memory_is_used(name, make_items):
    items = make_items(name, count=200, n_clumps=0)
    found = [len(compress(items, np.zeros(200, int), room * cost_of(items).clump)[0]) for room in (1, 4, 12)]
    assert found == sorted(found)
    assert 1 == found[0] < found[-1]


def test_separated_clusters_are_not_joined(name, rows):
    """Even if they are of one component so far."""
    X = rows(name, 150)
    items = Items.of_rows(as_family(name).bind(X, np.ones(150)), X, np.ones(150))
    kinds = np.random.default_rng(0).integers(0, 3, 150)  # as the rows were drawn
    groups, _, _ = compress(items, np.zeros(150, int), 6 * cost_of(items).clump)
    assert len(groups) >= 3
    assert all(len(set(kinds[group])) == 1 for group in groups)


def test_components_are_the_first_groups(name, rows):
    """Without room for more, groups are the components."""
    X = rows(name, 90)
    kinds = np.random.default_rng(0).integers(0, 3, 90)
    items = Items.of_rows(as_family(name).bind(X, np.ones(90)), X, np.ones(90))
    groups, _, _ = compress(items, kinds, 3 * cost_of(items).clump)
    assert sorted(map(tuple, groups)) == sorted(tuple(np.flatnonzero(kinds == k)) for k in range(3))


def test_few_rows_are_loose(make_items):
    """A clump of full Gaussians in 3 columns takes 10 numbers, as much as 3 rows."""
    items = make_items("gaussian", count=20, n_clumps=2)
    _, _, compression = compress(items, np.zeros(22, int), 1e9)
    assert compression.is_loose(np.array([5, 9, 12]))
    assert not compression.is_loose(np.array([5, 9, 12, 13]))
    assert not compression.is_loose(np.array([0, 9]))  # one is a clump


def test_equal_items(name, rows):
    X = np.repeat(rows(name, 1), 30, axis=0)
    items = Items.of_rows(as_family(name).bind(X, np.ones(30)), X, np.ones(30))
    groups, spent, _ = compress(items, np.zeros(30, int), 4 * cost_of(items).clump)
    assert spent <= 4 * cost_of(items).clump
    assert sum(map(len, groups)) == 30


def test_the_group_that_gains_most_is_split_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[200:300, 0] += 50
    X[300:, 0] += 60
    items = Items.of_rows(FullGaussian(covariance=1.0).bind(X, np.ones(400)), X, np.ones(400))
    known = components_of(items, np.repeat([0, 1], 200))
    compression = MixtureCompression(items, 1.0, Cost(row=2, clump=6), known, 1e-3)
    groups = compression._split_up([np.arange(200), np.arange(200, 400)], limit=18)  # two clumps, and room for a third
    assert sorted(map(tuple, groups)) == [tuple(range(200)), tuple(range(200, 300)), tuple(range(300, 400))]


def test_the_search_for_components_is_bounded(monkeypatch):
    """With a weak prior it would go on to components of a few rows; splits of groups fill the room in less time."""
    X = np.random.default_rng(0).normal(size=(400, 8))
    items = Items.of_rows(FullGaussian().bind(X, np.ones(400)), X, np.ones(400))
    compression = MixtureCompression(items, 2.0, cost_of(items), components_of(items, np.arange(400) % 2), 1e-3)
    bounds = []
    monkeypatch.setattr(module, "Search", lambda *given: bounds.append(given[-1]) or Search(*given))
    assert len(compression.run(30 * cost_of(items).clump)) > 8
    compression.run(5 * cost_of(items).clump)
    assert bounds == [8, 5]
