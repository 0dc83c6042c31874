"""Reservoirs: rows, ids, targets and weights belong together, within the budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare

from modicum import Reservoir


def test_nothing_is_lost_before_it_is_full():
    reservoir = Reservoir(50, random_state=0).partial_fit(np.zeros((3, 2))).partial_fit(np.zeros((4, 2)))
    assert reservoir.is_exact_
    np.testing.assert_array_equal(np.sort(reservoir.point_ids_), np.arange(7))
    np.testing.assert_allclose(reservoir.point_weights_, 1.0)
    assert not reservoir.partial_fit(np.zeros((90, 2))).is_exact_


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(1, 40), st.integers(0, 10))
def test_rows_targets_and_ids_stay_together(chunks, size, seed):
    reservoir = Reservoir(size, random_state=seed)
    start = 0
    for count in chunks:
        ids = np.arange(start, start + count)
        reservoir.partial_fit(np.column_stack([ids, -ids]).astype(float), y=ids * 10, row_ids=ids + 1000)
        start += count
    if start:
        assert reservoir.n_retained_ == min(size, start)
        ids = reservoir.point_ids_ - 1000
        np.testing.assert_array_equal(reservoir.points_, np.column_stack([ids, -ids]))
        np.testing.assert_array_equal(reservoir.targets_, ids * 10)
        assert len(set(ids)) == len(ids)
        assert reservoir.point_weights_.sum() == pytest.approx(start)


@pytest.mark.parametrize("rows", [["word" * 50] * 400, sparse.random(400, 50, 0.5, format="csr", random_state=0)])
def test_rows_of_any_kind_stay_within_bytes(rows):
    reservoir = Reservoir("8 KiB", random_state=0).partial_fit(rows)
    assert 0 < reservoir.nbytes_ <= 8192


def test_targets_come_with_all_chunks_or_none():
    reservoir = Reservoir(5, random_state=0).partial_fit(np.zeros((9, 2)), y=np.arange(9))
    before = reservoir.to_bytes()
    with pytest.raises(ValueError, match="targets"):
        reservoir.partial_fit(np.zeros((9, 2)))
    assert reservoir.to_bytes() == before


def test_objects_can_be_sampled():
    reservoir = Reservoir(4, random_state=0).partial_fit([f"word {i}" for i in range(30)])
    assert [f"word {i}" for i in reservoir.point_ids_] == reservoir.points_


def test_masses_estimate_the_weight_of_the_stream():
    weight = np.where(np.arange(2000) < 500, 3.0, 1.0)
    model = Reservoir(400, random_state=0).partial_fit(np.arange(2000.0)[:, None], sample_weight=weight)
    assert model.point_weights_.sum() == pytest.approx(3000)
    assert model.point_weights_[model.point_ids_ < 500].sum() == pytest.approx(1500, rel=0.15)
    other = Reservoir(400, random_state=1).partial_fit(np.zeros((1000, 1)))
    assert model.merge(other).point_weights_.sum() == pytest.approx(4000)


def test_with_a_half_life_rows_are_kept_by_their_weight_now():
    """Inclusion of single rows in one-row samples, of shards in different places of their periods."""
    half_life, kept = 5, np.zeros(20)
    weights = np.exp2(-np.concatenate([np.arange(12, 0, -1), np.arange(8, 0, -1)]) / half_life)
    for seed in range(1200):
        west = Reservoir(1, half_life=half_life, random_state=2 * seed).partial_fit(np.arange(12.0)[:, None])
        east = Reservoir(1, half_life=half_life, random_state=2 * seed + 1)
        east.partial_fit(np.arange(12.0, 17.0)[:, None]).partial_fit(np.arange(17.0, 20.0)[:, None])
        kept[int(west.merge(east).points_[0, 0])] += 1
    assert chisquare(kept, 1200 * weights / weights.sum()).pvalue > 1e-6  # false alarms: one in a million


def test_with_a_half_life_masses_are_those_of_now():
    model = Reservoir(40, half_life=100, random_state=0).partial_fit(np.zeros((1030, 1)))
    assert model.point_weights_.sum() == pytest.approx(np.exp2(-np.arange(1, 1031) / 100).sum())
    few = Reservoir(40, half_life=10, random_state=0).partial_fit(np.zeros((15, 1)))
    np.testing.assert_allclose(few.point_weights_, np.exp2((few.point_ids_ - 15) / 10))


def test_picks_are_the_sample():
    X = np.random.default_rng(0).normal(size=(90, 3))
    model = Reservoir(8, random_state=0).fit(X, np.arange(90))
    picks = model.picks()
    assert (picks.kind, len(picks)) == ("point", 8)
    assert np.array_equal(X[picks.ids], picks.rows)
    assert np.array_equal(picks.targets, picks.ids)
    assert picks.weights.sum() == pytest.approx(90)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("budget", [30, "4 KiB"])
@pytest.mark.parametrize("y", [None, np.arange(500), np.linspace(0, 1, 500)])
def test_no_more_is_held_than_planned(dtype, budget, y):
    model = Reservoir(budget, random_state=0).fit(np.zeros((500, 5), dtype), y)
    plan = Reservoir(budget).plan(5, dtype)
    assert plan.rows == model.n_retained_
    assert model.nbytes_ <= plan.nbytes
    assert isinstance(budget, int) or plan.nbytes <= 4096
