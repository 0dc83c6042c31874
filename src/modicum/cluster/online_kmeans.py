"""Online k-means (macqueen1967; dasgupta2009), the comparison of gomes2010, section 6."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from modicum._jit.kmeans import move_centers
from modicum.contract.centers import CentersMixin
from modicum.contract.learner import Traits
from modicum.contract.watchful import Watchful
from modicum.drift import Change
from modicum.numeric.distances import square_distances
from modicum.rules.invariants import AbsentWhile, Array, Scope, Whole
from modicum.rules.params import NULL, RANDOM_STATE, Int, OneOf

LEAST = 1e-300  # weight of a center that has faded
RECENT_ROWS = 256  # held for "auto", and at least those per cluster
UNSURE = 32  # rows by which the place of a change may be wrong
PER_CLUSTER = 16  # rows since a change with which it begins again
SETTLED = -1  # rows since a change, if there was none or it has begun again
N_INIT = 10  # of k-means on so few rows


def _is_not_watched(its: Scope) -> bool:
    return not its.owner._is_watched()


class OnlineKMeans(Watchful, CentersMixin):
    """Online k-means: each row moves its nearest center a little towards itself.

    The centers are initialised with the first `n_clusters` different rows. After that, a row of weight w moves its
    nearest center by the share w / (weight of the center so far) of their distance. This is the simplest clustering in
    bounded memory, and a baseline for the others: it does not recover from a bad initialisation, so prefer
    `ExemplarClustering`.

    With `half_life="auto"`, the latest rows are held too. Where the stream has changed, centers become those of k-means
    on the rows since then: those from before may all be far away, and the nearest one would take every row.

    Cost: O(k d) time per row, O(k d) memory; O(max(256, 16 k) d) with "auto".

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centers.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of a row has halved; "auto": forget where distances to centers rise. None: never.
    random_state : int, Generator or None, default=None
        Only for the k-means of `merge`, and that after a change.

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
    macqueen1967; dasgupta2009. Departures: `merge` is ours, k-means on the 2k weighted centers of both sides; so is
    `half_life`.
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
        "_recent": [AbsentWhile(_is_not_watched), Array("dtype", "n", "n_features")],
        "_since_change": [AbsentWhile(_is_not_watched), Whole(SETTLED)],
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
        if self._is_watched():
            self._follow(X)

    def _follow(self, X: np.ndarray) -> None:
        """Hold the latest rows, and begin again with those since a change when they are enough."""
        most = max(RECENT_ROWS, PER_CLUSTER * self.n_clusters)
        recent = np.concatenate([getattr(self, "_recent", X[:0]), X[-most:]])
        self._recent = recent[-most:].copy()  # a view would hold more rows than it shows
        self._since_change: int = getattr(self, "_since_change", SETTLED)
        if self._since_change != SETTLED:
            self._since_change += len(X)
            if (certain := self._since_change - UNSURE) >= PER_CLUSTER * self.n_clusters:
                self._begin_again(self._recent[-certain:])
                self._since_change = SETTLED

    def _begin_again(self, rows: np.ndarray) -> None:
        """Take the centers of these rows by k-means; each has the number of an old one near it."""
        from sklearn.cluster import KMeans

        if len(np.unique(rows, axis=0)) < self.n_clusters:
            return
        seed = int(self._rng.integers(2**31))
        means = KMeans(self.n_clusters, n_init=N_INIT, random_state=seed).fit(rows.astype(np.float64))
        order = linear_sum_assignment(square_distances(self.cluster_centers_, means.cluster_centers_))[1]
        shares = np.bincount(means.labels_)[order] / len(rows)
        self.cluster_centers_ = means.cluster_centers_[order].astype(self._dtype)
        self.cluster_sizes_ = np.maximum(shares * self.cluster_sizes_.sum(), LEAST)

    def _fade_for(self, change: Change) -> None:
        """Centers that are left may all be far from the rows since the change: the nearest would take all of them."""
        super()._fade_for(change)
        self._since_change = max(0, self.n_seen_ - change.since)

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
