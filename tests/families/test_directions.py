"""Principal directions against singular vectors, by group and by scale."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from families.cases import GAUSSIANS, NAMES, D, bound, families, projected, rows
from modicum.families import FullGaussian, Multinomial, as_family


@pytest.mark.parametrize("name", NAMES)
def test_projections_are_along_the_principal_direction(name):
    """Of rows, that is the first singular vector."""
    X = rows(name, 40)
    lengths = np.ones(40)
    if name == "multinomial":
        X[:20] += [40.0, 0.0, 0.0]
        lengths = X.sum(axis=1)
    for family in families(name):
        found = projected(family, np.ones(40), family.statistics(X))
        assert_allclose(lengths @ found, 0, atol=1e-8)
        Y = X / lengths[:, None] if name == "multinomial" else X
        Y = Y - np.average(Y, axis=0, weights=lengths)
        direction = np.linalg.svd(np.sqrt(lengths)[:, None] * Y)[2][0]
        assert abs(np.corrcoef(found[:, 0], Y @ direction)[0, 1]) > 1 - 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_projections_of_weighted_items_are_those_of_repeated_rows(name):
    X, repeats = rows(name, 8), np.array([1, 2, 1, 3, 1, 1, 4, 1])
    for family in families(name):
        items = family.statistics(X)
        weighted = projected(family, repeats.astype(float), items)
        repeated = projected(family, np.ones(repeats.sum()), np.repeat(items, repeats, axis=0))
        first = np.cumsum(repeats) - 1
        assert_allclose(np.abs(weighted), np.abs(repeated[first]), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_each_group_has_its_own_directions(name):
    X = rows(name, 30)
    for family in families(name):
        items, counts = family.statistics(X), np.random.default_rng(0).uniform(0.5, 2.0, 30)
        found = family.projections(counts, items, np.array([0, 12, 13]))
        for own in (slice(0, 12), slice(12, 13), slice(13, 30)):
            assert_allclose(found[own], projected(family, counts[own], items[own]), atol=1e-9)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_the_other_direction_does_not_depend_on_units(name):
    X = rows(name, 40) @ np.array([[1.0, 0.7, 0.2], [0.0, 0.5, 0.1], [0.0, 0.0, 1.0]])
    scale = np.array([1e-3, 1.0, 50.0])
    plain, scaled = bound(as_family(name), X), bound(as_family(name), X * scale)
    one = projected(plain, np.ones(40), plain.statistics(X))[:, 1]
    other = projected(scaled, np.ones(40), scaled.statistics(X * scale))[:, 1]
    assert abs(np.corrcoef(one, other)[0, 1]) > 1 - 1e-6


@pytest.mark.parametrize("name", GAUSSIANS)
@pytest.mark.parametrize("scale", [1e-130, 1e-8, 1e130])
def test_directions_do_not_depend_on_the_scale(name, scale):
    X = rows(name, 40) @ np.array([[1.0, 0.7, 0.2], [0.0, 0.5, 0.1], [0.0, 0.0, 1.0]])
    plain, scaled = bound(as_family(name), X), bound(as_family(name), scale * X)
    one = projected(plain, np.ones(40), plain.statistics(X))
    other = projected(scaled, np.ones(40), scaled.statistics(scale * X))
    for left, right in zip(one.T, (other / np.abs(other).max(axis=0)).T, strict=True):
        assert abs(np.corrcoef(left, right)[0, 1]) > 1 - 1e-6


def test_memory_is_linear_in_the_number_of_items():
    X = np.random.default_rng(0).integers(0, 5, size=(8_000, 3)).astype(float)
    family = bound(Multinomial(), X)
    tracemalloc.start()
    projected(family, np.ones(len(X)), family.statistics(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes


def test_directions_of_full_clumps_are_those_of_their_rows():
    X = rows("gaussian", 60)
    family = bound(FullGaussian(), X)
    means = family.statistics(X).reshape(6, 10, -1).mean(axis=1)
    found = projected(family, np.full(6, 10.0), means)[:, 0]
    Y = X - X.mean(axis=0)
    direction = np.linalg.svd(Y)[2][0]
    assert_allclose(np.abs(found), np.abs(Y.reshape(6, 10, D).mean(axis=1) @ direction), atol=1e-4)
