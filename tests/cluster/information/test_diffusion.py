"""Diffusion features against dense eigenvectors; rows that a graph of neighbours finds hard."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from modicum.cluster.information import diffusion
from modicum.cluster.information.diffusion import NEIGHBORS, Diffusion, time_of
from modicum.cluster.information.features import ScaledRows
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Problem, Settings, maximize
from modicum.cluster.information.start import oversegment
from modicum.rules.invariants import Violation, check_invariants

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 3)) + 4.0 * RNG.integers(3, size=(120, 1))


def equal(n):
    return np.full(n, 1 / n)


def total_variance(features):
    return features.astype(np.float64).var(axis=0).sum()


def similarities(features):
    """Inner products: they do not depend on the signs of eigenvectors, nor on their order."""
    return features @ features.T


def dense_features(X, mass, dimension):
    """The definition, with a dense graph."""
    gaps = cdist(X, X)
    order = np.argsort(gaps, axis=1)[:, 1 : NEIGHBORS + 1]
    chosen = np.zeros(gaps.shape, bool)
    np.put_along_axis(chosen, order, True, axis=1)
    reach = np.sort(gaps, axis=1)[:, NEIGHBORS]
    graph = np.exp(-(gaps**2) / np.outer(reach, reach)) * np.outer(mass, mass) * (chosen * 1.0 + chosen.T)
    degrees = graph.sum(axis=1)
    w, V = np.linalg.eigh(graph / np.sqrt(np.outer(degrees, degrees)))
    w, V = w[::-1][: int(3 * dimension)], V[:, ::-1][:, : int(3 * dimension)]
    F = V * np.exp(-time_of(w, dimension) * (1 - w))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    F -= np.average(F, axis=0, weights=mass)
    return F / np.sqrt(np.average((F**2).sum(axis=1), weights=mass))


def cluster(features, n_clusters):
    problem = Problem(features, equal(len(features)))
    start = oversegment(problem, n_clusters, 10, 1e-3, np.random.default_rng(0))
    return maximize(problem, Settings(1e-4, Prior("uniform")), start).model.labels(features)


@pytest.mark.parametrize("dense", [True, False])
def test_features_are_those_of_the_dense_graph(dense, monkeypatch):
    monkeypatch.setattr(diffusion, "DENSE", 1000 if dense else 0)
    monkeypatch.setattr(diffusion, "PRECISION", 1e-12)
    shares = RNG.uniform(0.5, 2.0, size=len(ROWS))
    shares /= shares.sum()
    found = Diffusion.of(ROWS, shares, 8.0)(ROWS)
    expected = dense_features(ROWS, shares, 8.0)
    np.testing.assert_allclose(similarities(found), similarities(expected), atol=1e-8)
    assert (shares @ (found**2)).sum() == pytest.approx(1.0)


def test_features_that_come_with_the_map_are_those_it_gives():
    rows = np.concatenate([ROWS, ROWS[:10]]).astype(np.float32)
    features, found = Diffusion.with_features(rows, equal(len(rows)), 8.0)
    assert found.dtype == np.float32
    assert found.tolist() == features(rows).tolist()


def test_a_row_of_weight_two_counts_like_two_rows():
    twice = np.arange(len(ROWS)) % 3 == 0
    weights = 1.0 + twice
    weighted = Diffusion.of(ROWS, weights / weights.sum(), 8.0)(ROWS)
    repeated = np.concatenate([ROWS, ROWS[twice]])
    copied = Diffusion.of(repeated, equal(len(repeated)), 8.0)(ROWS)
    np.testing.assert_allclose(similarities(weighted), similarities(copied), atol=1e-8)


def test_the_order_of_rows_does_not_matter():
    order = RNG.permutation(len(ROWS))
    one, other = (Diffusion.of(X, equal(len(X)), 8.0)(ROWS) for X in (ROWS, ROWS[order]))
    np.testing.assert_allclose(similarities(one), similarities(other), atol=1e-8)


def test_units_and_offsets_do_not_matter():
    exact = np.round(ROWS, 3) * 1024.0
    one = Diffusion.of(exact, equal(len(exact)), 8.0)(exact)
    other = Diffusion.of(exact * 2.0**40 + 2.0**60, equal(len(exact)), 8.0)(exact * 2.0**40 + 2.0**60)
    np.testing.assert_allclose(similarities(one), similarities(other), atol=1e-6)


def test_new_rows_are_close_to_the_points_around_them():
    X = make_moons(1000, noise=0.05, random_state=0)[0]
    features = Diffusion.of(X, equal(len(X)), 3.0)
    points = features(X)
    nudged = features(X + 1e-6)
    assert np.linalg.norm(nudged - points, axis=1).max() < 0.1
    left_out = Diffusion.of(X[::2], equal(500), 3.0)
    rows = left_out(X[1::2])
    nearest = cdist(X[1::2], X[::2]).argmin(axis=1)
    assert np.median(np.linalg.norm(rows - left_out(X[::2])[nearest], axis=1)) < 0.1


def test_information_maximisation_separates_moons_by_diffusion_and_not_by_lines():
    X, y = make_moons(1000, noise=0.06, random_state=1)
    linear = ScaledRows.of(X, equal(len(X)))(X)
    by_diffusion = Diffusion.of(X, equal(len(X)), 3.0)(X)
    assert adjusted_rand_score(y, cluster(linear, 2)) < 0.6
    assert adjusted_rand_score(y, cluster(by_diffusion, 2)) > 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 3)),
        np.ones((50, 3)),
        np.array([[0.0], [1.0]]),
        np.arange(5.0)[:, None],
        np.repeat(np.arange(3.0)[:, None], 40, axis=0),
        np.concatenate([RNG.normal(size=(60, 2)), [[1e6, 0.0], [-1e6, 5.0]]]),
        np.concatenate([RNG.normal(size=(30, 2)) + 100.0 * k for k in range(25)]),
        RNG.normal(size=(60, 2)) * 1e-18,
        RNG.normal(size=(60, 2)) * 1e15,
        RNG.integers(3, size=(500, 2)).astype(float),
        np.geomspace(1e-30, 1e10, 80)[:, None],
    ],
    ids=["one row", "constant", "two rows", "few", "copies", "outliers", "parts", "tiny", "huge", "grid", "wide range"],
)
def test_hostile_rows_have_finite_features_of_total_variance_one(X, dtype):
    X = X.astype(dtype)
    features = Diffusion.of(X, equal(len(X)))
    F, new = features(X), features(X + X.dtype.type(0.3) * (X[::-1] - X))
    assert F.dtype == new.dtype == dtype
    assert np.isfinite(F).all()
    assert np.isfinite(new).all()
    # points closer than rounding errors are told apart only roughly: hence the tolerance
    assert total_variance(F) == pytest.approx(1.0 if len(np.unique(X, axis=0)) > 1 else 0.0, abs=0.2)
    check_invariants(features, {"n_features": X.shape[1], "dtype": np.dtype(dtype).name})


def test_parts_of_a_graph_have_distinct_features():
    X = np.concatenate([RNG.normal(size=(200, 2)) + 100.0 * k for k in range(5)])
    F = Diffusion.of(X, equal(len(X)), 5.0)(X)
    assert adjusted_rand_score(np.repeat(np.arange(5), 200), cluster(F, 5)) == 1.0


def test_time_of_an_effective_dimension():
    w = np.linspace(1.0, 0.3, 40)
    assert np.exp(-2 * time_of(w, 7.0) * (1 - w)).sum() == pytest.approx(7.0)
    assert time_of(w, 40.0) == 0.0
    assert time_of(np.ones(20), 7.0) == diffusion.LONGEST


def test_leading_eigenvectors_are_deterministic():
    X = RNG.normal(size=(900, 3))
    first, again = (Diffusion.of(X, equal(len(X)))(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_forged_coordinates_are_refused():
    features = Diffusion.of(ROWS, equal(len(ROWS)))
    features.coordinates = features.coordinates[:-1]
    with pytest.raises(Violation, match="coordinates"):
        check_invariants(features, {"n_features": 3, "dtype": "float64"})
