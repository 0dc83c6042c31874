"""The base of learners: derived values, guarded members, merging, and failures while learning."""

import copy
import threading

import numpy as np
import pytest
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError

import modicum
from modicum.contract.learner import Learner, Traits
from modicum.exceptions import DataError, StateError
from modicum.rules.invariants import Real
from modicum.rules.params import Number

X = np.random.default_rng(0).normal(size=(100, 3))
z = X[:, 0]


class Summed(Learner):
    """Sums all values; counts how often derived values are computed."""

    traits = Traits(merge="exact")
    _constraints = {"scale": [Number(0.0)]}
    _invariants = {"_sum": Real()}

    def __init__(self, scale=1.0):
        self.scale = scale

    def _learn(self, X, y, weight, row_ids):
        if (X > 1e6).any():
            raise MemoryError
        if (X < -1e6).any():
            raise np.linalg.LinAlgError("singular")
        self._sum = getattr(self, "_sum", 0.0) + float(X.sum())

    def _merge(self, other):
        self._sum += other._sum
        if self._sum < -1e6:
            raise np.linalg.LinAlgError("singular")

    def _n_retained(self):
        return 1

    def _may_fail_midway(self):
        return True

    @property
    def scaled_(self):
        return self._derive("scaled", lambda: [self.scale * self._sum])

    @property
    def shifted_(self):
        return self._derive("shifted", lambda: [1.0 + self._sum])


def summed(rows=X):
    return Summed().partial_fit(rows)


class TestDerivedValues:
    def test_they_are_computed_once(self):
        model = summed()
        assert model.scaled_ is model.scaled_
        assert model.scaled_ == [X.sum()]

    def test_keys_are_separate(self):
        model = summed()
        assert model.scaled_ != model.shifted_
        assert model.shifted_ is model.shifted_
        assert model.scaled_ is model.scaled_

    def test_learning_drops_them(self):
        model = summed()
        before = model.scaled_
        assert model.partial_fit(X).scaled_ == [2 * before[0]]

    def test_an_empty_chunk_keeps_them(self):
        model = summed()
        before = model.scaled_
        assert model.partial_fit(X[:0]).scaled_ is before

    def test_fit_drops_them(self):
        model = summed()
        before = model.scaled_
        assert model.fit(X[:7]).scaled_ != before

    def test_merging_drops_them(self):
        left, right = summed(X[:20]), summed(X[20:])
        before, theirs = left.scaled_, right.scaled_
        assert left.merge(right).scaled_ == pytest.approx([before[0] + theirs[0]])
        assert right.scaled_ is theirs

    def test_adopting_a_state_does_not_adopt_them(self):
        model = summed()
        before = model.scaled_
        other = Summed().merge(model)
        assert other.scaled_ == before
        assert other.scaled_ is not before

    def test_setting_a_parameter_drops_them(self):
        model = summed()
        before = model.scaled_
        assert model.set_params(scale=3.0).scaled_ == [3.0 * before[0]]

    def test_a_refused_parameter_keeps_them(self):
        model = summed()
        before = model.scaled_
        with pytest.raises(ValueError, match="scale"):
            model.set_params(scale=-1.0)
        assert model.scaled_ is before

    def test_a_chunk_that_fails_leaves_the_right_ones(self):
        model = summed()
        before = list(model.scaled_)
        with pytest.raises(MemoryError):
            model.partial_fit(np.full((1, 3), 1e7))
        assert model.scaled_ == before

    def test_they_are_neither_saved_nor_held(self):
        model = summed()
        state, held = model.to_bytes(), model.nbytes_
        assert model.scaled_
        assert model.shifted_
        assert model.to_bytes() == state
        assert model.nbytes_ == held
        again = Summed.from_bytes(state)
        assert "_derived" not in vars(again)
        assert again.scaled_ == model.scaled_

    def test_copies_are_independent(self):
        model = summed()
        before = list(model.scaled_)
        other = copy.deepcopy(model).partial_fit(X)
        assert other.scaled_ == [2 * before[0]]
        assert model.scaled_ == before

    def test_there_are_none_before_any_data(self):
        with pytest.raises(NotFittedError):
            Summed().scaled_  # noqa: B018


class TestSingularMatrices:
    def test_a_chunk_is_refused_as_numbers_that_overflowed(self):
        model = summed()
        before = model.to_bytes()
        with pytest.raises(DataError, match=r"numbers overflowed \(singular\)"):
            model.partial_fit(np.full((1, 3), -1e7))
        assert model.to_bytes() == before

    def test_a_partner_is_refused_and_nothing_changes(self):
        model, other = summed(), summed(np.full((2, 3), -9e5))
        before, theirs = model.to_bytes(), other.to_bytes()
        with pytest.raises(StateError, match=r"numbers overflowed \(singular\)"):
            model.merge(other)
        assert (model.to_bytes(), other.to_bytes()) == (before, theirs)


class Doubles:
    """A mixin that is not a learner."""

    def double(self):
        return 2 * self._sum

    @property
    def half_(self):
        return self._sum / 2


class WithMixin(Doubles, Summed):
    pass


class Overriding(WithMixin):
    def double(self):
        return "overridden"

    @property
    def half_(self):
        return "overridden"


class Inheriting(Overriding):
    pass


class Triples:
    def double(self):
        return "tripled"


class MixinFirst(Triples, Overriding):
    pass


class MixinLast(Overriding, Triples):
    pass


class Answering(TransformerMixin, Summed):
    def transform(self, X):
        return X - self._sum


class TestMembers:
    def test_members_of_a_mixin_work(self):
        model = WithMixin().fit(X)
        assert model.double() == 2 * X.sum()
        assert model.half_ == X.sum() / 2

    @pytest.mark.parametrize("cls", [Overriding, Inheriting])
    def test_an_override_in_a_subclass_is_kept(self, cls):
        model = cls().fit(X)
        assert (model.double(), model.half_) == ("overridden", "overridden")

    def test_the_order_of_bases_decides(self):
        assert MixinFirst().fit(X).double() == "tripled"
        assert MixinLast().fit(X).double() == "overridden"

    def test_the_mixin_itself_is_unchanged(self):
        assert not hasattr(Doubles.double, "__wrapped__")
        assert not hasattr(Doubles.half_.fget, "__wrapped__")

    @pytest.mark.parametrize("cls", [WithMixin, Overriding, Inheriting])
    @pytest.mark.parametrize("ask", [lambda model: model.double(), lambda model: model.half_])
    def test_they_wait_while_another_thread_is_inside(self, cls, ask):
        model = cls().fit(X)
        inside, leave, answers = threading.Event(), threading.Event(), []

        def hold():
            model._guard().run(lambda: (inside.set(), leave.wait(timeout=20)))

        holder = threading.Thread(target=hold)
        holder.start()
        assert inside.wait(timeout=20)
        asker = threading.Thread(target=lambda: answers.append(ask(model)))
        asker.start()
        asker.join(timeout=0.1)
        assert not answers
        leave.set()
        asker.join(timeout=20)
        holder.join(timeout=20)
        assert len(answers) == 1

    def test_members_of_a_learner_are_guarded_once(self):
        """A subclass that overrides nothing has the members of its base, not guards around guards."""
        assert Inheriting.double is Overriding.double
        assert Inheriting.partial_fit is Learner.partial_fit
        assert not hasattr(Learner.partial_fit.__wrapped__, "__wrapped__")

    def test_docstrings_and_names_survive(self):
        assert Learner.partial_fit.__name__ == "partial_fit"
        assert "Learn one chunk" in Learner.partial_fit.__doc__
        assert Learner.nbytes_.__doc__.startswith("Bytes held now")

    def test_mixins_of_scikit_learn_work(self):
        model = Answering().fit(X)
        assert model.fit_transform(X).shape == X.shape
        assert "fit_transform" not in vars(Summed) | vars(Learner)

    def test_a_member_may_call_another(self):
        class Nested(Summed):
            def twice(self):
                return self.scaled_[0] + self.scaled_[0]

        assert Nested().fit(X).twice() == 2 * X.sum()


class Failing(modicum.OnlineKMeans):
    """Fails at the end of a chunk if `fails` is set, with or without a copy of its state."""

    fails = careful = False

    def _learn(self, X, y, weight, row_ids):
        super()._learn(X, y, weight, row_ids)
        if Failing.fails:
            raise MemoryError

    def _may_fail_midway(self):
        return Failing.careful


class TestMerge:
    def test_the_dtype_of_the_left_side_stays(self):
        for left, right in ((np.float32, np.float64), (np.float64, np.float32)):
            one, two = (modicum.OnlineKMeans(3, random_state=0).fit(X.astype(dtype)) for dtype in (left, right))
            assert modicum.Learner.from_bytes(one.merge(two).to_bytes()).cluster_centers_.dtype == left

    def test_a_merge_whose_result_is_invalid_is_undone(self):
        one = modicum.KRLS(20, kernel="rbf").partial_fit(X[:5], z[:5])
        two = modicum.KRLS(20, kernel="rbf").fit(np.tile(X, (3, 1)).astype(np.float32), np.tile(z, 3))
        before = one.to_bytes()
        with pytest.raises(StateError, match="float64 here and float32 there"):
            one.merge(two)
        assert one.to_bytes() == before

    @pytest.mark.filterwarnings("ignore:Number of distinct clusters")
    def test_empty_clusters_are_dropped(self):
        one, two = (modicum.OnlineKMeans(3, random_state=0).fit(rows) for rows in (X[:1], X * 1e-30))
        assert (one.merge(two).cluster_sizes_ > 0).all()

    def test_numbers_and_words_as_targets_do_not_mix(self):
        words = np.where(z > 0, "up", "down")
        for make in (lambda: modicum.Reservoir(20, random_state=0), lambda: modicum.OnlineGreedy(5)):
            with pytest.raises(StateError, match="targets are"):
                make().fit(X, z).merge(make().fit(X, words))

    def test_a_torn_state_is_not_taken_over(self, monkeypatch):
        model = Failing(2, random_state=0).fit(X)
        monkeypatch.setattr(Failing, "fails", True)
        with pytest.raises(MemoryError):
            model.partial_fit(X)
        with pytest.raises(StateError, match="half changed"):
            Failing(2, random_state=0).merge(model)


@pytest.mark.parametrize("careful", [True, False])
def test_a_failure_midway_is_undone_or_reported(monkeypatch, careful):
    monkeypatch.setattr(Failing, "careful", careful)
    model = Failing(2, random_state=0).fit(X)
    before = model.to_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Failing, "fails", True)
        with pytest.raises(MemoryError):
            model.partial_fit(X + 5)
    if careful:
        assert model.to_bytes() == before
        return
    for use in (lambda: model.predict(X), lambda: model.partial_fit(X), model.to_bytes):
        with pytest.raises(StateError, match="half changed"):
            use()
    assert model.fit(X).to_bytes() == before
