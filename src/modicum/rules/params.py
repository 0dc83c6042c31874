"""Constraints on constructor parameters as data, and the error for values that break them.

A learner declares its constraints; they are checked at the first chunk:

    _constraints = {"n_exemplars": [Int(1)], "swaps": [OneOf("eager", "one")]}
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from modicum.exceptions import BudgetError
from modicum.rules.budget import as_budget


class Constraint(Protocol):
    def accepts(self, value: Any) -> bool: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Int:
    """An int of at least `low`, small enough for compiled loops."""

    low: int

    def accepts(self, value: Any) -> bool:
        return _is_int(value) and self.low <= int(value) < 2**62

    def __str__(self) -> str:
        return {0: "a non-negative int", 1: "a positive int"}.get(self.low, f"an int of at least {self.low}")


@dataclass(frozen=True)
class Number:
    """A finite number from `low` to `high`; `open_ends` excludes both ends."""

    low: float
    high: float = np.inf
    open_ends: bool = False

    def accepts(self, value: Any) -> bool:
        if (
            not isinstance(value, int | float | np.integer | np.floating)
            or isinstance(value, bool)
            or not np.isfinite(value)
        ):
            return False
        inside = self.low <= float(value) <= self.high
        return inside and not (self.open_ends and value in (self.low, self.high))

    def __str__(self) -> str:
        if self.high == np.inf:
            return f"a number {'above' if self.open_ends else 'from'} {self.low:g}"
        return f"a number {'strictly ' if self.open_ends else ''}between {self.low:g} and {self.high:g}"


class OneOf:
    """One of the given words."""

    def __init__(self, *words: str):
        self.words = words

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return " or ".join(f'"{word}"' for word in self.words)


@dataclass(frozen=True)
class Where:
    """A value that passes a test, with the words that describe it."""

    test: Callable[[Any], bool]
    words: str

    def accepts(self, value: Any) -> bool:
        return self.test(value)

    def __str__(self) -> str:
        return self.words


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_budget(value: Any) -> bool:
    if not isinstance(value, int | np.integer | str):
        return False
    try:
        as_budget(value if isinstance(value, str) else int(value))
    except (BudgetError, TypeError, ValueError):
        return False
    return True


POSITIVE = Number(0.0, open_ends=True)
BUDGET = Where(_is_budget, 'a positive int or a size such as "64 MiB"')
RANDOM_STATE = Where(
    lambda value: value is None or isinstance(value, np.random.Generator) or (_is_int(value) and value >= 0),
    "None, a non-negative int or a numpy Generator",
)
TRUTH = Where(lambda value: isinstance(value, bool | np.bool_), "True or False")
CALLABLE = Where(callable, "a callable")
NULL = Where(lambda value: value is None, "None")
ROWS = Where(lambda value: hasattr(value, "__len__") and not isinstance(value, str), "rows")


def check_params(owner: object, params: Mapping[str, Any], constraints: Mapping[str, Iterable[Constraint]]) -> None:
    """Raise a ValueError about the first parameter that no constraint in its list accepts."""
    for name, accepted in constraints.items():
        value = params[name]
        if not any(constraint.accepts(value) for constraint in accepted):
            expected = ", or ".join(str(constraint) for constraint in accepted)
            raise ValueError(f"{type(owner).__name__}: {name} must be {expected}; got {value!r}.")
