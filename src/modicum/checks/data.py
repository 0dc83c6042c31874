"""Input: it is checked before the state changes, never written to, and never kept."""

from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from modicum.checks.common import chunks_of, error_of, fresh, learned, outputs, rows, targets, when
from modicum.contract.learner import Learner


def input_is_not_written_to(learner: Learner) -> None:
    X = rows(learner)
    before = X.copy()
    X.setflags(write=False)
    model = learned(learner, X)
    outputs(model, X)
    assert np.array_equal(X, before), "the rows were changed"


def input_is_not_kept(learner: Learner) -> None:
    X = rows(learner)
    model = fresh(learner).partial_fit(X, targets(learner, X))
    before = model.to_bytes()
    X[:] = 99.0
    assert model.to_bytes() == before, "changing the caller's array changed the learner: it holds a view"


def float32_stays_float32(learner: Learner) -> None:
    X = rows(learner, dtype=np.float32)
    model = learned(learner, X)
    if hasattr(model, "transform"):
        assert model.transform(X).dtype == np.float32, "float32 rows were transformed to another dtype"


def bad_rows_are_named_and_change_nothing(learner: Learner) -> None:
    X = rows(learner)
    model = learned(learner, X)
    before = model.to_bytes()
    y = targets(learner, X[:10])
    for value, word in ((np.nan, "nan"), (np.inf, "inf")):
        bad = X[:10].copy()
        bad[7, 2] = value
        message = error_of(partial(model.partial_fit, bad, y))
        for text in (word, "7", "2"):
            assert text in message.lower(), f"the error for {value} does not contain {text!r}: {message}"
    message = error_of(lambda: model.partial_fit(X[:10, :3], y))
    assert "3" in message, f"the width error does not name both widths: {message}"
    assert "4" in message, f"the width error does not name both widths: {message}"
    assert model.to_bytes() == before, "a refused chunk changed the state"
    model.partial_fit(X[:10], y)


@when(lambda traits: traits.weights)
def bad_weights_are_named(learner: Learner) -> None:
    X = rows(learner, 20)
    model = learned(learner, rows(learner))
    weight = np.ones(20)
    weight[5] = -1
    message = error_of(lambda: model.partial_fit(X, targets(learner, X), weight))
    assert "5" in message, f"the error does not name the row: {message}"
    assert "-1" in message, f"the error does not name the value: {message}"


def answers_before_any_data_raise_not_fitted(learner: Learner) -> None:
    model = fresh(learner)
    for name in ("predict", "transform", "score_samples"):
        if hasattr(model, name):
            try:
                getattr(model, name)(rows(learner, 3))
            except NotFittedError:
                continue
            raise AssertionError(f"{name} must raise NotFittedError before any data")


@when(lambda traits: traits.sparse)
def sparse_and_dense_rows_agree(learner: Learner) -> None:
    from scipy import sparse

    X = rows(learner, 80)
    if "center" in learner.get_params():
        learner = clone(learner).set_params(center=False)  # sparse rows are not centered
    X[np.abs(X) < 1] = 0
    dense, other = learned(learner, X), fresh(learner)
    y = targets(learner, X)
    for chunk in chunks_of(len(X), 100):
        other.partial_fit(sparse.csr_matrix(X[chunk]), None if y is None else y[chunk])
    assert dense.n_seen_ == other.n_seen_
    if hasattr(dense, "predict"):
        left, right = dense.predict(X), other.predict(sparse.csr_matrix(X))
        agree = np.mean(np.isclose(left, right, rtol=1e-4, atol=1e-6) if left.dtype.kind == "f" else left == right)
        assert agree > 0.9, f"dense and sparse predictions agree on only {agree:.0%} of rows"


CHECKS = [
    input_is_not_written_to,
    input_is_not_kept,
    float32_stays_float32,
    bad_rows_are_named_and_change_nothing,
    bad_weights_are_named,
    answers_before_any_data_raise_not_fitted,
    sparse_and_dense_rows_agree,
]
