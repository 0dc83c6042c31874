"""Rows, copies and comparisons that the checks share."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from modicum.contract.learner import Learner, Traits
from modicum.rules.budget import as_budget

ANSWERS = ("predict", "predict_proba", "transform", "score_samples", "decision_function")
Check = TypeVar("Check", bound=Callable[..., None])


def when(applies: Callable[[Traits], bool]) -> Callable[[Check], Check]:
    """Run the check only for learners with fitting traits."""

    def mark(check: Check) -> Check:
        check.applies = applies  # type: ignore[attr-defined]
        return check

    return mark


def rows(count: int = 600, width: int = 4, seed: int = 0, dtype: Any = np.float64) -> np.ndarray:
    """Three clumps of rows with some spread."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(count, width)) + 6 * rng.integers(-1, 2, size=(count, 1))).astype(dtype)


def targets(learner: Learner, X: np.ndarray) -> np.ndarray | None:
    """A target for learners that need one."""
    if not learner.__sklearn_tags__().target_tags.required:
        return None
    return (X[:, 0] > 0).astype(int)


def fresh(learner: Learner) -> Learner:
    """An unfitted copy with a fixed seed."""
    copy = clone(learner)
    return copy.set_params(random_state=0) if "random_state" in copy.get_params() else copy


def learned(learner: Learner, X: np.ndarray, chunk: int = 100, sample_weight: np.ndarray | None = None) -> Learner:
    """A fresh copy that has seen X in chunks."""
    model, y = fresh(learner), targets(learner, X)
    for start in range(0, len(X), chunk):
        piece = slice(start, start + chunk)
        weight = None if sample_weight is None else sample_weight[piece]
        model.partial_fit(X[piece], None if y is None else y[piece], weight)
    return model


def outputs(model: Learner, X: np.ndarray) -> dict[str, Any]:
    """What the model answers for X, and all public learned values."""
    found: dict[str, Any] = {}
    for name in ANSWERS:
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    for name in public_values(model):
        found[name] = getattr(model, name)
    return found


def answers(model: Learner, X: np.ndarray) -> None:
    """Ask for everything; numbers that are predicted must be finite."""
    for name, found in outputs(model, X).items():
        if name in ANSWERS and found.dtype.kind == "f":
            assert np.isfinite(found).all(), f"{name} gives numbers that are not finite"


def functions_of(model: Learner) -> dict[str, Any]:
    """Parameters that a file can only name."""
    return {name: value for name, value in model.get_params(deep=False).items() if callable(value)}


def public_values(model: Learner) -> list[str]:
    """Names of learned values: they end in an underscore. A learner within is judged by what the whole answers."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_") and name != "labels_"]
    return [name for name in names if hasattr(model, name) and not isinstance(getattr(model, name), Learner)]


def assert_same(left: Any, right: Any, what: str) -> None:
    """Equal to the bit, dicts and arrays included."""
    if isinstance(left, dict):
        assert left.keys() == right.keys(), f"{what}: {sorted(left)} against {sorted(right)}"
        for key in left.keys() - {"seconds"}:  # how long it took may differ
            assert_same(left[key], right[key], f"{what}, {key}")
    elif hasattr(left, "toarray"):
        assert_same(left.toarray(), right.toarray(), what)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype, f"{what}: dtypes {left.dtype} and {right.dtype}"
        assert np.array_equal(left, right), f"{what} differs"
    else:
        assert left == right, f"{what}: {left!r} against {right!r}"


def error_of(call: Callable[[], Any]) -> str:
    """The message of the ValueError that the call must raise."""
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("a ValueError was expected")


def assert_within_budget(model: Learner) -> None:
    """A budget covers everything that is held: so many rows, or so many bytes."""
    budget = as_budget(getattr(model, "budget", None))
    if budget.rows is not None:
        assert model.n_retained_ <= budget.rows, f"{model.n_retained_} rows held, the budget is {budget.rows}"
    if budget.nbytes is not None:
        assert model.nbytes_ <= budget.nbytes, f"{model.nbytes_} bytes held, the budget is {budget.nbytes}"
