"""The history of a learner: a record of bounded size for a stream of any length."""

import numpy as np

from modicum.rules.invariants import TEXT, Array, Each, Whole
from modicum.state.part import Part


class History(Part):
    """A table of numbers that always spans the whole stream.

    Every `step`-th record is kept, and the latest one. When the table is full, every second record is dropped and
    `step` doubles.
    """

    _invariants = {
        "columns": Each(TEXT, "width"),
        "table": Array("float64", "limit", "width", finite=False),
        "count": Whole(0, "limit"),
        "step": Whole(1),
        "calls": Whole("count"),
    }

    def __init__(self, *columns: str, limit: int = 512):
        self.columns = list(columns)
        self.table = np.zeros((limit, len(columns)))
        self.count = 0  # rows of the table in use, the latest record included
        self.step = 1
        self.calls = 0

    @property
    def keeps_next(self) -> bool:
        """Whether the next record may stay when others follow."""
        return (self.calls + 1) % self.step == 0

    def record(self, *values: float) -> None:
        """Add a record: one value per column."""
        if self.calls % self.step == 0:  # the previous record is kept; otherwise this one overwrites it
            if self.count == len(self.table):
                self.count = len(self.table) // 2
                self.table[: self.count] = self.table[: 2 * self.count : 2].copy()
                self.step *= 2
            self.count += 1
        self.table[self.count - 1] = values
        self.calls += 1

    def amend(self, column: str, value: float) -> None:
        """Change one value of the latest record."""
        self.table[self.count - 1, self.columns.index(column)] = value

    def columns_as_arrays(self) -> dict[str, np.ndarray]:
        """Copies of the columns by name."""
        return {name: self.table[: self.count, i].copy() for i, name in enumerate(self.columns)}
