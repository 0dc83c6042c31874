"""Data, copies and comparisons used by several checks."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from modicum.contract.learner import Learner, Traits
from modicum.rows import is_sparse
from modicum.rules.budget import as_budget

ANSWERS = ("predict", "predict_proba", "transform", "score_samples", "decision_function")
Check = TypeVar("Check", bound=Callable[..., None])


def when(applies: Callable[[Traits], bool]) -> Callable[[Check], Check]:
    """Mark a check that applies only to learners with certain traits."""

    def mark(check: Check) -> Check:
        check.applies = applies  # type: ignore[attr-defined]
        return check

    return mark


def rows(learner: Learner, count: int = 600, width: int = 4, seed: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """Rows of three clusters; counts, for learners of counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, width)) + 6 * rng.integers(-1, 2, size=(count, 1))
    return (np.abs(X).round() if takes_counts(learner) else X).astype(dtype)


def takes_counts(learner: Learner) -> bool:
    return learner.__sklearn_tags__().input_tags.positive_only


def targets(learner: Learner, X: np.ndarray) -> np.ndarray | None:
    """Targets, for learners that require them."""
    if not learner.__sklearn_tags__().target_tags.required:
        return None
    return (X[:, 0] > 0).astype(int)


def fresh(learner: Learner) -> Learner:
    """An unfitted copy with a fixed seed."""
    copy = clone(learner)
    return copy.set_params(random_state=0) if "random_state" in copy.get_params() else copy


def learned(learner: Learner, X: np.ndarray, chunk: int = 100, sample_weight: np.ndarray | None = None) -> Learner:
    """A fresh copy that has learned X in chunks."""
    model, y = fresh(learner), targets(learner, X)
    for rows_of_chunk in chunks_of(len(X), chunk):
        weight = None if sample_weight is None else sample_weight[rows_of_chunk]
        model.partial_fit(X[rows_of_chunk], None if y is None else y[rows_of_chunk], weight)
    return model


def chunks_of(count: int, size: int) -> list[slice]:
    """Slices of `size` rows that cover `count` rows."""
    return [slice(first, first + size) for first in range(0, count, size)]


def outputs(model: Learner, X: np.ndarray) -> dict[str, Any]:
    """All answers of the model for X, and all public learned values."""
    found: dict[str, Any] = {}
    for name in ANSWERS:
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    for name in public_values(model):
        found[name] = getattr(model, name)
    return found


def check_answers(model: Learner, X: np.ndarray) -> None:
    """Ask for all answers; numbers among them must be finite."""
    for name, found in outputs(model, X).items():
        if name in ANSWERS and found.dtype.kind == "f":
            values = found.data if is_sparse(found) else found
            assert np.isfinite(values).all(), f"{name} returns numbers that are not finite"


def functions_of(model: Learner) -> dict[str, Any]:
    """Parameters that are functions, which a file can't hold."""
    return {name: value for name, value in model.get_params(deep=False).items() if callable(value)}


def public_values(model: Learner) -> list[str]:
    """Names of learned values, which end in an underscore, except nested learners."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_") and name != "labels_"]
    return [name for name in names if hasattr(model, name) and not isinstance(getattr(model, name), Learner)]


def assert_same(left: Any, right: Any, what: str) -> None:
    """Assert that two values are equal bit for bit, dicts and arrays included."""
    if isinstance(left, dict):
        assert left.keys() == right.keys(), f"{what}: {sorted(left)} against {sorted(right)}"
        for key in left.keys() - {"seconds"}:  # measured times differ
            assert_same(left[key], right[key], f"{what}, {key}")
    elif hasattr(left, "toarray"):
        assert_same(left.toarray(), right.toarray(), what)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype, f"{what}: dtypes {left.dtype} and {right.dtype}"
        assert np.array_equal(left, right), f"{what} differs"
    else:
        assert left == right, f"{what}: {left!r} against {right!r}"


def error_of(call: Callable[[], Any]) -> str:
    """The message of the ValueError that a call must raise."""
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("a ValueError was expected")


def assert_within_budget(model: Learner) -> None:
    """Assert that the rows or bytes held are within the budget."""
    budget = as_budget(getattr(model, "budget", None))
    if budget.rows is not None:
        assert model.n_retained_ <= budget.rows, f"{model.n_retained_} rows held, but the budget is {budget.rows}"
    if budget.nbytes is not None:
        assert model.nbytes_ <= budget.nbytes, f"{model.nbytes_} bytes held, but the budget is {budget.nbytes}"
