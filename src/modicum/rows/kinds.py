"""Rows of any kind: dense arrays, sparse matrices, lists of Python objects."""

import sys
from typing import Any

import numpy as np
from scipy import sparse

TARGET_BYTES = 8  # planned for, whether targets come or not: a plan does not know


def is_sparse(X: Any) -> bool:
    return sparse.issparse(X)


def is_table(X: Any) -> bool:
    """Whether rows are an Arrow table."""
    return hasattr(X, "schema") and hasattr(X, "column_names")


def n_rows(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take(X: Any, index: Any) -> Any:
    """Rows of an array, a sparse matrix or a list of objects; a slice of consecutive rows shares their memory."""
    if isinstance(X, list):
        return [X[i] for i in np.arange(len(X))[index]]
    if is_table(X):
        if isinstance(index, slice):
            start, stop, _ = index.indices(X.num_rows)
            return X.slice(start, max(stop - start, 0))
        return X.take(np.arange(X.num_rows)[index])
    if is_sparse(X) and isinstance(index, slice) and index.step is None:
        return _consecutive(X, *index.indices(X.shape[0])[:2])
    return X[index]


def take_all(index: Any, X: Any, *columns: Any) -> tuple[Any, ...]:
    """Some of the rows, and of the columns beside them, such as targets, weights and ids; None stays None."""
    return (take(X, index), *(None if column is None else column[index] for column in columns))


def _consecutive(X: Any, start: int, stop: int) -> Any:
    stop = max(start, stop)
    first, last = X.indptr[start], X.indptr[stop]
    return as_csr(X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first, X.shape[1])


def as_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> Any:
    """A CSR matrix of arrays that are known to be valid, which are neither checked nor copied."""
    made = sparse.csr_matrix((len(indptr) - 1, width), dtype=data.dtype)
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def equal_rows(A: Any, B: Any) -> np.ndarray:
    """Whether each row of A equals the row of B at the same position."""
    if isinstance(A, list):
        return np.array([a == b for a, b in zip(A, B, strict=True)], bool)
    return np.asarray((A != B).sum(axis=1)).ravel() == 0


def bytes_of(X: Any) -> int:
    """Bytes of the rows of an array or a CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_sparse(X) else X.nbytes


def average_bytes(X: Any) -> int:
    """Mean bytes of a row, with a margin where rows differ in size."""
    if isinstance(X, list):
        return int(1.25 * sum(map(sys.getsizeof, X)) / len(X)) + 8
    if is_sparse(X):
        return int(1.25 * X.nnz / X.shape[0] * (X.dtype.itemsize + X.indices.itemsize)) + X.indptr.itemsize
    return X.shape[1] * X.dtype.itemsize


def bytes_with_target(X: Any, y: np.ndarray | None) -> int:
    """Mean bytes of a row and its target."""
    return average_bytes(X) + max(TARGET_BYTES, 0 if y is None else y.itemsize)


def are_objects(X: Any) -> bool:
    """Whether rows are Python objects: strings, or others that are not columns of numbers."""
    if not isinstance(X, list):
        return getattr(X, "ndim", 2) == 1 and X.dtype.kind in "OUS"
    row = X[0]
    if isinstance(row, str | bytes | dict | set):
        return True
    try:
        return np.asarray(row).dtype.kind not in "biuf"
    except ValueError:  # of different lengths inside, such as a graph as (edges, labels)
        return True
