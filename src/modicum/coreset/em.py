"""EM for Gaussian mixtures of weighted rows (dempster1977; feldmanfaulkner2011, section 3)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modicum._jit.gaussian_mixture import add_labelled, expect_and_add
from modicum.coreset.covariances import ROUNDING, diagonals, inverse_factors, transposed
from modicum.coreset.gaussians import Gaussians, nearest_means
from modicum.exceptions import DataError
from modicum.numeric.nearest import by_label
from modicum.numeric.parallel import run_tiles

MAX_TILES = 16  # each has sums of its own, added up in one order: results don't depend on the number of threads
MIN_TILE_ROWS = 2048


@dataclass(frozen=True)
class EMResult:
    """The last components, and the mean log-likelihood before every iteration."""

    components: Gaussians
    bounds: list[float]
    converged: bool


class EM:
    """EM on weighted rows, a tile at a time.

    Moments are taken about the means of the iteration before, so that little cancels.
    """

    def __init__(self, X: np.ndarray, weight: np.ndarray, covariance_type: str, reg_covar: float):
        self.X, self.weight = X, weight
        self._covariance_type, self._reg_covar = covariance_type, reg_covar
        labels = np.zeros(len(X), np.int32)
        _, self._overall_covariance = self.centered(*self._labelled_moments(labels, X[:1].astype(np.float64)))
        variances = diagonals(self._overall_covariance)
        self._min_variances = ROUNDING * np.where(variances > 0, variances, 1.0)  # 1: the column is constant

    def components(self, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> Gaussians:
        """Components with these parameters; singular covariances are raised until they can be inverted."""
        covariances = covariances.copy()
        np.copyto(diagonals(covariances), self._min_variances, where=diagonals(covariances) <= 0)
        return Gaussians(weights, means, covariances, inverse_factors(covariances))

    def around(self, means: np.ndarray) -> Gaussians:
        """Components of the rows nearest to each mean."""
        moments = self._labelled_moments(nearest_means(self.X, means), means)
        return self._maximize(means, np.repeat(self._overall_covariance, len(means), axis=0), moments)

    def run(self, components: Gaussians, tol: float, max_iter: int) -> EMResult:
        """Iterate until the mean log-likelihood changes by less than `tol`."""
        labels = nearest_means(self.X, components.means)
        bounds: list[float] = []
        while len(bounds) < max_iter:
            bound, moments = self.expect(components, labels)
            components = self._maximize(components.means, components.covariances, moments)
            bounds.append(bound)
            if len(bounds) > 1 and abs(bound - bounds[-2]) < tol:
                return EMResult(components, bounds, True)
        return EMResult(components, bounds, False)

    def expect(self, now: Gaussians, labels: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """The mean log-likelihood, and the moments of each component about its mean.

        `labels` is a guess of the most likely component of each row, and is corrected in place.
        """
        order = by_label(labels, len(now.means))
        density = np.empty(len(self.X))

        def add(tile: slice, *moments: np.ndarray) -> None:
            model = now.means, now.factors, now.heights
            expect_and_add(self.X, self.weight, order[tile], *model, labels, density, *moments)

        moments = self._moments(len(now.means), add)
        return float(np.average(density, weights=self.weight)), moments

    def _labelled_moments(self, labels: np.ndarray, means: np.ndarray) -> list[np.ndarray]:
        """Moments about each mean of the rows that have its label."""
        order = by_label(labels, len(means))

        def add(tile: slice, *moments: np.ndarray) -> None:
            add_labelled(self.X, self.weight, order[tile], labels, means, *moments)

        return self._moments(len(means), add)

    def _moments(self, count: int, add: Callable[..., None]) -> list[np.ndarray]:
        """Weights, sums and squares of `count` components: `add` adds those of a tile of rows to such arrays."""
        n, width = self.X.shape
        tile_rows = max(MIN_TILE_ROWS, math.ceil(n / MAX_TILES))
        shapes = (), (width,), (width if self._covariance_type == "full" else 1, width)
        of_tiles = [np.zeros((math.ceil(n / tile_rows), count, *shape)) for shape in shapes]
        run_tiles(lambda tile: add(tile, *(moments[tile.start // tile_rows] for moments in of_tiles)), n, tile_rows)
        return [moments.sum(axis=0) for moments in of_tiles]

    def _maximize(self, means: np.ndarray, covariances: np.ndarray, moments: list[np.ndarray]) -> Gaussians:
        """The most likely components for moments about the given means; components without rows are unchanged."""
        totals = moments[0]
        shifts, found = self.centered(*moments)
        found[totals == 0] = covariances[totals == 0]
        return self.regularized(totals, means + shifts, found)

    def regularized(self, totals: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> Gaussians:
        """Components of these weights, means and covariances, with `reg_covar` added to those that have rows."""
        covariances = covariances.copy()
        diagonals(covariances)[totals > 0] += self._reg_covar
        return self.components(totals / totals.sum(), means, covariances)

    def centered(self, totals: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shifts from the old means to the new ones, and covariances about the new ones."""
        if not np.isfinite(squares).all():
            raise DataError("WeightedGaussianMixture: squares of these rows overflow. Scale the columns first.")
        totals = np.maximum(totals, np.finfo(np.float64).tiny)
        shifts, covariances = sums / totals[:, None], squares / totals[:, None, None]
        if covariances.shape[1] == 1:
            covariances -= shifts[:, None] ** 2
        else:
            covariances -= shifts[:, :, None] * shifts[:, None]
            covariances = np.tril(covariances) + transposed(np.tril(covariances, -1))  # half of them is computed
        if self._covariance_type == "spherical":
            covariances[:] = covariances.mean(axis=2, keepdims=True)
        return shifts, covariances
