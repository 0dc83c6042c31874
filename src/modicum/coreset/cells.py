"""Cells: weighted rows divided among centers, with the weight, cost and mean of each part."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modicum._jit.nearest import add_residuals
from modicum.coreset.seeding import seed_rows
from modicum.coreset.systematic import systematic
from modicum.nearest import nearest

SEEDED_FROM = 100  # rows per center that centers are chosen from: more take longer and make no better cells


@dataclass
class Cells:
    """Rows X and their weights; row i belongs to the center `labels[i]`, at the squared distance `gaps[i]`."""

    X: np.ndarray
    weight: np.ndarray
    centers: np.ndarray
    labels: np.ndarray
    gaps: np.ndarray

    @classmethod
    def around(cls, X: np.ndarray, weight: np.ndarray, centers: np.ndarray) -> "Cells":
        return cls(X, weight, centers, *nearest(X, centers))

    @classmethod
    def around_seeds(cls, X: np.ndarray, weight: np.ndarray, count: int, rng: np.random.Generator) -> "Cells":
        """Cells of `count` k-means++ seeds."""
        some, times = systematic(weight, SEEDED_FROM * count, rng)
        rows = X[some]
        return cls.around(X, weight, rows[seed_rows(rows, times.astype(float), count, 1, rng)])

    @classmethod
    def around_mean(cls, X: np.ndarray, weight: np.ndarray) -> "Cells":
        """All rows as one cell."""
        return cls.around(X, weight, (weight @ X / weight.sum()).astype(X.dtype)[None])

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of each cell."""
        return np.bincount(self.labels, self.weight, len(self.centers))

    @cached_property
    def costs(self) -> np.ndarray:
        """Sum of the weighted squared distances in each cell."""
        return np.bincount(self.labels, self.weight * self.gaps, len(self.centers))

    @cached_property
    def offsets(self) -> np.ndarray:
        """Mean of each cell, seen from its center."""
        sums = np.zeros(self.centers.shape)
        add_residuals(self.X, self.weight, self.labels, self.centers, sums)
        return sums / self.weights[:, None]

    def in_order(self) -> np.ndarray:
        """Rows, those of a cell together."""
        narrow = np.min_scalar_type(len(self.centers))  # numpy sorts short integers by counting
        return np.argsort(self.labels.astype(narrow), kind="stable")

    def joined(self, cells: np.ndarray) -> "Cells":
        """Only the given cells; rows of others go to the one whose center is nearest to their own."""
        if len(cells) == len(self.centers):
            return self
        home = nearest(self.centers, self.centers[cells])[0]
        return Cells(self.X, self.weight, self.centers[cells], home[self.labels], self.gaps)
