"""Rises of the errors of a learner, found by ADWIN (bifet2007)."""

from dataclasses import replace

import numpy as np

from modicum.drift.adwin import Adwin, Change
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part

LEAST = np.finfo(np.float64).tiny  # a divisor instead of 0
MOST = 1e300  # so that sums stay finite
FIRST = 32  # errors that decide the unit, however few come at once


class ErrorWatch(Part):
    """Finds where the mean of non-negative errors rises.

    Errors without a bound are taken as e / (e + unit), where the unit is the mean of the first 32 after a change.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.drift import ErrorWatch
    >>> errors = np.random.default_rng(0).exponential(size=6000) * np.repeat([1.0, 3.0], 3000)
    >>> [2900 < change.since < 3100 for change in ErrorWatch().add(errors, 0)]
    [True]
    """

    _invariants = {
        "detector": Is(Adwin),
        "unit": Real(0.0),
        "is_bounded": TRUTH,
        "first": Array("float64", FIRST, low=0.0),
        "n_first": Whole(0, FIRST),
    }

    def __init__(self, delta: float = 0.002, *, is_bounded: bool = False):
        self.detector = Adwin(delta)
        self.unit = 0.0
        self.is_bounded = is_bounded  # by 1
        self.first, self.n_first = np.zeros(FIRST), 0  # errors that wait until they are enough for the unit

    def add(self, errors: np.ndarray, first: int) -> list[Change]:
        """The rises shown by the next errors, those of the rows from `first` on."""
        if not len(errors):
            return []
        end = first + len(errors)
        if not self.is_bounded:
            errors = self._with_the_first(np.minimum(errors.astype(np.float64, copy=False), MOST))
            self.unit = self.unit or float(errors.mean() if len(errors) else 0.0)
            errors = errors / np.maximum(errors + self.unit, LEAST)
        before = end - len(errors) - self.detector.n_seen
        found = self.detector.add(errors)
        if found and not self.is_bounded:  # a unit that followed the errors would hide their changes, or make some
            self.unit, self.n_first = 0.0, 0
            self.detector = Adwin(self.detector.delta)
        return [
            replace(change, row=change.row + before, since=change.since + before)
            for change in found
            if change.difference > 0
        ]

    def _with_the_first(self, errors: np.ndarray) -> np.ndarray:
        """Errors to be watched now: none while they are too few for a unit, then those that have waited and these."""
        if self.n_first == FIRST:
            return errors
        n_more = min(FIRST - self.n_first, len(errors))
        self.first[self.n_first : self.n_first + n_more] = errors[:n_more]
        self.n_first += n_more
        if self.n_first < FIRST:
            return np.zeros(0)
        self.unit = float(self.first.mean())
        return np.concatenate([self.first, errors[n_more:]])
