"""A bucket: weighted points that stand for many rows. Reducing makes one (lucic2015, section 3).

Draws are systematic along the cells. Then, unless rows are wanted as they are, the points of each cell are calibrated:
their weights are scaled to the cell's weight, and they are moved together so that their mean is the cell's mean. Costs
of centers that divide few cells are then nearly exact, and k-means on the points finds means of rows, not of a sample.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modicum.coreset.cells import Cells
from modicum.coreset.laws import lightweight, mixture, sensitivity, uniform
from modicum.coreset.systematic import systematic
from modicum.state import Part

LAWS: dict[str, Callable[[Cells], np.ndarray]] = {
    "sensitivity": sensitivity,
    "mixture": mixture,
    "lightweight": lightweight,
    "uniform": uniform,
}
IN_CELLS = {"sensitivity", "mixture"}  # the others look at all rows as one


class Bucket(Part):
    """Points with weights, ordered by the cells they were drawn from.

    `starts` are the first points of cells. `level` counts the reductions one upon another, `spread` says how many times
    the variance of the last one all of them have, had they met rows alike.
    """

    def __init__(self, points: np.ndarray, weights: np.ndarray, starts: np.ndarray, level: int, spread: float):
        self.points, self.weights, self.starts = points, weights, starts
        self.level, self.spread = level, spread

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def of_rows(cls, X: np.ndarray, weight: np.ndarray) -> "Bucket":
        """Rows that stand for themselves."""
        return cls(X, weight, np.zeros(1, np.int32), 0, 0.0)


@dataclass(frozen=True)
class Reducer:
    """How buckets are made smaller."""

    method: str
    n_cells: int
    calibrate: bool

    def __call__(self, buckets: list[Bucket], size: int, rng: np.random.Generator) -> Bucket:
        """One bucket of at most `size` points for several."""
        X = np.concatenate([bucket.points for bucket in buckets]) if len(buckets) > 1 else buckets[0].points
        weight = np.concatenate([bucket.weights for bucket in buckets])
        total = weight.sum()
        parts = [(bucket.spread, bucket.weights.sum() / total) for bucket in buckets]
        level = 1 + max(bucket.level for bucket in buckets)
        spread = 1 + sum(inner * share**2 for inner, share in parts)
        return Bucket(*self._draw(X, weight, size, rng), level, spread)

    def _draw(
        self, X: np.ndarray, weight: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, their weights, and where cells start."""
        if self.method in IN_CELLS:
            cells = Cells.around_seeds(X, weight, self.n_cells, rng)
        else:
            cells = Cells.around_mean(X, weight)
        mass = weight * LAWS[self.method](cells)
        order = cells.in_order()
        hit, times = systematic(mass[order], size, rng)
        rows = order[hit]
        points, weights = X[rows], times * (mass.sum() / size) * (weight[rows] / mass[rows])
        drawn, starts, labels = np.unique(cells.labels[rows], return_index=True, return_inverse=True)
        if self.calibrate:
            points, weights = _calibrated(points, weights, labels.astype(np.int32), cells.joined(drawn))
        return points, weights, starts.astype(np.int32)


def _calibrated(
    points: np.ndarray, weights: np.ndarray, labels: np.ndarray, cells: Cells
) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights with the weight and the mean of the cells that they were drawn from."""
    weights = weights * (cells.weights / np.bincount(labels, weights))[labels]
    drawn = Cells(points, weights, cells.centers, labels, cells.gaps)
    moved = points + (cells.offsets - drawn.offsets)[labels]
    return moved.astype(points.dtype), weights
