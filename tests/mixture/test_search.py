"""The search: the free energy rises at every update, and stays below the log-evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import entr, gammaln, logsumexp

from modicum.clumps.items import Items
from modicum.families import FullGaussian, as_family
from modicum.mixture import search
from modicum.mixture.components import Components
from modicum.mixture.search import Fit, Search, first_components
from modicum.mixture.sticks import Sticks


def all_averages(items):
    return items.averages(slice(0, len(items)))


def shares_of(items, components):
    slopes, offsets = components.scores
    scores = all_averages(items) @ slopes.T + offsets
    return np.exp(scores - logsumexp(scores, axis=1, keepdims=True))


def collapsed(items, shares, family, concentration):
    """The free energy of assignments, with all else at its best."""
    counts, sums = items.counts @ shares, (items.counts[:, None] * shares).T @ all_averages(items)
    evidence = family.log_evidence(counts, sums).sum() + Sticks(counts, concentration).log_evidence
    return evidence + items.counts @ entr(shares).sum(axis=1)


def partitions(count):
    """All partitions of 0 .. count - 1 into groups."""
    if count == 0:
        yield []
        return
    for smaller in partitions(count - 1):
        for at in range(len(smaller)):
            yield [*smaller[:at], [*smaller[at], count - 1], *smaller[at + 1 :]]
        yield [*smaller, [count - 1]]


def log_evidence(family, X, concentration):
    """Of all rows, by enumeration: the Chinese restaurant process."""
    statistics, logs = family.statistics(X), []
    for partition in partitions(len(X)):
        counts = np.array([len(group) for group in partition], float)
        sums = np.array([statistics[group].sum(axis=0) for group in partition])
        prior = len(counts) * np.log(concentration) + gammaln(counts).sum()
        logs.append(prior + family.log_evidence(counts, sums).sum())
    return logsumexp(logs) + gammaln(concentration) - gammaln(concentration + len(X))


@pytest.mark.parametrize("seed", range(9))
def test_free_energy_rises_at_every_update(name, seed, make_items, make_components):
    items = make_items(name, seed=seed, n_clumps=seed % 4)
    known = make_components(items, 1 + seed % 6, seed)
    last = -np.inf
    for _ in range(40):
        fit = Fit(known, items.expect(known.scores))
        now = fit.free_energy
        assert now >= last - 1e-8 * abs(now)
        known = known.updated(fit.expectation.counts, fit.expectation.sums)
        half = collapsed(items, shares_of(items, fit.components), known.family, 1.0)
        assert half >= now - 1e-8 * abs(now)  # components have moved, assignments not yet
        last = half


@pytest.mark.parametrize("seed", range(3))
def test_a_fixed_point_has_the_collapsed_free_energy(name, seed, make_items, make_components):
    items = make_items(name, seed=seed, count=15)
    known = make_components(items, 3, seed)
    for _ in range(3000):
        found = items.expect(known.scores)
        last, known = known, known.updated(found.counts, found.sums)
        if np.abs(known.counts - last.counts).max() < 1e-13 * known.counts.max():
            break
    fit = Fit(known, items.expect(known.scores))
    expected = collapsed(items, shares_of(items, known), known.family, 1.0)
    assert_allclose(fit.free_energy, expected, rtol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 4, 6])
@pytest.mark.parametrize("concentration", [0.3, 3.0])
def test_free_energy_is_below_the_log_evidence(name, count, concentration, rows):
    X = rows(name, count, width=2)
    family = as_family(name).bind(X, np.ones(count))
    items = Items.of_rows(family, X, np.ones(count))
    fit = Search(items, 1e-9, count).from_scratch(concentration)
    assert fit.free_energy <= log_evidence(fit.components.family, X, concentration) + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_search_never_lowers_the_free_energy(name, seed, make_items, make_components):
    items = make_items(name, seed=seed)
    start = make_components(items, 4, seed)
    searcher = Search(items, 1e-6, len(items))
    updated = searcher.update(start).free_energy
    assert updated >= Fit(start, items.expect(start.scores)).free_energy - 1e-9 * abs(updated)
    one = searcher.update(make_components(items, 1))
    assert searcher.run(one.components).free_energy >= one.free_energy - 1e-6 * items.counts.sum()


def test_separated_clusters_are_found(name, rows):
    X = rows(name, 150)
    items = Items.of_rows(as_family(name).bind(X, np.ones(150)), X, np.ones(150))
    fit = Search(items, 1e-3, 20).from_scratch(1.0)
    kinds = np.random.default_rng(0).integers(0, 3, 150)  # as the rows were drawn
    assert len({*zip(fit.expectation.labels, kinds, strict=True)}) == len(fit.components) == 3


def test_a_split_may_be_computed_from_a_sample(name, rows, monkeypatch):
    X = rows(name, 150)
    items = Items.of_rows(as_family(name).bind(X, np.ones(150)), X, np.ones(150))
    monkeypatch.setattr(search, "MAX_ITEMS", 40)
    fit = Search(items, 1e-3, 20).from_scratch(1.0)
    assert len(fit.components) == 3
    assert_allclose(fit.components.counts.sum(), 150)


@pytest.mark.parametrize(("width", "seed"), [(5, 2), (20, 2)])
def test_three_collinear_clusters_are_separated(width, seed):
    """The first cut goes through the middle one, and two parts lose where three gain."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(-1, 2, 200)
    X = rng.normal(size=(200, width)) + 8 * kinds[:, None]
    items = Items.of_rows(FullGaussian().bind(X, np.ones(200)), X, np.ones(200))
    fit = Search(items, 1e-3, 50).from_scratch(1.0)
    assert len({*zip(fit.expectation.labels, kinds, strict=True)}) == len(fit.components) == 3


@pytest.mark.parametrize("width", [1, 3])
def test_one_cluster_is_not_split(width):
    rng = np.random.default_rng(0)
    for name in ("gaussian", "diagonal"):
        X = rng.normal(size=(200, width))
        items = Items.of_rows(as_family(name).bind(X, np.ones(200)), X, np.ones(200))
        assert len(Search(items, 1e-3, 20).from_scratch(1.0).components) == 1


@pytest.mark.parametrize("most", [1, 2, 4])
def test_no_more_components_than_allowed(name, most, make_items, make_components):
    items = make_items(name)
    for start in (make_components(items, 1), make_components(items, 7)):
        fit = Search(items, 1e-3, most).run(start)
        assert len(fit.components) <= most
        assert_allclose(fit.components.counts.sum(), items.counts.sum())


def test_empty_components_are_removed(name, make_items, make_components):
    """Two that are the same: one takes all the rows of both."""
    items = make_items(name, n_clumps=0)
    known = make_components(items, 1)
    fit = Search(items, 1e-6, 10).run(known.joined(known))
    assert (fit.components.counts > 1e-3).all()
    assert len(fit.components.names) == len(set(fit.components.names)) == len(fit.components)


def test_the_best_initialization_is_used(name, make_items):
    items = make_items(name)
    first = Search(items, 1e-3, 20).from_scratch(1.0).free_energy
    for count in (1, 4):
        start = first_components(items, 1.0, count)
        assert first >= Fit(start, items.expect(start.scores)).free_energy


def test_names_stay_with_the_rows(rows):
    X = rows("gaussian", 60)
    items = Items.of_rows(as_family("gaussian").bind(X, np.ones(60)), X, np.ones(60))
    known = Search(items, 1e-3, 10).from_scratch(1.0).components
    assert len(known) == 3
    named = known._with(names=["low", "middle", "high"])
    order = np.argsort(known.sums[:, 0] / known.counts)
    again = Search(items, 1e-3, 10).run(named._with(names=[named.names[i] for i in np.argsort(order)])).components
    means = again.sums[:, 0] / again.counts
    assert [again.names[k] for k in np.argsort(means)] == ["low", "middle", "high"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_initial_groups(name, count, make_items):
    items = make_items(name)
    start = first_components(items, 1.0, count)
    assert len(start) == count
    assert_allclose(start.counts.sum(), items.counts.sum())
    assert_allclose(start.sums.sum(axis=0), items.totals([np.arange(len(items))])[1][0], rtol=1e-6, atol=1e-6)


def test_equal_rows_are_one_initial_group(name, rows):
    X = np.repeat(rows(name, 1), 6, axis=0)
    items = Items.of_rows(as_family(name).bind(X, np.ones(6)), X, np.ones(6))
    fit = Search(items, 1e-3, 6).from_scratch(1.0)
    assert np.isfinite(fit.free_energy)
    assert_allclose(fit.components.counts.sum(), 6)


def test_the_gain_of_a_merge_is_that_of_the_free_energy():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(80, 2)), rng.normal(size=(60, 2)) + np.array([3.0, 0.0])])
    family = FullGaussian(covariance=1.0).bind(X, np.ones(140))
    items = Items.of_rows(family, X, np.ones(140))
    first = Components.new(family, 1.0, *items.totals([np.arange(80), np.arange(80, 140)]))
    tight = Search(items, 1e-12, 10)
    components = tight.update(first).components
    shares = shares_of(items, components)
    together = shares.sum(axis=1, keepdims=True)
    gain = collapsed(items, together, family, 1.0) - collapsed(items, shares, family, 1.0)
    assert entr(shares).sum() > 1  # they do share rows
    assert_allclose(tight._gains(components, np.array([[0, 1]]), -np.inf), [gain], atol=1e-3)
