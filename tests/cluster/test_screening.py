"""Screening against scores on the whole validation sample."""

import numpy as np
import pytest

from modicum import ExemplarClustering
from modicum.cluster import screening
from modicum.cluster.screening import Screen


def data(n=3000):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, 5)) + 3 * rng.normal(size=(20, 5))[rng.integers(20, size=n)]).astype(np.float32)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(screening, "FEWEST", 1000)


def test_a_part_that_is_everything_finds_the_best(monkeypatch):
    monkeypatch.setattr(screening, "PART", 1)
    X = data()
    model = ExemplarClustering(10, n_validation=600, random_state=0).partial_fit(X[:2000])
    F, own = model._objective, model._sample.slots_of(np.arange(200))
    assert (own >= 0).any()
    gains, _ = F.look(X[:200], own=own).swap_gains()
    best = Screen(F, np.random.default_rng(0)).best(X[:200], own)
    assert set(best) == set(np.argsort(-gains)[:40])


def test_a_part_has_its_share_of_each_cluster():
    model = ExemplarClustering(10, n_validation=800, random_state=0).fit(data())
    slots = Screen(model._objective, np.random.default_rng(0))._slots
    of_cluster = model._objective.near_center
    for center in range(11):
        assert abs(np.sum(of_cluster[slots] == center) - np.sum(of_cluster == center) / 8) < 1


def test_fewer_evaluations_and_about_the_same_loss(small, monkeypatch):
    X = data()
    screened = ExemplarClustering(20, budget=None, n_validation=3000, random_state=0).fit(X)
    monkeypatch.setattr(screening, "FEWEST", 10**6)
    full = ExemplarClustering(20, budget=None, n_validation=3000, random_state=0).fit(X)
    assert screened.n_evaluations_ < 0.65 * full.n_evaluations_
    assert screened.loss_ < 1.02 * full.loss_
    np.testing.assert_array_equal(X[screened.exemplar_ids_], screened.exemplars_)


@pytest.mark.parametrize("options", [{"swaps": "one"}, {"confidence": 0.95}])
def test_the_papers_rules_score_all(small, monkeypatch, options):
    monkeypatch.setattr(Screen, "best", None)  # a call would fail
    ExemplarClustering(5, n_validation=1500, random_state=0, **options).fit(data())


def test_rows_of_any_kind(monkeypatch):
    monkeypatch.setattr(screening, "FEWEST", 100)
    rows = [str(x) for x in np.random.default_rng(0).integers(30, size=150)]
    model = ExemplarClustering(4, n_validation=120, dissimilarity=lambda a, b: float(a != b), random_state=0)
    model.partial_fit(rows[:120]).partial_fit(rows[120:])
    assert model.n_candidates_ == 150
