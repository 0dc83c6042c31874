"""Clusters of items: a mixture of their mean positions (gomes2011, section 7.3.1.2)."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import special_ortho_group
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from modicum.crowd.confusion import confusions
from modicum.crowd.posterior import CrowdPosterior
from modicum.mixture import DirichletProcessMixture

LEAST_SHARE = 0.08  # of the largest variance: directions with less are noise
NEIGHBOURS = 2  # clusters may be small
ISOLATED = 3.0  # times the median distance to that neighbour: such items do not shape the clusters
LEAST_APART = 0.1  # by how much less likely a worker who tells clusters apart puts items of both in one group
ROTATIONS = 4  # of the points that a mixture is fitted to
FEWEST = 20  # items for which neighbours say something


class Clusters(NamedTuple):
    """Clusters of items, the largest first."""

    label: np.ndarray  # (n_items,)
    proba: np.ndarray  # (n_items, k)
    means: np.ndarray  # (k, n_dims)
    covariances: np.ndarray  # (k, n_dims, n_dims), of items in the cluster: their spread and their uncertainty


def find_clusters(posterior: CrowdPosterior, n_clusters: int | None, family: Any, rng: np.random.Generator) -> Clusters:
    """Clusters by k-means if their number is given, else by a Dirichlet-process mixture."""
    if n_clusters is not None:
        return _described(_by_kmeans(posterior.mean, n_clusters, rng), posterior)
    return _told_apart(_described(_by_mixture(_principal(posterior.mean), family, rng), posterior), posterior)


def _described(proba: np.ndarray, posterior: CrowdPosterior) -> Clusters:
    """Clusters that have items, the largest first."""
    mean, label = posterior.mean, proba.argmax(axis=1)
    present, label = np.unique(label, return_inverse=True)
    order = np.argsort(-np.bincount(label), kind="stable")
    label = np.argsort(order)[label]
    proba = proba[:, present][:, order]
    proba = proba / proba.sum(axis=1, keepdims=True)
    means = np.array([mean[label == k].mean(axis=0) for k in range(len(order))])
    around = mean - means[label]
    spread = around[:, :, None] * around[:, None] + posterior.covariance
    return Clusters(label, proba, means, np.array([spread[label == k].mean(axis=0) for k in range(len(order))]))


def _told_apart(found: Clusters, posterior: CrowdPosterior) -> Clusters:
    """Clusters that some worker tells apart; others are united. Tight clusters of odd shape have several components."""
    while len(found.means) > 1:
        together = confusions(posterior, found.means, found.covariances)  # (worker, k, l)
        own = np.diagonal(together, axis1=1, axis2=2)
        apart = (0.5 * (own[:, :, None] + own[:, None]) - together).max(axis=0)
        np.fill_diagonal(apart, np.inf)
        k, other = np.unravel_index(apart.argmin(), apart.shape)
        if apart[k, other] >= LEAST_APART:
            break
        proba = found.proba.copy()
        proba[:, k] += proba[:, other]
        found = _described(np.delete(proba, other, axis=1), posterior)
    return found


def _principal(mean: np.ndarray) -> np.ndarray:
    """Items along the directions in which they differ, in units of their spread."""
    centered = mean - mean.mean(axis=0)
    vectors, scales, _ = np.linalg.svd(centered, full_matrices=False)
    kept = scales**2 > LEAST_SHARE * scales[0] ** 2
    X = vectors[:, kept] * scales[kept]
    size = np.sqrt((X**2).mean()) if kept.any() else 0.0
    return X / size if size > 0 else np.zeros((len(mean), 1))


def _by_mixture(X: np.ndarray, family: Any, rng: np.random.Generator) -> np.ndarray:
    """The mixture of the highest free energy, over several rotations.

    Clusters of schools are at the corners of a cube: there may be no direction in which one split alone gains, and the
    search for components would end.
    """
    kept, best = ~_is_isolated(X), None
    for number in range(ROTATIONS if X.shape[1] > 1 else 1):
        turned = X @ special_ortho_group(X.shape[1], rng).rvs() if number else X
        mixture = DirichletProcessMixture(family).fit(turned[kept])
        if best is None or mixture.free_energy_ > best[0]:
            best = mixture.free_energy_, mixture.predict_proba(turned)
    assert best is not None
    return best[1]


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
