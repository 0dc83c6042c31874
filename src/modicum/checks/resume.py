"""Resume: saving and loading in mid-stream changes nothing, bit for bit."""

import tempfile
from pathlib import Path

from modicum.checks.common import assert_same, chunks_of, fresh, functions_of, learned, outputs, rows, targets
from modicum.contract.learner import Learner
from modicum.contract.loading import load


def resuming_equals_never_stopping(learner: Learner) -> None:
    X = rows(learner)
    y = targets(learner, X)
    straight, stopped = learned(learner, X), fresh(learner)
    for chunk in chunks_of(len(X), 100):
        stopped.partial_fit(X[chunk], None if y is None else y[chunk])
        stopped = Learner.from_bytes(stopped.to_bytes(), **functions_of(stopped))
    assert_same(outputs(stopped, X), outputs(straight, X), "after loading")
    assert stopped.to_bytes() == straight.to_bytes(), "the saved states differ"


def a_file_restores_all_answers(learner: Learner) -> None:
    X = rows(learner)
    model = learned(learner, X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mcm"
        model.save(path)
        again = load(path, **functions_of(model))
    assert type(again) is type(model)
    assert_same(outputs(again, X), outputs(model, X), "after loading a file")


def an_unfitted_learner_can_be_saved(learner: Learner) -> None:
    model = fresh(learner)
    again = Learner.from_bytes(model.to_bytes(), **functions_of(model))
    assert not again._is_fitted()
    assert repr(again) == repr(model)


CHECKS = [resuming_equals_never_stopping, a_file_restores_all_answers, an_unfitted_learner_can_be_saved]
