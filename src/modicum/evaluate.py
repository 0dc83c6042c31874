"""Prequential evaluation: predict, score, then learn each chunk of a stream (dawid1984, gama2013).

Every row is a test row before it is learned, so no test set is needed and concept drift shows as it happens. Scores
cover the whole stream, and recent rows with fading weights: the weight of a row decreases by a constant factor with
every row after it (gama2013, section 3.2). Where the error rises beyond chance, bifet2007 finds it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from modicum.contract.history import History
from modicum.contract.learner import Learner
from modicum.drift import Change, ErrorWatch
from modicum.exceptions import DataError
from modicum.rows import n_rows
from modicum.streams import Chunk, stream
from modicum.streams.chunks import delayed

Z95 = 1.959964  # half the width of a 95% interval of a normal distribution, in standard deviations
LEAST_PROBABILITY = 1e-15  # so that logarithms are finite


@dataclass(frozen=True)
class Metric:
    """A score that is a function of weighted means of a few terms per row.

    `terms(learner, X, y)` returns them as an array of shape (rows, terms); `from_means(means)` is the score. The first
    term is the row's error, or with `is_gain` one minus it.
    """

    name: str
    terms: Callable[[Any, Any, Any], np.ndarray]
    from_means: Callable[[np.ndarray], float] = lambda means: float(means[0])
    needs_target: bool = True
    is_gain: bool = False
    is_of_rows: bool = True  # and not of chunks


@dataclass(frozen=True)
class Prequential:
    """The scores of a learner along a stream, one entry per chunk (in a long stream every second, fourth, ... chunk).

    Attributes
    ----------
    metric : str
    n_seen : ndarray
        Rows of the stream so far. Those of the first chunk are not scored if the learner was not fitted before.
    overall, recent : ndarray
        The score of all rows so far, and of recent rows.
    seconds : ndarray
        Time spent predicting and learning so far, without the time to read rows.
    nbytes : ndarray
        Bytes held by the learner; NaN for estimators that are not a `Learner`.
    changes : list of Change
        Where the error rose: the `row` at which that was certain, and `since`, about where it began. Of metrics that
        are functions, none are found.
    """

    metric: str
    n_seen: np.ndarray
    overall: np.ndarray
    recent: np.ndarray
    seconds: np.ndarray
    nbytes: np.ndarray
    changes: list[Change] = field(default_factory=list)

    @property
    def score(self) -> float:
        """The score of the whole stream."""
        return float(self.overall[-1]) if len(self.overall) else np.nan

    def __str__(self) -> str:
        if not len(self.n_seen):
            return f"{self.metric}: no rows were scored"
        rose = ", ".join(f"{change.since:,}" for change in self.changes)
        return (
            f"{self.metric} {self.score:.4g} over {int(self.n_seen[-1]):,} rows, {self.recent[-1]:.4g} recently, "
            f"{self.seconds[-1]:.3g} s" + (f"; the error rose at about row {rose}" if rose else "")
        )


def prequential(
    learner: Any,
    source: Any,
    metric: str | Callable[[Any, Any], float] | None = None,
    *,
    target: Any = None,
    chunk_size: int | None = None,
    window: float = 1000,
    lag: int = 0,
    delta: float = 0.002,
    on_chunk: Callable[[Any], object] | None = None,
) -> Prequential:
    """Evaluate a learner along a stream: predict every chunk, score the predictions, then learn the chunk.

    Parameters
    ----------
    learner : Learner
        It continues from its present state. Other scikit-learn estimators with `partial_fit` are accepted too.
    source : Stream, or anything that `modicum.stream` reads
    metric : str, callable or None, default=None
        For regressors "rmse", "mae", "nmse" (mean squared error divided by the variance of the targets) or "coverage"
        (fraction of targets within the predicted 95% intervals); for classifiers "accuracy" or "log_loss"; for
        clusterers "loss" (mean dissimilarity of rows to their nearest center or exemplar); or a function of the
        targets and predictions of a chunk. None: "rmse", "accuracy" or "loss", by the kind of learner.
    target, chunk_size : as in `modicum.stream`
    window : float, default=1000
        Length of the fading window of the recent score: a row this many rows ago has weight 1/e.
    lag : int, default=0
        Rows that come before the target of a row is known: it is learned that much later. Choose a `chunk_size` that is
        not much larger, as a chunk is predicted before any of its rows are learned.
    delta : float, default=0.002
        Probability of a false alarm of the detector of changes, `modicum.drift.Adwin`.
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
    >>> len(result.n_seen), bool(result.recent[-1] < result.overall[-1] < 0.1)
    (5, True)
    """
    if not window > 0:
        raise ValueError(f"prequential: window must be a positive number of rows; got {window!r}.")
    if not isinstance(lag, int | np.integer) or lag < 0:
        raise ValueError(f"prequential: lag must be a number of rows; got {lag!r}.")
    chosen = _as_metric(metric, learner)
    scores = _Scores(chosen, window, delta)
    history = History("n_seen", "overall", "recent", "seconds", "nbytes")
    seconds, n_seen = 0.0, 0
    rows = stream(source, target=target, chunk_size=chunk_size)
    if isinstance(learner, Learner):
        learner._watch_order(rows.columns)
    nbytes_is_due = False  # adding up what is held takes long: it is done for records that stay, and for the last one
    for chunk, known in delayed(rows, lag):
        if chunk is None and nbytes_is_due:  # before the last rows are learned
            history.amend("nbytes", _nbytes(learner))
            nbytes_is_due = False
        if chunk is not None and isinstance(learner, Learner):
            learner._expect_lag(lag + len(chunk) // 2)
        before = time.perf_counter()
        if is_scored := chunk is not None and _is_fitted(learner):
            scores.add(learner, chunk, n_seen)
        if known is not None:
            _learn(learner, known)
        seconds, n_seen = seconds + time.perf_counter() - before, n_seen + (0 if chunk is None else len(chunk))
        if is_scored:
            nbytes_is_due = not history.keeps_next
            history.record(n_seen, *scores.values(), seconds, np.nan if nbytes_is_due else _nbytes(learner))
        if on_chunk is not None:
            on_chunk(learner)
    if nbytes_is_due:
        history.amend("nbytes", _nbytes(learner))
    return Prequential(chosen.name, **history.columns_as_arrays(), changes=scores.changes)


class _Scores:
    """Running sums of the terms of a metric, over all rows and over recent rows, and where errors rose."""

    def __init__(self, metric: Metric, window: float, delta: float):
        self.metric = metric
        self.watch = ErrorWatch(delta, is_bounded=metric.is_gain)
        self.changes: list[Change] = []
        self.fading = np.exp(-1 / window)
        self.overall: np.ndarray | float = 0.0  # weighted sums of terms, and the sum of weights at the end
        self.recent: np.ndarray | float = 0.0

    def add(self, learner: Any, chunk: Chunk, first: int) -> None:
        """Score a chunk, the rows of the stream from `first` on."""
        if self.metric.needs_target and chunk.y is None:
            raise DataError(f"prequential: {self.metric.name} needs targets; give them as `target=`.")
        terms = np.asarray(self.metric.terms(learner, chunk.X, chunk.y), np.float64)  # (rows, terms)
        weight = np.ones(len(terms)) if chunk.sample_weight is None else chunk.sample_weight
        terms = np.column_stack([terms, np.ones(len(terms))])
        age = np.arange(len(terms) - 1, -1, -1.0)
        self.overall = self.overall + weight @ terms
        self.recent = self.recent * self.fading ** len(terms) + (weight * self.fading**age) @ terms
        if self.metric.is_of_rows:
            errors = 1 - terms[:, 0] if self.metric.is_gain else terms[:, 0]
            self.changes += self.watch.add(errors, first)

    def values(self) -> tuple[float, float]:
        """The scores of all rows and of recent rows."""
        return self._score(self.overall), self._score(self.recent)

    def _score(self, sums: Any) -> float:
        return self.metric.from_means(sums[:-1] / sums[-1]) if sums[-1] > 0 else np.nan


def _is_fitted(learner: Any) -> bool:
    try:
        check_is_fitted(learner)
    except NotFittedError:
        return False
    return True


def _nbytes(learner: Any) -> float:
    return learner.nbytes_ if isinstance(learner, Learner) else np.nan


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
    given = np.where(learner.classes_[column] == y, found[np.arange(len(found)), column], 0.0)  # 0 for an unseen class
    return -np.log(given.clip(LEAST_PROBABILITY, 1.0))[:, None]


METRICS = {
    metric.name: metric
    for metric in (
        Metric("rmse", _square_errors, lambda means: float(np.sqrt(means[0]))),
        Metric("mae", lambda learner, X, y: np.abs(_errors(learner, X, y))[:, None]),
        Metric("nmse", _square_errors_and_moments, _over_variance),
        Metric("coverage", _covered, is_gain=True),
        Metric("accuracy", lambda learner, X, y: (learner.predict(X) == y)[:, None], is_gain=True),
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
        return Metric(
            name, lambda learner, X, y: np.full((n_rows(X), 1), metric(y, learner.predict(X))), is_of_rows=False
        )
    if metric not in METRICS:
        raise ValueError(f"prequential: metric must be a callable, or one of {', '.join(METRICS)}; got {metric!r}.")
    return METRICS[metric]
