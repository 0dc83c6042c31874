"""Where items start: the spectrum of who was put with whom."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from modicum.crowd.views import Views

DENSE = 1500  # items; the whole spectrum of a matrix of this size takes a second


def spectral_start(views: Views, n_dims: int, rng: np.random.Generator) -> np.ndarray:
    """Items along the leading directions of the labels, minus the share of pairs in one group, by pairs per item."""
    share = views.share_together()
    excess = np.where(views.label > 0, 1 - share, -share) * np.abs(views.label)
    shape = views.n_items, views.n_items
    upper = sparse.coo_matrix((excess, (views.first, views.second)), shape).tocsr()
    degrees = np.bincount(views.first, np.abs(views.label), views.n_items)
    degrees += np.bincount(views.second, np.abs(views.label), views.n_items)
    scale = sparse.diags((degrees + 1) ** -0.5)
    matrix = scale @ (upper + upper.T) @ scale
    values, vectors = _leading(matrix, min(n_dims, views.n_items - 1), rng)
    X = np.zeros((views.n_items, n_dims))
    X[:, : len(values)] = vectors * np.sqrt(np.maximum(values, 1e-6))
    X += 0.01 * np.sqrt((X**2).mean()) * rng.normal(size=X.shape)  # no item is exactly where another one is
    return X / np.sqrt((X**2).mean())


def _leading(matrix: sparse.csr_matrix, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of a symmetric matrix, the largest first, and their vectors."""
    n = matrix.shape[0]
    if n <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        values, vectors = eigsh(matrix, count, which="LA", v0=rng.normal(size=n), tol=1e-4)
    order = np.argsort(-values)[:count]
    return values[order], vectors[:, order]
