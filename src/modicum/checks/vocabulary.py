"""Vocabulary: what learners have in common is called the same and has the same form."""

import numpy as np

from modicum.checks.common import learned, rows
from modicum.contract.guarantee import Guarantee
from modicum.contract.learner import Learner
from modicum.contract.picks import Picks
from modicum.rows.kinds import n_rows, take


def history_is_told_over_rows_seen(learner: Learner) -> None:
    model = learned(learner, rows(700))
    if not hasattr(model, "history_"):
        return
    history = model.history_
    assert next(iter(history)) == "n_seen", f"history_ begins with {next(iter(history))!r}, not 'n_seen'"
    assert (np.diff(history["n_seen"]) >= 0).all(), "history_['n_seen'] falls"
    lengths = {name: len(column) for name, column in history.items()}
    assert len(set(lengths.values())) == 1, f"columns of history_ differ in length: {lengths}"


def picks_are_rows_of_the_stream(learner: Learner) -> None:
    X = rows(700)
    picks = learned(learner, X).picks()
    if picks is None:
        return
    assert isinstance(picks, Picks), f"picks() gives a {type(picks).__name__}"
    assert len(picks.ids) == n_rows(picks.rows) == len(picks), f"{len(picks.ids)} ids of {n_rows(picks.rows)} rows"
    known = np.flatnonzero(picks.ids >= 0)
    assert np.array_equal(X[picks.ids[known]], take(picks.rows, known)), "picks() names rows by the ids of others"
    for name, column in (("weights", picks.weights), ("targets", picks.targets)):
        assert column is None or len(column) == len(picks), f"{len(column)} {name} of {len(picks)} picks"


def a_guarantee_is_a_sentence_with_conditions(learner: Learner) -> None:
    if not hasattr(learner, "guarantee"):
        return
    model = learned(learner, rows(700))
    try:
        guarantee = model.guarantee()
    except ValueError:  # no theorem holds for these parameters
        return
    assert isinstance(guarantee, Guarantee), f"guarantee() gives a {type(guarantee).__name__}"
    assert str(guarantee).endswith("."), f"the guarantee is no sentence: {guarantee}"
    assert isinstance(guarantee.conditions, tuple), "the conditions of the guarantee are no tuple"
    assert 0.0 < guarantee.confidence <= 1.0, f"the confidence is {guarantee.confidence}"
    assert isinstance(guarantee.says_something, bool | np.bool_), "says_something is neither True nor False"


CHECKS = [
    history_is_told_over_rows_seen,
    picks_are_rows_of_the_stream,
    a_guarantee_is_a_sentence_with_conditions,
]
