"""k-means on weighted points: scikit-learn's, initialized with our own seeds (arthur2007)."""

import numpy as np
from sklearn.cluster import KMeans

from modicum.coreset.cells import ROWS_PER_SEED
from modicum.coreset.seeding import default_trials, seed_rows
from modicum.coreset.systematic import systematic

MANY_POINTS = 10_000  # fewer are seeded from directly: a sample might miss small clusters far away


def weighted_kmeans(
    points: np.ndarray,
    weights: np.ndarray,
    n_clusters: int,
    n_init: int,
    rng: np.random.Generator,
    init: np.ndarray | None,
    steps: int | None = None,
) -> np.ndarray:
    """The centers found from `init`, or the best from `n_init` seedings; fewer if there are fewer distinct points."""
    shift = np.average(points, axis=0, weights=weights)
    scale = np.abs(points - shift).max() or 1.0  # squares then neither overflow nor vanish
    moved = ((points - shift) / scale).astype(points.dtype)
    weights = weights / weights.mean()  # scikit-learn holds them in the precision of the points
    if init is not None and len(init) == n_clusters:
        inits = [((init - shift) / scale).astype(points.dtype)]
    else:
        trials = 2 * default_trials(n_clusters)  # better centers than more seedings would give, in less time
        inits = [_seeds(moved, weights, n_clusters, trials, rng) for _ in range(n_init)]
    max_iter = 300 if steps is None else steps
    fits = [
        KMeans(len(init), init=init, n_init=1, max_iter=max_iter).fit(moved, sample_weight=weights) for init in inits
    ]
    best = min(fits, key=lambda fit: fit.inertia_).cluster_centers_
    return (best * scale + shift).astype(points.dtype)


def _seeds(
    points: np.ndarray, weights: np.ndarray, n_clusters: int, trials: int, rng: np.random.Generator
) -> np.ndarray:
    """Points as seeds, from a sample of them if there are many."""
    most = max(ROWS_PER_SEED * n_clusters, MANY_POINTS)
    if len(points) > most:
        some, chances = systematic(weights, most, rng)
        points, weights = points[some], weights[some] / chances
    return points[seed_rows(points, weights, n_clusters, trials, rng)]
