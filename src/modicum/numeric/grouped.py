"""Sums and inner products over consecutive groups of rows of a CSR matrix; `starts` are the first rows of groups."""

from typing import Any

import numpy as np

from modicum.rows import as_csr


def weighted_sums(X: Any, weights: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The weighted sum of the rows of each group."""
    borders = np.append(starts, X.shape[0])
    return (as_csr(weights, np.arange(X.shape[0]), borders, X.shape[0]) @ X).toarray()


def dots(X: Any, vectors: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The inner product of each row with the vector of its group."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(row, X.data * vectors[group[row], X.indices], X.shape[0])
