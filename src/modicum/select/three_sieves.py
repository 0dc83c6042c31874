"""ThreeSieves: one set, and a level that falls when too many rows in a row are turned away (buschjager2021)."""

import math
from typing import Any

import numpy as np

from modicum.rules.invariants import Scope, Whole
from modicum.rules.params import Int
from modicum.select.guarantees import SieveGuarantee
from modicum.select.selector import WAITS
from modicum.select.sieves import Sieve, SieveSelector


def _most(its: Scope) -> float:
    """The largest exponent whose level is a number."""
    return 700 / math.log1p(its["epsilon"])


class ThreeSieves(SieveSelector):
    """Rows of a stream that maximise a submodular objective, with one guess of the best value at a time.

    Grows one set as `SieveStreaming` does for its highest level, and goes one level down whenever `patience` rows in a
    row were turned away: by then it is likely that no row of the stream would pass.

    Guarantee: at least 1 / (2 + 2 epsilon) of the best possible value if the set is full and no row of the stream was
    missed when the level fell; in random order few rows are. Rare rows of great value may be missed. See `guarantee`.
    Cost: O(b^2 + b d) time per row until the set is full, O(b^2 + b d) memory: one set.

    Parameters
    ----------
    budget : int or str, default=200
        Rows to choose, or a size such as "64 MiB" for all that is held.
    objective : {"logdet", "variance"} or such an objective, default="logdet"
        `LogDet(kernel, regularization)` or `VarianceReduction(kernel, noise)` with their parameters.
    epsilon : float, default=0.1
        Levels are a factor of 1 + epsilon apart.
    patience : int, default=500
        The paper's T: rows turned away before the level falls.
    validation : int, default=500
        Rows that judge, for an objective that needs them.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_retained_, d), sparse matrix or list
        The chosen rows: `budget` of them, or fewer if so few passed.
    indices_ : ndarray
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The objective's value.
    kernel_ : Kernel
    targets_ : ndarray or None
        Targets of the prototypes, if the stream has any.
    n_sieves_ : int
        Sets held now: one.
    history_ : dict of arrays
        Rows offered, value and rows chosen, over the stream.

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
    buschjager2021, Algorithm 1. Departures: the bound is ours, as Theorem 2 counts on no row being missed; the value is
    taken relative to the least that any row adds.
    """

    _constraints = {**SieveSelector._constraints, "patience": [Int(1)]}
    _invariants = {
        "_turned_away": [WAITS, Whole(0, "patience")],
        "_exponent": [WAITS, Whole(lambda its: -_most(its), _most)],
    }

    def __init__(
        self,
        budget: int | str = 200,
        *,
        objective: Any = "logdet",
        epsilon: float = 0.1,
        patience: int = 500,
        validation: int = 500,
        random_state: Any = None,
    ):
        super().__init__(budget, objective=objective, epsilon=epsilon, validation=validation, random_state=random_state)
        self.patience = patience

    def _start(self, X: Any) -> None:
        super()._start(X)
        self._turned_away = 0
        self._exponent = 0

    def _sift(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not self._sieves:
            self._sieves = [self._new_sieve(0.0, y)]
        sieve = self._sieves[0]
        if not sieve.F.n_chosen:  # a larger single gain raises the highest level as long as nobody has joined
            self._exponent = math.floor(math.log(2 * self._limit * self._largest) / math.log1p(self.epsilon))
            sieve.level = (1 + self.epsilon) ** self._exponent
        self._let_join(sieve, X, y, row_ids)

    def _let_join(self, sieve: Sieve, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        block, start = sieve.F.look(X, y), 0
        while start < len(row_ids) and not sieve.is_full:
            patient = slice(start, start + self.patience - self._turned_away)
            enough = np.flatnonzero(block.gains()[patient] - sieve.F.least_gain >= sieve.needed)
            if len(enough):
                sieve.join(block, start + int(enough[0]), y, row_ids)
                start, self._turned_away = start + int(enough[0]) + 1, 0
                continue
            self._turned_away += len(row_ids[patient])
            start = patient.stop
            if self._turned_away == self.patience:
                self._turned_away = 0
                self._exponent -= 1
                sieve.level = (1 + self.epsilon) ** self._exponent

    def _most_sieves(self, n_chosen: int) -> int:
        return 1

    def guarantee(self, confidence: float = 0.95) -> SieveGuarantee:
        """What holds if no row of the stream would have joined at the level above the last one.

        Let theta be what was asked at that level of the set S' that it ended with. Rows of S' gained theta or more, and
        all others gain less: the best value is at most f(S') + b theta, f(S') >= |S'| theta, and the full set has
        (f(S') + (b - |S'|) theta) / (1 + epsilon) or more, so at least 1 / (2 + 2 epsilon) of the best.

        buschjager2021, Theorem 2, promises (1 - epsilon)(1 - 1/e) and takes for none what `patience` shows to be few:
        `missed_at_most(confidence)`. It says nothing of a set that is not full.
        """
        F = self._set()
        full = self._waiting is not None or F.n_chosen == self._limit
        ratio = 1 / (2 + 2 * self.epsilon) if full else 0.0
        missed = "no row of the stream would have joined at the level above the last one"
        return self._guarantee(ratio, "buschjager2021", confidence, missed)

    def missed_at_most(self, confidence: float = 0.95) -> float:
        """The share of rows that would have joined at a level that was given up, if rows come in random order.

        A level is given up after `patience` refusals in a row, which has a probability of (1 - share)^patience; there
        were at most `budget` + `n_seen_` / `patience` times to begin counting.
        """
        self._check_fitted()
        attempts = self._limit + self.n_seen_ / self.patience
        return float(-np.expm1(np.log((1 - confidence) / attempts) / self.patience))
