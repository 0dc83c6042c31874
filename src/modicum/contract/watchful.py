"""Forgetting where the stream changes: `half_life="auto"` (bifet2007)."""

from typing import Any, ClassVar, Self

import numpy as np

from modicum.contract.forgetting import Forgetting
from modicum.drift import Change, Changes, ErrorWatch
from modicum.rows import n_rows, take
from modicum.rules.invariants import ABSENT, AbsentWhile, Is, Real
from modicum.state.packing import held_bytes

WATCHED_ROWS = 256  # judged at once: large chunks are cut, so that each part is judged by what came before
LEFT = 0.125  # of the weight of the rows since a change is left to all that was learned when it is noticed


def _is_not_watched(its: Any) -> bool:
    return not its.owner._is_watched()


class Watchful(Forgetting):
    """Base of learners whose `half_life` may be "auto": what they learned fades where their errors rise.

    A subclass writes `_surprise`. Errors without a bound are bounded first, so that one large error is no change.
    """

    _surprise_is_bounded: ClassVar[bool] = False  # by 1
    _invariants = {
        "_watch": [AbsentWhile(_is_not_watched), Is(ErrorWatch)],
        "_held": [AbsentWhile(_is_not_watched), Real(0.0)],
        "_changes": [ABSENT, Is(Changes)],
    }

    _watch: ErrorWatch
    _held: float  # weight of all that was learned, in rows
    _changes: Changes

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Hook: a non-negative error or novelty of each row. None of the rows have been learned."""
        raise NotImplementedError(f"{type(self).__name__} must define _surprise")

    def _is_watched(self) -> bool:
        """Whether errors are watched."""
        return isinstance(self.half_life, str) and self.half_life == "auto"

    @property
    def changes_(self) -> list[Change]:
        """The latest changes of the stream of this learner; those of merged ones are left out."""
        return self._changes.as_list() if hasattr(self, "_changes") else []

    def _note(self, change: Change) -> None:
        """Add to `changes_`."""
        if not hasattr(self, "_changes"):
            self._changes = Changes()
        self._changes.append(change)

    def _watch_bytes(self) -> int:
        """What watching holds at most, for plans."""
        return held_bytes(ErrorWatch()) + Changes.MOST_BYTES if self.half_life == "auto" else 0

    def _learn_checked(self, X: Any, y: np.ndarray | None, weight: np.ndarray | None, ids: np.ndarray) -> None:
        if self.half_life is None or not self._is_watched():
            super()._learn_checked(X, y, weight, ids)
            return
        if not hasattr(self, "_watch"):
            self._watch, self._held = ErrorWatch(is_bounded=self._surprise_is_bounded), 0.0
        first = 0
        while first < n_rows(X):
            last = min(first + WATCHED_ROWS - self.n_seen_ % WATCHED_ROWS, n_rows(X))
            rows = slice(first, last)
            for change in self._found(take(X, rows), None if y is None else y[rows]):
                self._note(change)
                since = int(np.clip(change.since - self.n_seen_ + first, first, last))
                self._learn_rows_at(slice(first, since), X, y, weight, ids)
                self._fade_for(change)
                first = since
            self._learn_rows_at(slice(first, last), X, y, weight, ids)
            first = last

    def _found(self, X: Any, y: np.ndarray | None) -> list[Change]:
        """The changes that are found when these rows have been judged."""
        return self._watch.add(self._surprise(X, y), self.n_seen_) if self.n_seen_ else []

    def _learn_rows_at(
        self, rows: slice, X: Any, y: np.ndarray | None, weight: np.ndarray | None, ids: np.ndarray
    ) -> None:
        if rows.start < rows.stop:
            own = None if weight is None else weight[rows]
            super()._learn_checked(take(X, rows), None if y is None else y[rows], own, ids[rows])
            self._held += rows.stop - rows.start

    def _fade_for(self, change: Change) -> None:
        """Leave little of what was learned, compared with the rows since a change."""
        factor = LEFT * (change.row - change.since + 1) / self._held
        if factor < 1:
            self._fade(factor)
            self._held *= factor
            self._derived = {}

    def _merge_checked(self, other: Self) -> None:
        if not self._is_watched():
            super()._merge_checked(other)
            return
        held = self._held + other._held
        super()._merge_checked(other)
        self._held = held
