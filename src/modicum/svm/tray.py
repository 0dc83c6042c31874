"""Single rows, collected until it pays to learn them: a call per row costs far more than the row."""

from typing import Any

import numpy as np

from modicum.contract.validation import largest_value
from modicum.svm.labels import Labels

ROWS = 64
KINDS: dict[type, str] = {bool: "b", int: "i", str: "U"}  # of arrays


class Tray:
    """Up to 64 checked rows with the codes of their labels.

    Whatever is asked of a learner, it learns what is on its tray before it answers, so nobody sees a difference. A tray
    is not part of the state: it is empty when that is saved.
    """

    def __init__(self, width: int, dtype: str):
        self.rows = np.empty((ROWS, width), dtype)
        self.codes = np.empty(ROWS, np.int64)
        self.count = 0
        self._largest_square = largest_value(self.rows.dtype, width) ** 2

    def takes(self, X: Any, y: Any, labels: Labels) -> bool:
        """Put a row on the tray if it is an array with nothing to convert and a label that is known."""
        if type(X) is not np.ndarray or X.shape != (1, self.rows.shape[1]) or X.dtype != self.rows.dtype:
            return False
        row, code = X[0], _code(y, labels)
        with np.errstate(over="ignore", invalid="ignore"):
            if code is None or not row.dot(row) <= self._largest_square:
                return False  # the long way tells what is wrong with it
        self.rows[self.count] = row
        self.codes[self.count] = code
        self.count += 1
        return True

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.codes.nbytes

    @property
    def is_full(self) -> bool:
        return self.count == ROWS

    @property
    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rows[: self.count], self.codes[: self.count]


def _code(y: Any, labels: Labels) -> int | None:
    """The code of a single label, in an array or a list; None if it is new, or not quite of the kind of those known."""
    known = labels.values.dtype
    if type(y) is np.ndarray:
        return labels.code_of(y.item()) if y.shape == (1,) and y.dtype == known else None
    is_one = type(y) is list and len(y) == 1 and KINDS.get(type(y[0])) == known.kind
    return labels.code_of(y[0]) if is_one else None
