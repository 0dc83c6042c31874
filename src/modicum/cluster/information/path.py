"""Models along rising regularisations, each started from the one before (gomes2010rim, section 5.4).

A model of the next regularisation starts from the present one with its logits scaled down. As it stands a model is too
sure of its categories: they would neither merge nor vanish where the objective asks for it. A falling path is no use:
categories do not come back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Fit, Problem, Settings, maximize
from modicum.cluster.information.start import oversegment

GRID = np.geomspace(1e-5, 3e-2, 16)  # of regularisations, for features of total variance 1: steps of 1.7
SOFTEN = 0.5  # of the logits at a step: 0.2 loses clusters that are there, 1 keeps some that are not
FINEST = 1.1  # least step between regularisations where the number of clusters drops fast
FAST = 0.25  # a fast drop: by more than this share of the clusters, and by more than one
START = 1e-5  # regularisation of the supervised fit: stronger ones merge categories before the path begins


@dataclass(frozen=True)
class Point:
    """A model of the path."""

    regularization: float
    fit: Fit

    @property
    def n_clusters(self) -> int:
        """Clusters that have rows: `maximize` drops the others."""
        return len(self.fit.model)


@dataclass(frozen=True)
class Path:
    """What was found at each regularisation, in rising order."""

    regularizations: np.ndarray
    n_clusters: np.ndarray  # categories that are the most probable ones of some row
    values: np.ndarray  # of the objective
    models: tuple[Multilogit, ...]

    def __len__(self) -> int:
        return len(self.models)

    @classmethod
    def of(cls, points: Iterable[Point]) -> Self:
        """The path that has these points."""
        found = list(points)
        return cls(
            np.array([point.regularization for point in found]),
            np.array([point.n_clusters for point in found]),
            np.array([point.fit.value for point in found]),
            tuple(point.fit.model for point in found),
        )

    def labels(self, rows: Any) -> np.ndarray:
        """The cluster of each row by each model, of shape (models, n)."""
        return np.array([model.labels(rows) for model in self.models])


def sweep(
    problem: Problem,
    max_clusters: int,
    n_init: int,
    prior: Prior,
    rng: np.random.Generator,
    *,
    regularizations: np.ndarray = GRID,
    fine: bool = True,
    tol: float = 1e-5,
) -> Path:
    """The path from a k-means over-segmentation; `fine` takes smaller steps where the number of clusters drops fast."""
    start = oversegment(problem, min(max_clusters, problem.rows.shape[0]), n_init, START, rng)
    return Path.of(climb(problem, start, prior, regularizations, fine=fine, tol=tol))


def climb(
    problem: Problem, start: Multilogit, prior: Prior, regularizations: np.ndarray, *, fine: bool, tol: float
) -> Iterator[Point]:
    """The points of a path one by one, from a model to start with."""

    def point(regularization: float, start: Multilogit) -> Point:
        return Point(regularization, maximize(problem, Settings(regularization, prior, tol=tol), start))

    def until(before: Point, regularization: float) -> Iterator[Point]:
        after = point(regularization, soften(before.fit.model))
        if fine and is_fast(before.n_clusters, after.n_clusters) and regularization > FINEST**2 * before.regularization:
            first = list(until(before, (before.regularization * regularization) ** 0.5))
            yield from (*first, *until(first[-1], regularization))
        else:
            yield after

    steps = [point(regularizations[0], start)]
    yield from steps
    for regularization in regularizations[1:]:
        steps = list(until(steps[-1], regularization))
        yield from steps


def until_drop(points: Iterable[Point]) -> Iterator[Point]:
    """Points as long as all clusters of the first one are kept, and the one after these."""
    first = None
    for point in points:
        yield point
        first = first or point
        if point.n_clusters < first.n_clusters:
            return


def soften(model: Multilogit) -> Multilogit:
    """The model with its logits scaled down."""
    return Multilogit(SOFTEN * model.weights, SOFTEN * model.biases)


def is_fast(before: int, after: int) -> bool:
    """Whether the number of clusters drops so much that a finer step may find numbers in between."""
    return before - after > max(1.0, FAST * before)


def check_regularizations(given: Any) -> np.ndarray:
    """Regularisations in rising order; a ValueError if some are not positive numbers."""
    try:
        found = np.unique(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        found = np.empty(0)
    if not found.size or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(f"regularizations must be positive numbers, such as [1e-4, 1e-3]; got {given!r}.")
    return found
