"""The first rows of a stream, which balls are initialised with."""

from typing import Any

import numpy as np

from modicum.rows import Rows, RowsOf, n_rows, put_values
from modicum.rules.invariants import Array, Whole
from modicum.state.part import Part

ROW_NUMBERS = 16  # bytes beside each row: its code and its weight


class FirstRows(Part):
    """All rows so far with codes and weights, held until there are `limit` of them (a power of two, or the next below).

    Each time their number has doubled, balls are initialised with all of them again: a ball that learned them one by
    one would always depend on their order.
    """

    _invariants = {
        "rows": RowsOf("n", most="limit"),
        "codes": Array("int64", "n", low=0, below="n_classes"),
        "weights": Array("float64", "n", above=0.0),
        "limit": Whole(2),
    }

    def __init__(self, like: Any, limit: int):
        self.rows = Rows.like(like, limit)
        self.codes = np.empty(0, np.int64)
        self.weights = np.empty(0)
        self.limit = limit

    def __len__(self) -> int:
        return len(self.codes)

    def append(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        slots = np.arange(len(self), len(self) + n_rows(X))
        self.rows.put(slots, X)
        self.codes = put_values(self.codes, slots, codes)
        self.weights = put_values(self.weights, slots, weight)

    @property
    def are_complete(self) -> bool:
        """Whether there is no room for twice as many."""
        return 2 * len(self) > self.limit

    @staticmethod
    def size(limit: int, row_bytes: int) -> int:
        """The most bytes held, of dense rows."""
        return limit * (row_bytes + ROW_NUMBERS) + 8
