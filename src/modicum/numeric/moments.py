"""Running mean and variance of a stream."""

from typing import Any

import numpy as np

from modicum.rows import is_sparse
from modicum.rules.invariants import Array, Real
from modicum.state.part import Part


class RunningMean(Part):
    """Weighted mean of rows, and the sum of the variances of their columns."""

    _invariants = {
        "weight": Real(above=0.0),
        "sums": Array("float64", "width"),
        "square_sum": Real(0.0),
    }

    def __init__(self, width: int):
        self.weight = 0.0
        self.sums = np.zeros(width)
        self.square_sum = 0.0

    def add(self, X: Any, weight: np.ndarray | None) -> None:
        """Count a chunk."""
        weight = np.ones(X.shape[0]) if weight is None else weight
        self.weight += float(weight.sum())
        self.sums += X.T @ weight if is_sparse(X) else np.einsum("i,ij->j", weight, X)
        squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        self.square_sum += float(np.asarray(squares, np.float64).ravel() @ weight)

    def fade(self, factor: float) -> None:
        """Multiply the weight of all rows by a factor."""
        self.weight *= factor
        self.sums *= factor
        self.square_sum *= factor

    def merge(self, other: "RunningMean") -> None:
        """Add the rows that another one has counted."""
        self.weight += other.weight
        self.sums += other.sums
        self.square_sum += other.square_sum

    @property
    def mean(self) -> np.ndarray:
        return self.sums / self.weight

    @property
    def variance(self) -> float:
        """The sum of the variances of columns; rounding never makes it negative."""
        return max(0.0, self.square_sum / self.weight - float(self.mean @ self.mean))
