"""A coreset for Gaussian mixtures (feldmanfaulkner2011), of an array or a stream."""

from typing import Any, Protocol

import numpy as np

from modicum.coreset.bucket import Reducer
from modicum.coreset.coreset import CoresetLearner
from modicum.coreset.estimate import CostEstimate, estimate_sum
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, Number, check_params

CELLS_PER_COMPONENT = 2  # cells are round: with more of them, small groups of rows have one of their own


class Density(Protocol):
    """Anything that gives the log-density of rows, such as a fitted mixture."""

    def score_samples(self, X: Any) -> np.ndarray: ...


class MixtureCoreset(CoresetLearner):
    """Weighted points on which any Gaussian mixture has nearly the likelihood that it has on all rows.

    As `KMeansCoreset`, with the sampling for mixtures: rows far from the centers of the construction and rows of small
    cells are drawn more often. It holds for mixtures whose covariances are not too narrow; `WeightedGaussianMixture`
    fits one to the points, `StreamGaussianMixture` does all of it.

    Guarantee: `cost(mixture).error_bound` holds with the confidence asked for, by the central limit theorem, for
    mixtures chosen without looking at the points.
    Cost: O(k d) per row; each row is looked at about twice. At most 10 * `size` rows are held without a `budget`.

    Parameters
    ----------
    size : int, default=10000
        Points of the summary, at most.
    n_components : int, default=10
        The number of components that it is made for.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that may be held between calls: at least 10 * `size` rows, which is also the
        default.
    calibrate : bool, default=False
        Weigh, move and stretch the points of each cell of the construction so that its weight, mean and scatter are
        exact. False leaves points as rows of the data, which suits columns of few values, where densities are high;
        their weights then sum to the weight of all rows in expectation.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    points_ : ndarray of shape (m, d)
    weights_ : ndarray of shape (m,)

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
    feldmanfaulkner2011, Algorithm 1. Departures: centers are drawn by k-means++ instead of by halving the rows, two for
    each component; draws are systematic along the cells; calibration and error bounds are ours.
    """

    _constraints = {
        "size": [Int(1)],
        "n_components": [Int(1)],
        "budget": [BUDGET, NULL],
        "calibrate": [TRUTH],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        size: int = 10_000,
        n_components: int = 10,
        *,
        budget: int | str | None = None,
        calibrate: bool = False,
        random_state: Any = None,
    ):
        self.size = size
        self.n_components = n_components
        self.budget = budget
        self.calibrate = calibrate
        self.random_state = random_state

    @property
    def points_(self) -> np.ndarray:
        return self.as_sample()[0]

    @property
    def weights_(self) -> np.ndarray:
        return self.as_sample()[1]

    def cost(self, density: Density, *, confidence: float = 0.9) -> CostEstimate:
        """Minus the log-likelihood of all rows under a mixture, or anything with `score_samples`, estimated."""
        check_params(self, {"confidence": confidence}, {"confidence": [Number(0, 1, open_ends=True)]})
        parts = self._derive("summary", self._summary)
        values = [-density.score_samples(part.points) for part in parts]
        return estimate_sum(parts, values, values, confidence)

    def _reducer(self) -> Reducer:
        return Reducer("mixture", CELLS_PER_COMPONENT * self.n_components, self.calibrate)
