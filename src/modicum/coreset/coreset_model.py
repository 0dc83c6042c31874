"""Base of learners that fit a model to their coreset on request."""

from typing import Any, Self

import numpy as np

from modicum.coreset.coreset import CoresetLearner
from modicum.rules.invariants import ABSENT, Whole

MIN_POINTS = 1000  # of a summary, unless `n_points` is given


class CoresetModel(CoresetLearner):
    """A coreset with a model of its points. A subclass defines `_solve`, `_model_size` and `_model_bytes`.

    The model is a function of the state, so answering changes nothing and a saved learner answers as before. With
    `warm_start` the last model is part of the state.
    """

    _invariants = {"_last_seen": [ABSENT, Whole()]}

    warm_start: bool
    _last: dict[str, np.ndarray]
    _last_seen: int  # rows seen when it was fitted

    def _solve(self, last: dict[str, np.ndarray] | None, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The model as arrays by name, initialized with `last` if that is given."""
        raise NotImplementedError(f"{type(self).__name__} must define _solve")

    def _model_size(self) -> tuple[int, int]:
        """Clusters or components of the model, and points of the summary wanted for each of them."""
        raise NotImplementedError(f"{type(self).__name__} must define _model_size")

    def _summary_points(self) -> tuple[int, int]:
        if self.n_points is not None:
            return super()._summary_points()
        clusters, points = self._model_size()
        return clusters, max(MIN_POINTS, clusters * points)

    def _model_bytes(self, n_features: int, dtype: np.dtype) -> int:
        """Bytes of the model."""
        raise NotImplementedError(f"{type(self).__name__} must define _model_bytes")

    def _model(self) -> dict[str, np.ndarray]:
        last = getattr(self, "_last", None) if self.warm_start else None
        if last is not None and self._last_seen == self.n_seen_:
            return last
        found = self._solve(last, np.random.default_rng([self._seed, self.n_seen_, 1]))
        if self.warm_start:
            self._last, self._last_seen = found, self.n_seen_
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; the model is fitted again on the next request."""
        super().set_params(**params)
        if hasattr(self, "_last"):
            self._last_seen = 0  # it only initializes the next one
        return self

    def _fixed_bytes(self, n_features: int, dtype: np.dtype) -> int:
        return super()._fixed_bytes(n_features, dtype) + self._model_bytes(n_features, dtype)
