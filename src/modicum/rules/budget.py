"""Budgets: bounds on the memory of learners, and plans of the memory they will use."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from modicum.exceptions import BudgetError

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
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
        low, high = at_least, 2 * at_least
        while bytes_of(high) <= self.nbytes:
            low, high = high, 2 * high
        while high - low > 1:  # bytes_of(low) fits, bytes_of(high) does not
            middle = (low + high) // 2
            low, high = (middle, high) if bytes_of(middle) <= self.nbytes else (low, middle)
        return low

    def rows_beside(
        self,
        produced: int,
        asked: int | None,
        *,
        useful: int,
        at_least: int,
        bytes_of: Callable[[int], int],
        what: str,
    ) -> int:
        """The number of rows to keep beside the `produced` ones: `asked`, or if None at most `useful` that fit.

        `bytes_of(n)` is the total size with n such rows. A `BudgetError` says what is needed for `asked` rows, or for
        `at_least` rows if None.
        """
        needed = at_least if asked is None else asked
        if self.rows is not None and produced + needed > self.rows:
            raise self.too_small(produced + needed, what)
        if self.nbytes is not None and bytes_of(needed) > self.nbytes:
            raise self.too_small(bytes_of(needed), what)
        if asked is not None:
            return asked
        useful = max(useful, at_least)
        if self.rows is not None:
            return min(useful, self.rows - produced)
        return min(useful, self.most_within(bytes_of, at_least=at_least, what=what)) if self.nbytes else useful

    def too_small(self, needed: int, what: str) -> BudgetError:
        """The error for a budget that is smaller than `needed`, in rows or bytes as the budget is."""
        stated = f"{needed:,} rows" if self.nbytes is None else sufficient_bytes(needed)
        return BudgetError(f"{what} needs a budget of at least {stated}; got {self}.")

    def __str__(self) -> str:
        if self.rows is None and self.nbytes is None:
            return "no budget"
        return f"{self.rows:,} rows" if self.nbytes is None else format_bytes(self.nbytes)


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
        """A plan for so many rows with these sizes; underscores in names become spaces."""
        return cls(rows, {name.replace("_", " "): int(size) for name, size in sizes.items()})
