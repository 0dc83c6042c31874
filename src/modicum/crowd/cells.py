"""Columns of names as they are in tables of any kind, with blanks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.exceptions import DataError

LARGE = 1 << 63  # whole numbers from here on do not fit in int64, and become texts


@dataclass(frozen=True)
class Cells:
    """A column: its distinct cells, each an int, a text or None if it is blank, and their place in each row."""

    values: list[Any]
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def beside(cls, columns: "Sequence[Cells]") -> "Cells":
        """One column of several, row by row."""
        return cls._combined(columns, lambda codes: np.stack(codes, axis=1).ravel())

    @classmethod
    def after(cls, columns: "Sequence[Cells]") -> "Cells":
        """One column of several, one after the other."""
        return cls._combined(columns, np.concatenate)

    @classmethod
    def _combined(cls, columns: "Sequence[Cells]", combine: Callable[[list[np.ndarray]], np.ndarray]) -> "Cells":
        starts = np.cumsum([0, *(len(column.values) for column in columns)])
        codes = [column.codes + start for column, start in zip(columns, starts, strict=False)]
        return cls([value for column in columns for value in column.values], combine(codes))

    def repeated(self, times: int) -> "Cells":
        """Each row several times."""
        return Cells(self.values, np.repeat(self.codes, times))

    def take(self, rows: np.ndarray) -> "Cells":
        """Some of the rows: indices or a mask."""
        return Cells(self.values, self.codes[rows])

    def are_blank(self) -> np.ndarray:
        return np.array([value is None for value in self.values], bool)[self.codes]

    def names(self) -> np.ndarray:
        """The names in all rows, of which none is blank: int64 if all are whole numbers, else texts."""
        used = np.unique(self.codes)
        values = [self.values[code] for code in used]
        are_whole = all(isinstance(value, int) and -LARGE <= value < LARGE for value in values)
        names = np.array(values, np.int64) if are_whole else np.array(list(map(str, values)), np.str_)
        return names[np.searchsorted(used, self.codes)]


def as_cells(column: Any, where: str) -> Cells:
    """The cells of a list, an array or an Arrow column; `where` is its name in messages.

    Only distinct cells are looked at one by one.
    """
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise DataError(f"{where} must be a list or an array of names; got {column!r}.")
    if hasattr(column, "dictionary_encode"):
        values, codes = _arrow_codes(column, where)
    elif isinstance(column, np.ndarray) and column.dtype.kind in "iufUS":
        distinct, codes = np.unique(column, return_inverse=True)
        values = distinct.tolist()
    else:
        values, codes = _object_codes(column, where)
    return Cells([_cleaned(value) for value in values], codes)


def _arrow_codes(column: Any, where: str) -> tuple[list[Any], np.ndarray]:
    import pyarrow as pa

    cells = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_nested(cells.type):
        raise _no_names(where, str(cells.type))
    encoded = cells.dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _object_codes(column: Any, where: str) -> tuple[list[Any], np.ndarray]:
    place: dict[Any, int] = {}
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    try:
        codes = np.fromiter((place.setdefault(cell, len(place)) for cell in cells), np.int64, len(column))
    except TypeError:  # lists and mappings can't be keys
        raise _no_names(where, "lists or mappings") from None
    return list(place), codes


def _no_names(where: str, found: str) -> DataError:
    return DataError(f"{where} must have one name in each row; got {found}.")


def _cleaned(cell: Any) -> int | str | None:
    """A cell as an int or a text without blanks around it; None if it is blank."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    cell = cell.decode(errors="replace") if isinstance(cell, bytes) else cell
    if isinstance(cell, str):
        return cell.strip() or None
    if _is_missing(cell):
        return None
    if isinstance(cell, int | float) and not isinstance(cell, bool) and float(cell).is_integer():
        return int(cell)
    return str(cell)


def _is_missing(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # pandas' NA compares to neither true nor false
        return True
