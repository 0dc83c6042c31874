"""Whether two learners can be merged, and whether the result is valid."""

from typing import Any

from modicum.contract.validation import check_columns
from modicum.exceptions import StateError
from modicum.rules.invariants import Violation
from modicum.state.files import to_bytes
from modicum.state.part import Part


def check_partner(learner: Any, other: Any) -> None:
    """Raise a `StateError` unless `other` is another learner of the same class and parameters."""
    name = type(learner).__name__
    if type(other) is not type(learner):
        raise StateError(f"{name}.merge: the other side is a {type(other).__name__}.")
    if other is learner:
        raise StateError(f"{name}.merge: a learner can't be merged with itself; its rows would count twice.")
    theirs = other._params_to_match()
    for key, mine in learner._params_to_match().items():
        if key not in theirs or not is_same_value(mine, theirs[key]):
            raise StateError(
                f"{name}.merge: {key} differs ({mine!r} here, {theirs.get(key)!r} there). "
                f"Fit both sides with the same {key}."
            )


def check_same_rows(learner: Any, other: Any) -> None:
    """Raise a `StateError` if two fitted learners have learned rows of different kinds or columns."""
    name = f"{type(learner).__name__}.merge"
    if learner._kind == other._kind == "table":
        return  # columns are found by name
    if learner.n_features_in_ != other.n_features_in_:
        raise StateError(
            f"{name}: the number of columns differs ({learner.n_features_in_} here, {other.n_features_in_} there)."
        )
    if learner._kind != other._kind:
        raise StateError(f"{name}: rows are {learner._kind} here and {other._kind} there.")
    check_columns(name, learner.column_names_, other.column_names_)


def check_merged(learner: Any, ours: str, theirs: str) -> None:
    """Raise a `StateError` unless the merged state is valid and rows kept their dtype, which was `ours`."""
    try:
        if learner._dtype != ours:
            raise Violation(f"of {ours} rows")
        learner._check_state()
    except Violation as violation:
        way_out = f" Rows are {ours} here and {theirs} there: give both sides the same." if ours != theirs else ""
        raise StateError(
            f"{type(learner).__name__}.merge: the result would be invalid, {violation}.{way_out}"
        ) from None


def is_same_value(mine: Any, theirs: Any) -> bool:
    """Whether two parameters are equal; arrays, frames and parts are compared as packed for a file."""
    if mine is theirs:
        return True
    if callable(mine) or callable(theirs):  # functions are compared by identity, parts such as kernels by content
        return type(mine) is type(theirs) and isinstance(mine, Part) and _pack_equally(mine, theirs)
    return _pack_equally(mine, theirs)


def _pack_equally(mine: Any, theirs: Any) -> bool:
    return to_bytes({"value": mine}) == to_bytes({"value": theirs})
