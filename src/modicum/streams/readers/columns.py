"""Which columns of a source are features, which is the target, which holds weights."""

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import Block, as_floats
from modicum.streams.readers.dialect import DETECT, TextOptions

Key = str | int
SHOWN = 20  # column names in an error message


@dataclass(frozen=True)
class Wanted:
    """The requested columns, by name or position; None means the default features, or no target or weight.

    `unlabelled` tells that targets may be missing.
    `raw` rows of tables are Arrow tables with all columns, and the place of every row. `text` tells how text is read.
    """

    columns: list[Key] | None = None
    target: Key | None = None
    weight: Key | None = None
    unlabelled: bool = False
    raw: bool = False
    text: TextOptions = DETECT

    def refuse(self, name: str, reason: str) -> None:
        """Raise a DataError if a column was requested from a source that has none."""
        for option in ("columns", "target", "weight"):
            if getattr(self, option) is not None:
                raise DataError(f"{name}: {option}={getattr(self, option)!r} names a column, but {reason}")


@dataclass(frozen=True)
class Choice:
    """The chosen columns as positions."""

    features: Sequence[int]  # a range if there are many
    target: int | None
    weight: int | None


def as_keys(columns: Any) -> list[Key] | None:
    """A list of names or positions; "a,b" is short for ["a", "b"]."""
    if columns is None:
        return None
    if isinstance(columns, str):
        columns = [name.strip() for name in columns.split(",")]
    keys = [key if isinstance(key, str) else operator.index(key) for key in columns]
    if not keys:
        raise DataError("stream: columns must name at least one column; got none.")
    return keys


def choose(wanted: Wanted, source: str, width: int, names: Sequence[str] | None, usable: Sequence[int]) -> Choice:
    """Positions of the wanted columns; by default the features are all `usable` ones except target and weight."""
    at = [None if key is None else position(key, source, width, names) for key in (wanted.target, wanted.weight)]
    features: Sequence[int]
    if wanted.columns is not None:
        features = [position(key, source, width, names) for key in wanted.columns]
    else:
        features = usable if at == [None, None] else [j for j in usable if j not in at]
    if names is not None:
        _refuse_duplicates([*features, *at], source, names)
    return Choice(features, *at)


def _refuse_duplicates(chosen: Iterable[int | None], source: str, names: Sequence[str]) -> None:
    """Raise a DataError if the name of a chosen column is that of another column too."""
    times = Counter(names)
    for j in chosen:
        if j is not None and times[names[j]] > 1:
            raise DataError(f"{source}: {times[names[j]]} columns are named {names[j]!r}. Give them different names.")


def position(key: Key, source: str, width: int, names: Sequence[str] | None) -> int:
    """The position of a column; a DataError that lists the existing columns if there is none."""
    if isinstance(key, str):
        if names is None:  # positions from a command line are text
            key = int(key) if key.lstrip("-").isdigit() else key
        elif key in names:
            return names.index(key)
    if isinstance(key, int) and -width <= key < width:
        return key % width
    raise DataError(f"{source}: no column {key!r}. {_existing_columns(key, width, names)}")


def _existing_columns(key: Key, width: int, names: Sequence[str] | None) -> str:
    if names is None:
        return f"Its columns have no names, only positions: 0 to {width - 1}."
    close = get_close_matches(str(key), names, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    more = f" and {width - SHOWN:,} more" if width > SHOWN else ""
    return f"{hint}It has: {', '.join(names[:SHOWN])}{more}."


def split(block: Any, choice: Choice, source: str) -> Block:
    """X, y and weight of a block of an array or CSR matrix; views where possible."""
    y = None if choice.target is None else _column(block, choice.target)
    weight = None if choice.weight is None else as_weights(_column(block, choice.weight), source)
    columns = _as_slice(choice.features)
    if columns != slice(0, block.shape[1]):
        block = block[:, columns]
    return as_floats(block, source), y, weight


def as_values(values: Any) -> np.ndarray:
    """Targets as an array. Those of a list that has more than strings stay as they are: NaN does not become "nan"."""
    found = np.asarray(values)
    if found.dtype.kind == "U" and isinstance(values, list | tuple) and not all(isinstance(one, str) for one in values):
        return np.asarray(values, object)
    return found


def is_given(targets: np.ndarray) -> np.ndarray:
    """Which targets are there: not NaN, None or blank."""
    if targets.dtype.kind == "U":
        return np.char.str_len(np.char.strip(targets)) > 0
    if targets.dtype.kind == "O":
        return np.array([one is not None and one == one and str(one).strip() != "" for one in targets], bool)
    return ~np.isnan(targets) if targets.dtype.kind == "f" else np.ones(len(targets), bool)


def as_weights(values: Any, source: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: weights must be numbers; {error}.") from None


def _column(block: Any, j: int) -> np.ndarray:
    return block[:, [j]].toarray().ravel() if hasattr(block, "tocsr") else block[:, j]


def _as_slice(positions: Sequence[int]) -> slice | list[int]:
    """Positions as a slice if they are consecutive: a slice gives a view, a list a copy."""
    run = range(positions[0], positions[-1] + 1) if positions else range(0)
    same = positions == run if isinstance(positions, range) else list(positions) == list(run)
    return slice(run.start, run.stop) if same else list(positions)
