"""Buckets of weighted points that represent many rows (lucic2015, section 3)."""

from dataclasses import dataclass, replace

import numpy as np

from modicum.rules.invariants import Array, Real, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part

LEAST = 1e-100  # of weights that fade: their squares are numbers yet


def scaled(weights: np.ndarray, factor: float) -> np.ndarray:
    """Weights times a factor, above 0."""
    return np.maximum(weights * factor, LEAST)


@dataclass
class Bucket(Part):
    """Points with weights, sorted by the cells they were drawn from.

    `starts` is the index of the first point of each cell. `level` is the number of successive reductions.
    `variance_factor` is the variance due to all reductions, as a multiple of that of the last one, if all of them
    reduced similar rows; it is 0 for original rows. `lost_scatter` is the scatter of cells with too few points to
    represent it.
    """

    _invariants = {
        "points": Array("dtype", "n", "n_features"),
        "weights": Array("float64", "n", above=0.0),
        "starts": Array("int32", None, low=0, below="n", rising=True),
        "calibrated": TRUTH,
        "level": Whole(),
        "variance_factor": Real(0.0),
        "lost_scatter": Real(0.0),
    }

    points: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    calibrated: bool = False
    level: int = 0
    variance_factor: float = 0.0
    lost_scatter: float = 0.0

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def of_rows(cls, X: np.ndarray, weight: np.ndarray) -> "Bucket":
        """A bucket of original rows."""
        return cls(X, weight, np.zeros(1, np.int32))

    def scaled(self, factor: float) -> "Bucket":
        """The bucket with all weights times a factor."""
        if factor == 1:
            return self
        return replace(self, weights=scaled(self.weights, factor), lost_scatter=self.lost_scatter * factor)


def union(buckets: list[Bucket]) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of buckets, as they are if there is only one."""
    if len(buckets) == 1:
        return buckets[0].points, buckets[0].weights
    points = np.concatenate([bucket.points for bucket in buckets])
    return points, np.concatenate([bucket.weights for bucket in buckets])
