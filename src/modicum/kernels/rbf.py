"""The squared-exponential kernel (rasmussen2006, eq. 4.9), also called RBF or Gaussian kernel."""

from typing import Any

import numpy as np

from modicum._jit.kernels import decay, decay_sums
from modicum.kernels.kernel import ROWS_PER_TILE
from modicum.kernels.stationary import Radial
from modicum.numeric.distances import typical_row
from modicum.numeric.parallel import run_tiles
from modicum.rows import is_sparse

ROWS_PER_BLOCK = 512  # of a loop over sums: with a few dozen columns, they stay in the nearest cache
FARTHEST = 1e15  # from the typical row, in widths: squares stay finite in single precision


class RBF(Radial):
    """exp(-|a - b|^2 / (2 width^2)): very smooth functions.

    Parameters
    ----------
    width : number, one per column, or None (the median distance between rows), default=None
    ard : bool, default=False
        Without a width, `fitted` finds one per column.

    Examples
    --------
    >>> X = np.array([[0.0], [0.5]])
    >>> RBF(0.5)(X[:1], X).round(3)
    array([[1.   , 0.607]])
    >>> RBF(ard=True).fitted(np.array([[0.0, 0.0], [1.0, 10.0]]))
    RBF([ 1.4142, 14.1421])
    """

    def _shape(self, squares: np.ndarray) -> None:
        decay(squares.reshape(-1), 0.5)

    def sums(self, A: Any, B: Any, weights: np.ndarray) -> np.ndarray:
        if is_sparse(A) or is_sparse(B) or not len(B):
            return super().sums(A, B, weights)
        shift, scale = typical_row(B), np.sqrt(0.5) * self._scale(B)
        left, right = (np.clip((X - shift) * scale, -FARTHEST, FARTHEST).astype(np.float32) for X in (A, B))
        largest = np.abs(weights).max() or 1.0
        blocks, shares = _in_blocks(right), _in_blocks((weights / largest).astype(np.float32)[:, None])[:, 0]
        found = np.empty(len(left))
        run_tiles(lambda tile: decay_sums(left[tile], blocks, shares, found[tile]), len(found), ROWS_PER_TILE)
        return largest * found

    def _slopes(self, A: Any, B: Any, K: np.ndarray) -> np.ndarray:
        return K


def _in_blocks(X: np.ndarray) -> np.ndarray:
    """The rows of X, and zeros to fill the last block, in blocks (blocks, columns, rows)."""
    count = -(-len(X) // ROWS_PER_BLOCK)
    padded = np.zeros((count * ROWS_PER_BLOCK, X.shape[1]), X.dtype)
    padded[: len(X)] = X
    return np.ascontiguousarray(padded.reshape(count, ROWS_PER_BLOCK, -1).transpose(0, 2, 1))
