"""Rows of the source that a learner has chosen, with all their columns."""

import math
import re
from typing import Any

import numpy as np

from modicum.contract.learner import Learner
from modicum.contract.picks import Picks
from modicum.exceptions import DataError
from modicum.streams import Stream

WIDE = 10_000  # columns of sparse rows, above which only their entries are written


def check_report(learner: Any, rows: Stream, image: str | None, text: str | None) -> None:
    """Before a long run: can the report show these pictures or texts?"""
    shape = parse_shape(image)
    if shape is not None and rows.width is not None and math.prod(shape) != rows.width:
        raise DataError(f"--image {image} takes {math.prod(shape):,} columns; {rows.name} has {rows.width:,}.")
    if text is None:
        return
    if not chooses_rows(learner):
        raise DataError(f"--text {text}: {type(learner).__name__} chooses no rows whose texts could be shown.")
    if not rows.rereadable:
        raise DataError(f"--text {text}: {rows.name} can be read only once. Write it to a file first.")
    if text not in (rows.table_columns or ()):
        there = ", ".join(rows.table_columns or ()) or "no names of columns"
        raise DataError(f"--text {text}: no such column in {rows.name}. There are: {there}.")


def chooses_rows(learner: Learner) -> bool:
    """Whether a learner, fitted or not, has rows to show."""
    return type(learner).picks is not Learner.picks


def picked_rows(picks: Picks, stream: Stream) -> dict[str, Any]:
    """All original columns of the picks, read again from the source; from a pipe, what was learned from."""
    learned = by_column(picks.rows, stream)
    if not stream.rereadable or stream.table_columns is None:
        return learned
    taken = stream.take(np.maximum(picks.ids, 0))
    columns = {name: taken[name] for name in taken.column_names}
    return columns if (picks.ids >= 0).all() else _with_given(columns, learned, picks.ids < 0)


def _with_given(picks: dict[str, Any], learned: dict[str, Any], given: np.ndarray) -> dict[str, Any]:
    """The picks with rows that are not of the source, of which only the columns learned from are known."""
    unknown = [None] * len(given)
    return {
        name: [own[i] if given[i] else cell for i, cell in enumerate(column.to_pylist())]
        for name, column in picks.items()
        for own in [np.asarray(learned.get(name, unknown)).tolist()]
    }


def by_column(rows: Any, stream: Stream) -> dict[str, Any]:
    """Rows such as were learned from, by the source's names of columns."""
    if hasattr(rows, "toarray"):
        if rows.shape[1] > WIDE:
            return {"entries": [_entries(rows[i]) for i in range(rows.shape[0])]}
        rows = rows.toarray()
    rows = np.asarray(rows)
    rows = rows if rows.ndim == 2 else rows.reshape(len(rows), -1)
    names = stream.columns or [f"x{i}" for i in range(rows.shape[1])]
    return {name: rows[:, i] for i, name in enumerate(names)}


def _entries(row: Any) -> str:
    """A sparse row as svmlight files have it, columns counted from 0."""
    return " ".join(f"{j}:{value:g}" for j, value in zip(row.indices, row.data, strict=True))


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """(28, 28) from "28x28"."""
    if text is None:
        return None
    if not re.fullmatch(r"\d+x\d+(x3)?", text):
        raise ValueError(f"--image takes a shape such as 28x28 or 32x32x3; got {text!r}.")
    return tuple(int(side) for side in text.split("x"))
