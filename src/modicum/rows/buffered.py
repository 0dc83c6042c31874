"""Buffered rows: the first of a stream, for learners that are initialized from several rows."""

from typing import Any

import numpy as np

from modicum.rows.kinds import n_rows
from modicum.rows.rows import Rows, RowsOf
from modicum.rows.slots import put_values
from modicum.rules.invariants import Array
from modicum.rules.params import NULL
from modicum.state.part import Part

LEAST = 1e-300  # weight of a row that has faded


class BufferedRows(Part):
    """Buffered rows with their ids, targets and weights."""

    _invariants = {
        "rows": RowsOf("n"),
        "ids": Array("int64", "n"),
        "targets": [NULL, Array(None, "n", finite=False)],
        "weights": Array("float64", "n", above=0.0),
    }

    def __init__(self, like: Any, y: np.ndarray | None, limit: int):
        self.rows = Rows.like(like, limit)
        self.ids = np.empty(0, np.int64)
        self.targets = None if y is None else y[:0]
        self.weights = np.empty(0)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def contents(self) -> tuple[Any, np.ndarray | None, np.ndarray, np.ndarray]:
        """Rows, targets, weights and ids: what a learner is given of a chunk."""
        return self.rows.values, self.targets, self.weights, self.ids

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        self.weights = np.maximum(self.weights * factor, LEAST)

    def append(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        slots = np.arange(len(self), len(self) + n_rows(X))
        self.rows.put(slots, X)
        self.ids = put_values(self.ids, slots, row_ids)
        self.weights = put_values(self.weights, slots, np.ones(len(slots)) if weight is None else weight)
        if self.targets is not None and y is not None:
            self.targets = put_values(self.targets, slots, y)
