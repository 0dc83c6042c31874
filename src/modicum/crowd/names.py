"""Names of items, workers and tasks: arrays of ints or of strings, and the codes that stand for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from modicum.exceptions import DataError


def as_names(values: Any, what: str) -> np.ndarray:
    """Names as an array of int64 or of strings; a `DataError` names the first row without one."""
    column = np.asarray(values) if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    if column.ndim != 1:
        raise DataError(f"{what} must be a column of names; got {column.ndim} dimensions.")
    if column.dtype.kind in "iu":
        return column.astype(np.int64)
    cells = column.tolist()
    for row, cell in enumerate(cells):
        if cell is None or cell == "" or cell != cell:
            raise DataError(f"{what} of row {row} is missing.")
    if all(_is_whole(cell) for cell in cells):
        return np.array([int(cell) for cell in cells], np.int64)
    return np.array([str(cell) for cell in cells], dtype=np.str_)


def _is_whole(cell: Any) -> bool:
    if isinstance(cell, bool | np.bool_):
        return False
    return isinstance(cell, int | np.integer) or (isinstance(cell, float | np.floating) and float(cell).is_integer())


def codes_of(names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct names in order, and the place of each name among them."""
    distinct, codes = np.unique(names, return_inverse=True)
    return distinct, codes.astype(np.int32)


def united(known: np.ndarray, more: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Known names with new ones after them, and the places of `more`, which are distinct."""
    if known.dtype.kind != more.dtype.kind and len(known) and len(more):
        kinds = {"i": "numbers", "U": "texts"}
        raise DataError(
            f"{what} are named by {kinds[more.dtype.kind]} here; earlier ones were named by "
            f"{kinds[known.dtype.kind]}. Use one kind of names."
        )
    place = {name: code for code, name in enumerate(known.tolist())}
    new = [name for name in more.tolist() if name not in place]
    names = np.concatenate([known, np.array(new, dtype=more.dtype)]) if new else known
    place |= {name: len(known) + code for code, name in enumerate(new)}
    return names, np.array([place[name] for name in more.tolist()], np.int32)


def places(names: np.ndarray, wanted: Sequence[Any], what: str) -> np.ndarray:
    """The places of wanted names; a `DataError` for one that is not known."""
    place = {name: code for code, name in enumerate(names.tolist())}
    for name in wanted:
        if name not in place:
            raise DataError(f"there is no {what} {name!r} among the {len(names)} of the answers.")
    return np.array([place[name] for name in wanted], np.intp)
