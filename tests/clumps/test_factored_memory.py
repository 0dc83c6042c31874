"""Clumps held as factors of single precision, against those held as sums of double precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from modicum._jit.factors import factor, unfactor
from modicum.clumps.factored_memory import FactoredMemory
from modicum.clumps.memory import Memory
from modicum.families import FullGaussian

D = 6
GROUPS = [np.arange(40), np.arange(40, 43), np.array([43, 44]), np.arange(45, 60)]  # fewer rows than columns, too


def rows(seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * (rng.normal(size=(60, D)) @ rng.normal(size=(D, D)) + rng.normal(size=D))


def bound(X):
    return FullGaussian().bind(X, np.ones(len(X)))


def filled(kind, family, X, weight=None):
    memory = kind(X, family.n_statistics, 200)
    memory.add(X, np.ones(len(X)) if weight is None else weight)
    memory.keep(memory.items(family), GROUPS, lambda group: len(group) == 2)
    return memory


def pair(X, weight=None):
    """The same memory with factors and with sums."""
    return [filled(kind, bound(X), X, weight) for kind in (FactoredMemory, Memory)]


def assert_same(ours, twin, family):
    """Means are the same; sums of products, and what follows from them, up to single precision."""
    assert_array_equal(ours.clump_counts, twin.clump_counts)
    d = family.n_features
    assert_allclose(ours.clump_sums[:, :d], twin.clump_sums[:, :d], rtol=1e-12)
    scale = np.abs(twin.clump_sums[:, d:]).max(axis=1, keepdims=True)
    assert_allclose(ours.clump_sums[:, d:] / scale, twin.clump_sums[:, d:] / scale, atol=1e-6)
    evidence = [family.log_evidence(each.clump_counts, each.clump_sums) for each in (ours, twin)]
    assert_allclose(*evidence, rtol=1e-6)
    for name in ("weights", "n_singlets", "n_seen"):
        assert_array_equal(getattr(ours, name), getattr(twin, name))
    assert_array_equal(ours.rows.values, twin.rows.values)


# ---- factors -------------------------------------------------------------------------------------


def factored(averages, d):
    """Factors of groups with these statistics, and their statistics again."""
    out, again = np.empty((len(averages), d * (d + 1) // 2)), averages.copy()
    factor(averages, d, out)
    again[:, d:] = np.nan
    unfactor(out, d, again)
    return out, again


def test_they_are_those_of_cholesky():
    X = rows()
    averages = np.array([bound(X).statistics(X[group]).mean(axis=0) for group in (slice(0, 30), slice(30, 60))])
    factors, again = factored(averages, D)
    covariances = [np.cov(X[group].T, bias=True) for group in (slice(0, 30), slice(30, 60))]
    assert_allclose(factors, [np.linalg.cholesky(each)[np.tril_indices(D)] for each in covariances])
    assert_allclose(again, averages)


@pytest.mark.parametrize("scale", [1.0, 1e140, 1e-140])
def test_any_group_has_one(scale):
    """Fewer rows than columns, equal rows, constant columns, copies of columns."""
    X = rows(1, scale)
    X[20:, 2] = X[20:, 3]
    X[20:, 4] = scale
    family = bound(X)
    statistics = family.statistics(X)
    averages = np.array([statistics[group].mean(axis=0) for group in ([0], [0, 1], [0, 1, 2, 3], range(20, 60))])
    factors, again = factored(averages, D)
    assert np.isfinite(factors).all()
    size = np.abs(averages[:, D:]).max(axis=1, keepdims=True)
    assert_allclose(again[:, D:] / size, averages[:, D:] / size, atol=1e-12)
    assert not factors[0].any()


def test_they_resolve_small_variances_along_any_direction():
    """Of two columns that are nearly equal, the difference keeps its variance; covariances in float32 would lose it."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=500)
    X = np.stack([first, first + 1e-5 * rng.normal(size=500)], axis=1)
    family = bound(X)
    memory = FactoredMemory(X, family.n_statistics, 500)
    memory.add(X, np.ones(500))
    memory.keep(memory.items(family), [np.arange(500)], lambda group: False)
    scatter = np.array(memory.clump_sums[0, 2:])[[0, 1, 1, 2]].reshape(2, 2) / 500
    differs = np.array([1.0, -1.0])
    assert_allclose(differs @ scatter @ differs, np.var(X[:, 0] - X[:, 1]), rtol=1e-2)


# ---- memories ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e140, 1e-140])
def test_it_holds_what_sums_hold(scale):
    X, weight = rows(scale=scale), np.random.default_rng(0).uniform(0.5, 2.0, 60)
    ours, twin = pair(X, weight)
    assert_same(ours, twin, bound(X))
    assert ours.clump_factors.dtype == np.float32
    assert len(ours) == len(twin) == 5


def test_a_clump_takes_the_bytes_that_it_is_said_to_take():
    for memory in pair(rows()):
        assert memory.nbytes_of_clumps == 3 * memory.clump_bytes(D, D * (D + 3) // 2)
    assert FactoredMemory.clump_bytes(50, 1325) < 0.53 * Memory.clump_bytes(50, 1325)


def test_clumps_that_stay_are_the_same_to_the_bit():
    X = rows()
    memory = filled(FactoredMemory, bound(X), X)
    before = [getattr(memory, name).copy() for name in memory._per_clump]
    for _ in range(3):
        memory.keep(memory.items(bound(X)), [np.array([at]) for at in range(5)], lambda group: group[0] >= 3)
    for name, values in zip(memory._per_clump[2:], before[2:], strict=True):
        assert_allclose(getattr(memory, name), values, rtol=1e-6)
    assert_array_equal(memory.clump_factors, before[3])


def test_clumps_of_clumps():
    X = rows()
    family = bound(X)
    both = pair(X)
    for memory in both:
        memory.keep(memory.items(family), [np.array([0, 2, 3]), np.array([1, 4])], lambda group: False)
    assert_same(*both, family)


def test_they_fade_alike():
    both = pair(rows())
    for memory in both:
        memory.fade(0.3)
    assert_same(*both, bound(rows()))


def test_light_ones_are_dropped_alike():
    X = rows()
    both = pair(X, np.repeat([1.0, 1e-9, 1.0], [40, 3, 17]))
    for memory in both:
        memory.drop_lighter_than(0.5)
        assert len(memory.clump_counts) == 2
    assert_same(*both, bound(X))


def test_they_merge_alike():
    X, Y = rows(), rows(1) + 3
    here, there = bound(X), bound(Y)
    merged = []
    for kind in (FactoredMemory, Memory):
        memory, other = filled(kind, here, X), filled(kind, there, Y)
        memory.merge(other, here, there)
        assert (len(memory), memory.n_seen) == (10, 120)
        merged.append(memory)
    assert_same(*merged, here)


def test_sums_become_factors():
    ours, twin = pair(rows())
    made = FactoredMemory.of(twin)
    for name, value in ours._fields().items():
        if isinstance(value, np.ndarray):
            assert_array_equal(getattr(made, name), value)
    assert made._fields().keys() == ours._fields().keys()
