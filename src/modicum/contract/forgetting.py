"""Forgetting: the weight of what was learned halves every `half_life` rows (cormode2009, forward decay).

Within a period of `drift.Clock`, rows are learned with growing weights. After its last one, all that was learned is
multiplied by 1/2, exactly. So any split into chunks, or a stop in between, gives the same state.
"""

import copy
from typing import Any, ClassVar, Self

import numpy as np

from modicum.contract.learner import Learner
from modicum.drift import Clock
from modicum.rows import n_rows, take
from modicum.rules.invariants import AbsentWhile, Scope, Whole


def _period(its: Scope) -> int:
    return its.owner._period()


class Forgetting(Learner):
    """Base of learners with a `half_life`: a number of rows, or None to forget nothing.

    A subclass writes `_fade`. Its `_learn` is given the weights of rows within the period, whether or not users may
    give weights. Answers in which absolute weights matter divide them by `_unit()`.
    """

    _decays_by_row: ClassVar[bool] = False  # `_learn` fades before each row itself, by `_row_decay()`
    _invariants = {
        "_clock": [AbsentWhile(lambda its: not _period(its)), Whole(0, lambda its: _period(its) - 1)],
    }

    half_life: int | str | None
    _clock: int  # rows of the present period

    def _fade(self, factor: float) -> None:
        """Hook: multiply the weight of all that was learned by a positive factor."""
        raise NotImplementedError(f"{type(self).__name__} must define _fade")

    def _period(self) -> int:
        """Rows after which all that was learned fades to one half; 0 if that is not done."""
        return 0 if self._decays_by_row else self._half_life()

    def _half_life(self) -> int:
        """Rows of the half-life, 0 if there is none or if it is a word."""
        return int(self.half_life) if isinstance(self.half_life, int | np.integer) else 0

    def _unit(self, ahead: int = 0) -> float:
        """The weight with which the next row will be learned; within `_learn`, the one after `ahead` of the rows."""
        period = self._period()
        return float(np.exp2((self._clock + ahead) / period)) if period else 1.0

    def _row_decay(self) -> float:
        """What the weight of a row is multiplied by for each later row."""
        rows = self._half_life()
        return 2.0 ** (-1 / rows) if rows else 1.0

    def _learn_checked(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, ids: np.ndarray) -> None:
        """Learn a chunk, cut at the ends of periods."""
        period = 0 if self.half_life is None else self._period()
        if not period:
            super()._learn_checked(X, y, weight, ids)
            return
        clock = Clock(period, getattr(self, "_clock", 0))
        self._clock = clock.rows
        for rows, growth, ends in clock.periods(n_rows(X)):
            growing = growth if weight is None else growth * weight[rows]
            super()._learn_checked(take(X, rows), None if y is None else y[rows], growing, ids[rows])
            self._clock = clock.rows
            if ends:
                self._fade(0.5)

    def _merge_checked(self, other: Self) -> None:
        """Merge streams that both end now, whatever the clocks say."""
        period = self._period()
        if period and other._clock != self._clock:
            other = copy.deepcopy(other)
            other._fade(Clock(period, self._clock).factor_for(Clock(period, other._clock)))
            other._clock = self._clock
        super()._merge_checked(other)
