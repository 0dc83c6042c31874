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
    """The best centers found from `n_init` seedings and from `start`; fewer if there are fewer different points."""
    starts = [] if start is None or len(start) != n_clusters else [start]
    for _ in range(n_init):
        starts.append(points[seed_rows(points, weights, n_clusters, 2 * default_trials(n_clusters), rng)])
    fits = [KMeans(len(init), init=init, n_init=1).fit(points, sample_weight=weights) for init in starts]
    return min(fits, key=lambda fit: fit.inertia_).cluster_centers_
