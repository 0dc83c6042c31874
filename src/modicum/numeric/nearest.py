"""The exact nearest center of each row, and the several nearest ones."""

import numpy as np

from modicum._jit.nearest import pick_nearest, pick_several
from modicum.numeric.distances import in_tiles
from modicum.numeric.parallel import run_tiles

ROUNDING = 4.0  # error of a score in units of the last place of |x|^2 + |c|^2, per square root of the columns
ROBUST = 1000  # centers whose median is taken
WIDE_TILE = 2**20  # scores: tiles of a hundred rows and 10,000 centers, for the sake of the matrix product


def nearest(X: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest center of each row and its squared distance, a tile of rows at a time.

    A matrix product in the precision of X finds the candidates; these are compared by differences in double precision,
    so that the answer is exact far from the origin and in tight clusters.
    """
    labels, gaps = np.empty(len(X), np.int32), np.empty(len(X))
    centers = np.ascontiguousarray(centers, np.float64)
    shift = centers.mean(axis=0).astype(X.dtype)  # near the origin fewer digits cancel in the product
    with np.errstate(over="ignore", invalid="ignore"):
        moved = (centers - shift).astype(X.dtype)
        norms = np.einsum("ij,ij->i", moved, moved)
        unit = X.dtype.type(ROUNDING * np.sqrt(X.shape[1]) * np.finfo(X.dtype).eps)
        slack = unit * norms
        least = X.shape[1] * np.finfo(X.dtype).smallest_normal  # possible error of products that underflow

    def work(tile: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # scores that overflow are compared exactly
            rows = X[tile] - shift
            scores = rows @ -moved.T  # |c|^2 / 2 - x.c overflows only where a norm does
            scores += norms / 2
            row_slack = unit * np.einsum("ij,ij->i", rows, rows) + least
        pick_nearest(X[tile], centers, scores, row_slack, slack, labels[tile], gaps[tile])

    in_tiles(work, len(X), len(centers))
    return labels, gaps


def several_nearest(X: np.ndarray, centers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` nearest centers of each row, nearest first, and their squared distances, both of shape (n, count).

    They are found by a matrix product in the precision of X, so that of two centers whose distances differ by less
    than its rounding errors either may be taken. The distances are exact.
    """
    ids, gaps = np.empty((len(X), count), np.int32), np.empty((len(X), count))
    shift = np.median(centers[:: -(-len(centers) // ROBUST)], axis=0)  # a mean may be far from all but an outlier
    moved = centers - shift
    norms = np.einsum("ij,ij->i", moved, moved) / 2

    def work(tile: slice) -> None:
        scores = (X[tile] - shift) @ -moved.T
        scores += norms
        pick_several(X[tile], centers, scores, ids[tile], gaps[tile])

    run_tiles(work, len(X), max(1, WIDE_TILE // len(centers)))
    return ids, gaps


def by_label(labels: np.ndarray, count: int) -> np.ndarray:
    """Row numbers grouped by label, in order; labels are below `count`."""
    return np.argsort(
        labels.astype(np.min_scalar_type(count)), kind="stable"
    )  # numpy uses radix sort for short integers
