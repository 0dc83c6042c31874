"""Races of candidates against exact comparisons."""

import numpy as np
import pytest

from modicum.cluster.racing import Race
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
