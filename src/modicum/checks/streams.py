"""Stream: any split into chunks is accepted, and answering does not learn."""

import numpy as np

from modicum.checks.common import assert_same, chunks_of, fresh, learned, outputs, rows, targets, when
from modicum.contract.learner import Learner


def rows_are_counted(learner: Learner) -> None:
    model = learned(learner, rows(learner, 230), chunk=70)
    assert model.n_seen_ == 230, f"n_seen_ is {model.n_seen_} after 230 rows"
    assert 0 < model.n_retained_ <= 2 * 230, f"n_retained_ is {model.n_retained_}"


def single_rows_are_accepted(learner: Learner) -> None:
    X = rows(learner, 60)
    model = learned(learner, X, chunk=1)
    assert model.n_seen_ == 60
    outputs(model, X)


@when(lambda traits: traits.chunk_exact)
def any_split_gives_the_same_state(learner: Learner) -> None:
    X = rows(learner, 300)
    whole = outputs(learned(learner, X, chunk=300), X)
    for chunk in (1, 37):
        assert_same(outputs(learned(learner, X, chunk=chunk), X), whole, f"chunks of {chunk} against one chunk")


def an_empty_chunk_changes_nothing(learner: Learner) -> None:
    X = rows(learner)
    model = learned(learner, X)
    before = model.to_bytes()
    y = targets(learner, X[:0])
    model.partial_fit(X[:0], y)
    assert model.to_bytes() == before, "an empty chunk changed the state"
    assert not fresh(learner).partial_fit(X[:0], y)._is_fitted(), "an empty chunk made a fresh learner fitted"


def answering_changes_nothing(learner: Learner) -> None:
    X = rows(learner)
    model = learned(learner, X)
    before = model.to_bytes()
    outputs(model, rows(learner, 50, seed=1))
    assert model.to_bytes() == before, "predict, transform or a learned value changed the state"


def fit_forgets(learner: Learner) -> None:
    X, other = rows(learner), rows(learner, seed=1) + 3
    y = targets(learner, X)
    once = fresh(learner).fit(X, y)
    again = fresh(learner).fit(other, targets(learner, other)).fit(X, y)
    assert again.n_seen_ == len(X), "fit did not forget"
    assert_same(outputs(again, X), outputs(once, X), "fit after another fit")


def a_generator_of_chunks_is_accepted(learner: Learner) -> None:
    X = rows(learner)
    y = targets(learner, X)
    chunks = (X[chunk] if y is None else (X[chunk], y[chunk]) for chunk in chunks_of(len(X), 150))
    model = fresh(learner).fit(chunks)
    assert model.n_seen_ == len(X)
    assert np.isfinite(model.nbytes_)


CHECKS = [
    rows_are_counted,
    single_rows_are_accepted,
    any_split_gives_the_same_state,
    an_empty_chunk_changes_nothing,
    answering_changes_nothing,
    fit_forgets,
    a_generator_of_chunks_is_accepted,
]
