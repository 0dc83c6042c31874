"""k-means++ (arthur2007): centers drawn from the rows, each with a probability proportional to its cost so far.

Compiled and weighted; one distance and one label are held per row.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils import check_array

from modicum._jit.seeding import seed
from modicum.state.rng import as_generator


def kmeans_plusplus(
    X: Any, n_clusters: int, *, sample_weight: Any = None, trials: int | None = None, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are good initial centers for k-means.

    Cost: O(n k d) per trial at most. Rows that a new center can't be nearest to are skipped: nearly all of them in
    well separated data. Memory: 12 bytes per row.

    Parameters
    ----------
    X : array of shape (n, d)
    n_clusters : int
        Fewer are returned if X has fewer distinct rows.
    sample_weight : array of shape (n,), default=None
    trials : int, default=None
        Candidates drawn for each center, of which the best is kept; by default 2 + log(k), as in scikit-learn.
    random_state : int, Generator or None, default=None

    Returns
    -------
    centers : ndarray of shape (k, d)
    indices : ndarray of shape (k,)
        The rows of X that were chosen.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> centers, indices = kmeans_plusplus(X, 2, random_state=0)
    >>> np.sort(indices // 2)
    array([0, 1])
    """
    X = check_array(X, dtype=[np.float64, np.float32], order="C")
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (len(X),) or not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise ValueError("kmeans_plusplus: sample_weight must be one finite, non-negative number per row, not all 0.")
    if n_clusters < 1 or (trials is not None and trials < 1):
        raise ValueError("kmeans_plusplus: n_clusters and trials must be positive.")
    trials = default_trials(n_clusters) if trials is None else trials
    indices = seed_rows(X, weight, n_clusters, trials, as_generator(random_state))
    return X[indices], indices


def default_trials(n_clusters: int) -> int:
    """Candidates for each center: more are not worth their time."""
    return 2 + int(math.log(n_clusters))


def seed_rows(X: np.ndarray, weight: np.ndarray, n_clusters: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """The rows that become centers, at most `n_clusters` and all distinct."""
    none = X[:0], np.ones(len(X)), np.zeros(len(X), np.int32)
    return add_seeds(X, weight, *none, min(n_clusters, len(X)), trials, rng)[1]


def add_seeds(
    X: np.ndarray,
    weight: np.ndarray,
    centers: np.ndarray,
    gaps: np.ndarray,
    labels: np.ndarray,
    count: int,
    trials: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """`centers` with up to `count` more, and the rows that were added; fewer if all rows are centers already.

    `gaps` and `labels`, the squared distance and index of each row's nearest center, are updated in place.
    """
    known = len(centers)
    centers = np.concatenate([centers, np.empty((count, X.shape[1]), X.dtype)])
    rows = np.empty(count, np.int64)
    total = seed(X, weight, rng.random((count, trials)), known, centers, rows, gaps, labels)
    return centers[:total], rows[: total - known]
