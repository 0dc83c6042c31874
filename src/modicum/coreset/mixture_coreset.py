"""A coreset for Gaussian mixtures (feldmanfaulkner2011), of an array or a stream."""

from typing import Any, Protocol

import numpy as np

from modicum.coreset.coreset import CoresetLearner
from modicum.coreset.estimate import CostEstimate, estimate_sum
from modicum.coreset.reducer import Reducer
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, Number, check_params

CELLS_PER_COMPONENT = 2  # cells are spherical: with more of them, small groups of rows get one of their own


class Density(Protocol):
    """Anything that gives the log-density of rows, such as a fitted mixture."""

    def score_samples(self, X: Any) -> np.ndarray: ...


class MixtureCoreset(CoresetLearner):
    """Weighted points on which the likelihood of any Gaussian mixture is nearly that on all rows.

    Like `KMeansCoreset`, with the sampling for mixtures: rows far from the centers of the construction and rows of
    small cells are drawn more often. The approximation holds for mixtures whose covariances are not too narrow.
    `WeightedGaussianMixture` fits a mixture to the points; `StreamGaussianMixture` combines both steps.

    Guarantee: `cost(mixture).error_bound` holds with the given confidence, by the central limit theorem, for mixtures
    chosen independently of the points.
    Cost: O(k d) per row; each row is processed about twice. At most 10 * `n_points` rows are held without a `budget`.

    Parameters
    ----------
    n_points : int, default=10000
        Points of the summary, at most.
    n_components : int, default=10
        The number of components that the summary is made for.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that may be held between calls: at least 10 * `n_points` rows, which is also
        the default.
    calibrate : bool, default=False
        If True, the points of each cell of the construction are reweighted, moved and scaled so that its weight, mean
        and scatter are exact. If False, points are rows of the data, and their weights sum to the weight of all rows
        only in expectation. That suits columns with few distinct values, where densities are high.
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
    >>> from modicum import MixtureCoreset, WeightedGaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> coreset = MixtureCoreset(500, 1, random_state=0).fit(X)
    >>> mixture = WeightedGaussianMixture(1).fit(*coreset.as_sample())
    >>> bool(abs(coreset.cost(mixture).value / -mixture.score_samples(X).sum() - 1) < 0.05)
    True

    References
    ----------
    feldmanfaulkner2011, Algorithm 1. Departures: centers are drawn by k-means++ from a sample, as for `KMeansCoreset`,
    instead of by halving the rows, two for each component; draws are systematic along the cells; calibration and error
    bounds are ours.
    """

    _constraints = {
        "n_points": [Int(1)],
        "n_components": [Int(1)],
        "budget": [BUDGET, NULL],
        "calibrate": [TRUTH],
        "half_life": [NULL, Int(1)],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        n_points: int = 10_000,
        n_components: int = 10,
        *,
        budget: int | str | None = None,
        calibrate: bool = False,
        half_life: int | None = None,
        random_state: Any = None,
    ):
        self.n_points = n_points
        self.n_components = n_components
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

    def cost(self, density: Density, *, confidence: float = 0.9) -> CostEstimate:
        """The estimated negative log-likelihood of all rows under a mixture, or anything with `score_samples`."""
        check_params(self, {"confidence": confidence}, {"confidence": [Number(0, 1, open_ends=True)]})
        buckets = self._derive("summary", self._summary)
        values = [-density.score_samples(bucket.points) for bucket in buckets]
        return estimate_sum(buckets, values, values, confidence)

    def _reducer(self) -> Reducer:
        return Reducer("mixture", CELLS_PER_COMPONENT * self.n_components, self.calibrate)
