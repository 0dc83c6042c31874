"""Rows one by one, as dicts: the methods of River."""

from typing import Any

import numpy as np

from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.pipeline.stream_pipeline import StreamPipeline


class OneByOne:
    """A learner or pipeline that takes one row at a time, as a dict from columns to values.

    A learner that is no pipeline takes numbers, in the order of the keys of the first row; later rows may have the keys
    in any order. The learner itself is `learner`: save it, merge it, show it as usual.

    Examples
    --------
    >>> import modicum
    >>> from modicum.pipeline import OneByOne
    >>> model = OneByOne(modicum.OnlineKMeans(2, random_state=0))
    >>> for i in range(20):
    ...     model.learn_one({"x": float(i % 2), "y": 0.0})
    >>> model.predict_one({"y": 0.0, "x": 1.0}) != model.predict_one({"y": 0.0, "x": 0.0})
    True
    """

    def __init__(self, learner: Learner):
        self.learner = learner

    def learn_one(self, x: dict[str, Any], y: Any = None, w: float | None = None) -> None:
        """Learn one row, with its target and weight if there are any."""
        weight = None if w is None else np.array([w], np.float64)
        self.learner.partial_fit(self._rows(x), None if y is None else np.array([y]), weight)
        if not isinstance(self.learner, StreamPipeline) and self.learner._is_fitted():
            self.learner._column_names = list(map(str, self._names(x)))

    def predict_one(self, x: dict[str, Any]) -> Any:
        """What is predicted for one row; None before any was learned."""
        return self._answer("predict", x)

    def predict_proba_one(self, x: dict[str, Any]) -> dict[Any, float]:
        """The probability of each class for one row."""
        found = self._answer("predict_proba", x)
        return {} if found is None else dict(zip(self.learner.classes_.tolist(), np.ravel(found).tolist(), strict=True))

    def transform_one(self, x: dict[str, Any]) -> dict[str, float]:
        """One row as numbers, by name."""
        found = self._answer("transform", x)
        return {} if found is None else {f"x{i}": value for i, value in enumerate(np.ravel(found).tolist())}

    def score_one(self, x: dict[str, Any]) -> float | None:
        """The score of one row, such as its log-density."""
        return self._answer("score_samples", x)

    def _answer(self, method: str, x: dict[str, Any]) -> Any:
        if not self.learner._is_fitted():
            return None
        found = getattr(self.learner, method)(self._rows(x))[0]
        return found.item() if isinstance(found, np.generic) else found

    def _rows(self, x: dict[str, Any]) -> Any:
        if self.learner.traits.tables:
            return [x]
        names = self._names(x)
        missing = [name for name in names if name not in x]
        if missing or len(x) != len(names):
            odd = missing or [name for name in x if name not in names]
            raise DataError(f"{type(self.learner).__name__}: the row has other keys than the first one: {odd[0]!r}.")
        return np.array([[x[name] for name in names]], np.float64)

    def _names(self, x: dict[str, Any]) -> list[str]:
        known = self.learner.column_names_ if self.learner._is_fitted() else None
        return list(x) if known is None else known

    def __repr__(self) -> str:
        return f"OneByOne({self.learner!r})"
