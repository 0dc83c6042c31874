"""A coreset for k-means (feldman2011, lucic2015), of an array or a stream."""

from typing import Any

import numpy as np

from modicum.coreset.bucket import Reducer
from modicum.coreset.kmeans_cost import KMeansCost
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, OneOf


class KMeansCoreset(KMeansCost):
    """Weighted points on which the cost of any k centers is nearly that on all rows.

    An array is summarized in one construction, a stream by merging and reducing summaries of its parts. Hand
    `as_sample()` to any estimator that takes `sample_weight`; `StreamKMeans` does so by itself.

    Rows are drawn by their sensitivity: the far ones, those of costly cells and those of small cells more often, with
    weights that make up for it. Then the points of each cell of the construction are calibrated: weighed, moved and
    stretched together so that weight, mean and scatter are those of the cell. Hence `weights_` sum to the weight of all
    rows, and the weighted mean of the points is that of all rows.

    Guarantee: costs of centers chosen without looking at the points are within `cost(centers).error_bound` with the
    confidence asked for, by the central limit theorem; it is estimated from the points themselves. Not so with
    method="uniform" where few rows cost much: a plain sample does not know of rows that it misses.
    Cost: O(k d) per row; each row is looked at about twice. At most 10 * `size` rows are held without a `budget`.

    Parameters
    ----------
    size : int, default=5000
        Points of the summary, at most.
    n_clusters : int, default=100
        The number of clusters that it is made for.
    method : {"sensitivity", "lightweight", "uniform"}, default="sensitivity"
        "lightweight" draws half of the points by their distance from the mean of all rows: quicker, and worse for many
        clusters. "uniform" is the plain sample.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that may be held between calls: at least 10 * `size` rows, which is also the
        default. More lose less on the way through a long stream.
    calibrate : bool, default=True
        False leaves points as rows of the data; their weights then sum to the weight of all rows in expectation. The
        other methods never calibrate.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    points_ : ndarray of shape (m, d)
    weights_ : ndarray of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import KMeansCoreset
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> coreset = KMeansCoreset(500, 3, random_state=0).fit(X)
    >>> coreset.weights_.sum().round(6)
    np.float64(20000.0)
    >>> estimate = coreset.cost([[-1, 0], [1, 0], [0, 1]])
    >>> true = np.min([((X - c) ** 2).sum(axis=1) for c in ([-1, 0], [1, 0], [0, 1])], axis=0).sum()
    >>> bool(abs(estimate.value - true) < 0.05 * true)
    True

    References
    ----------
    feldman2011 and lucic2015 (sensitivities), bachem2018 (lightweight), harpeled2004 and manku1998 (streams).
    Departures: draws are systematic along the cells instead of independent; calibration and error bounds are ours.
    """

    _constraints = {
        "size": [Int(1)],
        "n_clusters": [Int(1)],
        "method": [OneOf("sensitivity", "lightweight", "uniform")],
        "budget": [BUDGET, NULL],
        "calibrate": [TRUTH],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        size: int = 5000,
        n_clusters: int = 100,
        *,
        method: str = "sensitivity",
        budget: int | str | None = None,
        calibrate: bool = True,
        random_state: Any = None,
    ):
        self.size = size
        self.n_clusters = n_clusters
        self.method = method
        self.budget = budget
        self.calibrate = calibrate
        self.random_state = random_state

    @property
    def points_(self) -> np.ndarray:
        return self.as_sample()[0]

    @property
    def weights_(self) -> np.ndarray:
        return self.as_sample()[1]

    def _reducer(self) -> Reducer:
        return Reducer(self.method, self.n_clusters, self.calibrate)
