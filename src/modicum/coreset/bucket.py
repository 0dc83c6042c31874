"""A bucket: weighted points that stand for many rows. Reducing makes one (lucic2015, section 3).

Draws are systematic along the cells. Then, unless rows are wanted as they are, the points of each cell are calibrated:
weighed, moved and stretched together so that weight, mean and scatter are those of the cell. Costs of centers that
divide few cells are then nearly exact, and k-means on the points finds means of rows, not of a sample.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from modicum.coreset.cells import Cells
from modicum.coreset.laws import lightweight, mixture, sensitivity, uniform
from modicum.coreset.systematic import systematic
from modicum.numeric.nearest import by_label
from modicum.rules.invariants import Array, Real, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part

LAWS: dict[str, Callable[[Cells], np.ndarray]] = {
    "sensitivity": sensitivity,
    "mixture": mixture,
    "lightweight": lightweight,
    "uniform": uniform,
}
LEAST_SCATTER = 1e-9  # of points, relative to their cell: below it they are one point, up to rounding


@dataclass
class Bucket(Part):
    """Points with weights, ordered by the cells they were drawn from.

    `starts` are the first points of cells. `level` counts the reductions one upon another; `spread` says how many times
    the variance of the last one all of them have together, had they met rows alike: 0 for rows that are themselves.
    `lost` is the scatter of cells that had too few points to show it.
    """

    _invariants = {
        "points": Array("dtype", "n", "n_features"),
        "weights": Array("float64", "n", above=0.0),
        "starts": Array("int32", None, low=0, below="n", rising=True),
        "calibrated": TRUTH,
        "level": Whole(),
        "spread": Real(0.0),
        "lost": Real(0.0),
    }

    points: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    calibrated: bool = False
    level: int = 0
    spread: float = 0.0
    lost: float = 0.0

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def of_rows(cls, X: np.ndarray, weight: np.ndarray) -> "Bucket":
        """Rows that stand for themselves."""
        return cls(X, weight, np.zeros(1, np.int32))


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
        points, weights, starts, lost = self._draw(X, weight, size, rng)
        lost += sum(bucket.lost for bucket in buckets)
        return Bucket(points, weights, starts, self.calibrates, level, spread, lost)

    def _draw(
        self, X: np.ndarray, weight: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Points, their weights, where cells start, and the scatter that is lost."""
        cells = self._cells(X, weight, rng)
        order = by_label(cells.labels, len(cells.centers))
        hit, chances = systematic((weight * LAWS[self.method](cells))[order], size, rng)
        rows = order[hit]
        drawn, starts, labels = np.unique(cells.labels[rows], return_index=True, return_inverse=True)
        points = Cells(X[rows], weight[rows] / chances, cells.centers[drawn], labels.astype(np.int32), cells.gaps[rows])
        lost = 0.0
        if self.calibrates:
            points, lost = _calibrated(points, cells.only(drawn))
        return points.X, points.weight, starts.astype(np.int32), lost

    def _cells(self, X: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> Cells:
        if self.method == "uniform":
            return Cells.undivided(X, weight)
        if self.method == "lightweight":
            return Cells.around_mean(X, weight)
        return Cells.around_seeds(X, weight, self.n_cells, rng)

    @property
    def calibrates(self) -> bool:
        """Whether points are calibrated; it takes cells that are small."""
        return self.calibrate and self.method in ("sensitivity", "mixture")


def _calibrated(points: Cells, cells: Cells) -> tuple[Cells, float]:
    """Points with the weight, mean and scatter of the cells that they were drawn from.

    A cell from which a single point was drawn can't have its scatter: the sum of those is returned, too.
    """
    labels = points.labels
    points = replace(points, weight=points.weight * (cells.weights / points.weights)[labels])
    stretch = np.ones(len(cells.centers))
    several = points.scatters > LEAST_SCATTER * cells.scatters
    np.divide(cells.scatters, points.scatters, out=stretch, where=several)
    residuals = points.X - (points.centers + points.offsets)[labels]
    moved = (cells.centers + cells.offsets)[labels] + np.sqrt(stretch)[labels, None] * residuals
    return replace(points, X=moved.astype(points.X.dtype)), float(cells.scatters[~several].sum())
