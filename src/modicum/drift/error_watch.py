"""Rises of the errors of a learner, found by ADWIN (bifet2007)."""

from dataclasses import replace

import numpy as np

from modicum.drift.adwin import Adwin, Change
from modicum.rules.invariants import Is, Real
from modicum.rules.params import TRUTH
from modicum.state.part import Part

LEAST = np.finfo(np.float64).tiny  # a divisor instead of 0
MOST = 1e300  # so that sums stay finite


class ErrorWatch(Part):
    """Finds where the mean of non-negative errors rises.

    Errors without a bound are taken as e / (e + unit), where the unit is the mean of the first ones after a change.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.drift import ErrorWatch
    >>> errors = np.random.default_rng(0).exponential(size=6000) * np.repeat([1.0, 3.0], 3000)
    >>> [2900 < change.since < 3100 for change in ErrorWatch().add(errors, 0)]
    [True]
    """

    _invariants = {"detector": Is(Adwin), "unit": Real(0.0), "is_bounded": TRUTH}

    def __init__(self, delta: float = 0.002, *, is_bounded: bool = False):
        self.detector = Adwin(delta)
        self.unit = 0.0
        self.is_bounded = is_bounded  # by 1

    def add(self, errors: np.ndarray, first: int) -> list[Change]:
        """The rises shown by the next errors, those of the rows from `first` on."""
        if not len(errors):
            return []
        if not self.is_bounded:
            errors = np.minimum(errors, MOST)
            self.unit = self.unit or float(errors.mean())
            errors = errors / np.maximum(errors + self.unit, LEAST)
        before = first - self.detector.n_seen
        found = self.detector.add(errors)
        if found and not self.is_bounded:  # a unit that followed the errors would hide their changes, or make some
            self.unit = 0.0
            self.detector = Adwin(self.detector.delta)
        return [
            replace(change, row=change.row + before, since=change.since + before)
            for change in found
            if change.difference > 0
        ]
