"""ADWIN: a window of the latest values that is as long as their mean stays the same (bifet2007)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum._jit.adwin import watch
from modicum.exceptions import DataError
from modicum.rules.invariants import Array, Real, Scope, Whole
from modicum.state.part import Part

LEVELS = 48  # buckets of up to 2**47 values
BUCKETS = 5  # of each level, M of the paper: the place of a change is known to about a fifth of its age
MOST_ROWS = 2 ** (LEVELS - 2)  # so that the last level stays empty


@dataclass(frozen=True)
class Change:
    """A change of the mean.

    Attributes
    ----------
    row : int
        The value at which it was noticed, counted from 0.
    since : int
        About where it was: the first value after the cut at which the means differ most for chance.
    difference : float
        The mean of the values after the cut minus that of those before.
    """

    row: int
    since: int
    difference: float


class Adwin(Part):
    """Detector of changes in the mean of values between 0 and 1, such as errors or novelties of rows.

    It holds a window of the latest values, summarized in O(log n) numbers. Every few values it compares the means of
    all older and newer parts of it, and where they differ by more than chance allows, the older part is forgotten. That
    may take several cuts; a change is told once.

    Guarantee: while the mean stays the same, a comparison finds a change with probability at most `delta`, up to two
    approximations of the paper: the variance is that of the window, and the cuts count as ln n.

    Parameters
    ----------
    delta : float, default=0.002
        Probability of a false alarm.
    every : int, default=32
        Values between two comparisons.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.drift import Adwin
    >>> errors = np.random.default_rng(0).random(6000) < np.repeat([0.1, 0.3], 3000)
    >>> [(change.row, change.difference > 0) for change in Adwin().add(errors)]
    [(3103, True)]

    References
    ----------
    bifet2007, section 3.
    """

    _invariants = {
        "delta": Real(above=0.0, high=1.0),
        "every": Whole(1),
        "n_seen": Whole(lambda its: _width_of(its), MOST_ROWS),
        "noticed": Whole(-1, MOST_ROWS),
        "counts": Array("int64", LEVELS, low=0, high=BUCKETS),
        "sums": Array("float64", LEVELS, BUCKETS + 1, low=0.0),
        "squares": Array("float64", LEVELS, BUCKETS + 1, low=0.0),
    }

    def __init__(self, delta: float = 0.002, every: int = 32):
        if not 0 < delta < 1:
            raise ValueError(f"Adwin: delta must be between 0 and 1; got {delta!r}.")
        if not isinstance(every, int | np.integer) or every < 1:
            raise ValueError(f"Adwin: every must be an int of at least 1; got {every!r}.")
        self.delta = float(delta)
        self.every = int(every)
        self.n_seen = 0
        self.noticed = -1  # the value at which the last change was noticed
        self.counts = np.zeros(LEVELS, np.int64)
        self.sums = np.zeros((LEVELS, BUCKETS + 1))
        self.squares = np.zeros((LEVELS, BUCKETS + 1))

    @property
    def width(self) -> int:
        """Values in the window."""
        return int(self.counts @ (1 << np.arange(LEVELS)))

    @property
    def mean(self) -> float:
        """Mean of the values in the window; NaN if there are none."""
        held = np.arange(BUCKETS + 1) < self.counts[:, None]
        return float(self.sums[held].sum() / self.width) if self.width else np.nan

    def add(self, values: Any) -> list[Change]:
        """Add the next values of the stream; returns the changes that they show."""
        values = np.ascontiguousarray(values, np.float64).ravel()
        if len(values) and not (values.min() >= 0 and values.max() <= 1):
            wrong = values[~((values >= 0) & (values <= 1))][0]
            raise DataError(f"Adwin: values must be between 0 and 1; got {wrong:.6g}. Divide them by a bound.")
        most = len(values) // self.every + 1
        at, since, differences = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
        state = self.counts, self.sums, self.squares
        found = watch(values, self.n_seen, self.every, *state, self.delta, at, since, differences)
        self.n_seen += len(values)
        changes = []
        for change in map(Change, at[:found].tolist(), since.tolist(), differences.tolist()):
            if change.since > self.noticed:  # or else more of what was before the last change is forgotten
                changes.append(change)
                self.noticed = change.row
        return changes


def _width_of(its: Scope) -> int:
    """Values in the window of a detector that is being checked."""
    counts = its["counts"]
    is_valid = isinstance(counts, np.ndarray) and counts.shape == (LEVELS,) and counts.dtype == np.int64
    return int(counts @ (1 << np.arange(LEVELS))) if is_valid else 0
