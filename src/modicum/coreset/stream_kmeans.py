"""k-means of a stream, through its coreset (feldman2011, lucic2015)."""

from typing import Any

import numpy as np

from modicum.contract.centers import CentersMixin
from modicum.contract.watchful import Watchful
from modicum.coreset.cell_sums import CellSums
from modicum.coreset.coreset_model import CoresetModel, Model, parts_per_point
from modicum.coreset.kmeans_cost import KMeansCost
from modicum.coreset.reducer import Reducer
from modicum.coreset.weighted_kmeans import weighted_kmeans
from modicum.numeric.nearest import nearest
from modicum.rules.invariants import ABSENT, Array, Is, Keyed, Whole
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, OneOf

POINTS_PER_CLUSTER = 100  # of the summary: the risk is then about 1% above that of k-means on all rows


class StreamKMeans(Watchful, CentersMixin, CoresetModel, KMeansCost):
    """k-means of all rows of a stream, in one pass and a fixed amount of memory.

    Keeps a coreset for k-means (`KMeansCoreset`), and centers that are the means of all rows in their cells. The
    centers are found by k-means when rows are first reduced; every row after that moves one. The points of the coreset
    show what such centers lack, clusters that came later for instance: k-means of the points replaces them if it is
    better. So the result is close to that of k-means on all rows, whereas `MiniBatchKMeans` and other methods that only
    move centers depend on their initialization.

    Cost: O(k d) per row, each processed about three times; a k-means of the rows held when they are first reduced, and
    two short ones of `n_points` points whenever the rows have doubled; two for the first answer after new rows. At most
    10 * `n_points` rows are held without a `budget`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centers.
    n_points : int or None, default=None
        Points of the summary; by default 100 per cluster and at least 1,000, or what the budget allows.
    method : {"sensitivity", "lightweight", "uniform"}, default="sensitivity"
        How the points are drawn: "sensitivity", "lightweight" or "uniform"; see `KMeansCoreset`.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that may be held between calls; by default 10 * `n_points` rows.
    n_init : int, default=1
        Number of seedings; the best result is kept.
    warm_start : bool, default=False
        Initialize with the centers of the last answer instead of new seeds: faster, and labels of clusters stay the
        same as the stream continues. Answers then depend on when earlier ones were requested.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of a row has halved; "auto": forget where distances to centers rise, which takes a
        k-means for every `n_points` rows. None: never.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
        Fewer than `n_clusters` while fewer distinct rows have been seen.
    cluster_sizes_ : ndarray of shape (k,)
        Weight of the rows nearest to each center, estimated from the points.
    changes_ : list of Change
        Where the stream changed, for `half_life="auto"`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import StreamKMeans
    >>> rng = np.random.default_rng(0)
    >>> model = StreamKMeans(2, random_state=0)
    >>> for _ in range(100):
    ...     model = model.partial_fit(rng.choice([0.0, 10.0], (500, 1)) + rng.normal(size=(500, 1)))
    >>> np.sort(model.cluster_centers_.ravel()).round(1)
    array([ 0., 10.])

    References
    ----------
    feldman2011, lucic2015; see `KMeansCoreset` and `modicum.coreset.seeding`. Departure: centers that follow all rows
    (macqueen1967).
    """

    _invariants = {
        "_last": [ABSENT, Keyed(centers=Array("dtype", "k", "n_features"))],
        "_judges": [ABSENT, Array("dtype", "n_judges", "n_features")],
        "_judges_until": [ABSENT, Whole()],
        "_sums": [ABSENT, Is(CellSums)],
    }
    _judges: np.ndarray  # centers by which new rows are judged, for "auto"
    _judges_until: int  # rows seen when they are found anew
    _shape = ("n_clusters",)
    _adds_up_columns = True
    _constraints = {
        "n_clusters": [Int(1)],
        "n_points": [Int(1), NULL],
        "method": [OneOf("sensitivity", "lightweight", "uniform")],
        "budget": [BUDGET, NULL],
        "n_init": [Int(1)],
        "warm_start": [TRUTH],
        "half_life": [NULL, Int(1), OneOf("auto")],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_points: int | None = None,
        method: str = "sensitivity",
        budget: int | str | None = None,
        n_init: int = 1,
        warm_start: bool = False,
        half_life: int | str | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.n_points = n_points
        self.method = method
        self.budget = budget
        self.n_init = n_init
        self.warm_start = warm_start
        self.half_life = half_life
        self.random_state = random_state

    @property
    def cluster_centers_(self) -> np.ndarray:
        return self._derive("model", self._model)["centers"]

    @property
    def cluster_sizes_(self) -> np.ndarray:
        points, weights = self.as_sample()
        centers = self.cluster_centers_
        return np.bincount(nearest(points, centers)[0], weights, len(centers))

    def _fit_points(
        self, points: np.ndarray, weights: np.ndarray, last: Model | None, rng: Any, steps: int | None = None
    ) -> Model:
        init = None if last is None else last["centers"]
        return {"centers": weighted_kmeans(points, weights, self.n_clusters, self.n_init, rng, init, steps)}

    def _loss(self, model: Model, points: np.ndarray, weights: np.ndarray) -> float:
        return float(np.average(nearest(points, model["centers"])[1], weights=weights))

    def _optimism(self, model: Model, points: np.ndarray, weights: np.ndarray) -> float:
        labels, gaps = nearest(points, model["centers"])
        costs = np.bincount(labels, weights * gaps, len(model["centers"])) / weights.sum()
        return float(costs @ parts_per_point(labels, weights, len(costs)))

    def _sums_under(self, model: Model, points: np.ndarray, weights: np.ndarray) -> CellSums:
        return CellSums.around(model["centers"], points, weights)

    def _model_of(self, sums: CellSums) -> Model:
        return {"centers": sums.means.astype(self._dtype)}

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Distances to the nearest centers, as of at most `n_points` rows ago."""
        if getattr(self, "_judges_until", 0) <= self.n_seen_:
            self._judges, self._judges_until = (
                self.cluster_centers_,
                self.n_seen_ + self._summary_points(self.n_features_in_)[1],
            )
        return np.sqrt(nearest(X, self._judges)[1])

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        if self._is_watched():
            self._judges_until = 0

    def _reducer(self) -> Reducer:
        return Reducer(self.method, self.n_clusters, calibrate=True)

    def _model_size(self, n_features: int) -> tuple[int, int]:
        return self.n_clusters, POINTS_PER_CLUSTER

    def _model_bytes(self, n_features: int, dtype: np.dtype) -> int:
        copies = 2 if self.half_life == "auto" else 1  # the other one judges new rows
        of_sums = 8 * (1 + n_features)
        return self.n_clusters * (copies * n_features * dtype.itemsize + of_sums) + self._watch_bytes()
