"""Predict, score, then learn: how good a learner is while it learns (gama2013).

Every row is a test row before it is learned from, so no test set is needed and a change of the world shows when it
happens. Scores are kept over the whole stream and over its latest part, which fades: a row counts less by a constant
factor with every row after it (gama2013, section 3.2).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from modicum.contract.history import History
from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.rows import n_rows
from modicum.streams import Chunk, stream

Z95 = 1.959964  # standard deviations on either side that hold 95% of a normal distribution
LEAST_PROBABILITY = 1e-15  # for logarithms


@dataclass(frozen=True)
class Metric:
    """A score that comes from weighted means of a few numbers per row.

    `parts(learner, X, y)` gives those numbers, rows x parts; `finish(means)` makes a score of their means.
    """

    name: str
    parts: Callable[[Any, Any, Any], np.ndarray]
    finish: Callable[[np.ndarray], float] = lambda means: float(means[0])
    needs_target: bool = True


@dataclass(frozen=True)
class Prequential:
    """The scores of a learner along a stream, one entry per chunk (of a long stream, every second, fourth, ...).

    Attributes
    ----------
    metric : str
    rows : ndarray
        Rows seen. Those of the first chunk are not scored if the learner knew nothing then.
    overall, recent : ndarray
        The score of all rows so far, and of the latest ones.
    seconds : ndarray
        Time spent predicting and learning so far, without the time to read rows.
    nbytes : ndarray
        Bytes held by the learner; NaN if it does not say.
    """

    metric: str
    rows: np.ndarray
    overall: np.ndarray
    recent: np.ndarray
    seconds: np.ndarray
    nbytes: np.ndarray

    @property
    def score(self) -> float:
        """The score of the whole stream."""
        return float(self.overall[-1]) if len(self.overall) else np.nan

    def __str__(self) -> str:
        if not len(self.rows):
            return f"{self.metric}: nothing was scored"
        return (
            f"{self.metric} {self.score:.4g} over {int(self.rows[-1]):,} rows, {self.recent[-1]:.4g} lately, "
            f"{self.seconds[-1]:.3g} s"
        )


def prequential(
    learner: Any,
    source: Any,
    metric: str | Callable[[Any, Any], float] | None = None,
    *,
    target: Any = None,
    chunk_size: int | None = None,
    window: float = 1000,
    on_chunk: Callable[[Any], object] | None = None,
) -> Prequential:
    """Go through a stream; predict every chunk, score it, then learn it.

    Parameters
    ----------
    learner : Learner
        It goes on from what it knows; scikit-learn's estimators with `partial_fit` will do, too.
    source : Stream, or anything that `modicum.stream` reads
    metric : str, callable or None, default=None
        "rmse", "mae", "nmse" (mean squared error over the variance of the targets) or "coverage" (the part of targets
        within the 95% intervals of a regressor that predicts standard deviations); "accuracy" or "log_loss" for
        classifiers; "loss" (mean dissimilarity of rows to their nearest center or exemplar) for clusterers; a function
        of targets and predictions of a chunk. None: the first of these that suits the learner.
    target, chunk_size : as in `modicum.stream`
    window : float, default=1000
        Rows that the recent score looks back on, by and large: a row so long ago counts 1/e.
    on_chunk : callable or None, default=None
        Called with the learner after every chunk.

    Returns
    -------
    Prequential

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluate import prequential
    >>> from modicum import KRLS
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(3000, 1))
    >>> result = prequential(KRLS(20), X, "rmse", target=np.sin(X[:, 0]), chunk_size=500)
    >>> len(result.rows), bool(result.recent[-1] < result.overall[-1] < 0.1)
    (5, True)
    """
    if not window > 0:
        raise ValueError(f"prequential: window must be a positive number of rows; got {window!r}.")
    chosen = _as_metric(metric, learner)
    scores = _Scores(chosen, window)
    history = History("rows", "overall", "recent", "seconds", "nbytes")
    seconds, rows = 0.0, 0
    for chunk in stream(source, target=target, chunk_size=chunk_size):
        start = time.perf_counter()
        if knows := _is_fitted(learner):
            scores.add(learner, chunk)
        _learn(learner, chunk)
        seconds, rows = seconds + time.perf_counter() - start, rows + n_rows(chunk.X)
        if knows:
            history.record(rows, *scores.values(), seconds, getattr(learner, "nbytes_", np.nan))
        if on_chunk is not None:
            on_chunk(learner)
    return Prequential(chosen.name, **history.columns_as_arrays())


class _Scores:
    """Running means of a metric's parts, over everything and over what has not faded yet."""

    def __init__(self, metric: Metric, window: float):
        self.metric = metric
        self.fading = np.exp(-1 / window)
        self.all: np.ndarray | float = 0.0  # sums of parts, and of weights at their end
        self.recent: np.ndarray | float = 0.0

    def add(self, learner: Any, chunk: Chunk) -> None:
        if self.metric.needs_target and chunk.y is None:
            raise DataError(f"prequential: {self.metric.name} needs targets; name them by `target=`.")
        parts = np.asarray(self.metric.parts(learner, chunk.X, chunk.y), np.float64)  # (rows, parts)
        weight = np.ones(len(parts)) if chunk.sample_weight is None else chunk.sample_weight
        parts = np.column_stack([parts, np.ones(len(parts))])
        age = np.arange(len(parts) - 1, -1, -1.0)
        self.all = self.all + weight @ parts
        self.recent = self.recent * self.fading ** len(parts) + (weight * self.fading**age) @ parts

    def values(self) -> tuple[float, float]:
        return self._finish(self.all), self._finish(self.recent)

    def _finish(self, sums: Any) -> float:
        return self.metric.finish(sums[:-1] / sums[-1]) if sums[-1] > 0 else np.nan


def _is_fitted(learner: Any) -> bool:
    try:
        check_is_fitted(learner)
    except NotFittedError:
        return False
    return True


def _learn(learner: Any, chunk: Chunk) -> None:
    if isinstance(learner, Learner):
        learner.partial_fit(chunk.X, chunk.y, chunk.sample_weight, chunk.row_ids)
    elif chunk.sample_weight is None:
        learner.partial_fit(chunk.X, chunk.y)
    else:
        learner.partial_fit(chunk.X, chunk.y, sample_weight=chunk.sample_weight)


# ---- metrics -------------------------------------------------------------------------------------


def _errors(learner: Any, X: Any, y: Any) -> np.ndarray:
    return np.asarray(y, np.float64) - learner.predict(X)


def _square_errors(learner: Any, X: Any, y: Any) -> np.ndarray:
    return _errors(learner, X, y)[:, None] ** 2


def _square_errors_and_moments(learner: Any, X: Any, y: Any) -> np.ndarray:
    return np.column_stack([_errors(learner, X, y) ** 2, y, np.square(y)])


def _over_variance(means: np.ndarray) -> float:
    error, mean, square = means
    variance = square - mean * mean
    return float(error / variance) if variance > 0 else np.nan


def _covered(learner: Any, X: Any, y: Any) -> np.ndarray:
    mean, std = learner.predict(X, return_std=True)
    return (np.abs(y - mean) <= Z95 * std)[:, None]


def _log_losses(learner: Any, X: Any, y: Any) -> np.ndarray:
    found = learner.predict_proba(X)
    column = np.searchsorted(learner.classes_, y).clip(max=len(learner.classes_) - 1)
    given = np.where(learner.classes_[column] == y, found[np.arange(len(found)), column], 0.0)  # 0 for a class unseen
    return -np.log(given.clip(LEAST_PROBABILITY, 1.0))[:, None]


METRICS = {
    metric.name: metric
    for metric in (
        Metric("rmse", _square_errors, lambda means: float(np.sqrt(means[0]))),
        Metric("mae", lambda learner, X, y: np.abs(_errors(learner, X, y))[:, None]),
        Metric("nmse", _square_errors_and_moments, _over_variance),
        Metric("coverage", _covered),
        Metric("accuracy", lambda learner, X, y: (learner.predict(X) == y)[:, None]),
        Metric("log_loss", _log_losses),
        Metric("loss", lambda learner, X, y: learner.transform(X).min(axis=1, keepdims=True), needs_target=False),
    )
}


DEFAULTS = ((is_regressor, "rmse"), (is_classifier, "accuracy"), (is_clusterer, "loss"))


def _as_metric(metric: Any, learner: Any) -> Metric:
    if metric is None:
        metric = next((name for suits, name in DEFAULTS if suits(learner)), None)
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        return Metric(name, lambda learner, X, y: np.full((n_rows(X), 1), metric(y, learner.predict(X))))
    if metric not in METRICS:
        raise ValueError(f"prequential: metric must be a callable, or one of {', '.join(METRICS)}; got {metric!r}.")
    return METRICS[metric]
