"""The Laplacian kernel: city-block distances, for rough functions and for rows with outliers."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from modicum._jit.kernels import decay
from modicum.kernels.kernel import Pullback
from modicum.kernels.stationary import Stationary
from modicum.numeric.distances import in_tiles, median_width
from modicum.rows import is_sparse, n_rows


class Laplacian(Stationary):
    """exp(-|a - b|_1 / width).

    Parameters
    ----------
    width : number or None (the median city-block distance between rows), default=None

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.5, 0.5]])
    >>> Laplacian(1.0)(X[:1], X).round(3)
    array([[1.   , 0.368]])
    """

    takes_sparse = True

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        rate = 1.0 / self._given_width()
        K = city_block_distances(A, B)
        decay(K.reshape(-1), rate)
        return K

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        K = self(A, B)
        return K, lambda weight: np.array([np.vdot(weight * K, city_block_distances(A, B))]) / self.width

    def _suitable_width(self, rows: Any) -> float:
        return median_width(rows, city_block_distances)


def city_block_distances(A: Any, B: Any) -> np.ndarray:
    """|a - b|_1 for all pairs."""
    if 0 in (n_rows(A), n_rows(B)):
        return np.empty((n_rows(A), n_rows(B)))
    if is_sparse(A) or is_sparse(B):
        from scipy import sparse
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(sparse.csr_matrix(A, dtype=np.float64), sparse.csr_matrix(B, dtype=np.float64))
    out = np.empty((n_rows(A), n_rows(B)))
    B = B.astype(np.float64, copy=False)
    in_tiles(lambda tile: cdist(A[tile].astype(np.float64, copy=False), B, "cityblock", out=out[tile]), *out.shape)
    return out
