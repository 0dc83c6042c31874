"""Labels of any kind as numbers 0, 1, ... in the order of their first row."""

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from modicum.exceptions import DataError
from modicum.rules.invariants import Array
from modicum.state.part import Part
from modicum.streams.readers.columns import as_values

KINDS = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings", "S": "bytes"}


class Labels(Part):
    """The classes seen so far."""

    _by_value: dict[Any, int] | None = None

    _invariants = {
        "values": Array(tuple(KINDS), "n"),
        "order": Array("int64", "n", low=0, below="n"),
    }

    def __init__(self) -> None:
        self.values = np.empty(0)  # in the order of their codes
        self.order = np.empty(0, np.intp)  # of codes, that sorts the labels

    def __len__(self) -> int:
        return len(self.values)

    @property
    def sorted(self) -> np.ndarray:
        return self.values[self.order]

    def codes(self, y: np.ndarray) -> np.ndarray:
        """Codes of labels, -1 for one that is new."""
        if not len(self.values):
            return np.full(len(y), -1)
        known = self.sorted
        y = y.astype(known.dtype) if y.dtype.kind in "iu" and known.dtype.kind in "iu" else y  # else both become floats
        at = np.minimum(known.searchsorted(y), len(known) - 1)
        return np.where(known[at] == y, self.order[at], -1)

    def code_of(self, label: Any) -> int | None:
        """The code of a single label; None if it is new."""
        if self._by_value is None:
            self._by_value = {value: code for code, value in enumerate(self.values.tolist())}
        return self._by_value.get(label)

    def add(self, label: Any) -> None:
        self._by_value = None
        label = np.asarray(label)[None]
        self.values = np.concatenate([self.values, label]) if len(self.values) else label
        self.order = np.argsort(self.values, kind="stable")

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.order.nbytes

    def _fields(self) -> dict[str, Any]:
        return {"values": self.values, "order": self.order}

    def check(self, y: np.ndarray) -> None:
        """Refuse labels of another kind than those known: 1 and "1" can't be told apart once they are sorted."""
        if len(self.values) and KINDS[self.values.dtype.kind] != KINDS[y.dtype.kind]:
            raise DataError(
                f"labels are {KINDS[y.dtype.kind]} here and were {KINDS[self.values.dtype.kind]} before: "
                f"{y[0]!r}, {self.values[0]!r}."
            )


def clean_labels(y: Any, name: str) -> np.ndarray:
    """Labels as an array of numbers, booleans or strings."""
    y = as_values(y)
    if y.ndim != 1:
        y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        y = _plain(y, name)
    if y.dtype.kind not in KINDS:
        raise DataError(f"{name}: Unknown label type: {y.dtype}. Labels are numbers, booleans or strings.")
    if y.dtype.kind == "f" and not (np.isfinite(y) & (y == np.floor(y))).all():
        bad = int(np.flatnonzero(~np.isfinite(y) | (y != np.floor(y)))[0])
        raise DataError(
            f"{name}: Unknown label type: continuous. y of row {bad} of this chunk is {y[bad]}; labels are "
            "classes, so NaN, inf and fractions are refused."
        )
    return y


def _plain(y: np.ndarray, name: str) -> np.ndarray:
    """An array of objects as one of numbers or strings."""
    kinds = {type(label) for label in y}
    if len(y) and not (all(issubclass(kind, str) for kind in kinds) or all(np.isscalar(label) for label in y)):
        raise DataError(f"{name}: Unknown label type: unknown. Labels are numbers, booleans or strings.")
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        raise DataError(f"{name}: labels are strings in some rows and numbers in others.")
    return np.array(y.tolist())
