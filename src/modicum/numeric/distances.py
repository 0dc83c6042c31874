"""Squared distances by one matrix product, and kernel widths from the distances between rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from modicum.numeric.parallel import run_tiles
from modicum.rows import is_sparse, n_rows, take

TILE_ENTRIES = 2**16  # of a tile of a matrix: 512 KiB, which fit in cache
FEW_TILES = 4  # up to this many tiles, a millisecond or two of work, run on one thread
FEW_ROWS = 9  # rows whose median is robust to one or two outliers
PROBED = 500  # rows used for the median distance: their 125,000 pairs determine it within a few percent

SMALLEST = 1e-290  # a smaller variance has lost precision, or its inverse overflows
ROUNDING = 1e-12  # standard deviation of a column, relative to its mean, that may be due to rounding
SPARSE_ROUNDING = 1e-14  # squared distance of sparse rows, relative to their squared norms, that may be due to rounding

Distances = Callable[[Any, Any], np.ndarray]


def square_distances(A: Any, B: Any, scale: Any = 1.0) -> np.ndarray:
    """|(a - b) * scale|^2 for all pairs, with one scale or one per column."""
    return shaped_distances(A, B, scale, lambda tile: np.maximum(tile, 0, out=tile))


def shaped_distances(A: Any, B: Any, scale: Any, shape: Callable[[np.ndarray], Any]) -> np.ndarray:
    """The matrix of squared distances, to which `shape` is applied in place, a tile of rows at a time.

    Due to rounding, `shape` may be given distances slightly below zero.
    """
    out = np.empty((n_rows(A), n_rows(B)))
    if not out.size:
        return out
    if is_sparse(A) or is_sparse(B):
        A, B = (times(X.astype(np.float64), scale) for X in (A, B))
        out[:] = square_norms(A)[:, None] - 2 * product(A, B) + square_norms(B)
        shape(out)
        return out
    shift = typical_row(B)  # distances are invariant to shifts; near the origin fewer digits cancel
    right = _widen(B, shift, scale, norms_at=-1)

    def work(tile: slice) -> None:
        left = _widen(A[tile], shift, scale, norms_at=-2)
        left[:, :-2] *= -2.0
        np.matmul(left, right.T, out=out[tile])
        shape(out[tile])

    in_tiles(work, *out.shape)
    return out


def typical_row(X: np.ndarray) -> np.ndarray:
    """The median of a few rows, robust to outliers."""
    few = np.sort(X[:: max(1, len(X) // FEW_ROWS)][:FEW_ROWS], axis=0)
    return few[len(few) // 2].astype(np.float64)


def _widen(X: np.ndarray, shift: np.ndarray, scale: Any, *, norms_at: int) -> np.ndarray:
    """x, shifted and scaled, with columns for |x|^2 and 1.

    As |a - b|^2 = [-2a, |a|^2, 1] . [b, 1, |b|^2], no further pass is needed to add norms.
    """
    wide = np.empty((len(X), X.shape[1] + 2))
    x = wide[:, :-2]
    np.subtract(X, shift, out=x)
    x *= scale
    wide[:, -2:] = 1.0
    np.einsum("ij,ij->i", x, x, out=wide[:, norms_at])
    return wide


def in_tiles(work: Callable[[slice], Any], count: int, width: int) -> None:
    """Call `work` with tiles of the rows of a count x width matrix, on several threads if there are many tiles."""
    tile = max(1, TILE_ENTRIES // max(1, width))
    if count > FEW_TILES * tile:
        run_tiles(work, count, tile)
    else:
        for first in range(0, count, tile):
            work(slice(first, min(first + tile, count)))


def product(A: Any, B: Any) -> np.ndarray:
    """Inner products of all pairs of rows, as a dense matrix."""
    found = A @ B.T
    return found.toarray() if is_sparse(found) else found


def times(X: Any, scale: Any) -> Any:
    """Columns of X times a number, or times one number each."""
    return X.multiply(scale).tocsr() if is_sparse(X) else X * scale


def square_norms(X: Any) -> np.ndarray:
    """|x|^2 of each row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def euclidean_distances(A: Any, B: Any) -> np.ndarray:
    """|a - b| for all pairs, exactly zero for equal dense rows; slower than by a matrix product."""
    if not is_sparse(A):
        return cdist(A, B)
    squares = square_distances(A, B)
    squares[squares < SPARSE_ROUNDING * square_norms(A).max(initial=0.0)] = 0.0
    return np.sqrt(squares)


def median_width(rows: Any, distances: Distances = euclidean_distances) -> float:
    """The median distance between rows, a common first choice of the width of a kernel.

    Uses up to 500 evenly spaced rows, so it is deterministic; for a stream, pass the `points_` of a `Reservoir`. If so
    many rows are equal that the median is 0, pairs of equal rows are left out; it is 1 if all rows are equal.
    `distances` computes those between two chunks.

    >>> median_width(np.array([[0.0], [3.0], [10.0]]))
    7.0
    """
    count = n_rows(rows)
    some = take(rows, np.linspace(0, count - 1, min(count, PROBED)).astype(int))
    found = distances(some, some)[np.tri(n_rows(some), k=-1, dtype=bool)]
    found[found < SMALLEST**0.5] = 0.0  # their squares would underflow
    apart = found[found > 0]
    if not len(apart):
        return 1.0
    return float(np.median(found) or np.median(apart))


def column_widths(rows: Any) -> np.ndarray:
    """A width for every column: its standard deviation times the median distance between standardized rows.

    The widths do not depend on units. Columns of equal spread get the width that `median_width` gives.
    """
    mean, variance = _moments(rows)
    spread = np.sqrt(variance)
    spread[(spread <= ROUNDING * np.abs(mean)) | (variance < SMALLEST)] = (
        1.0  # a constant column does not determine a width
    )
    return spread * median_width(times(rows, 1.0 / spread))


def _moments(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column."""
    if is_sparse(rows):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return mean_variance_axis(rows.astype(np.float64), axis=0)
    return rows.mean(axis=0, dtype=np.float64), rows.var(axis=0, dtype=np.float64)
