"""Online k-means (macqueen1967; dasgupta2009), the comparison of gomes2010, section 6."""

from typing import Any

import numpy as np

from modicum._jit.kmeans import move_centers
from modicum.contract.centers import CentersMixin
from modicum.contract.learner import Traits
from modicum.contract.watchful import Watchful
from modicum.rules.invariants import Array
from modicum.rules.params import NULL, RANDOM_STATE, Int, OneOf

LEAST = 1e-300  # weight of a center that has faded


class OnlineKMeans(Watchful, CentersMixin):
    """Online k-means: each row moves its nearest center a little towards itself.

    The centers are initialised with the first `n_clusters` different rows. After that, a row of weight w moves its
    nearest center by the share w / (weight of the center so far) of their distance. This is the simplest clustering in
    bounded memory, and a baseline for the others: it does not recover from a bad initialisation, so prefer
    `ExemplarClustering`.

    Cost: O(k d) time per row, O(k d) memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centers.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of a row has halved; "auto": forget where distances to centers rise. None: never.
    random_state : int, Generator or None, default=None
        Only for the k-means of `merge`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    cluster_sizes_ : ndarray of shape (k,)
        Weight of the rows assigned to each center.
    changes_ : list of Change
        Where the stream changed, for `half_life="auto"`.

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

    _adds_up_columns = True
    _minds_order = True
    traits = Traits(chunk_exact=True, merge="approximate", weights=True, forgets=True)
    _decays_by_row = True
    _constraints = {
        "n_clusters": [Int(1)],
        "half_life": [NULL, Int(1), OneOf("auto")],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "cluster_centers_": Array("dtype", "k", "n_features"),
        "cluster_sizes_": Array("float64", "k", above=0.0),
    }

    def __init__(self, n_clusters: int = 8, *, half_life: int | str | None = None, random_state: Any = None):
        self.n_clusters = n_clusters
        self.half_life = half_life
        self.random_state = random_state

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        weight = np.ones(len(X)) if weight is None else weight
        if not hasattr(self, "cluster_centers_"):
            self.cluster_centers_ = X[:0].copy()
            self.cluster_sizes_ = np.zeros(0)
        used, decay = 0, self._row_decay()
        while len(self.cluster_centers_) < self.n_clusters and used < len(X):
            row = X[used : used + 1]
            self.cluster_sizes_ = np.maximum(self.cluster_sizes_ * decay, LEAST)
            same = np.flatnonzero((self.cluster_centers_ == row).all(axis=1))
            if len(same):
                self.cluster_sizes_[same[0]] += weight[used]
            else:
                self.cluster_centers_ = np.concatenate([self.cluster_centers_, row])
                self.cluster_sizes_ = np.append(self.cluster_sizes_, weight[used])
            used += 1
        move_centers(X[used:], weight[used:], decay, LEAST, self.cluster_centers_, self.cluster_sizes_)

    def _fade(self, factor: float) -> None:
        self.cluster_sizes_ = np.maximum(self.cluster_sizes_ * factor, LEAST)

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Distances to the nearest centers."""
        return self.transform(X).min(axis=1)

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
            centers, sizes = centers[sizes > 0], sizes[sizes > 0]  # k-means may leave clusters empty
        self.cluster_centers_, self.cluster_sizes_ = centers, sizes

    def _n_retained(self) -> int:
        return len(self.cluster_centers_)
