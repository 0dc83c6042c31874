"""Gaussians with full covariances, under a Normal-Wishart prior (gomes2008, section 2.3.2)."""

import math
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy.special import digamma, gammaln

from modicum.families.directions import group_means, groups_of_items, leading_directions
from modicum.families.family import OpenUntilBound
from modicum.families.gaussian import LOG_2PI, ROUNDING, Gaussian
from modicum.rules.invariants import Array


class FullGaussian(Gaussian):
    """Gaussians with full covariances; the prior of mean and precision is Normal-Wishart.

    Parameters
    ----------
    mean : array of shape (d,), default=None
        Expected mean of a component; by default the mean of the first rows.
    covariance : float or array of shape (d,) or (d, d), default=None
        Expected covariance of a component, strictly the inverse of the expected precision: one variance for all
        columns, one for each, or the whole matrix. By default a variance for each column is fitted with the components
        by maximum likelihood.
    mean_weight : float, default=0.01
        Weight of the expected mean, in rows.
    degrees : float, default=None
        Degrees of freedom, above d - 1 and by default d + 2: the weight of the expected covariance, in rows.
    """

    _invariants = {"covariance": [Array("float64", "n_features", "n_features"), OpenUntilBound()]}

    name = "gaussian"

    @staticmethod
    def n_statistics_of(n_features: int) -> int:
        return n_features * (n_features + 3) // 2

    @staticmethod
    def n_prior_of(n_features: int) -> int:
        return n_features * (n_features + 1)

    def _complete_prior(self) -> None:
        d = self.n_features
        self._degrees = self._checked_degrees(default=d + 2.0, above=d - 1.0)
        if np.shape(self.covariance) != (d, d) or d == 1:
            self.covariance = np.diag(self._per_column("covariance", np.ravel(self.covariance)))
        self.covariance = np.asarray(self.covariance, np.float64)
        try:
            self._log_det = float(_log_dets(np.linalg.cholesky(self._scatter[None]))[0])
            symmetric = np.allclose(self.covariance, self.covariance.T)
        except np.linalg.LinAlgError:
            symmetric = False
        if not symmetric:
            raise ValueError(f"{type(self).__name__}: covariance must be symmetric and positive definite.")

    def statistics(self, X: np.ndarray) -> np.ndarray:
        d = self.n_features
        out = np.empty((len(X), self.n_statistics))
        out[:, :d] = X
        out[:, :d] -= self.mean
        stop = d
        for i in range(d):  # a row of the lower triangle of x x'
            first, stop = stop, stop + i + 1
            np.multiply(out[:, : i + 1], out[:, i : i + 1], out=out[:, first:stop])
        return out

    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, before = self.n_features, self._degrees
        _, roots = self._posterior(counts, sums)
        log_dets = _log_dets(roots)
        degrees = before + counts
        return (
            -0.5 * counts * d * math.log(math.pi)
            + _log_gammas(degrees, d)
            - _log_gammas(before, d)
            + 0.5 * (before * self._log_det - degrees * log_dets)
            + 0.5 * d * np.log(self.mean_weight / (self.mean_weight + counts))
        )

    def expected_log_likelihood(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self.n_features
        means, roots = self._posterior(counts, sums)
        degrees = self._degrees + counts
        inverses = np.linalg.inv(roots)
        precisions = degrees[:, None, None] * (inverses.swapaxes(1, 2) @ inverses)
        pulls = np.einsum("kij,kj->ki", precisions, means)
        log_precisions = digamma(0.5 * (degrees[:, None] - np.arange(d))).sum(axis=1) + d * math.log(2)
        log_precisions -= _log_dets(roots)
        offsets = 0.5 * (log_precisions - d * LOG_2PI - d / (self.mean_weight + counts))
        offsets -= 0.5 * np.einsum("ki,ki->k", pulls, means)
        rows, columns = _triangle(d)
        twice = np.where(rows == columns, -0.5, -1.0)  # a product off the diagonal counts for two entries
        return np.concatenate([pulls, twice * precisions[:, rows, columns]], axis=1), offsets

    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        inverses = np.linalg.inv(self._posterior(counts, sums)[1])
        return (self._degrees + counts)[:, None] * np.einsum("kij,kij->kj", inverses, inverses)

    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d = self.n_features
        means, roots = self._posterior(counts, sums)
        weights = self.mean_weight + counts
        degrees = self._degrees + counts - d + 1
        spreads = (weights + 1) / (weights * degrees)
        gaps = self._square_gaps(X, means, roots) / (spreads * degrees)
        heights = gammaln(0.5 * (degrees + d)) - gammaln(0.5 * degrees) - 0.5 * d * np.log(math.pi * degrees * spreads)
        return heights - 0.5 * _log_dets(roots) - 0.5 * (degrees + d) * np.log1p(gaps)

    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d = self.n_features
        means, roots = self._posterior(counts, sums)
        degrees = self._degrees + counts
        heights = -0.5 * (d * LOG_2PI + _log_dets(roots) - d * np.log(degrees))
        return heights - 0.5 * degrees * self._square_gaps(X, means, roots)

    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        _, roots = self._posterior(counts, sums)
        return roots @ roots.swapaxes(1, 2) / (self._degrees + counts)[:, None, None]

    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        d, group = self.n_features, groups_of_items(starts, len(counts))
        means = group_means(counts, averages, starts)
        scatter = self._unpacked(means) - means[:, :d, None] * means[:, None, :d]
        steps, units = averages[:, :d] - means[group, :d], np.sqrt(np.diagonal(self.covariance))
        directions = leading_directions(scatter), leading_directions(scatter / np.outer(units, units)) / units
        return np.stack([np.einsum("id,id->i", steps, along[group]) for along in directions], axis=1)

    def translated_from(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, step = self.n_features, other.mean - self.mean
        moved = sums.copy()
        moved[:, :d] += counts[:, None] * step
        cross = sums[:, :d, None] * step
        products = cross + cross.swapaxes(1, 2) + counts[:, None, None] * np.outer(step, step)
        moved[:, d:] += products[:, *_triangle(d)]
        return moved

    def _posterior(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means, relative to the prior's, and Cholesky factors of the scatter."""
        weights = self.mean_weight + counts
        means = sums[:, : self.n_features] / weights[:, None]
        products = self._unpacked(sums)
        scatter = self._scatter + products - weights[:, None, None] * means[:, :, None] * means[:, None, :]
        across = np.arange(self.n_features)
        rounding = self.n_features * ROUNDING * np.abs(products[:, across, across])
        while True:  # cancellation leaves rounding errors, which are larger for groups split off larger ones
            scatter[:, across, across] += rounding
            try:
                return means, np.linalg.cholesky(scatter)
            except np.linalg.LinAlgError:
                rounding = 10 * rounding.max(axis=0)
                if not np.isfinite(rounding).all():
                    raise

    def _unpacked(self, sums: np.ndarray) -> np.ndarray:
        """Sums of products as symmetric matrices."""
        d = self.n_features
        rows, columns = _triangle(d)
        full = np.empty((len(sums), d, d))
        full[:, rows, columns] = full[:, columns, rows] = sums[:, d:]
        return full

    def _square_gaps(self, X: np.ndarray, means: np.ndarray, roots: np.ndarray) -> np.ndarray:
        """(x - mean)' scatter^-1 (x - mean) for all rows and groups."""
        inverses, X = np.linalg.inv(roots), X - self.mean
        gaps = np.empty((len(X), len(means)))
        for k, (inverse, mean) in enumerate(zip(inverses, means, strict=True)):
            steps = (X - mean) @ inverse.T
            gaps[:, k] = np.einsum("ij,ij->i", steps, steps)
        return gaps


@lru_cache(maxsize=8)
def _triangle(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the lower triangle, in the order of statistics."""
    rows, columns = np.tril_indices(width)
    return rows, columns


def _log_gammas(degrees: Any, width: int) -> np.ndarray:
    """Sum of log Gamma((degrees - i) / 2): the log of the multivariate gamma function up to a constant."""
    return gammaln(0.5 * (np.asarray(degrees)[..., None] - np.arange(width))).sum(axis=-1)


def _log_dets(roots: np.ndarray) -> np.ndarray:
    return 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
