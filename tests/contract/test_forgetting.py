"""Forgetting: exact weights, whatever the chunks; and "auto", which fades what was learned where errors rise."""

import numpy as np
import pytest

from modicum.contract import Forgetting, Traits, Watchful, load
from modicum.contract.learner import Learner
from modicum.contract.watchful import LEFT
from modicum.drift.changes import MOST_CHANGES
from modicum.exceptions import StateError
from modicum.rules.invariants import Array, Real
from modicum.rules.params import NULL, Int, OneOf

H = 50


class Weighed(Watchful):
    """Sums of weights and of weighted rows; surprised by rows that differ from the mean."""

    traits = Traits(chunk_exact=True, merge="exact", weights=True, forgets=True)
    _constraints = {"half_life": [NULL, Int(1), OneOf("auto")]}
    _invariants = {"_sum": Array("float64", "n_features"), "_weight": Real(0.0)}

    def __init__(self, half_life=H):
        self.half_life = half_life

    def _learn(self, X, y, weight, row_ids):
        weight = np.ones(len(X)) if weight is None else weight
        self._weight, self._sum = getattr(self, "_weight", 0.0), getattr(self, "_sum", np.zeros(X.shape[1]))
        for row, w in zip(X, weight, strict=True):  # one at a time: sums do not depend on chunks
            self._weight, self._sum = self._weight + w, self._sum + w * row

    def _fade(self, factor):
        self._weight, self._sum = self._weight * factor, self._sum * factor

    def _surprise(self, X, y):
        return np.abs(X - self.mean_).sum(axis=1)

    def _merge(self, other):
        self._weight, self._sum = self._weight + other._weight, self._sum + other._sum

    def _n_retained(self):
        return 1

    @property
    def mean_(self):
        return self._derive("mean", lambda: self._sum / self._weight)

    @property
    def weight_(self):
        return self._weight / self._unit()


class Staircase(Forgetting):
    """Counts rows, and fades before each of them itself."""

    traits = Traits(chunk_exact=True, forgets=True)
    _decays_by_row = True
    _constraints = {"half_life": [NULL, Int(1)]}
    _invariants = {"_weight": Real(0.0)}

    def __init__(self, half_life=None):
        self.half_life = half_life

    def _learn(self, X, y, weight, row_ids):
        assert weight is None
        for _ in X:
            self._weight = getattr(self, "_weight", 0.0) * self._row_decay() + 1

    def _n_retained(self):
        return 1


def rows_of(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def law(n, half_life=H):
    """Weights of n rows now: the next row would weigh 1."""
    return np.exp2(-np.arange(n, 0, -1) / half_life)


class TestWeights:
    @pytest.mark.parametrize("n", [1, H - 1, H, H + 1, 7 * H + 13])
    @pytest.mark.parametrize("weight", [False, True])
    def test_they_are_those_of_the_law(self, n, weight):
        X, own = rows_of(n), np.random.default_rng(1).uniform(0.5, 2, n)
        model = Weighed().partial_fit(X, sample_weight=own if weight else None)
        weights = law(n) * (own if weight else 1)
        assert model.weight_ == pytest.approx(weights.sum(), rel=1e-12)
        np.testing.assert_allclose(model.mean_, weights @ X / weights.sum(), rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("chunk", [1, 7, H, 3 * H + 1])
    def test_any_chunks_give_the_same_bytes(self, chunk):
        X, model = rows_of(5 * H + 3), Weighed()
        for first in range(0, len(X), chunk):
            model.partial_fit(X[first : first + chunk])
        assert model.to_bytes() == Weighed().partial_fit(X).to_bytes()

    def test_without_a_half_life_nothing_is_held_for_it(self):
        model = Weighed(None).partial_fit(rows_of(90))
        assert model.weight_ == 90
        assert set(model._fields()) & {"_clock", "_watch", "_held", "_changes"} == set()

    def test_of_a_very_short_half_life(self):
        assert Weighed(1).partial_fit(rows_of(3000)).weight_ == pytest.approx(1.0)

    def test_rows_of_weight_zero_do_not_age_others(self):
        weight = np.repeat([1.0, 0.0], 30)
        assert Weighed().partial_fit(rows_of(60), sample_weight=weight).weight_ == pytest.approx(law(30).sum())

    def test_a_learner_may_fade_before_each_row(self):
        model = Staircase(10).partial_fit(np.zeros((7, 1))).partial_fit(np.zeros((30, 1)))
        assert model._weight == pytest.approx(np.exp2(-np.arange(37) / 10).sum())
        assert not hasattr(model, "_clock")
        assert Staircase().partial_fit(np.zeros((7, 1)))._weight == 7


class TestMerging:
    @pytest.mark.parametrize("n", [H, H + 20, 2 * H - 1])
    def test_both_streams_end_now(self, n):
        left, right = rows_of(3 * H + 17), rows_of(n, seed=1)
        other = Weighed().partial_fit(right)
        before = other.to_bytes()
        model = Weighed().partial_fit(left).merge(other)
        weights = np.concatenate([law(len(left)), law(n)])
        assert model.weight_ == pytest.approx(weights.sum())
        np.testing.assert_allclose(model.mean_, weights @ np.concatenate([left, right]) / weights.sum(), atol=1e-12)
        assert other.to_bytes() == before

    def test_half_lives_must_agree(self):
        with pytest.raises(StateError, match="half_life differs"):
            Weighed(5).partial_fit(rows_of(9)).merge(Weighed(6).partial_fit(rows_of(9)))


class TestState:
    def test_saved_in_mid_period_it_continues_identically(self, tmp_path):
        X, model = rows_of(200), Weighed()
        model.partial_fit(X[:77]).save(tmp_path / "state.mcm")
        again = load(tmp_path / "state.mcm").partial_fit(X[77:])
        assert again.to_bytes() == model.partial_fit(X[77:]).to_bytes()

    @pytest.mark.parametrize("clock", [-1, H, 1.5, None])
    def test_an_invalid_clock_is_refused(self, clock):
        model = Weighed().partial_fit(rows_of(20))
        model._clock = clock
        with pytest.raises(StateError, match="_clock"):
            model.to_bytes()

    @pytest.mark.parametrize(("before", "after"), [(None, H), (H, None), (H, 10), (H, "auto"), ("auto", H)])
    def test_a_half_life_set_later_needs_a_fresh_start(self, before, after):
        model = Weighed(before).partial_fit(rows_of(20)).set_params(half_life=after)
        with pytest.raises(ValueError, match="start over"):
            model.partial_fit(rows_of(20))

    def test_a_chunk_that_fails_in_a_later_piece_changes_nothing(self):
        class _Breaking(Weighed):
            def _learn(self, X, y, weight, row_ids):
                super()._learn(X, y, weight, row_ids)
                if self.n_seen_ > 100:
                    raise MemoryError

            def _may_fail_midway(self):
                return True

        model = _Breaking().partial_fit(rows_of(30))
        before = model.to_bytes()
        with pytest.raises(MemoryError):
            model.partial_fit(rows_of(300))
        assert model.to_bytes() == before
        assert model.partial_fit(rows_of(20)).n_seen_ == 50


def drifting(seed=0, *levels, n=4000):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(level, 1, (n, 2)) for level in levels])


class TestAuto:
    def test_a_change_is_found_and_the_old_world_forgotten(self):
        X = drifting(0, 0, 5)
        model = Weighed("auto").partial_fit(X[:4500])
        (change,) = model.changes_
        assert 3900 < change.since < 4100
        assert change.row < 4300
        assert change.difference > 0
        np.testing.assert_allclose(model.mean_, 5, atol=0.3)
        slow = Weighed(None).partial_fit(X[:4500])
        assert (np.abs(slow.mean_ - 5) > 4).all()

    @pytest.mark.parametrize("chunk", [50, 100, 256, 4500])
    def test_what_is_left_is_little_beside_the_rows_since(self, chunk):
        """Rows before the change in the chunk that shows it fade too; later ones do not, unless learned before."""
        model = Weighed("auto")
        for first in range(0, 4500, chunk):
            model.partial_fit(drifting(1, 0, 5)[first : min(first + chunk, 4500)])
        (change,) = model.changes_
        piece = min(chunk, 256)
        faded_at = max(change.since, change.row // piece * piece)
        assert model.weight_ == pytest.approx(LEFT * (change.row - change.since + 1) + 4500 - faded_at)
        assert model._held == pytest.approx(model.weight_)

    @pytest.mark.parametrize("seed", range(3))
    def test_nothing_fades_while_the_stream_stays_the_same(self, seed):
        model = Weighed("auto").partial_fit(drifting(seed, 0, 0))
        assert model.changes_ == []
        assert model.weight_ == 8000

    def test_a_large_chunk_is_judged_in_parts(self):
        assert len(Weighed("auto").fit(drifting(0, 0, 5)).changes_) == 1

    def test_saved_it_continues_identically(self):
        X, model = drifting(0, 0, 5, 0), Weighed("auto")
        for chunk in np.array_split(X, 50):
            model = Learner.from_bytes(model.partial_fit(chunk).to_bytes())
        straight = Weighed("auto")
        for chunk in np.array_split(X, 50):
            straight.partial_fit(chunk)
        assert model.to_bytes() == straight.to_bytes()
        assert model.changes_ == straight.changes_ != []

    def test_merging_keeps_the_changes_of_this_stream(self):
        left, right = Weighed("auto").fit(drifting(0, 0, 5)), Weighed("auto").fit(drifting(0, 0, 0))
        before = left.changes_
        assert left.merge(right).changes_ == before != []
        assert left._held == pytest.approx(left.weight_)

    def test_only_the_latest_changes_are_kept(self):
        model = Weighed("auto").fit(drifting(0, 0, 5))
        for _ in range(2 * MOST_CHANGES):
            model._note(model.changes_[0])
        assert len(model.changes_) == MOST_CHANGES
        assert model.nbytes_ < model._watch_bytes() + 200
