"""Clusters of items: a mixture of their mean positions (gomes2011, section 7.3.1.2)."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from modicum.mixture import DirichletProcessMixture

LEAST_SHARE = 0.08  # of the largest variance: directions with less are noise
NEIGHBOURS = 2  # clusters may be small
ISOLATED = 3.0  # times the median distance to that neighbour: such items do not shape the clusters
FEWEST = 20  # items for which neighbours say something


class Clusters(NamedTuple):
    """Clusters of items, the largest first."""

    label: np.ndarray  # (n_items,)
    proba: np.ndarray  # (n_items, k)
    means: np.ndarray  # (k, n_dims)
    covariances: np.ndarray  # (k, n_dims, n_dims), of items in the cluster: their spread and their uncertainty


def find_clusters(
    mean: np.ndarray, covariance: np.ndarray, n_clusters: int | None, family: Any, rng: np.random.Generator
) -> Clusters:
    """Clusters by k-means if their number is given, else by a Dirichlet-process mixture."""
    if n_clusters is None:
        proba = _by_mixture(_principal(mean), family)
    else:
        proba = _by_kmeans(mean, n_clusters, rng)
    label = proba.argmax(axis=1)
    present, label = np.unique(label, return_inverse=True)
    order = np.argsort(-np.bincount(label), kind="stable")
    label = np.argsort(order)[label]
    proba = proba[:, present][:, order]
    proba /= proba.sum(axis=1, keepdims=True)
    means = np.array([mean[label == k].mean(axis=0) for k in range(len(order))])
    around = mean - means[label]
    spread = around[:, :, None] * around[:, None] + covariance
    return Clusters(label, proba, means, np.array([spread[label == k].mean(axis=0) for k in range(len(order))]))


def _principal(mean: np.ndarray) -> np.ndarray:
    """Items along the directions in which they differ, in units of their spread."""
    centered = mean - mean.mean(axis=0)
    vectors, scales, _ = np.linalg.svd(centered, full_matrices=False)
    kept = scales**2 > LEAST_SHARE * scales[0] ** 2
    X = vectors[:, kept] * scales[kept]
    size = np.sqrt((X**2).mean()) if kept.any() else 0.0
    return X / size if size > 0 else np.zeros((len(mean), 1))


def _by_mixture(X: np.ndarray, family: Any) -> np.ndarray:
    mixture = DirichletProcessMixture(family).fit(X[~_is_isolated(X)])
    return mixture.predict_proba(X)


def _is_isolated(X: np.ndarray) -> np.ndarray:
    """Items that are far from all others. A mixture would have broad components just for them, across the clusters."""
    if len(X) < FEWEST:
        return np.zeros(len(X), bool)
    distance = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(X).kneighbors(X)[0][:, -1]
    return distance > ISOLATED * np.median(distance)


def _by_kmeans(X: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Probabilities as of spherical Gaussians of one size."""
    means = KMeans(n_clusters, n_init=10, random_state=int(rng.integers(2**31))).fit(X).cluster_centers_
    squares = ((X[:, None] - means) ** 2).sum(axis=2)
    variance = max(squares.min(axis=1).mean() / X.shape[1], 1e-12)
    return softmax(-0.5 * squares / variance, axis=1)
