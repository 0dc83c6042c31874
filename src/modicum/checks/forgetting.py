"""Forgetting: with a half-life the contract still holds, and rows weigh what it says."""

import numpy as np

from modicum.checks import budget, merge, resume, streams
from modicum.checks.common import ANSWERS, fresh, learned, rows, when
from modicum.contract.learner import Learner

HALF_LIFE = 70
APART = 40.0  # of the old world and the new


@when(lambda traits: traits.forgets)
def the_contract_holds_with_a_half_life(learner: Learner) -> None:
    for half_life in (HALF_LIFE, "auto") if _takes_auto(learner) else (HALF_LIFE,):
        forgetting = fresh(learner).set_params(half_life=half_life)
        budget.state_stays_within_the_budget(forgetting)
        budget.no_more_is_held_than_planned(forgetting)
        resume.resuming_equals_never_stopping(forgetting)
        if learner.traits.merge != "none":
            merge.counts_add_up_and_the_budget_holds(forgetting)
        if learner.traits.chunk_exact and half_life != "auto":  # errors are those before each chunk
            streams.any_split_gives_the_same_state(forgetting)


@when(lambda traits: traits.forgets and traits.weights)
def a_half_life_is_a_weight_that_grows(learner: Learner) -> None:
    """Answers that do not depend on the unit of weights are those for weights that double every half-life."""
    if getattr(learner, "_decays_by_row", False):
        return  # what it forgets is not a weight of rows
    X = rows(learner, 4 * HALF_LIFE)
    plain, heavy = (_answers(learned(learner, X, HALF_LIFE, np.full(len(X), weight)), X) for weight in (1.0, 16.0))
    growing = _answers(learned(learner, X, HALF_LIFE, np.exp2(np.arange(len(X)) / HALF_LIFE)), X)
    forgetting = _answers(learned(fresh(learner).set_params(half_life=HALF_LIFE), X, HALF_LIFE), X)
    for name, answer in growing.items():
        if plain[name].shape == heavy[name].shape and np.allclose(plain[name], heavy[name]):
            np.testing.assert_allclose(forgetting[name], answer, rtol=1e-6, atol=1e-9, err_msg=name)


@when(lambda traits: traits.forgets)
def an_old_world_loses_its_weight(learner: Learner) -> None:
    """Where masses of rows are given, their sum is that of the law, and so is the share of an old world."""
    X = np.concatenate([rows(learner, 300), rows(learner, 2 * HALF_LIFE, seed=1) + APART])
    model = learned(fresh(learner).set_params(half_life=HALF_LIFE), X)
    ages = np.arange(len(X), 0, -1)
    weights = np.exp2(-ages / HALF_LIFE)
    if hasattr(model, "point_weights_"):
        np.testing.assert_allclose(model.point_weights_.sum(), weights.sum(), rtol=0.25)  # of some, estimated
    picks = model.picks()
    if picks is not None and picks.weights is not None:
        is_old = np.asarray(picks.rows).mean(axis=1) < APART / 2
        share, expected = picks.weights[is_old].sum() / picks.weights.sum(), weights[:300].sum() / weights.sum()
        assert abs(share - expected) < 0.25, f"{share:.2f} of the weight is that of old rows, not {expected:.2f}"


def _answers(model: Learner, X: np.ndarray) -> dict[str, np.ndarray]:
    return {name: getattr(model, name)(X) for name in ANSWERS if hasattr(model, name)}


def _takes_auto(learner: Learner) -> bool:
    return any(constraint.accepts("auto") for constraint in learner._constraints["half_life"])


CHECKS = [the_contract_holds_with_a_half_life, a_half_life_is_a_weight_that_grows, an_old_world_loses_its_weight]
