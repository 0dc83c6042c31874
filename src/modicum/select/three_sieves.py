"""ThreeSieves: one set, and a level that falls after too many consecutive refusals (buschjager2021)."""

import math
from typing import Any

import numpy as np

from modicum.rules.invariants import Scope, Whole
from modicum.rules.params import Int
from modicum.select.guarantees import SieveGuarantee
from modicum.select.selector import BUFFERING
from modicum.select.sieves import Sieve, SieveSelector


def _most(its: Scope) -> float:
    """The largest exponent whose level is a number."""
    return 700 / math.log1p(its["epsilon"])


class ThreeSieves(SieveSelector):
    """Rows of a stream that maximise a submodular objective, with one guess of the best value at a time.

    Grows one set as `SieveStreaming` does for its highest level, and lowers the level after `patience` consecutive
    refusals: by then it is likely that hardly any row of the stream would be accepted.

    Guarantee: at least 1 / (2 + 2 epsilon) of the best possible value if the set is full and no row of the stream was
    missed when the level fell; in random order few rows are. Rare rows of great value may be missed. See `guarantee`.
    Cost: O(b^2 + b d) time per row until the set is full, O(b^2 + b d) memory: one set.

    Parameters
    ----------
    n_prototypes : int or None, default=200
        Rows to choose. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: a number of rows, or a size such as "64 MiB".
    objective : {"logdet", "variance"} or such an objective, default="logdet"
        "logdet" or "variance"; or, with parameters, `LogDet(kernel, regularization)` or
        `VarianceReduction(kernel, noise)`.
    epsilon : float, default=0.1
        Levels are a factor of 1 + epsilon apart.
    patience : int, default=500
        The paper's T: consecutive refusals before the level falls.
    n_validation : int or None, default=None
        Validation rows, for an objective that needs them. None: 500, or as many as the budget allows.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray, sparse matrix or list
        The chosen rows: `n_prototypes` of them, or fewer.
    prototype_ids_ : ndarray
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The objective's value.
    kernel_ : Kernel
    targets_ : ndarray or None
        Targets of the prototypes, if the stream has any.
    n_sieves_ : int
        Sets held now: one.
    history_ : dict of arrays
        `n_seen`, `value` and rows chosen (`swaps`).

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import ThreeSieves
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = ThreeSieves(10, patience=50).fit(X)
    >>> model.transform(X).shape[1] <= 10
    True

    References
    ----------
    buschjager2021, Algorithm 1. Departures: the bound is ours, as Theorem 2 assumes that no row is missed; the value is
    taken relative to the least that any row adds.
    """

    _minds_order = True
    _constraints = {**SieveSelector._constraints, "patience": [Int(1)]}
    _invariants = {
        "_n_refused": [BUFFERING, Whole(0, "patience")],
        "_exponent": [BUFFERING, Whole(lambda its: -_most(its), _most)],
    }

    def __init__(
        self,
        n_prototypes: int | None = 200,
        *,
        budget: int | str | None = None,
        objective: Any = "logdet",
        epsilon: float = 0.1,
        patience: int = 500,
        n_validation: int | None = None,
        random_state: Any = None,
    ):
        super().__init__(
            n_prototypes,
            budget=budget,
            objective=objective,
            epsilon=epsilon,
            n_validation=n_validation,
            random_state=random_state,
        )
        self.patience = patience

    def _initialize(self, X: Any) -> None:
        super()._initialize(X)
        self._n_refused = 0
        self._exponent = 0

    def _sift(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not self._sieves:
            self._sieves = [self._new_sieve(0.0, y)]
        sieve = self._sieves[0]
        if not sieve.F.n_chosen:  # a larger single gain raises the highest level as long as the set is empty
            self._exponent = math.floor(math.log(2 * self._limit * self._largest) / math.log1p(self.epsilon))
            sieve.level = (1 + self.epsilon) ** self._exponent
        self._offer_to(sieve, X, y, row_ids)

    def _offer_to(self, sieve: Sieve, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        block, start = sieve.F.look(X, y), 0
        while start < len(row_ids) and not sieve.is_full:
            patient = slice(start, start + self.patience - self._n_refused)
            enough = np.flatnonzero(block.gains()[patient] - sieve.F.least_gain >= sieve.needed)
            if len(enough):
                sieve.join(block, start + int(enough[0]), y, row_ids)
                start, self._n_refused = start + int(enough[0]) + 1, 0
                continue
            self._n_refused += len(row_ids[patient])
            start = patient.stop
            if self._n_refused == self.patience:
                self._n_refused = 0
                self._exponent -= 1
                sieve.level = (1 + self.epsilon) ** self._exponent

    def _most_sets(self, n_chosen: int) -> int:
        return 1  # its set is kept at all levels

    def guarantee(self, confidence: float = 0.95) -> SieveGuarantee:
        """A bound that holds if no row of the stream would have joined at the level above the last one.

        Let theta be the gain required at that level when it was given up, and S' the set then. Rows of S' gained
        theta or more, and all others gain less: the best value is at most f(S') + b theta, f(S') >= |S'| theta, and the
        full set has (f(S') + (b - |S'|) theta) / (1 + epsilon) or more, so at least 1 / (2 + 2 epsilon) of the best.

        buschjager2021, Theorem 2, has (1 - epsilon)(1 - 1/e) and assumes that no rows are missed where `patience` shows
        that few are: `missed_at_most(confidence)`. The bound is vacuous for a set that is not full.
        """
        F = self._set()
        full = self._buffered is not None or F.n_chosen == self._limit
        ratio = 1 / (2 + 2 * self.epsilon) if full else 0.0
        missed = "no row of the stream would have joined at the level above the last one"
        return self._guarantee(ratio, "buschjager2021", confidence, missed)

    def missed_at_most(self, confidence: float = 0.95) -> float:
        """The share of rows that would have joined at a level that was given up, if rows come in random order.

        A level is given up after `patience` consecutive refusals, which has a probability of (1 - share)^patience;
        counting was restarted at most `n_prototypes` + `n_seen_` / `patience` times.
        """
        self._check_fitted()
        attempts = self._limit + self.n_seen_ / self.patience
        return float(-np.expm1(np.log((1 - confidence) / attempts) / self.patience))
