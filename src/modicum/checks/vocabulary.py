"""Vocabulary: histories, picks and guarantees have the same form in all learners."""

import numpy as np

from modicum.checks.common import learned, rows
from modicum.contract.guarantee import Guarantee
from modicum.contract.learner import Learner
from modicum.contract.picks import Picks
from modicum.rows.kinds import n_rows, take


def history_is_indexed_by_n_seen(learner: Learner) -> None:
    model = learned(learner, rows(700))
    if not hasattr(model, "history_"):
        return
    history = model.history_
    assert next(iter(history)) == "n_seen", f"the first column of history_ is {next(iter(history))!r}, not 'n_seen'"
    assert (np.diff(history["n_seen"]) >= 0).all(), "history_['n_seen'] decreases"
    lengths = {name: len(column) for name, column in history.items()}
    assert len(set(lengths.values())) == 1, f"columns of history_ differ in length: {lengths}"


def picks_are_rows_of_the_stream(learner: Learner) -> None:
    X = rows(700)
    picks = learned(learner, X).picks()
    if picks is None:
        return
    assert isinstance(picks, Picks), f"picks() returns a {type(picks).__name__}"
    assert len(picks.ids) == n_rows(picks.rows) == len(picks), f"{len(picks.ids)} ids for {n_rows(picks.rows)} rows"
    known = np.flatnonzero(picks.ids >= 0)
    assert np.array_equal(X[picks.ids[known]], take(picks.rows, known)), "ids of picks() do not match its rows"
    for name, column in (("weights", picks.weights), ("targets", picks.targets)):
        assert column is None or len(column) == len(picks), f"{len(column)} {name} for {len(picks)} picks"


def a_guarantee_is_a_sentence_with_conditions(learner: Learner) -> None:
    if not hasattr(learner, "guarantee"):
        return
    model = learned(learner, rows(700))
    try:
        guarantee = model.guarantee()
    except ValueError:  # no theorem holds for these parameters
        return
    assert isinstance(guarantee, Guarantee), f"guarantee() returns a {type(guarantee).__name__}"
    assert str(guarantee).endswith("."), f"the guarantee is not a sentence: {guarantee}"
    assert isinstance(guarantee.conditions, tuple), "the conditions of the guarantee are not a tuple"
    assert 0.0 < guarantee.confidence <= 1.0, f"the confidence is {guarantee.confidence}"
    assert isinstance(guarantee.says_something, bool | np.bool_), "says_something is neither True nor False"


CHECKS = [
    history_is_indexed_by_n_seen,
    picks_are_rows_of_the_stream,
    a_guarantee_is_a_sentence_with_conditions,
]
