"""k-means on weighted points: scikit-learn's, from our own seeds (arthur2007)."""

import numpy as np
from sklearn.cluster import KMeans

from modicum.coreset.seeding import default_trials, seed_rows


def weighted_kmeans(
    points: np.ndarray,
    weights: np.ndarray,
    n_clusters: int,
    n_init: int,
    rng: np.random.Generator,
    start: np.ndarray | None,
) -> np.ndarray:
    """The centers found from `start`, or the best from `n_init` seedings; fewer if there are fewer different points."""
    if start is not None and len(start) == n_clusters:
        starts = [start]
    else:
        trials = 2 * default_trials(n_clusters)  # better centers than more seedings would give, in less time
        starts = [points[seed_rows(points, weights, n_clusters, trials, rng)] for _ in range(n_init)]
    fits = [KMeans(len(init), init=init, n_init=1).fit(points, sample_weight=weights) for init in starts]
    return min(fits, key=lambda fit: fit.inertia_).cluster_centers_
