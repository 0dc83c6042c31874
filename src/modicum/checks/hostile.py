"""Hostile: broken chunks and forged state files are refused without changing anything, or are harmless."""

import warnings
from contextlib import suppress
from functools import partial

import numpy as np

from modicum.checks.common import check_answers, error_of, fresh, functions_of, learned, rows, targets
from modicum.checks.forge import forgeries, harm_of_state
from modicum.checks.odd import harm_of_chunk, odd_chunks
from modicum.contract.learner import Learner
from modicum.exceptions import DataWarning, ModicumError, StateError

FORGERIES = 24  # tried per state; `tests/attack` tries thousands
EVERY = 17  # every 17th of the odd chunks is tried


def a_refused_first_chunk_leaves_no_state(learner: Learner) -> None:
    X = rows(learner, 20)
    y = targets(learner, X)
    for value in (np.nan, 1e200):
        bad = X.copy()
        bad[7, 2] = value
        model = fresh(learner)
        error_of(partial(model.partial_fit, bad, y))
        assert not model._fields(), f"a refused first chunk left {', '.join(model._fields())}"
        check_answers(model.partial_fit(X, y), X)


def odd_chunks_are_learned_or_refused(learner: Learner) -> None:
    model = learned(learner, rows(learner, 300))
    state, X = model.to_bytes(), rows(learner, 30, seed=1)
    y = targets(learner, X)
    good = {"X": X, "y": y}
    for name, chunk in list(odd_chunks(X, y))[::EVERY]:
        harm = harm_of_chunk(fresh(learner), chunk, good)
        assert harm is None, f"{name} as the first chunk: {harm}"
        harm = harm_of_chunk(Learner.from_bytes(state, **functions_of(model)), chunk, good)
        assert harm is None, f"{name} as a later chunk: {harm}"


def a_failure_midway_is_undone_or_reported(learner: Learner) -> None:
    X, more = rows(learner, 200), rows(learner, 50, seed=1)
    model = learned(learner, X)
    before, learn = model.to_bytes(), type(model)._learn

    def fail(*args: object) -> None:
        learn(model, *args)  # type: ignore[arg-type]
        raise MemoryError("raised by the check")

    model.__dict__["_learn"] = fail
    with suppress(MemoryError):
        model.partial_fit(more, targets(learner, more))
    del model.__dict__["_learn"]
    try:
        after = model.to_bytes()
    except StateError:
        return  # it reports that it is torn
    assert after == before, (
        "learning failed midway, and the learner neither restored its state nor reports that it is torn"
    )


def huge_values_are_refused_or_answered(learner: Learner) -> None:
    X = rows(learner, 60)
    y = targets(learner, X)
    for power in (10, 20, 45, 60, 154, 200, 300):
        model = fresh(learner)
        chunk = X.copy()
        chunk[7, 2] = 10.0**power
        try:
            with warnings.catch_warnings(action="ignore", category=DataWarning):
                model.partial_fit(chunk, y)
        except ModicumError:
            continue
        with warnings.catch_warnings(action="ignore"):
            check_answers(model.partial_fit(X, y), X)


def forged_states_are_refused_or_harmless(learner: Learner) -> None:
    model = learned(learner, rows(learner, 300))
    X = rows(learner, 20, seed=1)
    rng = np.random.default_rng(0)
    for _, (what, forged) in zip(range(FORGERIES), forgeries(model.to_bytes(), rng), strict=False):
        harm = harm_of_state(forged, X, targets(learner, X), **functions_of(model))
        assert harm is None, f"a state with {what}: {harm}"


CHECKS = [
    a_refused_first_chunk_leaves_no_state,
    odd_chunks_are_learned_or_refused,
    a_failure_midway_is_undone_or_reported,
    huge_values_are_refused_or_answered,
    forged_states_are_refused_or_harmless,
]
