"""Regression on similarities to prototypes that a selector keeps choosing (schlegel2017, sections 2 and 6)."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone

from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.numeric.parallel import run_tiles
from modicum.regress.base import Regressor
from modicum.rows import n_rows, take
from modicum.rules.invariants import Is
from modicum.rules.params import NULL, RANDOM_STATE, TRUTH, Int, Number, OneOf, Where
from modicum.select.block_greedy import BlockGreedy
from modicum.select.reservoir import Reservoir
from modicum.select.selector import TRANSFORM_TILE, Selector

JITTER = 1e-10  # relative to the mean diagonal: similar prototypes make the equations nearly singular

SELECTOR = Where(
    lambda value: value is None or isinstance(value, Selector), "None or a selector such as OnlineGreedy(200)"
)


class PrototypeRegressor(Regressor):
    """Linear regression on a row's similarities to prototypes, which can predict at any time.

    A selector keeps b prototypes S of the rows. The weights w of their similarities are solved for when a prediction
    is asked for. They are fitted on the prototypes alone, as in the paper, or on a uniform sample R of the stream,
    which has more targets for the same prototypes:

        prototypes   (K_SS + eta I) w = y_S
        sample       (K_SR K_RS + eta K_SS) w = K_SR y_R

    Guarantee: that of the selector, on the prototypes; none on the error.
    Cost: that of the selector per row; O(b^3 + b^2 |R|) for the first prediction after rows were learned.
    Memory: that of the selector and O(|R| d).

    Parameters
    ----------
    selector : selector or None, default=None
        Any of the selectors, such as `OnlineGreedy(200)`. None: `BlockGreedy(200)`.
    regularization : float, default=1e-3
        The paper's eta: larger values keep the weights smaller.
    fit_on : {"sample", "prototypes"}, default="sample"
        Rows that the weights are fitted on: a uniform "sample" of the stream, or the "prototypes". Only "sample" uses
        `sample_weight`.
    n_points : int, default=2000
        Rows of the sample, for `fit_on="sample"`. They are kept in addition to the prototypes, to fit weights.
    fit_intercept : bool, default=True
        Whether targets are centered first, so that far from all prototypes the prediction is their mean and not zero.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    selector_ : selector
        The fitted selector with `prototypes_`, `value_` and so on.
    coef_ : ndarray of shape (b,)
        The weights w.
    intercept_ : float
        Mean of the targets fitted on, or 0 without an intercept.
    history_ : dict of arrays
        That of the selector.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import OnlineGreedy, PrototypeRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 1))
    >>> model = PrototypeRegressor(OnlineGreedy(20), random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True

    References
    ----------
    schlegel2017, sections 2 and 6. smola2000 (weights fitted on more rows than the prototypes). Departure: targets are
    centered unless `fit_intercept` is False.
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {
        "selector": [SELECTOR],
        "regularization": [Number(0.0)],
        "fit_on": [OneOf("sample", "prototypes")],
        "n_points": [Int(1)],
        "fit_intercept": [TRUTH],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {"_selector": Is(Selector), "_sample": [NULL, Is(Reservoir)]}

    def __init__(
        self,
        selector: Any = None,
        *,
        regularization: float = 1e-3,
        fit_on: str = "sample",
        n_points: int = 2000,
        fit_intercept: bool = True,
        random_state: Any = None,
    ):
        self.selector = selector
        self.regularization = regularization
        self.fit_on = fit_on
        self.n_points = n_points
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_selector"):
            seed, other_seed = (int(number) for number in self._rng.integers(2**31, size=2))
            self._selector = clone(self._given_selector())
            if self._selector.get_params(deep=False).get("random_state", seed) is None:
                self._selector.set_params(random_state=seed)
            self._sample = Reservoir(self.n_points, random_state=other_seed) if self.fit_on == "sample" else None
        self._selector.partial_fit(X, y, row_ids=row_ids)
        if self._sample is not None:
            self._sample.partial_fit(X, y, weight, row_ids)

    def _given_selector(self) -> Selector:
        return BlockGreedy(200) if self.selector is None else self.selector

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def selector_(self) -> Selector:
        return self._selector

    @property
    def coef_(self) -> np.ndarray:
        return self._derive("weights", self._solve)[0]

    @property
    def intercept_(self) -> float:
        return self._derive("weights", self._solve)[1]

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self.selector_.history_

    def picks(self) -> Picks | None:
        """The prototypes, as the selector gives them."""
        return self.selector_.picks()

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        X = self._check_input(X)
        kernel, S, coef = self._selector.kernel_, self._selector.prototypes_, self.coef_
        out = np.full(n_rows(X), self.intercept_)

        def add(tile: slice) -> None:
            out[tile] += kernel(take(X, tile), S) @ coef

        run_tiles(add, len(out) if len(coef) else 0, TRANSFORM_TILE)
        return out

    def _solve(self) -> tuple[np.ndarray, float]:
        """The weights and the intercept."""
        kernel, S = self._selector.kernel_, self._selector.prototypes_
        K = kernel(S, S)
        if self._sample is None:
            y = np.asarray(self._selector.targets_)
            mean = float(y.mean()) if self.fit_intercept else 0.0
            left, right = K + self.regularization * np.eye(len(K)), y - mean
        else:
            y, masses = np.asarray(self._sample.targets_), self._sample.point_weights_
            weight = masses * (len(y) / masses.sum())
            mean = float(np.average(y, weights=weight)) if self.fit_intercept else 0.0
            features = kernel(S, self._sample.points_)  # (b, |R|)
            left, right = features * weight @ features.T + self.regularization * K, features @ (weight * (y - mean))
        left[np.diag_indices_from(left)] += JITTER * (np.trace(left) / max(1, len(left)) or 1.0)
        return cho_solve(cho_factor(left), right), mean

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "PrototypeRegressor") -> None:
        self._selector.merge(other._selector)
        if self._sample is not None and other._sample is not None:
            self._sample.merge(other._sample)

    def _takes_objects(self, X: Any) -> bool:
        return self._given_selector()._takes_objects(X)

    def _may_fail_midway(self) -> bool:
        return self._selector._may_fail_midway()

    def _restored(self) -> None:
        if self._is_fitted():  # a file can't hold functions: take them from the given selector
            params = self._given_selector().get_params(deep=False)
            params.pop("random_state", None)  # the fitted one has its own
            self._selector.set_params(**params)
            self._selector._restored()

    def _n_retained(self) -> int:
        return self._selector.n_retained_ + (0 if self._sample is None else self._sample.n_retained_)
