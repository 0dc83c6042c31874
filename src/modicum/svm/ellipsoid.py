"""Ellipsoids instead of balls (rai2009, section 6.2), by adaptive regularization of weights (crammer2009).

The weights have a mean and a covariance. With 1 / cost for its parameter r, the update is the recursive solution of the
paper's objective |w|^2 + C sum_n xi_n^2 over the rows that violated the margin when they were learned: exact for the
full covariance matrix, one column at a time for its diagonal.
"""

from typing import Any, Self

import numpy as np

from modicum._jit.ellipsoid import learn_diagonal, learn_diagonal_sparse, learn_full
from modicum.rows import is_sparse
from modicum.rules.invariants import Array, Whole
from modicum.svm.machine import Machine, Size


class Diagonal(Machine):
    """One variance per column. Time and memory are proportional to the number of columns."""

    _invariants = {
        "n_core": Whole(),
        "_table": Array("float64", 2, "width"),
    }

    def __init__(self, width: int):
        self.n_core = 0
        self._table = np.stack([np.zeros(width), np.ones(width)])

    @property
    def coef(self) -> np.ndarray:
        return self._table[0]

    @property
    def _variance(self) -> np.ndarray:
        return self._table[1]

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions, cost = np.empty(len(sign)), cost if weight is None else cost * weight
        self.n_core += learn_diagonal(Z, sign, cost, self.coef, self._variance, decisions)
        return decisions

    @staticmethod
    def size(width: int) -> Size:
        return Size(1, 8 * (2 * width + 1))

    def blank(self) -> Self:
        return type(self)(len(self.coef))

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror.coef[:] *= -1.0
        return mirror

    def merge(self, other: Self) -> None:
        """Add precisions, and subtract that of the prior, which both sides include."""
        ours, theirs = 1.0 / self._variance, 1.0 / other._variance
        total = ours + theirs - 1.0
        self.coef[:] = (ours * self.coef + theirs * other.coef) / total
        self._variance[:] = 1.0 / total
        self.n_core += other.n_core


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

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions, cost = np.empty(len(sign)), cost if weight is None else cost * weight
        self.n_core += learn_diagonal_sparse(Z.data, Z.indices, Z.indptr, sign, cost, self._table, decisions)
        return decisions


class Full(Machine):
    """A covariance matrix: a row that changes it costs the square of the number of columns."""

    _invariants = {
        "n_core": Whole(),
        "_mean": Array("float64", "width"),
        "_covariance": Array("float64", "width", "width"),
    }

    def __init__(self, width: int):
        self.n_core = 0
        self._mean = np.zeros(width)
        self._covariance = np.eye(width)

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions, cost = np.empty(len(sign)), cost if weight is None else cost * weight
        Z = Z.toarray() if is_sparse(Z) else Z
        self.n_core += learn_full(Z, sign, cost, self._mean, self._covariance, decisions)
        return decisions

    @property
    def coef(self) -> np.ndarray:
        return self._mean

    @staticmethod
    def size(width: int) -> Size:
        return Size(1 + width, 8 * (width**2 + width + 1))

    def blank(self) -> Self:
        return type(self)(len(self._mean))

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror._mean *= -1.0
        return mirror

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
        covariance = np.linalg.inv(ours + theirs - np.eye(len(ours)))
        self._mean = covariance @ (ours @ self._mean + theirs @ other._mean)
        self._covariance = (covariance + covariance.T) / 2
        self.n_core += other.n_core

    @property
    def n_kept(self) -> int:
        return 1 + len(self._mean)
