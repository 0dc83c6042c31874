"""Columns of true and false."""

from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import as_floats, combined, is_text
from modicum.pipeline.columns.column import Column, Settings
from modicum.rules.invariants import Real

YES, NO = ("true", "yes", "y", "t"), ("false", "no", "n", "f")


class Boolean(Column):
    """1 for true, 0 for false; the share of true for missing values."""

    kind, plural = "boolean", "booleans"
    _invariants = {"share": Real(0.0, 1.0)}

    def __init__(self, name: str, values: np.ndarray):
        known = values[~np.isnan(values)]
        super().__init__(name, has_flag=len(known) < len(values))
        self.share = float(known.mean()) if len(known) else 0.0

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Boolean":
        return cls(name, as_truth(cells))

    @property
    def own_names(self) -> list[str]:
        return [self.name]

    def parse(self, cells: Any) -> np.ndarray:
        return as_truth(cells)

    def missing(self, values: np.ndarray) -> np.ndarray:
        return np.isnan(values)

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        out[:, 0] = np.where(np.isnan(values), self.share, values)

    def decode(self, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0]

    def unlike(self, values: np.ndarray) -> int:
        return 0

    def describe(self) -> str:
        return f"0 or 1{f'; missing values become {self.share:.2g}, with a flag' if self.has_flag else ''}"


def as_truth(cells: Any) -> np.ndarray:
    """1.0, 0.0 or NaN; a ValueError if there is a cell of another kind."""
    if not isinstance(cells, np.ndarray):
        cells = combined(cells)
        if hasattr(cells, "dictionary_decode"):
            cells = cells.dictionary_decode()
        if is_text(cells.type):
            words = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0), "1": 1.0, "0": 0.0, "": np.nan}
            found = [words.get((cell or "").strip().lower(), 2.0) for cell in cells.to_pylist()]
            values = np.array(found, np.float64)
        else:
            values = as_floats(cells)
    else:
        values = as_floats(cells)
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        raise ValueError("there are cells that are neither true nor false")
    return values
