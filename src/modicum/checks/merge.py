"""Merge: shards add up, the budget holds, the other side is left alone."""

from modicum.checks.common import assert_same, assert_within_budget, fresh, learned, outputs, rows, targets, when
from modicum.contract.learner import Learner
from modicum.exceptions import StateError


@when(lambda traits: traits.merge != "none")
def counts_add_up_and_the_budget_holds(learner: Learner) -> None:
    left, right = learned(learner, rows(400)), learned(learner, rows(300, seed=1))
    right_before = right.to_bytes()
    retained = left.n_retained_ + right.n_retained_
    assert left.merge(right) is left, "merge must return self"
    assert left.n_seen_ == 700, f"n_seen_ is {left.n_seen_} after merging 400 and 300"
    assert left.n_retained_ <= retained, f"{left.n_retained_} rows kept, the two sides had {retained}"
    assert right.to_bytes() == right_before, "merge changed the other side"
    assert_within_budget(left)
    more = rows(50, seed=2)
    left.partial_fit(more, targets(learner, more))
    outputs(left, more)


@when(lambda traits: traits.merge != "none")
def nothing_is_neutral(learner: Learner) -> None:
    X = rows()
    model = learned(learner, X)
    before = model.to_bytes()
    model.merge(fresh(learner))
    assert model.to_bytes() == before, "merging an empty learner changed the state"
    other = fresh(learner).merge(model)
    assert_same(outputs(other, X), outputs(model, X), "an empty learner that absorbed another")


@when(lambda traits: traits.merge != "none")
def strangers_are_refused(learner: Learner) -> None:
    model = learned(learner, rows())
    before = model.to_bytes()
    for stranger in (model, learned(learner, rows(width=5))):
        try:
            model.merge(stranger)
        except StateError:
            continue
        raise AssertionError("merge must refuse itself and rows of another width with a StateError")
    assert model.to_bytes() == before, "a refused merge left a trace"


CHECKS = [counts_add_up_and_the_budget_holds, nothing_is_neutral, strangers_are_refused]
