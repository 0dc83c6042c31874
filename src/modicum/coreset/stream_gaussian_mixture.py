"""Gaussian mixture of a stream, through its coreset (feldmanfaulkner2011)."""

import math
from typing import Any

import numpy as np
from sklearn.base import DensityMixin

from modicum.coreset.component_sums import ComponentSums
from modicum.coreset.coreset_model import CoresetModel, Model, parts_per_point
from modicum.coreset.mixture_coreset import CELLS_PER_COMPONENT
from modicum.coreset.reducer import Reducer
from modicum.coreset.weighted_gaussian_mixture import WeightedGaussianMixture
from modicum.rules.invariants import ABSENT, Array, Is, Keyed
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int

POINTS_PER_COMPONENT = 400  # of the summary, and half as many as parameters: EM then begins with 5 rows for each
EM_PARAMETERS = ("covariance_type", "tol", "reg_covar", "max_iter", "n_init")
LEARNED = ("weights_", "means_", "covariances_", "precisions_cholesky_")

_COVARIANCES = [Array("float64", "k", *shape) for shape in (("n_features", "n_features"), ("n_features",), ())]


class StreamGaussianMixture(DensityMixin, CoresetModel):
    """Mixture of Gaussians of all rows of a stream, in one pass and a fixed amount of memory.

    Keeps a coreset for mixtures (`MixtureCoreset`), and components whose moments are those of all rows. The components
    are found by EM when rows are first reduced; every row after that takes part in their moments, by its probabilities
    at that time. The coreset includes small groups of rows far from the others, which a plain sample misses: a mixture
    fitted to its points replaces the components if it is better.

    Cost: O(k d) per row, each processed about twice, and O(k d^2) for the moments; EM on the rows held when they are
    first reduced, and twice on `n_points` points whenever the rows have doubled, and for the first answer after new
    rows. At most 10 * `n_points` rows are held without a `budget`.

    How many points? EM begins with the first 9 * `n_points` rows. The mean log-likelihood of new rows is then lower
    than that of the model of all rows by about half the number of parameters per row: for full covariances of d
    columns, n_components * d^2 / (36 * n_points). Later rows improve it.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    covariance_type : {"full", "diag", "spherical"}, default="full"
        "full", "diag" or "spherical", as in scikit-learn.
    n_points : int or None, default=None
        Points of the summary; by default 400 per component, or d^2 / 4 if that is more and covariances are full, and at
        least 1,000, or what the budget allows.
    budget : int, str or None, default=None
        Rows, or a size such as "64 MiB", that may be held between calls; by default 10 * `n_points` rows.
    tol : float, default=1e-3
        Iterations of EM stop when the mean log-likelihood per point improves by less than this.
    reg_covar : float, default=1e-6
        Added to all variances.
    max_iter : int, default=100
        Maximum number of iterations of EM.
    n_init : int, default=1
        Number of initializations; the best result is kept.
    warm_start : bool, default=False
        Initialize with the last model instead of k-means: faster, and labels of components stay the same as the stream
        continues. Answers then depend on when earlier ones were requested.
    half_life : int or None, default=None
        Rows after which the weight of a row has halved. None: rows of all times weigh the same.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (k,)
        Shares of the components; the points of the coreset and their weights are `as_sample()`. There are fewer than
        `n_components` while fewer rows have been seen.
    means_ : ndarray of shape (k, d)
    covariances_, precisions_cholesky_ : ndarrays of shape (k, d, d), (k, d) or (k,)
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import StreamGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> model = StreamGaussianMixture(2, random_state=0)
    >>> for _ in range(100):
    ...     model = model.partial_fit(rng.choice([0.0, 10.0], (500, 1)) + rng.normal(size=(500, 1)))
    >>> np.sort(model.means_.ravel()).round(1), model.weights_.round(1)
    (array([ 0., 10.]), array([0.5, 0.5]))

    References
    ----------
    feldmanfaulkner2011; see `MixtureCoreset` and `WeightedGaussianMixture`. Departure: components that follow all rows
    (neal1998).
    """

    _constraints = {
        "n_components": [Int(1)],
        "n_points": [Int(1), NULL],
        "budget": [BUDGET, NULL],
        "warm_start": [TRUTH],
        "half_life": [NULL, Int(1)],
        "random_state": [RANDOM_STATE],
        **{name: WeightedGaussianMixture._constraints[name] for name in EM_PARAMETERS},
    }

    _invariants = {
        "_last": [
            ABSENT,
            Keyed(
                weights_=Array("float64", "k"),
                means_=Array("float64", "k", "n_features"),
                covariances_=_COVARIANCES,
                precisions_cholesky_=_COVARIANCES,
            ),
        ],
        "_sums": [ABSENT, Is(ComponentSums)],
    }
    _shape = ("n_components", "covariance_type", "reg_covar")

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        n_points: int | None = None,
        budget: int | str | None = None,
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        warm_start: bool = False,
        half_life: int | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.n_points = n_points
        self.budget = budget
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.warm_start = warm_start
        self.half_life = half_life
        self.random_state = random_state

    @property
    def weights_(self) -> np.ndarray:
        return self.as_mixture().weights_

    @property
    def means_(self) -> np.ndarray:
        return self.as_mixture().means_

    @property
    def covariances_(self) -> np.ndarray:
        return self.as_mixture().covariances_

    @property
    def precisions_cholesky_(self) -> np.ndarray:
        return self.as_mixture().precisions_cholesky_

    def as_mixture(self) -> WeightedGaussianMixture:
        """The model alone, as a fitted `WeightedGaussianMixture`."""
        return self._fitted(self._derive("model", self._model))

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density of each row."""
        return self.as_mixture().score_samples(self._check_input(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most likely component of each row."""
        return self.as_mixture().predict(self._check_input(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components for each row."""
        return self.as_mixture().predict_proba(self._check_input(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of rows."""
        return self.as_mixture().score(self._check_input(X), sample_weight=sample_weight)

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion (lower is better)."""
        return self.as_mixture().bic(self._check_input(X), sample_weight)

    def _fit_points(
        self, points: np.ndarray, weights: np.ndarray, last: Model | None, rng: Any, steps: int | None = None
    ) -> Model:
        count = min(self.n_components, len(points))
        model = WeightedGaussianMixture(count, **self._em_parameters(), random_state=rng)
        if last is not None and len(last["weights_"]) == count:
            before = self._fitted(last)
            model.set_params(weights_init=before.weights_, means_init=before.means_, precisions_init=before.precisions_)
        if steps is not None:
            model.set_params(max_iter=min(steps, self.max_iter))
        model.fit(points, sample_weight=weights)
        return {name: getattr(model, name) for name in LEARNED}

    def _loss(self, model: Model, points: np.ndarray, weights: np.ndarray) -> float:
        return -self._fitted(model).score(points, sample_weight=weights)

    def _optimism(self, model: Model, points: np.ndarray, weights: np.ndarray) -> float:
        mixture = self._fitted(model)
        k = len(mixture.weights_)
        parts = mixture.weights_ @ parts_per_point(mixture.predict(points), weights, k)
        return float(parts) * mixture._n_parameters() / (2 * k)

    def _sums_under(self, model: Model, points: np.ndarray, weights: np.ndarray) -> ComponentSums:
        gaussians = self._fitted(model).as_gaussians()
        return ComponentSums.under(gaussians, self.covariance_type, self.reg_covar, points, weights)

    def _model_of(self, sums: ComponentSums) -> Model:
        return dict(zip(LEARNED, sums.components().public(self.covariance_type), strict=True))

    def _fitted(self, learned: Model) -> WeightedGaussianMixture:
        count = len(learned["weights_"])
        model = WeightedGaussianMixture(count, **self._em_parameters(), random_state=self.random_state)
        for name, value in learned.items():
            setattr(model, name, value)
        model.n_features_in_ = self.n_features_in_
        return model

    def _em_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in EM_PARAMETERS}

    def _reducer(self) -> Reducer:
        # Points stay rows: calibration would move them off the few values of discrete columns, where densities are high
        return Reducer("mixture", CELLS_PER_COMPONENT * self.n_components, calibrate=False)

    def _model_size(self, n_features: int) -> tuple[int, int]:
        parameters = n_features**2 / 2 if self.covariance_type == "full" else 0
        return self.n_components, max(POINTS_PER_COMPONENT, math.ceil(parameters / 2))

    def _model_bytes(self, n_features: int, dtype: np.dtype) -> int:
        of_covariance = n_features * (n_features if self.covariance_type == "full" else 1)
        last, sums = 1 + n_features + 2 * of_covariance, 1 + n_features + of_covariance
        return 8 * self.n_components * (last + sums)
