"""The nearest of some centers, exactly, for any number of rows."""

import numpy as np

from modicum._jit.nearest import pick_nearest
from modicum.kernels.distances import in_tiles

ROUNDING = 8.0  # units of the last place of |x|^2 + |c|^2 that a product may be off, per root of the columns


def nearest(X: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest center of each row and its squared distance, a tile of rows at a time.

    A matrix product in the precision of X finds the centers that may be nearest; those are compared by differences,
    so that rows far from the origin lose nothing.
    """
    labels, gaps = np.empty(len(X), np.int32), np.empty(len(X))
    shift = centers.mean(axis=0).astype(X.dtype)  # distances do not change, and fewer digits cancel
    centers = (centers - shift).astype(X.dtype)
    square_norms = np.einsum("ij,ij->i", centers, centers)
    largest = float(square_norms.max())
    unit = ROUNDING * np.sqrt(X.shape[1]) * float(np.finfo(X.dtype).eps)

    def work(part: slice) -> None:
        rows = X[part] - shift
        scores = rows @ (-2 * centers.T)
        scores += square_norms
        slack = unit * (np.einsum("ij,ij->i", rows, rows) + largest)
        pick_nearest(rows, centers, scores, slack, labels[part], gaps[part])

    in_tiles(work, len(X), len(centers))
    return labels, gaps
