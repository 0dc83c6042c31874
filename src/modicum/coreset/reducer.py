"""Reduction of buckets to one of fewer points (lucic2015, section 3).

Draws are systematic along the cells. Then, unless original rows are wanted, the points of each cell are calibrated:
reweighted, moved and scaled together so that the cell's weight, mean and scatter are exact. Costs of centers that
divide few cells are then nearly exact, and k-means on the points finds means of rows, not of a sample.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from modicum.coreset.bucket import Bucket, union
from modicum.coreset.cells import Cells
from modicum.coreset.scores import lightweight, mixture, sensitivity, uniform
from modicum.coreset.systematic import systematic
from modicum.numeric.nearest import by_label

SCORES: dict[str, Callable[[Cells], np.ndarray]] = {
    "sensitivity": sensitivity,
    "mixture": mixture,
    "lightweight": lightweight,
    "uniform": uniform,
}
MIN_SCATTER = 1e-9  # of points, relative to their cell: below it they are one point, up to rounding


@dataclass(frozen=True)
class Reducer:
    """How buckets are made smaller."""

    method: str
    n_cells: int
    calibrate: bool

    def __call__(self, buckets: list[Bucket], n_points: int, rng: np.random.Generator) -> Bucket:
        """One bucket of at most `n_points` points for several."""
        X, weight = union(buckets)
        total = weight.sum()
        level = 1 + max(bucket.level for bucket in buckets)
        factors = ((bucket.variance_factor, bucket.weights.sum() / total) for bucket in buckets)
        variance_factor = 1 + sum(factor * share**2 for factor, share in factors)
        points, weights, starts, lost = self._draw(X, weight, n_points, rng)
        lost += sum(bucket.lost_scatter for bucket in buckets)
        return Bucket(points, weights, starts, self.calibrates, level, variance_factor, lost)

    def _draw(
        self, X: np.ndarray, weight: np.ndarray, n_points: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Points, their weights, the first point of each cell, and the scatter that is lost."""
        cells = self._cells(X, weight, rng)
        order = by_label(cells.labels, len(cells.centers))
        hit, chances = systematic((weight * SCORES[self.method](cells))[order], n_points, rng)
        rows = order[hit]
        drawn, starts, labels = np.unique(cells.labels[rows], return_index=True, return_inverse=True)
        points = Cells(X[rows], weight[rows] / chances, cells.centers[drawn], labels.astype(np.int32), cells.gaps[rows])
        lost = 0.0
        if self.calibrates:
            points, lost = calibrated(points, cells.only(drawn))
        return points.X, points.weight, starts.astype(np.int32), lost

    def _cells(self, X: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> Cells:
        if self.method == "uniform":
            return Cells.undivided(X, weight)
        if self.method == "lightweight":
            return Cells.around_mean(X, weight)
        return Cells.around_seeds(X, weight, self.n_cells, rng)

    @property
    def calibrates(self) -> bool:
        """Whether points are calibrated, which takes small cells."""
        return self.calibrate and self.method in ("sensitivity", "mixture")


def calibrated(points: Cells, cells: Cells) -> tuple[Cells, float]:
    """Points with the weight, mean and scatter of the cells that they were drawn from, and the scatter that is lost.

    A single point has no scatter, so the scatter of cells with one point is lost.
    """
    labels = points.labels
    points = replace(points, weight=points.weight * (cells.weights / points.weights)[labels])
    stretch = np.ones(len(cells.centers))
    several = points.scatters > MIN_SCATTER * cells.scatters
    np.divide(cells.scatters, points.scatters, out=stretch, where=several)
    residuals = points.X - (points.centers + points.offsets)[labels]
    moved = (cells.centers + cells.offsets)[labels] + np.sqrt(stretch)[labels, None] * residuals
    return replace(points, X=moved.astype(points.X.dtype)), float(cells.scatters[~several].sum())
