"""What a multilogit model sees of a row: the row itself, centered and scaled, so that the total variance is 1.

All maps give features of total variance 1. Then a regularisation means the same for rows in any unit, for any kernel,
and for samples of any size.
"""

from typing import Any, Self

import numpy as np

from modicum.rows import is_sparse
from modicum.rules.invariants import Array, Real
from modicum.state.part import Part


class ScaledRows(Part):
    """Rows minus a mean, divided by a scale. Sparse rows are only scaled: biases make up for the mean."""

    _invariants = {"mean": Array("float64", "n_inputs"), "scale": Real(above=0.0)}

    def __init__(self, mean: np.ndarray, scale: float):
        self.mean = mean
        self.scale = scale

    @classmethod
    def of(cls, X: Any, shares: np.ndarray) -> Self:
        """The map for rows of these shares."""
        mean = np.asarray(shares @ X, np.float64)
        if is_sparse(X):
            X = X.astype(np.float64)  # squares of small float32 numbers are 0
            squares = float(shares @ np.asarray(X.multiply(X).sum(axis=1)).ravel())
            variance = max(0.0, squares - float(mean @ mean))
        else:
            gaps = X - mean
            variance = float(shares @ np.einsum("ij,ij->i", gaps, gaps))
        return cls(mean, np.sqrt(variance) or 1.0)

    def __call__(self, X: Any) -> Any:
        """Features of rows, of the precision of the rows."""
        if is_sparse(X):
            return X * X.dtype.type(1.0 / self.scale)
        return (X - self.mean.astype(X.dtype)) / X.dtype.type(self.scale)
