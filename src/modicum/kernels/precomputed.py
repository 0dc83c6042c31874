"""A kernel that was computed beforehand."""

from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.kernels.kernel import Kernel
from modicum.rules.invariants import Array


class Precomputed(Kernel):
    """Rows are row numbers of a given symmetric matrix, one column of them.

    Examples
    --------
    >>> k = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> k(np.array([[1], [0]]), np.array([[1]]))
    array([[3.],
           [1.]])
    """

    _invariants = {
        "matrix": Array("float64", "n", "n"),
    }

    def __init__(self, matrix: Any):
        self.matrix = np.array(matrix, np.float64)
        if self.matrix.ndim != 2 or len(set(self.matrix.shape)) != 1:
            raise ValueError(f"Precomputed: matrix must be square; got one of shape {self.matrix.shape}.")
        if not np.allclose(self.matrix, self.matrix.T):
            i, j = np.argwhere(~np.isclose(self.matrix, self.matrix.T))[0]
            raise ValueError(
                f"Precomputed: matrix must be symmetric; got {self.matrix[i, j]} in row {i}, column {j} "
                f"and {self.matrix[j, i]} across the diagonal."
            )

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return self.matrix[np.ix_(self._numbers(A), self._numbers(B))]

    def diagonal(self, A: Any) -> np.ndarray:
        return np.diagonal(self.matrix)[self._numbers(A)]

    def _numbers(self, rows: Any) -> np.ndarray:
        given = np.asarray(rows)
        if given.ndim > 1 and given.shape[1] != 1:
            raise DataError(f"Precomputed: rows must be row numbers in one column; got {given.shape[1]} columns.")
        numbers = given.reshape(-1).astype(np.int64)
        bad = (numbers != given.reshape(-1)) | (numbers < 0) | (numbers >= len(self.matrix))
        if bad.any():
            raise DataError(
                f"Precomputed: rows must be row numbers from 0 to {len(self.matrix) - 1}; "
                f"got {given.reshape(-1)[bad][0]}."
            )
        return numbers
