"""Base of learners that fit a model to their coreset on request."""

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from modicum.coreset.bucket import Bucket, union
from modicum.coreset.coreset import CoresetLearner
from modicum.rules.invariants import ABSENT, Whole

MIN_POINTS = 1000  # of a summary, unless `n_points` is given
COMPARED_STEPS = 10  # of two fits on the way, one of which goes on
STEPS = 30  # of the fit to all that is held, with which a running model begins; the rows that follow continue it
Model = dict[str, np.ndarray]


class CoresetModel(CoresetLearner):
    """A coreset, and a model of all rows. A subclass defines how models are fitted and what follows them.

    As long as all rows are held, the model is fitted to them. When rows are first reduced, the model so far becomes a
    running model: the sums of all rows under it (`_sums`) include every row that comes, and give the next one. So it
    has the precision of all rows. What it may lack is in the coreset: clusters that came later, or a better optimum.
    Hence it is compared with a new fit to the points, whenever the rows have doubled, and for every answer.

    The answer is a function of the state, so answering changes nothing and a saved learner answers as before. With
    `warm_start` the last model is part of the state.
    """

    _invariants = {"_last_seen": [ABSENT, Whole()]}
    _shape: ClassVar[tuple[str, ...]]  # parameters on which the sums depend

    warm_start: bool
    _last: Model
    _last_seen: int  # rows seen when it was fitted
    _sums: Any  # CellSums or ComponentSums

    # ---- what a subclass defines -------------------------------------------------------------------

    def _fit_points(
        self, points: np.ndarray, weights: np.ndarray, last: Model | None, rng: Any, steps: int | None = None
    ) -> Model:
        """The model of points as arrays by name, initialized with `last` if given, after at most so many steps."""
        raise NotImplementedError(f"{type(self).__name__} must define _fit_points")

    def _loss(self, model: Model, points: np.ndarray, weights: np.ndarray) -> float:
        """The mean loss of points under a model."""
        raise NotImplementedError(f"{type(self).__name__} must define _loss")

    def _optimism(self, model: Model, points: np.ndarray, weights: np.ndarray) -> float:
        """By how much the loss of a model fitted to the points is expected to be lower on them than on rows."""
        raise NotImplementedError(f"{type(self).__name__} must define _optimism")

    def _sums_under(self, model: Model, points: np.ndarray, weights: np.ndarray) -> Any:
        """Sums of points under a model."""
        raise NotImplementedError(f"{type(self).__name__} must define _sums_under")

    def _model_of(self, sums: Any) -> Model:
        """The model that sums give."""
        raise NotImplementedError(f"{type(self).__name__} must define _model_of")

    def _model_size(self, n_features: int) -> tuple[int, int]:
        """Clusters or components of the model, and points of the summary wanted for each of them."""
        raise NotImplementedError(f"{type(self).__name__} must define _model_size")

    def _model_bytes(self, n_features: int, dtype: np.dtype) -> int:
        """Bytes of the last model and of the sums."""
        raise NotImplementedError(f"{type(self).__name__} must define _model_bytes")

    # ---- answers -----------------------------------------------------------------------------------

    def _model(self) -> Model:
        if self._last_model() is not None and self._last_seen == self.n_seen_:
            return self._last
        found = self._solve(np.random.default_rng([self._seed, self.n_seen_, 1]))
        if self.warm_start:
            self._last, self._last_seen = found, self.n_seen_
        return found

    def _solve(self, rng: np.random.Generator) -> Model:
        sums = self._sums_of_all()
        if sums is not None and sums.totals.sum() == sums.judged:
            return self._model_of(sums)
        points, weights = self.as_sample()
        if sums is None:
            return self._fit_points(points, weights, self._last_model(), rng)
        return self._better(sums, points, weights, rng) or self._model_of(sums)

    def _sums_of_all(self) -> Any:
        """The sums, with the rows that wait in a bucket."""
        sums, waiting = getattr(self, "_sums", None), self._tree.waiting()
        return sums if sums is None or not len(waiting) else sums.plus(waiting.points, waiting.weights)

    def _last_model(self) -> Model | None:
        return getattr(self, "_last", None) if self.warm_start else None

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; the model is fitted again on the next request."""
        before = [getattr(self, name) for name in self._shape]
        super().set_params(**params)
        if before != [getattr(self, name) for name in self._shape]:
            self.__dict__.pop("_sums", None)
        if hasattr(self, "_last"):
            self._last_seen = 0  # it only initializes the next one
        return self

    # ---- the running model -------------------------------------------------------------------------

    def _store(self, bucket: Bucket) -> None:
        held = list(self._tree.buckets)
        super()._store(bucket)
        if hasattr(self, "_sums"):
            self._sums = self._continued(self._sums.plus(bucket.points, bucket.weights))
        elif self._tree.reduced():
            kept = bucket if len(bucket) <= self._tree.capacity else self._tree.buckets[-1]
            self._sums = self._begun([*held, kept], [*held, bucket])

    def _unite(self, other: Any) -> None:
        buckets = [*self._tree.buckets, *other._tree.buckets]
        mine, theirs = (getattr(side, "_sums", None) for side in (self, other))
        rest = list((other if theirs is None else self)._tree.buckets)  # not in the sums of the other side
        super()._unite(other)
        if mine is not None and theirs is not None:
            self._sums = mine.united(theirs)
        elif mine is not None or theirs is not None:
            sums: Any = theirs if mine is None else mine
            self._sums = sums.plus(*union(rest)) if rest else sums
        elif self._tree.reduced():
            self._sums = self._begun(buckets, buckets)

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        if hasattr(self, "_sums"):
            self._sums = replace(self._sums, totals=factor * self._sums.totals, judged=factor * self._sums.judged)

    def _begun(self, points: list[Bucket], rows: list[Bucket], first: Model | None = None) -> Any:
        """Sums of rows under the model of points, initialized with `first`."""
        rng = np.random.default_rng([self._seed, self.n_seen_, 2])
        model = self._fitted_quietly(*union(points), self._last_model() if first is None else first, rng, STEPS)
        return self._judged(self._sums_under(model, *union(rows)))

    def _continued(self, sums: Any) -> Any:
        """These sums, or those under a new model if it is better; they are compared whenever the rows have doubled."""
        if sums.totals.sum() < 2 * sums.judged:
            return sums
        rng = np.random.default_rng([self._seed, self.n_seen_, 3])
        better = self._better(sums, *union(self._summarized(self._tree.buckets, rng)), rng, COMPARED_STEPS)
        return self._judged(sums) if better is None else self._begun(self._tree.buckets, self._tree.buckets, better)

    def _judged(self, sums: Any) -> Any:
        return replace(sums, judged=float(sums.totals.sum()))

    def _better(
        self,
        sums: Any,
        points: np.ndarray,
        weights: np.ndarray,
        rng: np.random.Generator,
        steps: int | None = None,
    ) -> Model | None:
        """A model of the points, if it is better than the one that sums give.

        Both have been fitted to the points, in so many steps, when they are compared, and the first has to be better by
        what a model gains by being fitted to points instead of to rows.
        """
        new = self._fitted_quietly(points, weights, self._last_model(), rng, steps)
        old = self._fitted_quietly(points, weights, self._model_of(sums), rng, steps)
        losses = [self._loss(model, points, weights) for model in (new, old)]
        return new if losses[0] + self._optimism(new, points, weights) < losses[1] else None

    def _fitted_quietly(self, points: np.ndarray, weights: np.ndarray, *how: Any) -> Model:
        """The model of points, without a warning if it has not converged."""
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            return self._fit_points(points, weights, *how)

    # ---- memory ------------------------------------------------------------------------------------

    def _summary_points(self, n_features: int) -> tuple[int, int]:
        if self.n_points is not None:
            return super()._summary_points(n_features)
        clusters, points = self._model_size(n_features)
        return clusters, max(MIN_POINTS, clusters * points)

    def _fixed_bytes(self, n_features: int, dtype: np.dtype) -> int:
        return super()._fixed_bytes(n_features, dtype) + self._model_bytes(n_features, dtype)


def parts_per_point(labels: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """One over the number of points in each cluster; weights that differ count as fewer points of equal weight."""
    totals = np.bincount(labels, weights, count)
    squares = np.bincount(labels, weights**2, count)
    return np.divide(squares, totals**2, out=np.ones(count), where=totals > 0)
