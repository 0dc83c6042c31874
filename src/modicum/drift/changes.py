"""The latest changes of a stream, as state of a learner."""

from typing import ClassVar

import numpy as np

from modicum.drift.adwin import Change
from modicum.rules.invariants import Array
from modicum.state.part import Part

MOST_CHANGES = 100


class Changes(Part):
    """The latest changes; older ones are dropped."""

    MOST_BYTES: ClassVar[int] = 24 * MOST_CHANGES
    _invariants = {"rows": Array("int64", "n", 2), "differences": Array("float64", "n")}

    def __init__(self) -> None:
        self.rows = np.zeros((0, 2), np.int64)  # noticed at, and since
        self.differences = np.zeros(0)

    def append(self, change: Change) -> None:
        self.rows = np.concatenate([self.rows, [[change.row, change.since]]])[-MOST_CHANGES:]
        self.differences = np.append(self.differences, change.difference)[-MOST_CHANGES:]

    def as_list(self) -> list[Change]:
        return list(map(Change, *self.rows.T.tolist(), self.differences.tolist()))
