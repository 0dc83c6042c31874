"""A coreset for k-means (feldman2011, lucic2015), of an array or a stream."""

from typing import Any

import numpy as np

from modicum.coreset.kmeans_cost import KMeansCost
from modicum.coreset.reducer import Reducer
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, OneOf


class KMeansCoreset(KMeansCost):
    """Weighted points on which the cost of any k centers is nearly that on all rows.

    An array is summarized in one construction, a stream by merging and reducing summaries of its pieces. Pass
    `as_sample()` to any estimator that takes `sample_weight`; `StreamKMeans` includes this step.

    Rows are drawn by their sensitivity: far rows, rows of costly cells and rows of small cells more often, with inverse
    weights. Then the points of each cell of the construction are calibrated: reweighted, moved and scaled together so
    that the cell's weight, mean and scatter are exact. Hence `point_weights_` sum to the weight of all rows, and the
    weighted mean of the points is that of all rows.

    Guarantee: costs of centers chosen independently of the points are within `cost(centers).error_bound` with the
    given confidence, by the central limit theorem; the bound is estimated from the points themselves. It does not hold
    for method="uniform" if a few rows carry much of the cost: a plain sample does not know of rows that it misses.
    Cost: O(k d) per row; each row is processed about twice. At most 10 * `n_points` rows are held without a `budget`.

    Parameters
    ----------
    n_points : int, default=5000
        Points of the summary, at most.
    n_clusters : int, default=100
        The number of clusters that the summary is made for.
    method : {"sensitivity", "lightweight", "uniform"}, default="sensitivity"
        "sensitivity" draws rows by their possible share of the cost. "lightweight" draws half of the points by their
        distance from the mean of all rows: faster, but worse for many clusters. "uniform" is a plain sample.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that may be held between calls: at least 10 * `n_points` rows, which is also
        the default. With more, less is lost over a long stream.
    calibrate : bool, default=True
        If False, points are rows of the data, and their weights sum to the weight of all rows only in expectation.
        Only for "sensitivity".
    half_life : int or None, default=None
        Rows after which the weight of a row has halved. None: rows of all times weigh the same.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    points_ : ndarray of shape (m, d)
    point_weights_ : ndarray of shape (m,)
        The weight that each point represents.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import KMeansCoreset
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> coreset = KMeansCoreset(500, 3, random_state=0).fit(X)
    >>> coreset.point_weights_.sum().round(6)
    np.float64(20000.0)
    >>> estimate = coreset.cost([[-1, 0], [1, 0], [0, 1]])
    >>> true = np.min([((X - c) ** 2).sum(axis=1) for c in ([-1, 0], [1, 0], [0, 1])], axis=0).sum()
    >>> bool(abs(estimate.value - true) < 0.05 * true)
    True

    References
    ----------
    feldman2011 and lucic2015 (sensitivities), bachem2018 (lightweight), harpeled2004 and manku1998 (streams).
    Departures: the centers of the construction are k-means++ seeds of a sample of 100 rows per center, and a tenth more
    from all rows that it misses, instead of the best of several seedings of all rows; draws are systematic along the
    cells instead of independent; calibration and error bounds are ours.
    """

    _adds_up_columns = True
    _constraints = {
        "n_points": [Int(1)],
        "n_clusters": [Int(1)],
        "method": [OneOf("sensitivity", "lightweight", "uniform")],
        "budget": [BUDGET, NULL],
        "calibrate": [TRUTH],
        "half_life": [NULL, Int(1)],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        n_points: int = 5000,
        n_clusters: int = 100,
        *,
        method: str = "sensitivity",
        budget: int | str | None = None,
        calibrate: bool = True,
        half_life: int | None = None,
        random_state: Any = None,
    ):
        self.n_points = n_points
        self.n_clusters = n_clusters
        self.method = method
        self.budget = budget
        self.calibrate = calibrate
        self.half_life = half_life
        self.random_state = random_state

    @property
    def points_(self) -> np.ndarray:
        return self.as_sample()[0]

    @property
    def point_weights_(self) -> np.ndarray:
        return self.as_sample()[1]

    def _reducer(self) -> Reducer:
        return Reducer(self.method, self.n_clusters, self.calibrate)
