"""Ellipsoids instead of balls (rai2009, section 6.2), by adaptive regularization of weights (crammer2009).

The weights have a mean and a covariance. With 1 / cost for its parameter r, the update is the recursive solution of the
paper's objective |w|^2 + C sum_n xi_n^2 over the rows that violated the margin when they were learned: exact for the
full covariance matrix, one column at a time for its diagonal.

A machine that skips certain rows learns those alone whose decision, in the direction of their class, is below one or
two of its own standard deviations (dredze2008, confidence-weighted learning, with the update above). It makes fewer
mistakes where classes overlap: weights do not follow rows that are on the correct side, but near the border.

The inverse of the covariance, the precision, is I plus a sum over rows. To forget, that sum is multiplied by a factor,
and the mean is kept: of the old rows remains a prior around it, and no pull towards zero. Where all is forgotten after
every row, the covariance is always I: such a machine is passive-aggressive (crammer2006).
"""

from typing import Any, Self

import numpy as np

from modicum._jit.ellipsoid import (
    learn_constant,
    learn_constant_sparse,
    learn_diagonal,
    learn_diagonal_sparse,
    learn_full,
)
from modicum.rows import is_sparse
from modicum.rules.invariants import ABSENT, Array, Whole
from modicum.rules.params import TRUTH
from modicum.svm.machine import Machine, Size


class Ellipsoid(Machine):
    """A mean of the weights and, in most shapes, a covariance."""

    _invariants = {
        "n_core": Whole(),
        "has_faded": [ABSENT, TRUTH],
        "skips_certain": [ABSENT, TRUTH],
    }
    has_faded = False
    skips_certain = False  # whether rows are not learned whose decision is on the correct side by some deviations
    _certainty = 1.0  # how many deviations

    def __init__(self, width: int):
        self.n_core = 0

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions = np.empty(len(sign))
        self.n_core += self._learn(Z, sign, cost if weight is None else cost * weight, decisions)
        return decisions

    def _learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, decisions: np.ndarray) -> int:
        """Hook: learn rows, write the decision of each before it is learned, and count those that changed the mean."""
        raise NotImplementedError(f"{type(self).__name__} must define _learn")

    def blank(self) -> Self:
        blank = type(self)(len(self.coef))
        blank.skips_certain = self.skips_certain
        return blank

    @property
    def _deviations(self) -> float:
        """Standard deviations of its decision from which a row is certain; 0 if none is."""
        return self._certainty if self.skips_certain else 0.0

    def _prior(self, other: "Ellipsoid") -> float:
        """The precision of the prior that keeps the merged mean small: what has faded has none at zero."""
        return 0.0 if self.has_faded or other.has_faded else 1.0


class Diagonal(Ellipsoid):
    """One variance per column. Time and memory are proportional to the number of columns."""

    _invariants = {
        "_table": Array("float64", 2, "width"),
    }

    def __init__(self, width: int):
        super().__init__(width)
        self._table = np.stack([np.zeros(width), np.ones(width)])

    @property
    def coef(self) -> np.ndarray:
        return self._table[0]

    @property
    def _variance(self) -> np.ndarray:
        return self._table[1]

    def _learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, decisions: np.ndarray) -> int:
        return learn_diagonal(Z, sign, cost, self.coef, self._variance, decisions, self._deviations)

    @staticmethod
    def size(width: int) -> Size:
        return Size(1, 8 * (2 * width + 1))

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror.coef[:] *= -1.0
        return mirror

    def merge(self, other: Self) -> None:
        """Add precisions, and subtract that of the prior, which both sides include."""
        ours, theirs = 1.0 / self._variance, 1.0 / other._variance
        self.coef[:] = (ours * self.coef + theirs * other.coef) / (ours + theirs - self._prior(other))
        self._variance[:] = 1.0 / (ours + theirs - 1.0)
        self.n_core += other.n_core

    def fade(self, factor: float) -> None:
        self._variance[:] = self._variance / (factor + (1.0 - factor) * self._variance)
        self.has_faded = True


class SparseDiagonal(Diagonal):
    """`Diagonal` for sparse rows. Mean and variance of a column are adjacent in memory, as they are read together."""

    _invariants = {
        "_table": Array("float64", "width", 2),
    }

    def __init__(self, width: int):
        super().__init__(width)
        self._table = np.ascontiguousarray(self._table.T)

    @property
    def coef(self) -> np.ndarray:
        return self._table[:, 0]

    @property
    def _variance(self) -> np.ndarray:
        return self._table[:, 1]

    def _learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, decisions: np.ndarray) -> int:
        rest = (sign, cost, self._table, decisions, self._deviations)
        return learn_diagonal_sparse(Z.data, Z.indices, Z.indptr, *rest)


class WithMean(Ellipsoid):
    """Base of those that hold their mean in an array of its own."""

    _invariants = {
        "_mean": Array("float64", "width"),
    }

    def __init__(self, width: int):
        super().__init__(width)
        self._mean: np.ndarray = np.zeros(width)

    @property
    def coef(self) -> np.ndarray:
        return self._mean

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror._mean *= -1.0
        return mirror


class Full(WithMean):
    """A covariance matrix: a row that changes it costs the square of the number of columns."""

    _certainty = 2.0  # by 1, more than ten points are lost on some sorted rows, and probabilities are worse

    _invariants = {
        "_covariance": Array("float64", "width", "width"),
    }

    def __init__(self, width: int):
        super().__init__(width)
        self._covariance = np.eye(width)

    def _learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, decisions: np.ndarray) -> int:
        Z = Z.toarray() if is_sparse(Z) else Z
        return learn_full(Z, sign, cost, self._mean, self._covariance, decisions, self._deviations)

    @staticmethod
    def size(width: int) -> Size:
        return Size(1 + width, 8 * (width**2 + width + 1))

    def reflected(self, column: int) -> Self:
        """A copy, as if this column had had the opposite sign."""
        copy = self.copied()
        copy._mean[column] *= -1.0
        copy._covariance[column] *= -1.0
        copy._covariance[:, column] *= -1.0
        return copy

    def merge(self, other: Self) -> None:
        """Add precisions, and subtract that of the prior, which both sides include."""
        ours, theirs = np.linalg.inv(self._covariance), np.linalg.inv(other._covariance)
        total, identity = ours + theirs, np.eye(len(ours))
        information = ours @ self._mean + theirs @ other._mean
        self._mean = np.linalg.solve(total - self._prior(other) * identity, information)
        self._covariance = _symmetric(np.linalg.inv(total - identity))
        self.n_core += other.n_core

    def fade(self, factor: float) -> None:
        mixture = factor * np.eye(len(self._mean)) + (1.0 - factor) * self._covariance  # can be inverted, always
        self._covariance = _symmetric(np.linalg.solve(mixture, self._covariance))
        self.has_faded = True

    @property
    def n_kept(self) -> int:
        return 1 + len(self._mean)


class Constant(WithMean):
    """The identity as covariance, whatever was learned: the mean follows the latest rows, by steps of constant size."""

    has_faded = True

    def _learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, decisions: np.ndarray) -> int:
        rest = (sign, cost, self._mean, decisions)
        return learn_constant_sparse(Z.data, Z.indices, Z.indptr, *rest) if is_sparse(Z) else learn_constant(Z, *rest)

    @staticmethod
    def size(width: int) -> Size:
        return Size(1, 8 * (width + 1))

    def merge(self, other: Self) -> None:
        """The mean of both: neither side is more certain than the other."""
        if other.n_core:
            self._mean = (self._mean + other._mean) / 2 if self.n_core else other._mean.copy()
        self.n_core += other.n_core

    def fade(self, factor: float) -> None:
        """The covariance has nothing to forget."""


def _symmetric(covariance: np.ndarray) -> np.ndarray:
    """A covariance without its asymmetry by rounding, which would double with every fading."""
    return (covariance + covariance.T) / 2
