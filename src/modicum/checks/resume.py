"""Resume: saving and loading in mid-stream changes nothing, bit for bit."""

import tempfile
from pathlib import Path

from modicum.checks.common import assert_same, fresh, functions_of, learned, outputs, rows, targets
from modicum.contract.learner import Learner
from modicum.contract.loading import load


def going_on_after_loading_is_never_having_stopped(learner: Learner) -> None:
    X = rows()
    y = targets(learner, X)
    straight, stopped = learned(learner, X), fresh(learner)
    for start in range(0, len(X), 100):
        part = slice(start, start + 100)
        stopped.partial_fit(X[part], None if y is None else y[part])
        stopped = Learner.from_bytes(stopped.to_bytes(), **functions_of(stopped))
    assert_same(outputs(stopped, X), outputs(straight, X), "after loading")
    assert stopped.to_bytes() == straight.to_bytes(), "the states differ in something that is not shown"


def a_file_holds_it_all(learner: Learner) -> None:
    X = rows()
    model = learned(learner, X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mcm"
        model.save(path)
        again = load(path, **functions_of(model))
    assert type(again) is type(model)
    assert_same(outputs(again, X), outputs(model, X), "after a file")


def an_unfitted_learner_can_be_saved(learner: Learner) -> None:
    model = fresh(learner)
    again = Learner.from_bytes(model.to_bytes(), **functions_of(model))
    assert not again._is_fitted()
    assert repr(again) == repr(model)


CHECKS = [going_on_after_loading_is_never_having_stopped, a_file_holds_it_all, an_unfitted_learner_can_be_saved]
