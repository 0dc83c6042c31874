"""Base of Gaussians with full and with diagonal covariances (gomes2008, section 2.3.2)."""

import copy
import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from modicum.families.family import UNBOUND, Family, OpenUntilBound
from modicum.rules.invariants import ABSENT, Array, Real
from modicum.rules.params import NULL

LOG_2PI = math.log(2 * math.pi)
FLAT = 1e-12  # of the summed variances of all columns: the least variance of a column in a default prior
SMALLEST = 1e-290  # a smaller variance has lost digits, or its inverse overflows
ROUNDING = 4 * np.finfo(np.float64).eps  # of sums of squares, per column
FIRST_SHARE = 0.1  # of the variance of a column: the expected variance of components before any is known
MIN_SHARE = 1e-6  # of the variance of a column: the least expected variance, however narrow the components found are


class Gaussian(Family):
    """Base of Gaussians with full and with diagonal covariances.

    Statistics are taken about the prior's mean, which is near the rows, so that squares keep their digits.
    """

    _invariants = {
        "mean": [Array("float64", "n_features"), OpenUntilBound()],
        "mean_weight": [Real(above=0.0), OpenUntilBound()],
        "degrees": [NULL, Real(above=0.0), OpenUntilBound()],
        "_min_variances": [ABSENT, NULL, Array("float64", "n_features", above=0.0)],
        "_degrees": [UNBOUND, Real(above=0.0)],
        "_log_det": [UNBOUND, Real()],
    }

    n_directions = 2
    _degrees: float  # of the prior, once bound
    _min_variances: np.ndarray | None = None  # of the prior, if its covariance is fitted

    def __init__(
        self, mean: Any = None, covariance: Any = None, *, mean_weight: float = 0.01, degrees: float | None = None
    ):
        self.mean = mean
        self.covariance = covariance
        self.mean_weight = mean_weight
        self.degrees = degrees

    def means(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return self.mean + sums[:, : self.n_features] / (self.mean_weight + counts)[:, None]

    def centers(self, averages: np.ndarray) -> np.ndarray:
        return self.mean + averages[:, : self.n_features]

    def bind(self, X: np.ndarray, weight: np.ndarray) -> Self:
        family, d = copy.copy(self), X.shape[1]
        center = np.average(X, axis=0, weights=weight)
        family.n_features = d
        family.mean = center if self.mean is None else family._per_column("mean", self.mean)
        if self.covariance is None:
            variances = np.average((X - center) ** 2, axis=0, weights=weight)
            variances[(variances < (ROUNDING * center) ** 2) | (variances < SMALLEST)] = 0.0
            variances = np.maximum(variances, FLAT * variances.sum()) if variances.any() else np.ones(d)
            family.covariance, family._min_variances = FIRST_SHARE * variances, MIN_SHARE * variances
        if not self.mean_weight > 0:
            raise ValueError(f"{type(self).__name__}: mean_weight must be positive; got {self.mean_weight}.")
        family._complete_prior()
        return family

    def _checked_degrees(self, default: float, above: float) -> float:
        degrees = default if self.degrees is None else float(self.degrees)
        if not above < degrees < np.inf:
            raise ValueError(f"{type(self).__name__}: degrees must be above {above:g} here; got {self.degrees}.")
        return degrees

    def fitted(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        if self._min_variances is None or counts.mean() <= self._degrees:  # too few rows to estimate the prior from
            return self
        family = copy.copy(self)
        family.covariance = np.maximum(1 / self._expected_precisions(counts, sums).mean(axis=0), self._min_variances)
        family._complete_prior()
        return family

    @abstractmethod
    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Diagonals of the expected precisions under the posterior."""

    @abstractmethod
    def _complete_prior(self) -> None:
        """Compute what follows from the parameters of the prior of a bound family, and check them."""

    @property
    def _scatter(self) -> np.ndarray:
        return self._degrees * self.covariance
