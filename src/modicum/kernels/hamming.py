"""A kernel for rows of categories, by the number of columns in which they differ."""

from typing import Any

import numpy as np

from modicum._jit.kernels import look_up_differences
from modicum.exceptions import DataError
from modicum.kernels.kernel import Pullback
from modicum.kernels.stationary import Stationary
from modicum.numeric.distances import in_tiles, median_width


class Hamming(Stationary):
    """exp(-hamming(a, b) / (2 width^2)), hamming(a, b) being the number of columns in which two rows differ.

    Categories are coded as any numbers. The kernel is the RBF of rows in which each column is replaced by indicators of
    its categories, divided by sqrt(2).

    Parameters
    ----------
    width : number or None (the median of sqrt(hamming) between rows), default=None

    Examples
    --------
    >>> X = np.array([[1, 7, 3], [2, 5, 3]])
    >>> Hamming(1.0)(X[:1], X).round(3)
    array([[1.   , 0.368]])
    """

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return _looked_up(A, B, self._table(B))

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        table = self._table(B)
        slopes = table * np.arange(len(table)) / self.width**2
        return _looked_up(A, B, table), lambda weight: np.array([np.vdot(weight, _looked_up(A, B, slopes))])

    def _table(self, rows: Any) -> np.ndarray:
        """The kernel of rows that differ in 0, 1, 2, ... columns."""
        return np.exp(-0.5 * np.arange(rows.shape[1] + 1) / self._given_width() ** 2)

    def _suitable_width(self, rows: Any) -> float:
        roots = np.sqrt(np.arange(rows.shape[1] + 1))
        return median_width(rows, lambda A, B: _looked_up(A, B, roots))


def _looked_up(A: np.ndarray, B: np.ndarray, table: np.ndarray) -> np.ndarray:
    """table[hamming(a, b)] for all pairs."""
    out = np.empty((len(A), len(B)))
    dtype = np.result_type(A, B)
    if dtype.kind not in "biuf":
        raise DataError(f"Hamming: categories must be given as numbers; got rows of type {dtype}.")
    A = A.astype(dtype, order="C", copy=False)
    columns = np.ascontiguousarray(B.T, dtype)
    in_tiles(
        lambda tile: look_up_differences(A[tile], columns, table, np.empty(len(B), np.int32), out[tile]), *out.shape
    )
    return out
