"""Vocabulary: histories, picks and guarantees have the same form in all learners."""

import numpy as np

from modicum.checks.common import fresh, learned, rows, targets
from modicum.contract.guarantee import Guarantee
from modicum.contract.learner import Learner
from modicum.contract.picks import Picks, kept_ids
from modicum.rows.kinds import n_rows, take


def history_is_indexed_by_n_seen(learner: Learner) -> None:
    model = learned(learner, rows(learner, 700))
    if not hasattr(model, "history_"):
        return
    history = model.history_
    assert next(iter(history)) == "n_seen", f"the first column of history_ is {next(iter(history))!r}, not 'n_seen'"
    assert (np.diff(history["n_seen"]) >= 0).all(), "history_['n_seen'] decreases"
    lengths = {name: len(column) for name, column in history.items()}
    assert len(set(lengths.values())) == 1, f"columns of history_ differ in length: {lengths}"


def picks_are_rows_of_the_stream(learner: Learner) -> None:
    X = rows(learner, 700)
    picks = learned(learner, X).picks()
    if picks is None:
        return
    assert isinstance(picks, Picks), f"picks() returns a {type(picks).__name__}"
    assert len(picks.ids) == n_rows(picks.rows) == len(picks), f"{len(picks.ids)} ids for {n_rows(picks.rows)} rows"
    known = np.flatnonzero(picks.ids >= 0)
    assert np.array_equal(X[picks.ids[known]], take(picks.rows, known)), "ids of picks() do not match its rows"
    for name, column in (("weights", picks.weights), ("targets", picks.targets)):
        assert column is None or len(column) == len(picks), f"{len(column)} {name} for {len(picks)} picks"


def later_picks_are_rows_that_were_kept(learner: Learner) -> None:
    """Pipelines keep the original rows of these alone, found under attributes named `ids`, `_ids` or `row_ids`."""
    model, kept = fresh(learner), np.array([-1])
    for seed in range(4):
        X, ids = rows(learner, 150, seed=seed), np.arange(150 * seed, 150 * (seed + 1))
        model.partial_fit(X, targets(learner, X), row_ids=ids)
        if (picks := model.picks()) is None:
            return
        lost = np.setdiff1d(picks.ids, np.concatenate([kept, ids]))
        assert not len(lost), f"rows {lost[:3]} are picked, but were not kept under a name by which ids are found"
        kept = np.append(kept_ids(model), -1)


def a_guarantee_is_a_sentence_with_conditions(learner: Learner) -> None:
    if not hasattr(learner, "guarantee"):
        return
    model = learned(learner, rows(learner, 700))
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
    later_picks_are_rows_that_were_kept,
    a_guarantee_is_a_sentence_with_conditions,
]
