"""Regression on similarities to prototypes that predict well, or that a selector keeps choosing (schlegel2017)."""

from typing import Any

import numpy as np
from sklearn.base import clone

from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.contract.watchful import Watchful
from modicum.kernels import KERNEL, Kernel, as_kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles
from modicum.regress.base import Regressor
from modicum.regress.landmarks import Landmarks
from modicum.regress.ridge import Ridge, solve_ridge
from modicum.regress.robust_ridge import solve_robust_ridge
from modicum.regress.tails import OUTLIER
from modicum.rows import n_rows, take
from modicum.rules.invariants import ABSENT, Is
from modicum.rules.params import NULL, RANDOM_STATE, TRUTH, Int, Number, OneOf, Where
from modicum.select.reservoir import Reservoir
from modicum.select.selector import TRANSFORM_TILE, Selector

SELECTOR = Where(
    lambda value: value is None or isinstance(value, Selector), "None or a selector such as OnlineGreedy(200)"
)
HISTORY = ("n_seen", "prototypes")
DOUBLED = 2 - 1e-9  # sums of weights are rounded


class PrototypeRegressor(Regressor, Watchful):
    """Linear regression on a row's similarities to prototypes, which can predict at any time.

    A uniform sample R of the stream is kept. Whenever its weight has doubled, a kernel is fitted to some rows of the
    sample by marginal likelihood, and the b prototypes S are those rows of the sample that let all of it be predicted
    best. Given a `selector`, the prototypes are those that it keeps, with its kernel. The weights w of similarities
    are solved for when a prediction is asked for, on the sample, or on the prototypes alone, as in the paper:

        sample       (K_SR K_RS + eta K_SS) w = K_SR y_R
        prototypes   (K_SS + eta I) w = y_S

    Guarantee: that of the selector, on the prototypes; none on the error.
    Cost: without a selector, O(log n) draws for n rows, and O(b |R|^2) when the weight has doubled, a few seconds; with
    one, its cost per row. O(b^3 + b^2 |R|) for the first prediction after rows were learned.
    Memory: O((|R| + b) d), or that of the selector and O(|R| d). Scratch when prototypes are chosen: 2 b |R| numbers.

    Parameters
    ----------
    selector : selector or None, default=None
        Any of the selectors, such as `OnlineGreedy(200)`. None: rows of the sample that predict it best.
    n_prototypes : int, default=200
        Prototypes to keep, for `selector=None`.
    kernel : str, Kernel or callable, default="rbf-ard"
        Where the fit of the kernel starts, for `selector=None`. "rbf-ard" has a width for each column. A selector has
        its own kernel, which is not fitted to targets.
    regularization : float or None, default=None
        The paper's eta: larger values keep the weights smaller. None: the one with the smallest error of rows left out.
    fit_on : {"sample", "prototypes"}, default="sample"
        Rows that the weights are fitted on: a uniform "sample" of the stream, or the "prototypes" of a selector. Only
        "sample" uses `sample_weight` and `half_life`.
    n_points : int, default=4000
        Rows of the sample. They are kept in addition to the prototypes.
    fit_intercept : bool, default=True
        Whether targets are centered first, so that far from all prototypes the prediction is their mean and not zero.
    robust : bool, default=False
        Whether rows of the sample with outlying targets weigh less, as by noise from Student's t distribution, and are
        not chosen. What few prototypes can't express may count as an outlier too. Not for `fit_on="prototypes"`.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of a row has halved: the sample then prefers recent rows. The selector, if one is
        given, forgets nothing. "auto" forgets where errors rise (`changes_`), None never.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    prototype_ids_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    kernel_ : Kernel
    selector_ : selector or None
        The fitted selector, if one was given.
    coef_ : ndarray of shape (b,)
        The weights w.
    intercept_ : float
        Mean of the targets fitted on, or 0 without an intercept.
    regularization_ : float
        The eta in use.
    history_ : dict of arrays
        That of the selector. Without one, rows seen and prototypes kept, each time that they were chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import PrototypeRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 2))
    >>> model = PrototypeRegressor(n_prototypes=20, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True
    >>> bool(model.kernel_.kernel.width[1] > 10 * model.kernel_.kernel.width[0])  # the second column does not matter
    True

    References
    ----------
    schlegel2017, sections 2 and 6. smola2000 (weights fitted on more rows than the prototypes, which are chosen by
    their error); rasmussen2006, section 5.4.1 (the kernel); allen1974 (errors of rows left out);
    lange1989 (outliers). Departures: prototypes
    that differ as much as possible, as in the paper, are outliers of rows with heavy tails, so they are not the
    default; targets are centered unless `fit_intercept` is False.
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True, forgets=True)
    _constraints = {
        "selector": [SELECTOR],
        "n_prototypes": [Int(1)],
        "kernel": [KERNEL],
        "regularization": [NULL, Number(0.0)],
        "fit_on": [OneOf("sample", "prototypes")],
        "n_points": [Int(1)],
        "fit_intercept": [TRUTH],
        "robust": [TRUTH],
        "half_life": [NULL, Int(1), OneOf("auto")],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {
        "_selector": [NULL, Is(Selector)],
        "_sample": [NULL, Is(Reservoir)],
        "_landmarks": [ABSENT, NULL, Is(Landmarks)],
        "_history": [ABSENT, NULL, Is(History, width=len(HISTORY))],
    }

    _selector: Any  # a Selector, or None
    _sample: Any  # a Reservoir, or None if weights are fitted on the prototypes of a selector
    _landmarks: Any  # Landmarks, or None with a selector
    _history: Any  # a History, or None with a selector

    def __init__(
        self,
        selector: Any = None,
        *,
        n_prototypes: int = 200,
        kernel: Any = "rbf-ard",
        regularization: float | None = None,
        fit_on: str = "sample",
        n_points: int = 4000,
        fit_intercept: bool = True,
        robust: bool = False,
        half_life: int | str | None = None,
        random_state: Any = None,
    ):
        self.selector = selector
        self.n_prototypes = n_prototypes
        self.kernel = kernel
        self.regularization = regularization
        self.fit_on = fit_on
        self.n_points = n_points
        self.fit_intercept = fit_intercept
        self.robust = robust
        self.half_life = half_life
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_selector"):
            seed, other_seed = (int(number) for number in self._rng.integers(2**31, size=2))
            self._selector = self._fresh_selector(seed)
            self._sample = Reservoir(self.n_points, random_state=other_seed) if self.fit_on == "sample" else None
            self._landmarks = None
            self._history = None if self._selector is not None else History(*HISTORY)
        if self._selector is not None:
            self._selector.partial_fit(X, y, row_ids=row_ids)
        if self._sample is not None:
            self._sample.partial_fit(X, y, weight, row_ids)
        self._choose_if_due(self.n_seen_ + n_rows(X))

    def _fresh_selector(self, seed: int) -> Selector | None:
        if self.selector is None:
            return None
        selector: Selector = clone(self.selector)
        if selector.get_params(deep=False).get("random_state", seed) is None:
            selector.set_params(random_state=seed)
        return selector

    def _choose_if_due(self, n_seen: int) -> None:
        """Choose prototypes again if the weight of the stream has doubled."""
        if self._selector is None and (
            self._landmarks is None or self._total_weight() >= DOUBLED * self._landmarks.weight
        ):
            self._choose(n_seen)

    def _total_weight(self) -> float:
        return float(self._sample.point_weights_.sum())

    def _choose(self, n_seen: int) -> None:
        """Choose prototypes from the sample."""
        sample = self._sample
        rows = (sample.points_, np.asarray(sample.targets_), sample.point_weights_, sample.point_ids_)
        self._landmarks = Landmarks(self._given_kernel(), self.n_prototypes, rows, self._rng)
        if self.robust:
            self._choose_among_usual(rows)
        self._history.record(n_seen, len(self._landmarks.ids))

    def _choose_among_usual(self, rows: tuple[Any, ...]) -> None:
        """Choose again without outliers: these are the worst prototypes, and the kernel was fitted to them too."""
        weight, usual = self._landmarks.weight, np.flatnonzero(self._solve()[1] > OUTLIER)
        rows = tuple(take(column, usual) for column in rows)
        self._landmarks = Landmarks(self._given_kernel(), self.n_prototypes, rows, self._rng)
        self._landmarks.weight = weight

    def _end_of_stream(self) -> None:
        if self._selector is None and self.history_["n_seen"][-1] < self.n_seen_:
            self._derived = {}
            self._choose(self.n_seen_)

    def _fade(self, factor: float) -> None:
        if self._sample is not None:
            self._sample._fade(factor)
        if self._landmarks is not None:
            self._landmarks.weight *= factor

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel, objects=getattr(self, "_kind", "dense") == "objects")

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def selector_(self) -> Selector | None:
        return self._selector

    @property
    def prototypes_(self) -> Any:
        return self._landmarks.rows.values if self._selector is None else self._selector.prototypes_

    @property
    def prototype_ids_(self) -> np.ndarray:
        return self._landmarks.ids if self._selector is None else self._selector.prototype_ids_

    @property
    def kernel_(self) -> Kernel:
        return self._landmarks.kernel if self._selector is None else self._selector.kernel_

    @property
    def coef_(self) -> np.ndarray:
        return self._ridge().coef

    @property
    def intercept_(self) -> float:
        return self._ridge().intercept

    @property
    def regularization_(self) -> float:
        return self._ridge().regularization

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._history.columns_as_arrays() if self._selector is None else self._selector.history_

    def picks(self) -> Picks:
        """The prototypes, with their ids and targets."""
        self._check_fitted()
        if self._selector is not None:
            return self._selector.picks()
        return Picks("prototype", self.prototypes_, self.prototype_ids_, targets=self._landmarks.targets)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        X = self._check_input(X)
        kernel, S, coef = self.kernel_, self.prototypes_, self.coef_
        out = np.full(n_rows(X), self.intercept_)

        def add(tile: slice) -> None:
            out[tile] += kernel(take(X, tile), S) @ coef

        run_tiles(add, len(out) if len(coef) else 0, TRANSFORM_TILE)
        return out

    def _ridge(self) -> Ridge:
        return self._derive("ridge", lambda: self._solve()[0])

    def _solve(self) -> tuple[Ridge, np.ndarray]:
        """The weights and the intercept, and by how much outliers among the rows count."""
        kernel, S = self.kernel_, self.prototypes_
        K = kernel(S, S)
        if self._sample is None:
            y = np.asarray(self._selector.targets_)
            ones = np.ones(len(y))
            return solve_ridge(K, K, y, ones, self.regularization, self.fit_intercept), ones
        y, masses = np.asarray(self._sample.targets_), self._sample.point_weights_
        features, weight = kernel(self._sample.points_, S), masses * (len(y) / masses.sum())
        problem = (features, K, y, weight, self.regularization, self.fit_intercept)
        return solve_robust_ridge(*problem) if self.robust else (solve_ridge(*problem), np.ones(len(y)))

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "PrototypeRegressor") -> None:
        if self._selector is not None:
            self._selector.merge(other._selector)
        if self._sample is not None and other._sample is not None:
            self._sample.merge(other._sample)
        if self._selector is None:
            self._choose(self.n_seen_ + other.n_seen_)

    def _check_params(self) -> None:
        super()._check_params()
        if self.selector is None and self.fit_on == "prototypes":
            raise ValueError(
                f'{type(self).__name__}: fit_on="prototypes" needs a selector, such as OnlineGreedy(200): without one, '
                "prototypes are chosen from a sample, and weights fitted on it."
            )
        if self.robust and self.fit_on == "prototypes":
            raise ValueError(f'{type(self).__name__}: robust=True is for fit_on="sample"; leave it out.')

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self.kernel, X) if self.selector is None else self.selector._takes_objects(X)

    def _may_fail_midway(self) -> bool:
        return may_fail(self.kernel) if self._selector is None else self._selector._may_fail_midway()

    def _restored(self) -> None:
        if not self._is_fitted():
            return
        if self._selector is None:
            self._landmarks.restore_functions(self._given_kernel())
        elif self.selector is not None:  # a file can't hold functions: take them from the given selector
            params = self.selector.get_params(deep=False)
            params.pop("random_state", None)  # the fitted one has its own
            self._selector.set_params(**params)
            self._selector._restored()

    def _n_retained(self) -> int:
        chosen = len(self._landmarks.ids) if self._selector is None else self._selector.n_retained_
        return chosen + (0 if self._sample is None else self._sample.n_retained_)
