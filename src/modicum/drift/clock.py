"""Half-lives: rows weigh twice as much as those of a half-life before (cormode2009, forward decay)."""

from collections.abc import Iterator

import numpy as np

from modicum.rules.invariants import Whole
from modicum.state.part import Part


class Clock(Part):
    """The rows of the present period of `half_life` rows. What was learned is to be halved at the end of each.

    Row number p of a period is learned with 2**(p / half_life) times its weight, so that rows weigh 2**(-age /
    half_life) relative to each other, however they come in chunks.
    """

    _invariants = {
        "half_life": Whole(1),
        "rows": Whole(0, lambda its: its["half_life"] - 1),
    }

    def __init__(self, half_life: int, rows: int = 0):
        self.half_life = half_life
        self.rows = rows

    def periods(self, count: int) -> Iterator[tuple[slice, np.ndarray, bool]]:
        """The next rows, cut at the ends of periods: which rows, their weights, and whether a period ends there."""
        start = 0
        while start < count:
            stop = min(count, start + self.half_life - self.rows)
            growth = np.exp2(np.arange(self.rows, self.rows + stop - start) / self.half_life)
            self.rows = (self.rows + stop - start) % self.half_life
            yield slice(start, stop), growth, self.rows == 0
            start = stop

    def factor_for(self, other: "Clock") -> float:
        """What the weights of another stream, which ends now too, are multiplied by to compare with those of this."""
        return float(np.exp2((self.rows - other.rows) / self.half_life))
