"""Invariants of state as data: they must hold when a learner is saved, and before a loaded one is used.

Compiled loops do not check the arrays they are given. So every learner, and every part of its state, declares a rule
for each attribute, beside the constraints on its parameters:

    _invariants = {"keys": Array("float64", "n"), "row_ids": Array("int64", "n"), "size": Whole("n")}

Sizes and bounds are numbers, names, or functions of the `Scope`. A name refers to a size given by the owner
(`n_features`, `dtype`, `kind`, or one tied by `Is`), else to an attribute of the same object, else to a size that is
fixed where it first occurs, here `n`. A list holds alternatives. Constraints on parameters can be used as rules.
A class inherits the invariants of its bases.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from modicum.rules.params import Constraint, Where

Bound = float | str | Callable[["Scope"], Any] | None
MOST = 2**62  # larger counts would overflow in compiled loops
DTYPES = ("float64", "float32", "int64", "int32", "bool")
SHARED = ("n_features", "dtype", "kind")  # sizes of the rows of a learner, known in all of its parts


class Violation(ValueError):
    """An attribute breaks its rule; `path` says which attribute."""

    def __init__(self, expected: str):
        super().__init__(expected)
        self.expected = expected
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"{'.'.join(reversed(self.path)) or 'it'} must be {self.expected}"


class Scope:
    """Sizes by name while the attributes of one object are checked."""

    def __init__(self, owner: Any, sizes: Mapping[str, Any]):
        self.owner = owner
        self.sizes = dict(sizes)

    def __getitem__(self, name: str) -> Any:
        """A size, or an attribute of the owner; None if it has not been fixed yet."""
        return self.sizes[name] if name in self.sizes else getattr(self.owner, name, None)

    def find(self, bound: Bound) -> Any:
        """The value of a bound."""
        if isinstance(bound, str):
            return self[bound]
        return bound(self) if callable(bound) else bound

    def match(self, size: Any, bound: Bound, what: str = "size") -> None:
        """Raise a `Violation` unless a size equals `bound`; a name without a value yet is fixed to it."""
        known = self.find(bound)
        if known is None and isinstance(bound, str):
            self.sizes[bound] = size
        elif known is not None and known != size:
            raise Violation(f"of {what} {known}; got {size}")


class Within:
    """Bounds on numbers; `above` and `below` are strict."""

    def __init__(self, low: Bound = None, high: Bound = None, *, above: Bound = None, below: Bound = None):
        self.bounds = {"at least": low, "at most": high, "above": above, "below": below}

    def check_range(self, least: float, largest: float, scope: Scope) -> None:
        for words, bound in self.bounds.items():
            limit = scope.find(bound)
            number = least if words in ("at least", "above") else largest
            if limit is not None and not _HOLDS[words](number, limit):
                raise Violation(f"{words} {limit}; got {number}")


_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "at least": lambda number, limit: number >= limit,
    "at most": lambda number, limit: number <= limit,
    "above": lambda number, limit: number > limit,
    "below": lambda number, limit: number < limit,
}


class Array(Within):
    """An array of a given shape, where None is any size, and dtype: its name, the name of a size, or a tuple of kinds.

    Values must be finite by default. `rising` means strictly increasing from 0.
    """

    def __init__(
        self,
        dtype: str | tuple[str, ...] | None,
        *shape: Bound,
        low: Bound = None,
        high: Bound = None,
        above: Bound = None,
        below: Bound = None,
        finite: bool = True,
        rising: bool = False,
    ):
        super().__init__(low, high, above=above, below=below)
        self.dtype = dtype
        self.shape = shape
        self.finite = finite
        self.rising = rising

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, np.ndarray):
            raise Violation(f"an array; got {_kind_of(value)}")
        if isinstance(self.dtype, tuple) and value.dtype.kind not in self.dtype:
            raise Violation(f"of a dtype of kind {', '.join(self.dtype)}; got {value.dtype}")
        if isinstance(self.dtype, str):
            scope.match(value.dtype.name, (lambda _: self.dtype) if self.dtype in DTYPES else self.dtype, "dtype")
        if value.ndim != len(self.shape):
            raise Violation(f"of {len(self.shape)} dimensions; got {value.ndim}")
        for size, bound in zip(value.shape, self.shape, strict=True):
            scope.match(size, bound)
        if value.size and value.dtype.kind in "fiu":
            least, largest = value.min(), value.max()
            if self.finite and not (np.isfinite(least) and np.isfinite(largest)):
                raise Violation("finite")
            self.check_range(least, largest, scope)
        if self.rising and not (value.size and value[0] == 0 and (np.diff(value) > 0).all()):
            raise Violation("rising from 0")


class Sparse:
    """A CSR matrix with valid indices and finite values."""

    def __init__(self, n: Bound, width: Bound, dtype: str = "dtype"):
        self.n, self.width, self.dtype = n, width, dtype

    def check(self, value: Any, scope: Scope) -> None:
        if not sparse.issparse(value) or value.format != "csr":
            raise Violation(f"a CSR matrix; got {_kind_of(value)}")
        scope.match(value.shape[0], self.n)
        scope.match(value.shape[1], self.width)
        Array(self.dtype, None).check(value.data, scope)
        try:
            check_compressed(value)
        except ValueError as error:
            raise Violation(f"a valid CSR matrix ({error})") from None


def check_compressed(matrix: Any) -> None:
    """Raise ValueError unless the indices of a CSR matrix, or of one in a similar format, are valid."""
    matrix.check_format(full_check=True)
    if hasattr(matrix, "indptr") and (np.diff(matrix.indptr) < 0).any():  # scipy skips this if the last one is 0
        raise ValueError("indptr must be a non-decreasing sequence")


class Whole(Within):
    """An int, non-negative by default."""

    def __init__(self, low: Bound = 0, high: Bound = MOST):
        super().__init__(low, high)

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise Violation(f"an int; got {_kind_of(value)}")
        self.check_range(int(value), int(value), scope)


class Real(Within):
    """A number, finite by default."""

    def __init__(self, low: Bound = None, high: Bound = None, *, above: Bound = None, finite: bool = True):
        super().__init__(low, high, above=above)
        self.finite = finite

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
            raise Violation(f"a number; got {_kind_of(value)}")
        if np.isnan(value) or (self.finite and np.isinf(value)):
            raise Violation(f"finite; got {value}")
        self.check_range(float(value), float(value), scope)


class Equal:
    """A word, one of `possible`, that equals the size `name` of the owner: the kind of rows, for example."""

    def __init__(self, name: str, possible: Callable[[Scope], tuple[str, ...]]):
        self.name = name
        self.possible = possible

    def check(self, value: Any, scope: Scope) -> None:
        if value not in self.possible(scope) or value != scope[self.name]:
            raise Violation(f"{' or '.join(self.possible(scope))}, as in its owner; got {value!r}")


class AbsentWhile:
    """Accepts the absence of an attribute while a condition holds."""

    def __init__(self, condition: Callable[[Scope], bool]):
        self.condition = condition

    def check(self, value: Any, scope: Scope) -> None:
        if value is not NOTHING or not self.condition(scope):
            raise Violation("there")


class Is:
    """An object of one of these classes whose own invariants hold.

    Keywords tie its sizes to those of the owner: `Is(BottomK, n="n_sample")`. `at_most` bounds sizes, and `also` adds
    rules for its attributes.
    """

    def __init__(
        self,
        *kinds: type,
        at_most: Mapping[str, Bound] | None = None,
        also: Mapping[str, Any] | None = None,
        **ties: Bound,
    ):
        self.kinds = kinds
        self.at_most = at_most or {}
        self.also = also or {}
        self.ties = ties

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, self.kinds):
            raise Violation(f"a {' or '.join(kind.__name__ for kind in self.kinds)}; got {_kind_of(value)}")
        known = {name: scope.sizes[name] for name in SHARED if name in scope.sizes}
        known |= {inner: size for inner, outer in self.ties.items() if (size := scope.find(outer)) is not None}
        found = Scope(value, check_invariants(value, known) if hasattr(value, "_fields") else {})
        for inner, outer in self.ties.items():
            if found[inner] is not None:
                scope.match(found[inner], outer)
        for inner, bound in self.at_most.items():
            Whole(0, bound).check(found[inner], scope)
        for name, rule in self.also.items():
            with _within(name):
                check_rule(rule, getattr(value, name), scope)


class Each:
    """A list whose items all follow one rule; its length equals or fixes `count`, within `low` and `high`."""

    def __init__(self, rule: Any, count: Bound = None, *, low: int = 0, high: int = MOST):
        self.rule = rule
        self.count = count
        self.sizes = Whole(low, high)

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, list):
            raise Violation(f"a list; got {_kind_of(value)}")
        scope.match(len(value), self.count)
        self.sizes.check(len(value), scope)
        for i, item in enumerate(value):
            with _within(str(i)):
                check_rule(self.rule, item, scope)


class Keyed:
    """A dict with exactly these keys."""

    def __init__(self, **rules: Any):
        self.rules = rules

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, dict) or value.keys() != self.rules.keys():
            raise Violation(f"a dict of {', '.join(self.rules)}; got {_kind_of(value)}")
        for name, rule in self.rules.items():
            with _within(name):
                check_rule(rule, value[name], scope)


NOTHING = object()  # the value of an attribute that does not exist
ABSENT: Constraint = Where(lambda value: value is NOTHING, "absent")
ANYTHING: Constraint = Where(lambda value: value is not NOTHING, "there")
LIMIT = Whole(0, sys.maxsize)
TEXT: Constraint = Where(lambda value: isinstance(value, str), "a string")


@cache
def invariants_of(cls: Any) -> Mapping[str, Any]:
    """Rules by attribute, including those of base classes."""
    rules: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        rules |= vars(base).get("_invariants", {})
    return rules


def check_invariants(owner: Any, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Raise a `Violation` unless the invariants of an object and all its parts hold; returns the sizes by name."""
    cls: Any = type(owner)
    fields, rules = owner._fields(), invariants_of(cls)
    check_names(cls, fields)
    scope = Scope(owner, sizes)
    for name, rule in rules.items():
        with _within(name):
            check_rule(rule, fields.get(name, NOTHING), scope)
            if name in scope.sizes and name in fields:  # an attribute that is a size as well
                scope.match(fields[name], name)
    return scope.sizes


def check_names(cls: Any, names: Any) -> None:
    """Raise a `Violation` if there are attributes that the class does not declare: they could replace its methods."""
    undeclared = sorted(set(names) - set(invariants_of(cls)))
    if undeclared:
        raise Violation(f"without {undeclared[0]!r}, which {cls.__name__} does not declare among its invariants")


def check_rule(rule: Any, value: Any, scope: Scope) -> None:
    """Check a value against a rule, a constraint, or a list of alternatives."""
    if isinstance(rule, list):
        _check_alternatives(rule, value, scope)
    elif hasattr(rule, "check"):
        if value is NOTHING and not isinstance(rule, AbsentWhile):
            raise Violation("there")
        rule.check(value, scope)
    elif not rule.accepts(value):
        raise Violation(f"{rule}; got {_kind_of(value)}")


def _check_alternatives(rules: list[Any], value: Any, scope: Scope) -> None:
    before, violation = dict(scope.sizes), None
    for rule in rules:
        try:
            check_rule(rule, value, scope)
        except Violation as found:
            scope.sizes, violation = dict(before), found
        else:
            return
    assert violation is not None
    raise violation


@contextmanager
def _within(name: str) -> Iterator[None]:
    """Add the name of an attribute to the path of violations inside."""
    try:
        yield
    except Violation as violation:
        violation.path.append(name)
        raise


def _kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return "nothing" if value is NOTHING else f"a {type(value).__name__}"
