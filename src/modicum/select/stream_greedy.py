"""StreamGreedy: raise an objective on a stream, one block of candidates at a time (gomes2010, Algorithm 1).

While fewer rows are chosen than asked for, a block's best candidates join (`grow`); after that they take
the places of chosen rows where that pays (`improve`). The paper takes one per block; taking several, best
first, costs little more because a block's dissimilarities or kernel values are already paid for.
"""

from typing import Any

import numpy as np

from modicum.rows import n_rows, take
from modicum.rules.params import BUDGET, RANDOM_STATE, Int, Number, OneOf
from modicum.select.guarantees import SwapGuarantee
from modicum.select.judged import JudgedSelector
from modicum.select.objectives.named import OBJECTIVE
from modicum.select.swaps import CANDIDATES_PER_SWAP, grow, improve

BLOCK = 256  # candidates per block
ALIKE = 1e-9  # the part by which the kernel value of equal rows may be below their own, by rounding
FIRST_BLOCK = 4  # the first one has so many times the rows to be chosen: the better of them make the first set


class StreamGreedy(JudgedSelector):
    """Rows of a stream that maximise an objective, by swaps.

    The best rows of the first block make the first set; from then on every row is offered once, and takes the place of
    the chosen row whose replacement raises the objective most, if it raises it by `min_gain`. Objectives:

        logdet     log det(K_S + lambda I): how different the chosen rows are
        variance   what the chosen rows, observed, take off the variance of a Gaussian process at all rows
        error      minus the squared error at all rows of the Gaussian process that has seen the chosen ones

    The last two are means over all rows; a validation sample, a uniform reservoir of the stream, stands in for them.

    Guarantee: about half the best possible value for "logdet", once no swap pays any more; for "variance" as well where
    it is submodular; none for "error". See `guarantee`.
    Cost: O(b^2 + b d) time per row for "logdet", O(W (b + d)) for the others with W validation rows; memory
    O(b^2 + b d), and O(W (b + d)) for the others.

    Which to take: `OnlineGreedy` for "logdet"; this one for what is judged on other rows, and
    `ExemplarClustering` for exemplars under a dissimilarity.

    Parameters
    ----------
    budget : int or str, default=200
        Rows to choose, or a size such as "64 MiB" for all that is held.
    objective : {"logdet", "variance", "error"} or such an objective, default="logdet"
        `LogDet(kernel, regularization)`, `VarianceReduction(kernel, noise)` or `PredictionError(kernel, noise)`.
    validation : int, default=2000
        Rows that judge, for objectives that need them.
    swaps : {"eager", "one"}, default="eager"
        Per block of candidates take every swap that pays, best first, or one as in the paper.
    min_gain : float, default=1e-5
        The paper's eta: what a swap must gain, as a part of the present value.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    indices_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The objective's value.
    kernel_ : Kernel
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        Rows offered, value and swaps so far, over the stream.
    n_swaps_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import StreamGreedy
    >>> X = np.random.default_rng(0).uniform(size=(2000, 1))
    >>> model = StreamGreedy(5, objective="variance", random_state=0).fit(X)
    >>> np.abs(np.sort(model.prototypes_[:, 0]) - np.array([0.1, 0.3, 0.5, 0.7, 0.9])).max() < 0.1
    np.True_

    References
    ----------
    gomes2010, Algorithm 1, eq. 3.3 and 3.4, section 4, Appendix II. Departures: several swaps per block by default;
    `min_gain` is relative; the validation sample follows the stream; all swaps of a block are scored from a few matrix
    products.
    """

    _constraints = {
        "budget": [BUDGET],
        "objective": [OBJECTIVE],
        "validation": [Int(1)],
        "swaps": [OneOf("eager", "one")],
        "min_gain": [Number(0.0)],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        budget: int | str = 200,
        *,
        objective: Any = "logdet",
        validation: int = 2000,
        swaps: str = "eager",
        min_gain: float = 1e-5,
        random_state: Any = None,
    ):
        self.budget = budget
        self.objective = objective
        self.validation = validation
        self.swaps = swaps
        self.min_gain = min_gain
        self.random_state = random_state

    def _stand(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        usual = BLOCK if self.swaps == "eager" else CANDIDATES_PER_SWAP
        start = 0
        while start < n_rows(X):
            missing = self._limit - self._F.n_chosen
            part = slice(start, start + max(usual, FIRST_BLOCK * missing))
            block = self._F.look(take(X, part), None if y is None else y[part])
            changes = grow(block, missing, -np.inf)
            changes += improve(block, None if self.swaps == "eager" else 1, self.min_gain * abs(self._F.value))
            for i, slot in changes:
                self._place(slot, row_ids[part][i], None if y is None else y[part][i])
            self.n_swaps_ += len(changes) - missing
            start = part.stop
            self._history.record(self.n_seen_ + min(start, n_rows(X)), self._F.value, self.n_swaps_)

    def guarantee(self, confidence: float = 0.95) -> SwapGuarantee:
        """Theorem 4 of gomes2010 with today's numbers; a ValueError for the objective "error", which has none.

        That no swap pays is checked for the rows of the validation sample: `eta` is what they or `min_gain` allow.
        For rows that are not kept it is a condition.
        """
        F = self._set()
        if not F.monotone_submodular:
            raise ValueError(f"StreamGreedy: no theorem speaks of {self._objective()!r}: it is not submodular.")
        eta = max(self.min_gain * abs(F.value), self._best_swap(F))
        others = "that is not kept " if F.needs_validation else ""
        quiet = f"no row {others}gains more than {eta:.3g} in the place of a chosen one"
        terms = self._terms(F, F.n_chosen, confidence, *([] if self._keeps_all() else [quiet]))
        return SwapGuarantee(**terms, least_loss=F.least_loss(), eta=eta)

    def _keeps_all(self) -> bool:
        """Whether every row seen is chosen or in the validation sample."""
        return self._waiting is not None or (self._sample is not None and self._sample.is_everything)

    def _best_swap(self, F: Any) -> float:
        """The most that a validation row gains in the place of a chosen one, or 0."""
        if self._waiting is not None or self._sample is None:
            return 0.0
        rows, chosen = F.rows.values, F.chosen.values
        own = np.maximum.outer(F.kernel.diagonal(rows), F.kernel.diagonal(chosen))
        is_alike = F.kernel(rows, chosen) - own >= -ALIKE * own  # shards may have used one id for different rows
        is_chosen = (is_alike & np.equal.outer(self._sample.row_ids, self.indices_)).any(axis=1)
        gains, _ = F.look(rows).swap_gains()
        return float(gains[~is_chosen].max(initial=0.0))
