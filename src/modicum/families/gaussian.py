"""What Gaussians with full and with diagonal covariances share (gomes2008, section 2.3.2)."""

import copy
import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from modicum.exceptions import DataError
from modicum.families.family import UNBOUND, Family, Open
from modicum.rules.invariants import ABSENT, Array, Real
from modicum.rules.params import NULL

LOG_2PI = math.log(2 * math.pi)
FLAT = 1e-12  # of the variance of all columns together: the least a column's variance counts in a default prior
SMALLEST = 1e-290  # a variance below it has lost its digits, or one over it overflows
ROUNDING = 4 * np.finfo(np.float64).eps  # of sums of squares, per column
FIRST_SHARE = 0.1  # of the variance of a column: what components are expected to have before any is known
LEAST_SHARE = 1e-6  # what they are expected to have at least, however narrow those found are
LARGEST = 1e140  # value of which sums of squares are finite


class Gaussian(Family):
    """What Gaussians with full and with diagonal covariances share.

    Statistics are taken about the prior's mean: only near the rows do squares keep their digits.
    """

    _invariants = {
        "mean": [Array("float64", "n_features"), Open()],
        "mean_weight": [Real(above=0.0), Open()],
        "degrees": [NULL, Real(above=0.0), Open()],
        "_least": [ABSENT, NULL, Array("float64", "n_features", above=0.0)],
        "_degrees": [UNBOUND, Real(above=0.0)],
        "_log_det": [UNBOUND, Real()],
    }

    _degrees: float  # of the prior, once bound
    _least: np.ndarray | None = None  # expected variances, if they are fitted

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

    def check(self, X: np.ndarray, owner: str) -> None:
        if max(float(X.max()), -float(X.min())) > LARGEST:
            raise DataError(f"{owner}: a value is beyond {LARGEST:g}; its square would overflow.")

    def bound(self, X: np.ndarray, weight: np.ndarray) -> Self:
        family, d = copy.copy(self), X.shape[1]
        center = np.average(X, axis=0, weights=weight)
        family.n_features = d
        family.mean = center if self.mean is None else family._given("mean", self.mean)
        if self.covariance is None:
            variances = np.average((X - center) ** 2, axis=0, weights=weight)
            variances[(variances < (ROUNDING * center) ** 2) | (variances < SMALLEST)] = 0.0
            variances = np.maximum(variances, FLAT * variances.sum()) if variances.any() else np.ones(d)
            family.covariance, family._least = FIRST_SHARE * variances, LEAST_SHARE * variances
        if not self.mean_weight > 0:
            raise ValueError(f"{type(self).__name__}: mean_weight must be positive; got {self.mean_weight}.")
        family._settle()
        return family

    def _own_degrees(self, default: float, above: float) -> float:
        degrees = default if self.degrees is None else float(self.degrees)
        if not above < degrees < np.inf:
            raise ValueError(f"{type(self).__name__}: degrees must be above {above:g} here; got {self.degrees}.")
        return degrees

    def fitted(self, counts: np.ndarray, sums: np.ndarray) -> Self:
        if self._least is None or counts.mean() <= self._degrees:  # few rows say little about what to expect
            return self
        family = copy.copy(self)
        family.covariance = np.maximum(1 / self._expected_precisions(counts, sums).mean(axis=0), self._least)
        family._settle()
        return family

    @abstractmethod
    def _expected_precisions(self, counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Diagonals of the precisions that posteriors expect."""

    @abstractmethod
    def _settle(self) -> None:
        """Complete the prior of a bound family."""

    @property
    def _scatter(self) -> np.ndarray:
        return self._degrees * self.covariance
