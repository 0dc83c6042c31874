"""Gaussians with diagonal covariances, under Normal-Gamma priors (gomes2008, section 2.3.2)."""

import math
from typing import Self

import numpy as np
from scipy.special import digamma, gammaln

from modicum._jit.families import log_one_plus_squares
from modicum.families.directions import group_means, groups_of_items, principal_directions
from modicum.families.family import OpenUntilBound
from modicum.families.gaussian import LOG_2PI, Gaussian
from modicum.rules.invariants import Array


class DiagonalGaussian(Gaussian):
    """Gaussians with diagonal covariances; the prior of mean and precision is Normal-Gamma in each column.

    Parameters
    ----------
    mean : array of shape (d,), default=None
        Expected mean of a component; by default the mean of the first rows.
    covariance : float or array of shape (d,), default=None
        Expected variances of a component, strictly the inverses of expected precisions. By default they are fitted with
        the components by maximum likelihood.
    mean_weight : float, default=0.01
        Weight of the expected mean, in rows.
    degrees : float, default=None
        Degrees of freedom, above 0 and by default 3: the weight of the expected variances, in rows.
    """

    _invariants = {"covariance": [Array("float64", "n_features", above=0.0), OpenUntilBound()]}

    name = "diagonal"

    @staticmethod
    def n_statistics_of(n_features: int) -> int:
        return 2 * n_features

    @staticmethod
    def n_prior_of(n_features: int) -> int:
        return 2 * n_features

    def _complete_prior(self) -> None:
        self._degrees = self._checked_degrees(default=3.0, above=0.0)
        self.covariance = self._per_column("covariance", self.covariance)
        if not (self.covariance > 0).all():
            raise ValueError(f"{type(self).__name__}: covariance must be positive.")
        self._log_det = float(np.log(self._scatter).sum())

    def statistics(self, X: np.ndarray) -> np.ndarray:
        steps = X - self.mean
        return np.concatenate([steps, steps**2], axis=1)

    def log_evidence(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, before = self.n_features, self._degrees
        _, scatter = self._posterior(counts, sums)
        degrees = before + counts
        return (
            -0.5 * counts * d * math.log(math.pi)
            + d * (gammaln(0.5 * degrees) - gammaln(0.5 * before))
            + 0.5 * (before * self._log_det - degrees * np.log(scatter).sum(axis=1))
            + 0.5 * d * np.log(self.mean_weight / (self.mean_weight + counts))
        )

    def expected_log_likelihood(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = self.n_features
        means, scatter = self._posterior(counts, sums)
        degrees = self._degrees + counts
        precisions = degrees[:, None] / scatter
        log_precisions = d * (digamma(0.5 * degrees) + math.log(2)) - np.log(scatter).sum(axis=1)
        offsets = 0.5 * (log_precisions - d * LOG_2PI - d / (self.mean_weight + counts))
        offsets -= 0.5 * (precisions * means**2).sum(axis=1)
        return np.concatenate([precisions * means, -0.5 * precisions], axis=1), offsets

    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return (self._degrees + counts)[:, None] / self._posterior(counts, sums)[1]

    def log_predictive(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        means, scatter = self._posterior(counts, sums)
        weights = self.mean_weight + counts
        degrees = self._degrees + counts
        widths = scatter * ((weights + 1) / weights)[:, None]  # squared, times degrees
        heights = self.n_features * (gammaln(0.5 * (degrees + 1)) - gammaln(0.5 * degrees))
        heights = heights - 0.5 * np.log(math.pi * widths).sum(axis=1)
        logs = np.empty((len(X), len(counts)))
        log_one_plus_squares(X - self.mean, means, widths, logs)
        return heights - 0.5 * (degrees + 1) * logs

    def log_plug_in(self, X: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        variances, means = self.covariances(counts, sums), self.means(counts, sums)
        heights = -0.5 * (np.log(variances).sum(axis=1) + self.n_features * LOG_2PI)
        out = np.empty((len(X), len(counts)))
        for k in range(len(counts)):
            out[:, k] = ((X - means[k]) ** 2 / variances[k]).sum(axis=1)
        return heights - 0.5 * out

    def covariances(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return self._posterior(counts, sums)[1] / (self._degrees + counts)[:, None]

    def projections(self, counts: np.ndarray, averages: np.ndarray, starts: np.ndarray) -> np.ndarray:
        d, group = self.n_features, groups_of_items(starts, len(counts))
        means = group_means(counts, averages, starts)
        steps = averages[:, :d] - means[group, :d]
        within = group_means(counts, averages[:, d:] - averages[:, :d] ** 2, starts)
        columns = []
        for units in (np.ones(d), np.sqrt(self.covariance)):
            directions = principal_directions(steps / units, counts, starts, within / units**2) / units
            columns.append(np.einsum("id,id->i", steps, directions[group]))
        return np.stack(columns, axis=1)

    def translated_from(self, other: Self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        d, step = self.n_features, other.mean - self.mean
        moved = sums.copy()
        moved[:, :d] += counts[:, None] * step
        moved[:, d:] += 2 * step * sums[:, :d] + counts[:, None] * step**2
        return moved

    def _posterior(self, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means, relative to the prior's, and scatter of each column."""
        d, weights = self.n_features, (self.mean_weight + counts)[:, None]
        means = sums[:, :d] / weights
        return means, self._scatter + np.maximum(sums[:, d:] - weights * means**2, 0.0)
