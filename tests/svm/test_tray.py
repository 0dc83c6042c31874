"""Single rows are buffered, and no answer, copy or file depends on when they are learned."""

import copy
import pickle

import numpy as np
import pytest

from modicum import Learner, StreamSVC
from modicum.contract.checkpoint import Checkpoint
from modicum.exceptions import StateError
from modicum.svm.tray import TRAY_ROWS

KINDS = {"ellipsoid": {}, "ball": {"ellipsoid": None, "n_initial": 64}}
every_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
LOOKS = {
    "nothing": lambda model: None,
    "predict": lambda model: model.predict(np.zeros((1, 4))),
    "n_seen_": lambda model: model.n_seen_,
    "nbytes_": lambda model: model.nbytes_,
    "n_retained_": lambda model: model.n_retained_,
    "to_bytes": lambda model: model.to_bytes(),
    "pickle": pickle.dumps,
    "copy": copy.deepcopy,
    "repr": repr,
}


def data(count=300):
    X = np.random.default_rng(0).normal(size=(count, 4))
    return X, (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


def learn_singly(model, X, y, look=lambda model: None, every=7):
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        if i % every == 0:
            look(model)
    return model


@every_kind
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_answering_changes_nothing_on_the_tray(settings, look):
    X, y = data()
    whole = StreamSVC(**settings, random_state=0).partial_fit(X, y)
    model = learn_singly(StreamSVC(**settings, random_state=0), X, y, look)
    assert model.nbytes_ == whole.nbytes_
    assert model.to_bytes() == whole.to_bytes()


@every_kind
def test_copies_and_checks_of_the_state_do_not_learn(settings):
    X, y = data(90)
    model = learn_singly(StreamSVC(**settings, random_state=0), X, y)
    count, rows = model._tray.count, model._classifier.tournament.rows
    assert count > 0
    model._check_fitted()
    model._fields()
    model._copy_of_state()
    model._content()
    model._check_state()
    copy.deepcopy(model)
    assert (model._tray.count, model._classifier.tournament.rows) == (count, rows)


@every_kind
def test_a_checkpoint_holds_the_buffered_rows(settings, tmp_path):
    X, y = data()
    model = learn_singly(StreamSVC(**settings, random_state=0), X[:90], y[:90])
    count = model._tray.count
    Checkpoint(tmp_path / "state.mcm", every=30, run={}).write(model, 90)
    again, _, _ = Checkpoint(tmp_path / "state.mcm", every=30, run={}).resume()
    assert count == model._tray.count == again._tray.count > 0
    for learner in (model, again):
        learn_singly(learner, X[90:], y[90:])
    assert again.to_bytes() == model.to_bytes() == StreamSVC(**settings, random_state=0).partial_fit(X, y).to_bytes()


def test_a_file_with_too_many_buffered_rows_is_refused():
    X, y = data(90)
    model = learn_singly(StreamSVC(random_state=0), X, y)
    model._tray.codes[0] = 7
    with pytest.raises(StateError, match="codes"):
        Learner.from_bytes(_raw_bytes(model))


def _raw_bytes(model):
    from modicum.state.files import to_bytes

    return to_bytes({"class": "StreamSVC", "params": model.get_params(deep=False), "state": model._fields()})


FLUSHES = {
    "full": lambda model, X, y: learn_singly(model, X[:TRAY_ROWS], y[:TRAY_ROWS]),
    "asked": lambda model, X, y: model.predict(X),
    "chunk": lambda model, X, y: model.partial_fit(X, y),
    "saved": lambda model, X, y: model.to_bytes(),
}


@pytest.mark.parametrize("flush", FLUSHES.values(), ids=FLUSHES)
def test_a_failure_while_buffered_rows_are_learned_marks_the_learner_as_torn(flush, monkeypatch):
    X, y = data()
    model = learn_singly(StreamSVC(random_state=0), X[:90], y[:90])

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(type(model._classifier), "learn", fail)
    with pytest.raises(MemoryError):
        flush(model, X, y)
    monkeypatch.undo()
    for again in (lambda: model.predict(X), lambda: model.partial_fit(X[:1], y[:1]), model.to_bytes):
        with pytest.raises(StateError, match="MemoryError"):
            again()
    assert model.fit(X, y).to_bytes() == StreamSVC(random_state=0).fit(X, y).to_bytes()


def test_rows_are_learned_with_the_parameters_they_were_given_under():
    X, y = data()
    weights = {"class_weight": {0: 3.0, 1: 1.0}}
    model = learn_singly(StreamSVC(1.0, random_state=0), X[:90], y[:90]).set_params(**weights)
    twin = StreamSVC(1.0, random_state=0).partial_fit(X[:90], y[:90]).set_params(**weights)
    assert model.to_bytes() == twin.to_bytes()


def test_no_single_rows_are_buffered_beside_a_budget():
    X, y = data(90)
    model = learn_singly(StreamSVC(1.0, budget="64 KiB", random_state=0), X, y)
    assert model._tray is None
    assert model.confusion_.sum() == 90
