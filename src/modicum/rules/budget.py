"""Budgets: bounds on the memory of learners, and plans of the memory they will use."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from modicum.exceptions import BudgetError

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]+)\s*")


@dataclass(frozen=True)
class Budget:
    """A bound on rows or on bytes; no bound if both are None."""

    rows: int | None = None
    nbytes: int | None = None

    def rows_within(self, row_bytes: int, *, fixed_bytes: int, at_least: int, what: str) -> int:
        """The number of rows of `row_bytes` that fit beside `fixed_bytes`; a `BudgetError` if fewer than `at_least`."""
        if self.nbytes is None:
            assert self.rows is not None
            if self.rows < at_least:
                raise self.too_small(at_least, what)
            return self.rows
        fit = (self.nbytes - fixed_bytes) // row_bytes
        if fit < at_least:
            raise self.too_small(fixed_bytes + at_least * row_bytes, what)
        return fit

    def most_within(self, bytes_of: Callable[[int], int], *, at_least: int, what: str) -> int:
        """The largest n for which bytes_of(n) is within the budget, for sizes that are not linear in n."""
        if self.nbytes is None:
            return self.rows_within(0, fixed_bytes=0, at_least=at_least, what=what)
        if bytes_of(at_least) > self.nbytes:
            raise self.too_small(bytes_of(at_least), what)
        return _largest(bytes_of, self.nbytes, self.nbytes)

    def split(
        self,
        plan_of: "Callable[[int, int], Plan]",
        *,
        n_produced: int | None,
        n_validation: int | None,
        useful: int = 0,
        at_least: int = 1,
        what: str,
    ) -> tuple[int, int]:
        """Numbers of rows to produce and of validation rows: those that are given, or as many as the budget allows.

        `plan_of(n, w)` is the plan for n and w of them. `n_validation` is None for at most `useful` rows, and no fewer
        than `at_least`: all that fit beside the rows to produce, or in half of the budget if their number is None too.
        A `BudgetError` says what is needed.
        """
        bound = self.nbytes if self.rows is None else self.rows
        useful = max(useful, at_least)
        if bound is None:
            assert n_produced is not None
            return n_produced, useful if n_validation is None else n_validation

        def cost(n: int, w: int) -> int:
            plan = plan_of(n, w)
            return plan.nbytes if self.rows is None else plan.rows

        fewest = n_produced or 1
        needed = cost(fewest, at_least if n_validation is None else n_validation)
        if needed > bound:
            raise self.too_small(needed, what)
        if n_validation is None:
            share = bound if n_produced else bound // 2
            n_validation = max(at_least, _largest(lambda w: cost(fewest, w), share, useful))
        return n_produced or _largest(lambda n: cost(n, n_validation), bound, bound), n_validation

    def too_small(self, needed: int, what: str) -> BudgetError:
        """The error for a budget that is smaller than `needed`, in rows or bytes as the budget is."""
        stated = f"{needed:,} rows" if self.nbytes is None else sufficient_bytes(needed)
        return BudgetError(f"{what} needs a budget of at least {stated}; got {self}.")

    def __str__(self) -> str:
        if self.rows is None and self.nbytes is None:
            return "no budget"
        return f"{self.rows:,} rows" if self.nbytes is None else format_bytes(self.nbytes)


def _largest(cost: Callable[[int], int], bound: int, most: int) -> int:
    """The largest number up to `most` whose cost is within the bound."""
    return bisect_right(range(most + 1), bound, key=cost) - 1


def as_budget(value: int | str | Budget | None) -> Budget:
    """The budget of a number of rows (`200`), a size (`"64 MiB"`), a `Budget`, or None (no bounds).

    >>> as_budget("64 MiB").nbytes, as_budget(200).rows
    (67108864, 200)
    """
    if value is None:
        return Budget()
    if isinstance(value, Budget):
        return value
    if isinstance(value, str):
        return Budget(nbytes=parse_bytes(value))
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise BudgetError(f'a budget is a positive int or a size such as "64 MiB"; got {value!r}.')
    return Budget(rows=int(value))


def parse_bytes(text: str) -> int:
    """Bytes in a size such as "64 MiB", "1.5GB" or "4096 B".

    >>> parse_bytes("1.5 KiB")
    1536
    """
    match = _SIZE.fullmatch(text)
    unit = _UNITS.get(match[2].lower()) if match else None
    nbytes = int(float(match[1]) * unit) if match and unit else 0
    if nbytes < 1:
        raise BudgetError(f'a size is a number and a unit, such as "64 MiB" or "2 GB"; got {text!r}.')
    return nbytes


def format_bytes(nbytes: float) -> str:
    """A size as text with a unit.

    >>> format_bytes(67108864), format_bytes(900)
    ('64 MiB', '900 B')
    """
    units = iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while nbytes >= 1024 and unit != "TiB":
        nbytes, unit = nbytes / 1024, next(units)
    digits = max(3, len(str(round(nbytes))))  # all of those before the point: no exponent
    return f"{nbytes:.{digits}g} {unit}"


def sufficient_bytes(nbytes: int) -> str:
    """A size as text that, read as a budget, is at least `nbytes`: `format_bytes` may round down."""
    text = format_bytes(nbytes)
    return text if parse_bytes(text) >= nbytes else format_bytes(1.005 * nbytes)


@dataclass(frozen=True)
class Plan:
    """The memory that a learner will use, by purpose, computed before any data is seen."""

    rows: int
    sizes: dict[str, int]

    @property
    def nbytes(self) -> int:
        return sum(self.sizes.values())

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows kept, {format_bytes(self.nbytes)} in all"]
        return "\n".join(lines + [f"  {name}: {format_bytes(size)}" for name, size in self.sizes.items()])

    @classmethod
    def of(cls, rows: int, **sizes: int) -> Self:
        """A plan for this many rows with these sizes; underscores in names become spaces."""
        return cls(rows, {name.replace("_", " "): int(size) for name, size in sizes.items()})
