"""Online k-means (macqueen1967; dasgupta2009), the comparison of gomes2010, section 6."""

from typing import Any

import numpy as np

from modicum._jit.kmeans import learn_rows
from modicum.contract.centers import CentersMixin
from modicum.contract.learner import Traits
from modicum.rules.invariants import Array
from modicum.rules.params import RANDOM_STATE, Int


class OnlineKMeans(CentersMixin):
    """k means that follow a stream: each row pulls its nearest mean a little towards itself.

    The first `n_clusters` different rows are the first centers; after that, a row of weight w moves its nearest center
    by w / (weight of the center so far). The simplest bounded-memory clustering there is, and a yardstick for the
    others: centers that start badly stay bad, so prefer `ExemplarClustering`.

    Cost: O(k d) time per row, O(k d) memory.

    Parameters
    ----------
    n_clusters : int, default=8
    random_state : int, Generator or None, default=None
        Only for `merge`, which starts k-means from it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    cluster_sizes_ : ndarray of shape (k,)
        Weight of the rows that each center took.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import OnlineKMeans
    >>> X = np.tile([[0.0], [10.0]], (50, 1))
    >>> OnlineKMeans(2).fit(X).cluster_centers_
    array([[ 0.],
           [10.]])

    References
    ----------
    macqueen1967; dasgupta2009. Departure: `merge` is ours; k-means on the 2k weighted centers of both sides.
    """

    traits = Traits(chunk_exact=True, merge="approximate", weights=True)
    _constraints = {"n_clusters": [Int(1)], "random_state": [RANDOM_STATE]}
    _invariants = {
        "cluster_centers_": Array("dtype", "k", "n_features"),
        "cluster_sizes_": Array("float64", "k", above=0.0),
    }

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        weight = np.ones(len(X)) if weight is None else weight
        if not hasattr(self, "cluster_centers_"):
            self.cluster_centers_ = X[:0].copy()
            self.cluster_sizes_ = np.zeros(0)
        start = 0
        while len(self.cluster_centers_) < self.n_clusters and start < len(X):
            row = X[start : start + 1]
            same = np.flatnonzero((self.cluster_centers_ == row).all(axis=1))
            if len(same):
                self.cluster_sizes_[same[0]] += weight[start]
            else:
                self.cluster_centers_ = np.concatenate([self.cluster_centers_, row])
                self.cluster_sizes_ = np.append(self.cluster_sizes_, weight[start])
            start += 1
        learn_rows(X[start:], weight[start:], self.cluster_centers_, self.cluster_sizes_)

    def _merge(self, other: "OnlineKMeans") -> None:
        from sklearn.cluster import KMeans

        theirs = other.cluster_centers_.astype(self._dtype)
        both = np.concatenate([self.cluster_centers_, theirs])
        weights: np.ndarray = np.concatenate([self.cluster_sizes_, other.cluster_sizes_])
        centers, same = np.unique(both, axis=0, return_inverse=True)
        sizes: np.ndarray = np.bincount(same, weights, len(centers))
        if len(centers) > self.n_clusters:
            seed = int(self._rng.integers(2**31))
            means = KMeans(self.n_clusters, random_state=seed).fit(centers, sample_weight=sizes)
            sizes = np.bincount(means.labels_, sizes, self.n_clusters)
            centers = means.cluster_centers_.astype(centers.dtype)
            centers, sizes = centers[sizes > 0], sizes[sizes > 0]  # k-means may leave some empty, where all are near
        self.cluster_centers_, self.cluster_sizes_ = centers, sizes

    def _n_retained(self) -> int:
        return len(self.cluster_centers_)
