"""A coreset with a model of its points, which is fitted when it is asked for."""

from typing import Any, ClassVar

import numpy as np

from modicum.coreset.coreset import CoresetLearner


class SolvedCoreset(CoresetLearner):
    """Base of learners that fit a model to their coreset. A subclass writes `_solve` and `_solution_bytes`.

    The last model is where the next solve begins, among other starts. It is no state: what was asked for on the way
    through a stream is not saved, and only a better start can come of it.
    """

    _unsaved: ClassVar[tuple[str, ...]] = (*CoresetLearner._unsaved, "_last")
    _last: dict[str, np.ndarray]

    def _solve(self, last: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The model as arrays by name; `last` is the one before, empty at first."""
        raise NotImplementedError(f"{type(self).__name__} must define _solve")

    def _solution_bytes(self, row_bytes: int) -> int:
        """Bytes of the model."""
        raise NotImplementedError(f"{type(self).__name__} must define _solution_bytes")

    def _solution(self) -> dict[str, np.ndarray]:
        last = self.__dict__.setdefault("_last", {})
        last.update(self._solve(last, np.random.default_rng([self._seed, self.n_seen_, 1])))
        return dict(last)

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        self.__dict__.setdefault("_last", {})
        super()._learn(X, y, weight, row_ids)

    def _fixed_bytes(self, row_bytes: int) -> int:
        return super()._fixed_bytes(row_bytes) + self._solution_bytes(row_bytes)
