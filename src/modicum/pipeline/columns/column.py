"""The interface of encoded columns."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from modicum.rules.invariants import TEXT, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part

ENOUGH = 1_000  # rows after the first ones, before a column is said to have changed


@dataclass(frozen=True)
class Settings:
    """What the user chose for all columns of an encoder."""

    standardize: bool
    max_categories: int
    text_width: int | None  # None: sparse, as wide as the hash
    features: str


class Counts(NamedTuple):
    """Counts of values: all, those that are missing, and those unlike the first rows."""

    n_rows: int
    n_missing: int
    n_unlike: int


class Column(Part):
    """One column of a table, and the columns of numbers that it becomes.

    The first rows decide how (`decide`); then it stays fixed, and only counts how later rows differ (`watch`). A column
    in which values are missing has one more column, a flag.
    """

    kind: ClassVar[str]
    plural: ClassVar[str]
    sparse = False
    _invariants = {
        "name": TEXT,
        "has_flag": TRUTH,
        "n_watched": Whole(),
        "n_missing": Whole(0, "n_watched"),
        "n_unlike": Whole(0, "n_watched"),
        "was_told": TRUTH,
    }

    def __init__(self, name: str, has_flag: bool):
        self.name = name
        self.has_flag = has_flag
        self.n_watched = 0  # rows after the first ones
        self.n_missing = 0  # of these, in which the value is missing
        self.n_unlike = 0  # of these, in which it is unlike the first rows
        self.was_told = False  # whether the user was warned

    @classmethod
    @abstractmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Column":
        """The column as its first cells suggest."""

    @property
    @abstractmethod
    def own_names(self) -> list[str]:
        """Names of the columns of numbers, without the flag."""

    @property
    def names(self) -> list[str]:
        return [*self.own_names, *([f"{self.name} missing"] if self.has_flag else [])]

    @property
    def width(self) -> int:
        return len(self.own_names) + self.has_flag

    @abstractmethod
    def parse(self, cells: Any) -> Any:
        """Cells as `encode` takes them; a ValueError if they are of another type."""

    @abstractmethod
    def missing(self, values: Any) -> np.ndarray:
        """Whether each value is missing."""

    @abstractmethod
    def encode(self, values: Any, out: np.ndarray) -> None:
        """Write the numbers of parsed values to `out`, of shape (rows, columns without the flag)."""

    def decode(self, numbers: np.ndarray) -> np.ndarray | None:
        """Values in their own units for numbers as `encode` writes them; None if they can't be recovered."""
        return None

    @abstractmethod
    def unlike(self, values: Any) -> int:
        """The number of values unlike those of the first rows."""

    @abstractmethod
    def describe(self) -> str:
        """What is done with the column, in a few words."""

    def count(self, values: Any) -> Counts:
        """What `watch` adds up of later values."""
        missing = self.missing(values)
        return Counts(len(missing), int(np.count_nonzero(missing)), self.unlike(values))

    def watch(self, counts: Counts) -> None:
        """Count later values, and how many are missing or unlike the first rows."""
        self.n_watched += counts.n_rows
        self.n_missing += counts.n_missing
        self.n_unlike += counts.n_unlike

    def add_counts(self, other: "Column") -> None:
        """Add what another encoder counted in the same column."""
        self.n_watched += other.n_watched
        self.n_missing += other.n_missing
        self.n_unlike += other.n_unlike

    @property
    def change(self) -> str | None:
        """How later rows differ from the first, if that matters."""
        if self.n_watched < ENOUGH:
            return None
        if self.n_missing > self.n_watched // 2 and not self.has_flag:
            return f"{self.n_missing:,} of {self.n_watched:,} later values are missing"
        return None

    def fixed(self) -> dict[str, Any]:
        """What was decided, without what is counted afterwards."""
        counted = ("n_watched", "n_missing", "n_unlike", "was_told")
        return {name: value for name, value in self._fields().items() if name not in counted}
