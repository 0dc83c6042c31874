"""Gaussian mixtures of weighted rows by EM (dempster1977), for the points of coresets (feldmanfaulkner2011)."""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from modicum.coreset.covariances import PUBLIC, as_matrices, inverse, transposed
from modicum.coreset.em import EM, EMResult
from modicum.coreset.gaussians import Gaussians
from modicum.coreset.weighted_kmeans import weighted_kmeans
from modicum.exceptions import DataError
from modicum.rules.params import NULL, RANDOM_STATE, ROWS, Constraint, Int, Number, OneOf, check_params
from modicum.state.rng import as_generator


class WeightedGaussianMixture(DensityMixin, BaseEstimator):
    """Mixture of Gaussians fitted to rows with weights, such as the points of a coreset.

    scikit-learn's `GaussianMixture` takes no weights. Otherwise this is the same algorithm, EM initialized by k-means
    with a constant added to variances, and gives the same result if all weights are 1. It is faster: before every
    iteration rows are sorted by component, and components with no share in a block of rows are skipped.

    Rows of weight 0 are ignored. A component that loses all its rows keeps its mean and covariance, with weight 0, and
    does not affect the others. A covariance that is singular in spite of `reg_covar` is raised by as little as
    rounding allows. So a fit never fails on degenerate components.

    Cost: per iteration O(n k d^2), for diagonal covariances O(n k d), and far less where components are well
    separated. Memory: 40 bytes per row besides the rows, and a copy of them during the initial k-means. float32 rows
    stay float32; sums are float64.

    Parameters
    ----------
    n_components : int, default=1
    covariance_type : {"full", "diag", "spherical"}, default="full"
    tol : float, default=1e-3
        Iterations stop when the mean log-likelihood per row improves by less than this.
    reg_covar : float, default=1e-6
        Added to all variances.
    max_iter : int, default=100
    n_init : int, default=1
        Number of initializations; the best result is kept.
    weights_init, means_init, precisions_init : arrays of the shape of the attributes, default=None
        Initial values. Means come from k-means by default; the others from the rows nearest to the means.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (k,)
    means_ : ndarray of shape (k, d)
    covariances_, precisions_, precisions_cholesky_ : ndarrays of shape (k, d, d), (k, d) or (k,)
        As in scikit-learn.
    converged_ : bool
    n_iter_ : int
    lower_bounds_ : list of float
        Mean log-likelihood of rows before every iteration.
    lower_bound_ : float
        The last of them.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import WeightedGaussianMixture
    >>> points, weights = np.array([[0.0], [2.0], [10.0], [12.0]]), [1, 1, 3, 3]
    >>> mixture = WeightedGaussianMixture(2, random_state=0).fit(points, sample_weight=weights)
    >>> np.sort(mixture.means_.ravel()).round(3), np.sort(mixture.weights_).round(3)
    (array([ 1., 11.]), array([0.25, 0.75]))

    References
    ----------
    dempster1977; feldmanfaulkner2011, section 3, for weighted points.
    """

    _constraints: ClassVar[Mapping[str, list[Constraint]]] = {
        "n_components": [Int(1)],
        "covariance_type": [OneOf(*PUBLIC)],
        "tol": [Number(0)],
        "reg_covar": [Number(0)],
        "max_iter": [Int(1)],
        "n_init": [Int(1)],
        "weights_init": [ROWS, NULL],
        "means_init": [ROWS, NULL],
        "precisions_init": [ROWS, NULL],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state

    # ---- fitting ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture; a row of weight 2 counts as the row given twice."""
        check_params(self, self.get_params(deep=False), self._constraints)
        X = self._check_rows(X, reset=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        if len(X) < self.n_components:
            raise DataError(
                f"{type(self).__name__}: n_components={self.n_components} needs at least as many rows of positive "
                f"weight; got n_samples = {len(X)}."
            )
        given = self._given(X.shape[1])
        n_init = 1 if len(given) == 3 else self.n_init  # with all three given, every run would be the same
        em = EM(X, weight, self.covariance_type, self.reg_covar)
        rng = as_generator(self.random_state)
        runs = (em.run(self._initialize(em, given, rng), self.tol, self.max_iter) for _ in range(n_init))
        self._keep(max(runs, key=lambda result: result.bounds[-1]))
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    def _given(self, width: int) -> dict[str, np.ndarray]:
        """The initial values that were given."""
        shape = (self.n_components, width, width)
        by_type = {"full": shape, "diag": shape[:2], "spherical": shape[:1]}
        shapes = {"weights": shape[:1], "means": shape[:2], "precisions": by_type[self.covariance_type]}
        values = {name: getattr(self, f"{name}_init") for name in shapes}
        given = {name: np.asarray(value, np.float64) for name, value in values.items() if value is not None}
        for name, value in given.items():
            if value.shape != shapes[name] or not np.isfinite(value).all():
                raise ValueError(
                    f"{type(self).__name__}: {name}_init must be finite numbers of shape {shapes[name]}; "
                    f"got shape {value.shape}."
                )
        if "weights" in given and not (given["weights"].min() >= 0 and given["weights"].any()):
            raise ValueError(f"{type(self).__name__}: weights_init must not be negative, nor all 0.")
        return given

    def _initialize(self, em: EM, given: dict[str, np.ndarray], rng: np.random.Generator) -> Gaussians:
        """The first components: the values given, completed by k-means."""
        means = given.get("means")
        if means is None:
            means = weighted_kmeans(em.X, em.weight, self.n_components, 1, rng, None).astype(np.float64)
            missing = self.n_components - len(means)  # there are fewer distinct rows than components
            means = np.concatenate([means, np.repeat(means[:1], missing, axis=0)])
        nearest = em.around(means)
        weights = given.get("weights", nearest.weights)
        covariances = nearest.covariances
        if "precisions" in given:
            covariances = inverse(as_matrices(given["precisions"], self.covariance_type, means.shape[1]))
        return em.components(weights / weights.sum(), given.get("means", nearest.means), covariances)

    def _keep(self, result: EMResult) -> None:
        found = result.components.public(self.covariance_type)
        self.weights_, self.means_, self.covariances_, self.precisions_cholesky_ = found
        self.converged_, self.n_iter_ = result.converged, len(result.bounds)
        self.lower_bounds_, self.lower_bound_ = result.bounds, result.bounds[-1]
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.max_iter} iterations: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ---- answers ---------------------------------------------------------------------------------

    @property
    def precisions_(self) -> np.ndarray:
        """Inverse covariances."""
        roots = self.precisions_cholesky_
        return roots @ roots.swapaxes(1, 2) if roots.ndim == 3 else roots**2

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density of each row."""
        return self._expect(X)[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most likely component of each row."""
        return self._expect(X)[1]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components for each row; those below 1e-16 are 0."""
        return self._expect(X, with_shares=True)[2]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of rows."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion (lower is better); the sum of weights counts as the number of rows."""
        return self._criterion(X, sample_weight, math.log)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike information criterion (lower is better); the sum of weights counts as the number of rows."""
        return self._criterion(X, sample_weight, lambda count: 2.0)

    def _criterion(self, X: Any, sample_weight: Any, price: Callable[[float], float]) -> float:
        count = float(len(X) if sample_weight is None else np.sum(sample_weight))
        return -2 * count * self.score(X, sample_weight=sample_weight) + self._n_parameters() * price(count)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Rows drawn from the mixture, and the components that they were drawn from."""
        check_is_fitted(self)
        rng = as_generator(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_)
        noise = np.split(rng.normal(size=(n_samples, self.means_.shape[1])), np.cumsum(counts)[:-1])
        if self.covariance_type == "full":
            steps = [some @ root.T for some, root in zip(noise, np.linalg.cholesky(self.covariances_), strict=True)]
        else:
            steps = [some * root for some, root in zip(noise, np.sqrt(self.covariances_), strict=True)]
        labels = np.repeat(np.arange(len(counts)), counts)
        return self.means_[labels] + np.concatenate(steps), labels

    def _expect(self, X: Any, *, with_shares: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-densities of rows, their most likely components and, if wanted, the shares of all components."""
        check_is_fitted(self)
        return self.as_gaussians().expect(self._check_rows(X, reset=False), with_shares=with_shares)

    def as_gaussians(self) -> Gaussians:
        """The components, with what their densities are computed from."""
        shape = self.covariance_type, self.means_.shape[1]
        covariances, roots = as_matrices(self.covariances_, *shape), as_matrices(self.precisions_cholesky_, *shape)
        return Gaussians(self.weights_, self.means_, covariances, transposed(roots))

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        of_covariance = {"full": d * (d + 1) // 2, "diag": d, "spherical": 1}[self.covariance_type]
        return k * (1 + d + of_covariance) - 1

    def _check_rows(self, X: Any, *, reset: bool) -> np.ndarray:
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], order="C")
