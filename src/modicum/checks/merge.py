"""Merge: counts add up, the budget holds, and the other side does not change."""

from modicum.checks.common import assert_same, assert_within_budget, fresh, learned, outputs, rows, targets, when
from modicum.contract.learner import Learner
from modicum.exceptions import StateError


@when(lambda traits: traits.merge != "none")
def counts_add_up_and_the_budget_holds(learner: Learner) -> None:
    left, right = learned(learner, rows(learner, 400)), learned(learner, rows(learner, 300, seed=1))
    right_before = right.to_bytes()
    retained = left.n_retained_ + right.n_retained_
    assert left.merge(right) is left, "merge must return self"
    assert left.n_seen_ == 700, f"n_seen_ is {left.n_seen_} after merging 400 and 300"
    assert left.n_retained_ <= retained, f"{left.n_retained_} rows kept, but the two sides had {retained}"
    assert right.to_bytes() == right_before, "merge changed the other side"
    assert_within_budget(left)
    more = rows(learner, 50, seed=2)
    left.partial_fit(more, targets(learner, more))
    outputs(left, more)


@when(lambda traits: traits.merge != "none")
def an_unfitted_side_is_neutral(learner: Learner) -> None:
    X = rows(learner)
    model = learned(learner, X)
    before = model.to_bytes()
    model.merge(fresh(learner))
    assert model.to_bytes() == before, "merging an unfitted learner changed the state"
    other = fresh(learner).merge(model)
    assert_same(outputs(other, X), outputs(model, X), "an unfitted learner that absorbed another")


@when(lambda traits: traits.merge != "none")
def incompatible_learners_are_refused(learner: Learner) -> None:
    model = learned(learner, rows(learner))
    before = model.to_bytes()
    for other in (model, learned(learner, rows(learner, width=5))):
        try:
            model.merge(other)
        except StateError:
            continue
        raise AssertionError("merge must refuse itself, and rows of another width, with a StateError")
    assert model.to_bytes() == before, "a refused merge changed the state"


CHECKS = [counts_add_up_and_the_budget_holds, an_unfitted_side_is_neutral, incompatible_learners_are_refused]
