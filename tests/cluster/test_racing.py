"""Races of candidates against exact comparisons."""

import numpy as np
import pytest

from modicum.cluster.racing import Race, relative_entropy
from modicum.kernels import as_dissimilarity
from modicum.select.objectives.exemplar import ExemplarObjective
from modicum.select.swaps import grow

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "manhattan"])
def test_a_race_to_the_end_decides_like_an_exact_comparison(metric):
    """With a tiny delta nothing is separated before the whole sample is seen; then the best swap wins."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(60, 3))
    F = ExemplarObjective(as_dissimilarity(metric), np.full((1, 3), 0.3), W, 5, 60)
    F.put_rows(np.arange(60), W, rng.dirichlet(np.ones(60)))
    grow(F.look(rng.normal(size=(20, 3))), 5, 0.0)
    candidates = rng.normal(size=(40, 3))
    gains, _ = F.look(candidates).swap_gains()
    before = F.value
    race = Race(F, candidates, 1e-300, np.random.default_rng(0))
    assert len(race.run(1, 0.0)) == 1
    assert race.n_evaluations == 40 * len(F.rows)
    assert F.value - before == pytest.approx(gains.max(), abs=1e-9)


def test_a_race_saves_evaluations_when_the_answer_is_clear():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(4000, 2)) * 0.1 + 5
    F = ExemplarObjective(as_dissimilarity("sqeuclidean"), 60.0, W, 1, 4000)
    F.put_rows(np.arange(4000), W, np.full(4000, 1 / 4000))
    bad = np.zeros((1, 2))
    F.fill(0, bad, F.dissimilarity(bad, W)[0])
    race = Race(F, rng.normal(size=(64, 2)) * 0.1 + 5, 0.05, rng)
    assert race.run(1, 0.0)
    assert race.n_evaluations < 0.25 * 64 * 4000
    assert_caches_near(F)


def assert_caches_near(F):
    np.testing.assert_allclose(F.near, F.dissimilarity(F.chosen.values, F.rows.values).min(axis=0), atol=1e-9)


def test_races_seldom_err():
    """A swap that loses on the whole sample is taken by a race with probability at most delta (here 0.2)."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        W = rng.normal(size=(400, 2))
        F = ExemplarObjective(as_dissimilarity("sqeuclidean"), 50.0, W, 3, 400)
        F.put_rows(np.arange(400), W, np.full(400, 1 / 400))
        grow(F.look(rng.normal(size=(3, 2))), 3, 0.0)
        before = F.value
        Race(F, rng.normal(size=(32, 2)), 0.2, rng).run(1, 0.0)
        wrong += F.value < before - 1e-9
    assert wrong <= 20  # binomial(40, 0.2) exceeds 20 once in 100,000 runs


def objective(seed, metric="sqeuclidean", n=400, k=4):
    """Exemplars that are bad, on rows of unequal weight, some of which are nearest to the phantom."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n, 2)) + 4 * rng.integers(3, size=(n, 1))
    F = ExemplarObjective(as_dissimilarity(metric), np.full((1, 2), 4.0), W, k, n)
    F.put_rows(np.arange(n), W, rng.dirichlet(np.full(n, 0.5)))
    grow(F.look(rng.normal(size=(k, 2)) - 1), k, -np.inf)
    return F, rng


def test_a_race_on_rows_of_unequal_weight_seldom_errs():
    """A race takes a swap that loses on all rows with probability at most delta, here 0.2."""
    wrong = early = 0
    for seed in range(60):
        F, rng = objective(seed)
        before = F.value
        race = Race(F, rng.normal(size=(32, 2)) + 4 * rng.integers(3, size=(32, 1)), 0.2, rng)
        race.run(1, 0.0)
        early += race.n_evaluations < 0.9 * 32 * 400
        wrong += F.value < before - 1e-9
        assert_caches_of_exemplars(F)
    assert early > 10  # decided by draws
    assert wrong <= 26  # binomial(60, 0.2) exceeds 26 once in 100,000 runs


def assert_caches_of_exemplars(F):
    D = np.vstack([F.dissimilarity(F.phantom, F.rows.values), F.dissimilarity(F.chosen.values, F.rows.values)])
    np.testing.assert_allclose(F.near, D.min(axis=0), atol=1e-9)


@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan"])
def test_draws_estimate_what_swaps_save(metric):
    """The mean of draws in proportion to the second dissimilarity, against loops; and no draw is outside [0, 1]."""
    F, rng = objective(1, metric)
    candidates = rng.normal(size=(6, 2)) + 4
    D = F.dissimilarity(candidates, F.rows.values)
    race = Race(F, candidates, 0.1, rng, np.array([7, -1, -1, -1, -1, -1]))
    D[0, 7] = np.inf
    saved = np.zeros((6, F.n_centers))
    race._evaluate(np.array([3, 5, 7]))
    race._evaluate(np.arange(400))
    race._add_savings(race.evaluated, race.D, F.shares[race.evaluated], saved)
    most = np.where(F.near_center > 0, F.second, F.near)
    for j in range(1, F.n_centers):
        without = np.where(F.near_center == j, F.second, F.near)
        each = without - np.minimum(D, without)
        np.testing.assert_allclose(saved[:, j], each @ F.shares, atol=1e-9)
        assert (each <= most + 1e-12).all()


def test_relative_entropy():
    p, q = np.array([0.2, 0.0, 1.0]), np.array([0.5, 0.5, 0.25])
    expected = [0.2 * np.log(0.2 / 0.5) + 0.8 * np.log(0.8 / 0.5), np.log(2), np.log(4)]
    np.testing.assert_allclose(relative_entropy(p, q), expected)
