"""A buffer of single rows: a call per row costs far more than learning the row."""

from typing import Any

import numpy as np

from modicum.contract.labels import Labels
from modicum.contract.validation import largest_value
from modicum.rules.invariants import Array, Whole
from modicum.state.part import Part

TRAY_ROWS = 64  # beyond, the overhead of learning them is a small share of that of the calls
KINDS: dict[type, str] = {bool: "b", int: "i", str: "U"}  # of arrays


class Tray(Part):
    """Up to 64 checked rows with the codes of their labels, which have not been learned yet.

    It is part of the state: copies and files hold its rows. Every public answer of the learner learns them first, so
    answers depend on the rows alone.
    """

    _invariants = {
        "rows": Array("dtype", "count", "n_features"),
        "codes": Array("int64", "count", low=0, below="n_classes"),
        "count": Whole(0, TRAY_ROWS),
    }

    def __init__(self, n_features: int, dtype: str):
        self.rows = np.empty((0, n_features), dtype)
        self.codes = np.empty(0, np.int64)
        self.count = 0
        self.allocate()

    def allocate(self) -> None:
        """Make room for all rows; a file holds only those in use."""
        rows, codes = self.contents
        self.rows = np.empty((TRAY_ROWS, rows.shape[1]), rows.dtype)
        self.codes = np.empty(TRAY_ROWS, np.int64)
        self.rows[: self.count], self.codes[: self.count] = rows, codes
        self._largest_square = largest_value(rows.dtype, rows.shape[1]) ** 2

    def put(self, X: Any, y: Any, labels: Labels) -> bool:
        """Add a row if it is an array that needs no conversion, with a known label; returns whether it was added."""
        if type(X) is not np.ndarray or X.shape != (1, self.rows.shape[1]) or X.dtype != self.rows.dtype:
            return False
        row, code = X[0], _code(y, labels)
        with np.errstate(over="ignore", invalid="ignore"):
            if code is None or not row.dot(row) <= self._largest_square:
                return False  # the checks of chunks report what is wrong with it
        self.rows[self.count] = row
        self.codes[self.count] = code
        self.count += 1
        return True

    def empty(self) -> tuple[np.ndarray, np.ndarray]:
        """Remove all rows, and return views of them and of their codes."""
        contents = self.contents
        self.count = 0
        return contents

    @property
    def is_full(self) -> bool:
        return self.count == TRAY_ROWS

    @property
    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rows[: self.count], self.codes[: self.count]

    @staticmethod
    def size(n_features: int, itemsize: int) -> int:
        """Bytes held."""
        return TRAY_ROWS * (n_features * itemsize + 8)

    @property
    def nbytes(self) -> int:
        return self.size(self.rows.shape[1], self.rows.itemsize)

    def _fields(self) -> dict[str, Any]:
        rows, codes = self.contents
        return {"rows": rows, "codes": codes, "count": self.count}


def _code(y: Any, labels: Labels) -> int | None:
    """The code of a single label in an array or a list; None if it is new, or not exactly of the known kind."""
    known = labels.values.dtype
    if type(y) is np.ndarray:
        return labels.code_of(y.item()) if y.shape == (1,) and y.dtype == known else None
    is_one = type(y) is list and len(y) == 1 and KINDS.get(type(y[0])) == known.kind
    return labels.code_of(y[0]) if is_one else None
