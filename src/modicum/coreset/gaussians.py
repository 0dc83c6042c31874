"""The components of a Gaussian mixture, and their densities and responsibilities for rows (dempster1977)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modicum._jit.gaussian_mixture import expect
from modicum.coreset.covariances import PUBLIC, diagonals, transposed
from modicum.numeric.distances import in_tiles
from modicum.numeric.nearest import by_label, nearest


@dataclass(frozen=True)
class Gaussians:
    """Weights, means and covariances of components, and the inverses of the Cholesky factors of the covariances."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray

    @cached_property
    def heights(self) -> np.ndarray:
        """Logarithms of weight times density at the mean."""
        with np.errstate(divide="ignore"):  # minus infinity for a weight of 0
            logs = np.log(self.weights)
        return logs + np.log(diagonals(self.factors)).sum(axis=1) - 0.5 * self.means.shape[1] * math.log(2 * math.pi)

    def public(self, covariance_type: str) -> tuple[np.ndarray, ...]:
        """Weights, means, covariances and Cholesky factors of the precisions, in the shapes of scikit-learn."""
        shape = PUBLIC[covariance_type]
        return self.weights, self.means, self.covariances[shape], transposed(self.factors)[shape]

    def expect(self, X: np.ndarray, *, with_shares: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-densities of rows, their most likely components and, if wanted, the shares of all components."""
        k, labels = len(self.means), nearest_means(X, self.means)
        order, density = by_label(labels, k), np.empty(len(X))
        shares = np.zeros((len(X) if with_shares else 0, k))

        def work(tile: slice) -> None:
            expect(X, order[tile], self.means, self.factors, self.heights, labels, density, shares)

        in_tiles(work, len(X), k)
        return density, labels, shares


def nearest_means(X: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The nearest mean of each row by Euclidean distance: a first guess of its most likely component."""
    return nearest(X, means.astype(X.dtype))[0]
