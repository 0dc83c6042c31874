"""Cells: weighted rows divided among centers, with the weight, cost and mean of each cell."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modicum._jit.nearest import add_residuals
from modicum.coreset.seeding import add_seeds, seed_rows
from modicum.coreset.systematic import systematic
from modicum.numeric.nearest import nearest

ROWS_PER_SEED = 100  # in the sample that centers are chosen from: more take longer and make no better cells


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
        """Cells of the rows nearest to each center."""
        return cls(X, weight, centers, *nearest(X, centers))

    @classmethod
    def around_seeds(cls, X: np.ndarray, weight: np.ndarray, count: int, rng: np.random.Generator) -> "Cells":
        """Cells of `count` k-means++ seeds from a sample, and of a tenth more from all rows.

        A sample misses rare rows; the additional seeds find them.
        """
        count = min(count, len(X))
        some, chances = systematic(weight, ROWS_PER_SEED * count, rng)
        rows = X[some]
        seeds = rows[seed_rows(rows, weight[some] / chances, count, 1, rng)]
        labels, gaps = nearest(X, seeds)
        seeds, _ = add_seeds(X, weight, seeds, gaps, labels, math.ceil(count / 10), 1, rng)
        return cls(X, weight, seeds, labels, gaps)

    @classmethod
    def around_mean(cls, X: np.ndarray, weight: np.ndarray) -> "Cells":
        """All rows as one cell around their mean."""
        return cls.around(X, weight, (np.einsum("i,ij->j", weight, X) / weight.sum()).astype(X.dtype)[None])

    @classmethod
    def undivided(cls, X: np.ndarray, weight: np.ndarray) -> "Cells":
        """All rows as one cell, without distances: a uniform sample needs none."""
        return cls(X, weight, X[:1], np.zeros(len(X), np.int32), np.zeros(len(X)))

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of each cell."""
        return np.bincount(self.labels, self.weight, len(self.centers))

    @cached_property
    def costs(self) -> np.ndarray:
        """Sum of the weighted squared distances to the center in each cell."""
        return np.bincount(self.labels, self.weight * self.gaps, len(self.centers))

    @cached_property
    def offsets(self) -> np.ndarray:
        """Mean of each cell minus its center."""
        sums = np.zeros(self.centers.shape)
        add_residuals(self.X, self.weight, self.labels, self.centers, sums)
        return sums / self.weights[:, None]

    @cached_property
    def scatters(self) -> np.ndarray:
        """Sum of the weighted squared distances to the mean in each cell."""
        of_means = self.weights * np.einsum("ij,ij->i", self.offsets, self.offsets)
        return np.maximum(self.costs - of_means, 0.0)

    def only(self, cells: np.ndarray) -> "Cells":
        """All rows, divided among some of the centers."""
        return self if len(cells) == len(self.centers) else Cells.around(self.X, self.weight, self.centers[cells])
