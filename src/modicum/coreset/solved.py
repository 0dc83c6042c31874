"""A coreset with a model of its points, which is fitted when it is asked for."""

from typing import Any, Self

import numpy as np

from modicum.coreset.coreset import CoresetLearner
from modicum.rules.invariants import ABSENT, Whole

LEAST_POINTS = 1000  # of a summary whose size was not given


class SolvedCoreset(CoresetLearner):
    """Base of learners that fit a model to their coreset. A subclass writes `_solve`, `_parts` and `_solution_bytes`.

    The model is a function of the state, so that asking teaches nothing and a saved learner answers as it did. With
    `warm_start` the last model is part of the state.
    """

    _invariants = {"_last_seen": [ABSENT, Whole()]}

    warm_start: bool
    _last: dict[str, np.ndarray]
    _last_seen: int  # rows that it was fitted to

    def _solve(self, last: dict[str, np.ndarray] | None, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The model as arrays by name; `last` is the one to begin with, if any."""
        raise NotImplementedError(f"{type(self).__name__} must define _solve")

    def _parts(self) -> tuple[int, int]:
        """Clusters or components of the model, and points of the summary that each of them should have."""
        raise NotImplementedError(f"{type(self).__name__} must define _parts")

    def _sizes(self) -> tuple[int, int]:
        if self.size is not None:
            return super()._sizes()
        parts, points = self._parts()
        return parts, max(LEAST_POINTS, parts * points)

    def _solution_bytes(self, n_features: int, dtype: np.dtype) -> int:
        """Bytes of the model."""
        raise NotImplementedError(f"{type(self).__name__} must define _solution_bytes")

    def _solution(self) -> dict[str, np.ndarray]:
        last = getattr(self, "_last", None) if self.warm_start else None
        if last is not None and self._last_seen == self.n_seen_:
            return last
        found = self._solve(last, np.random.default_rng([self._seed, self.n_seen_, 1]))
        if self.warm_start:
            self._last, self._last_seen = found, self.n_seen_
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; the model is fitted anew when it is next asked for."""
        super().set_params(**params)
        if hasattr(self, "_last"):
            self._last_seen = 0  # it is only where the next one begins
        return self

    def _fixed_bytes(self, n_features: int, dtype: np.dtype) -> int:
        return super()._fixed_bytes(n_features, dtype) + self._solution_bytes(n_features, dtype)
