"""Gaussian mixtures of weighted rows by EM (dempster1977), for the points of coresets (feldmanfaulkner2011)."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import lapack
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from modicum._jit.gaussian_mixture import add_labelled, expect, expect_and_add
from modicum.coreset.weighted_kmeans import weighted_kmeans
from modicum.exceptions import DataError
from modicum.numeric.distances import in_tiles
from modicum.numeric.nearest import by_label, nearest
from modicum.numeric.parallel import run_tiles
from modicum.rules.params import NULL, RANDOM_STATE, ROWS, Constraint, Int, Number, OneOf, check_params
from modicum.state.rng import as_generator

TILES = 16  # of rows at most, each with moments of its own: so many threads can work, and results don't depend on them
LEAST_TILE = 2048  # rows
EPS = float(np.finfo(np.float64).eps)
ROUNDING = 1e-13  # of a column's variance; if other columns leave less of it unexplained, that is none
# Inside, covariances and their factors are one matrix per component, and a matrix of a single row if diagonal.
OUTSIDE: dict[str, Any] = {"full": np.s_[:], "diag": np.s_[:, 0], "spherical": np.s_[:, 0, 0]}


class WeightedGaussianMixture(DensityMixin, BaseEstimator):
    """Mixture of Gaussians fitted to rows with weights, such as the points of a coreset.

    scikit-learn's `GaussianMixture` takes no weights. This one is the same otherwise: EM from the labels of k-means,
    with a constant added to variances, and with all weights 1 the same result. It is faster, too: before every step
    rows are put in order of their components, and components that can have no part in a block of rows are passed over.

    Rows of weight 0 are absent. A component that no row belongs to any more keeps its mean and covariance with weight
    0: it does no harm, and the others are fitted as if it was not there. A covariance that is singular in spite of
    `reg_covar` is raised by as little as rounding allows. So a fit never fails on degenerate components.

    Cost: per step O(n k d^2), for diagonal covariances O(n k d), and far less where components are apart; 40 bytes per
    row beside the rows, and a copy of them while k-means finds the start. float32 rows stay so; sums are float64.

    Parameters
    ----------
    n_components : int, default=1
    covariance_type : {"full", "diag", "spherical"}, default="full"
    tol : float, default=1e-3
        EM ends when a step raises the mean log-likelihood of rows by less.
    reg_covar : float, default=1e-6
        Added to all variances.
    max_iter : int, default=100
    n_init : int, default=1
        Starts of which the best result is taken.
    weights_init, means_init, precisions_init : arrays of the shape of the attributes, default=None
        Where to begin. Without means, from k-means; what is not given comes from the rows nearest to the means.
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
        Mean log-likelihood of rows before every step.
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
        "covariance_type": [OneOf(*OUTSIDE)],
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
        starts = 1 if len(given) == 3 else self.n_init  # nothing is left to chance then
        em = _EM(X, weight, self.covariance_type, self.reg_covar)
        rng = as_generator(self.random_state)
        runs = (em.climb(self._start(em, given, rng), self.tol, self.max_iter) for _ in range(starts))
        self._keep(max(runs, key=lambda run: run.bounds[-1]))
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    def _given(self, width: int) -> dict[str, np.ndarray]:
        """What the user wants to begin with."""
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

    def _start(self, em: "_EM", given: dict[str, np.ndarray], rng: np.random.Generator) -> "_Components":
        means = given.get("means")
        if means is None:
            means = weighted_kmeans(em.X, em.weight, self.n_components, 1, rng, None).astype(np.float64)
            spare = self.n_components - len(means)  # there are not so many different rows
            means = np.concatenate([means, np.repeat(means[:1], spare, axis=0)])
        start = em.around(means)
        weights = given.get("weights", start.weights)
        covariances = start.covariances
        if "precisions" in given:
            covariances = _inverse(_inside(given["precisions"], self.covariance_type, means.shape[1]))
        return em.components(weights / weights.sum(), given.get("means", start.means), covariances)

    def _keep(self, run: "_Run") -> None:
        found, outside = run.components, OUTSIDE[self.covariance_type]
        self.weights_, self.means_ = found.weights, found.means
        self.covariances_ = found.covariances[outside]
        self.precisions_cholesky_ = _transposed(found.factors)[outside]
        self.converged_, self.n_iter_ = run.converged, len(run.bounds)
        self.lower_bounds_, self.lower_bound_ = run.bounds, run.bounds[-1]
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.max_iter} steps: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ---- asking ----------------------------------------------------------------------------------

    @property
    def precisions_(self) -> np.ndarray:
        """Inverse covariances."""
        roots = self.precisions_cholesky_
        return roots @ roots.swapaxes(1, 2) if roots.ndim == 3 else roots**2

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density of each row."""
        return self._expect(X)[0]

    def predict(self, X: Any) -> np.ndarray:
        """The component with the largest share of each row."""
        return self._expect(X)[1]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Shares of the components in each row; those below 1e-16 are 0."""
        return self._expect(X, with_shares=True)[2]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of rows."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion, the lower the better; the sum of weights counts as the number of rows."""
        return self._criterion(X, sample_weight, math.log)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike information criterion, the lower the better; the sum of weights counts as the number of rows."""
        return self._criterion(X, sample_weight, lambda count: 2.0)

    def _criterion(self, X: Any, sample_weight: Any, price: Callable[[float], float]) -> float:
        count = float(len(X) if sample_weight is None else np.sum(sample_weight))
        return -2 * count * self.score(X, sample_weight=sample_weight) + self._n_parameters() * price(count)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """New rows drawn from the mixture, and the components that they are from."""
        check_is_fitted(self)
        rng = as_generator(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_)
        noise = np.split(rng.normal(size=(n_samples, self.means_.shape[1])), np.cumsum(counts)[:-1])
        if self.covariance_type == "full":
            steps = [part @ root.T for part, root in zip(noise, np.linalg.cholesky(self.covariances_), strict=True)]
        else:
            steps = [part * root for part, root in zip(noise, np.sqrt(self.covariances_), strict=True)]
        labels = np.repeat(np.arange(len(counts)), counts)
        return self.means_[labels] + np.concatenate(steps), labels

    def _expect(self, X: Any, *, with_shares: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-densities, the components nearest to rows and, if wanted, their shares."""
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        known = self._components()
        k, near = len(known.means), _nearest_means(X, known.means)
        order, density = by_label(near, k), np.empty(len(X))
        shares = np.zeros((len(X) if with_shares else 0, k))

        def work(part: slice) -> None:
            expect(X, order[part], known.means, known.factors, known.heights, near, density, shares)

        in_tiles(work, len(X), k)
        return density, near, shares

    def _components(self) -> "_Components":
        shape = self.covariance_type, self.means_.shape[1]
        covariances, roots = _inside(self.covariances_, *shape), _inside(self.precisions_cholesky_, *shape)
        return _Components(self.weights_, self.means_, covariances, _transposed(roots))

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        of_covariance = {"full": d * (d + 1) // 2, "diag": d, "spherical": 1}[self.covariance_type]
        return k * (1 + d + of_covariance) - 1

    def _check_rows(self, X: Any, *, reset: bool) -> np.ndarray:
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], order="C")


@dataclass(frozen=True)
class _Components:
    """Weights, means, covariances, and the inverses of the Cholesky factors of these."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray

    @cached_property
    def heights(self) -> np.ndarray:
        """Logarithms of weight times density at the mean."""
        with np.errstate(divide="ignore"):  # without weight it is minus infinity
            logs = np.log(self.weights)
        return logs + np.log(_diagonal(self.factors)).sum(axis=1) - 0.5 * self.means.shape[1] * math.log(2 * math.pi)


@dataclass(frozen=True)
class _Run:
    """Where EM came to, and the mean log-likelihood before every step."""

    components: _Components
    bounds: list[float]
    converged: bool


class _EM:
    """EM on weighted rows, a tile at a time. Moments are taken about the means before, so that little cancels."""

    def __init__(self, X: np.ndarray, weight: np.ndarray, covariance_type: str, reg_covar: float):
        self.X, self.weight = X, weight
        self._covariance_type, self._reg_covar = covariance_type, reg_covar
        _, self._of_all_rows = self._centered(*self._labelled(np.zeros(len(X), np.int32), X[:1].astype(np.float64)))
        variances = _diagonal(self._of_all_rows)
        self._least_variances = ROUNDING * np.where(variances > 0, variances, 1.0)  # for columns of none

    def components(self, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> _Components:
        """With factors; singular covariances are raised until they have one."""
        covariances = covariances.copy()
        np.copyto(_diagonal(covariances), self._least_variances, where=_diagonal(covariances) <= 0)
        diagonal = covariances.shape[1] == 1
        factors = 1 / np.sqrt(covariances) if diagonal else np.array([_inverse_root(matrix) for matrix in covariances])
        return _Components(weights, means, covariances, factors)

    def around(self, means: np.ndarray) -> _Components:
        """Every row belongs to the nearest mean alone."""
        labels = _nearest_means(self.X, means)
        return self._maximize(means, np.repeat(self._of_all_rows, len(means), axis=0), self._labelled(labels, means))

    def climb(self, components: _Components, tol: float, max_iter: int) -> _Run:
        """Steps of EM, until they hardly rise."""
        near = _nearest_means(self.X, components.means)
        bounds: list[float] = []
        while len(bounds) < max_iter:
            bound, components = self._step(components, near)
            bounds.append(bound)
            if len(bounds) > 1 and abs(bound - bounds[-2]) < tol:
                return _Run(components, bounds, True)
        return _Run(components, bounds, False)

    def _step(self, now: _Components, near: np.ndarray) -> tuple[float, _Components]:
        """The mean log-likelihood now, and the components after a step; `near` is the component nearest to each row."""
        order = by_label(near, len(now.means))
        density = np.empty(len(self.X))

        def add(part: slice, *moments: np.ndarray) -> None:
            model = now.means, now.factors, now.heights
            expect_and_add(self.X, self.weight, order[part], *model, near, density, *moments)

        moments = self._moments(len(now.means), add)
        return float(np.average(density, weights=self.weight)), self._maximize(now.means, now.covariances, moments)

    def _labelled(self, labels: np.ndarray, means: np.ndarray) -> list[np.ndarray]:
        """Moments about the means of the rows that bear their labels."""
        order = by_label(labels, len(means))

        def add(part: slice, *moments: np.ndarray) -> None:
            add_labelled(self.X, self.weight, order[part], labels, means, *moments)

        return self._moments(len(means), add)

    def _moments(self, count: int, add: Callable[..., None]) -> list[np.ndarray]:
        """Weight, sum and squares of `count` components: `add` works on a tile of rows and adds to such arrays."""
        n, width = self.X.shape
        tile = max(LEAST_TILE, math.ceil(n / TILES))
        shapes = (), (width,), (width if self._covariance_type == "full" else 1, width)
        room = [np.zeros((math.ceil(n / tile), count, *shape)) for shape in shapes]
        run_tiles(lambda part: add(part, *(moments[part.start // tile] for moments in room)), n, tile)
        return [moments.sum(axis=0) for moments in room]

    def _maximize(self, means: np.ndarray, covariances: np.ndarray, moments: list[np.ndarray]) -> _Components:
        """The best components for moments about the given means; empty ones stay as they are."""
        totals = moments[0]
        shifts, found = self._centered(*moments)
        _diagonal(found)[:] += self._reg_covar
        found[totals == 0] = covariances[totals == 0]
        return self.components(totals / totals.sum(), means + shifts, found)

    def _centered(self, totals: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far the means are off, and covariances about the true ones."""
        if not np.isfinite(squares).all():
            raise DataError("WeightedGaussianMixture: squares of these rows overflow. Scale the columns first.")
        shares = np.maximum(totals, np.finfo(np.float64).tiny)
        shifts, covariances = sums / shares[:, None], squares / shares[:, None, None]
        if covariances.shape[1] == 1:
            covariances -= shifts[:, None] ** 2
        else:
            covariances -= shifts[:, :, None] * shifts[:, None]
            covariances = np.tril(covariances) + _transposed(np.tril(covariances, -1))  # of squares, half is computed
        if self._covariance_type == "spherical":
            covariances[:] = covariances.mean(axis=2, keepdims=True)
        return shifts, covariances


def _nearest_means(X: np.ndarray, means: np.ndarray) -> np.ndarray:
    return nearest(X, means.astype(X.dtype))[0]


def _inside(values: np.ndarray, covariance_type: str, width: int) -> np.ndarray:
    """Covariances, or what is made of them, as one matrix per component."""
    values = values.repeat(width) if covariance_type == "spherical" else values
    return values.reshape(-1, width if covariance_type == "full" else 1, width)


def _transposed(matrices: np.ndarray) -> np.ndarray:
    """Each; the single row of a diagonal stays."""
    return matrices if matrices.shape[1] == 1 else np.ascontiguousarray(matrices.swapaxes(1, 2))


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    """A view of the diagonals, one per row."""
    return matrices[:, 0] if matrices.shape[1] == 1 else np.einsum("kii->ki", matrices)


def _inverse_root(covariance: np.ndarray) -> np.ndarray:
    """The inverse of the Cholesky factor; the diagonal is raised in place until nothing of it is mere rounding."""
    variances = np.einsum("ii->i", covariance)
    more = 10 * ROUNDING
    while True:
        root, failed = lapack.dpotrf(covariance, lower=1)
        if not failed and (np.diagonal(root) ** 2 > ROUNDING * variances).all():
            return lapack.dtrtri(root, lower=1)[0]
        variances *= 1 + more
        more *= 10


def _inverse(precisions: np.ndarray) -> np.ndarray:
    """Covariances; what rounding left at zero or below of a precision is taken for next to none."""
    if precisions.shape[1] == 1:
        return 1 / _positive(precisions)
    values, vectors = np.linalg.eigh(precisions)
    return (vectors / _positive(values)[:, None]) @ vectors.swapaxes(1, 2)


def _positive(values: np.ndarray) -> np.ndarray:
    largest = values.max(axis=-1, keepdims=True)
    if not (values > -math.sqrt(EPS) * largest).all():
        raise ValueError("WeightedGaussianMixture: precisions_init must be positive definite.")
    return np.maximum(values, EPS * largest)
