"""StreamGreedy: raise an objective on a stream, one block of candidates at a time (gomes2010, Algorithm 1).

While fewer rows are chosen than asked for, a block's best candidates join (`grow`); after that they replace chosen
rows where the objective gains enough (`improve`). The paper takes one per block; taking several, best first, costs
little more because the block's kernel values are already computed.
"""

from typing import Any

import numpy as np

from modicum.contract.forgetting import Forgetting
from modicum.contract.learner import Traits
from modicum.rows import n_rows, take
from modicum.rules.params import NULL, Int, Number, OneOf
from modicum.select.guarantees import SwapGuarantee
from modicum.select.judged import JudgedSelector
from modicum.select.objectives.named import OBJECTIVE
from modicum.select.swaps import CANDIDATES_PER_SWAP, grow, improve

CANDIDATES_PER_BLOCK = 256  # enough to share the cost of a block
ALIKE = 1e-9  # relative amount by which rounding may put the kernel value of equal rows below their own
FIRST_BLOCK = 4  # candidates in the first block per row to be chosen: the best of them make the first set


class StreamGreedy(Forgetting, JudgedSelector):
    """Rows of a stream that maximise an objective, by swaps.

    The best rows of the first block make the first set; from then on every row is offered once, and replaces the chosen
    row whose replacement raises the objective most, if it raises it by `min_gain`. Objectives:

        logdet     log det(K_S + lambda I): how different the chosen rows are
        variance   the reduction of a Gaussian process' mean variance at all rows by observing the chosen ones
        error      minus the squared error at all rows of the Gaussian process that has seen the chosen ones

    The last two are means over all rows, estimated on a validation sample: a uniform reservoir of the stream.

    Guarantee: about half the best possible value for "logdet", once no swap gains enough; for "variance" as well where
    it is submodular; none for "error". See `guarantee`.
    Cost: O(b^2 + b d) time per row for "logdet", O(W (b + d)) for the others with W validation rows; memory
    O(b^2 + b d), and O(W (b + d)) for the others.

    Which to use: `OnlineGreedy` for "logdet"; this one for objectives that are evaluated on other rows, and
    `ExemplarClustering` for exemplars under a dissimilarity.

    Parameters
    ----------
    n_prototypes : int or None, default=200
        Rows to choose. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: a number of rows, or a size such as "64 MiB".
    objective : {"logdet", "variance", "error"} or such an objective, default="logdet"
        "logdet", "variance" or "error"; or, with their parameters, `LogDet(kernel, regularization)`,
        `VarianceReduction(kernel, noise)` or `PredictionError(kernel, noise)`.
    n_validation : int or None, default=None
        Validation rows, for objectives that need them. None: 2000, or as many as the budget allows.
    swaps : {"eager", "one"}, default="eager"
        "eager" takes every swap of a block of candidates that gains enough, best first; "one" only one, as in the
        paper.
    min_gain : float, default=1e-5
        The paper's eta: what a swap must gain, relative to the present value.
    min_distance : float or None, default=None
        No two prototypes are within this Euclidean distance of each other: 0 leaves out duplicates, more near
        duplicates. For rows of numbers.
    half_life : int or None, default=None
        For "variance" and "error", rows after which the weight of a row in these means has halved. None: rows of all
        times weigh the same. "logdet" is not a mean over rows, so that a prototype does not age.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    prototype_ids_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The objective's value.
    kernel_ : Kernel
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        `n_seen`, `value` and `swaps` so far.
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
    `min_gain` is relative; the validation sample is updated along the stream; all swaps of a block are scored from a
    few matrix products.
    """

    _count_param = "n_prototypes"
    _constraints = {
        **JudgedSelector._constraints,
        "swaps": [OneOf("eager", "one")],
        "min_gain": [Number(0.0)],
        "min_distance": [NULL, Number(0.0)],
        "half_life": [NULL, Int(1)],
    }
    _useful_validation = 2000

    def __init__(
        self,
        n_prototypes: int | None = 200,
        *,
        budget: int | str | None = None,
        objective: Any = "logdet",
        n_validation: int | None = None,
        swaps: str = "eager",
        min_gain: float = 1e-5,
        min_distance: float | None = None,
        half_life: int | None = None,
        random_state: Any = None,
    ):
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.objective = objective
        self.n_validation = n_validation
        self.swaps = swaps
        self.min_gain = min_gain
        self.min_distance = min_distance
        self.half_life = half_life
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        is_mean = OBJECTIVE.accepts(self.objective) and self._given_objective().needs_validation
        return Traits(merge="approximate", weights=True, sparse=True, objects=True, forgets=is_mean)

    def _check_params(self) -> None:
        super()._check_params()
        if self.half_life is not None and not self._given_objective().needs_validation:
            raise ValueError(
                f"StreamGreedy: half_life is for objectives that are means over rows, such as "
                f'objective="variance"; got {self.objective!r}.'
            )

    def _fade(self, factor: float) -> None:
        if self._buffered is not None:
            self._buffered.fade(factor)
        elif self._sample is not None:
            self._sample.fade(factor)

    def _offer(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        usual = CANDIDATES_PER_BLOCK if self.swaps == "eager" else CANDIDATES_PER_SWAP
        start = 0
        while start < n_rows(X):
            missing = self._limit - self._objective.n_chosen
            rows = slice(start, start + max(usual, FIRST_BLOCK * missing))
            block = self._block(take(X, rows), None if y is None else y[rows])
            added = grow(block, missing, -np.inf)
            swaps = improve(block, None if self.swaps == "eager" else 1, self.min_gain * abs(self._objective.value))
            for i, slot in added + swaps:
                self._record(slot, row_ids[rows][i], None if y is None else y[rows][i])
            self.n_swaps_ += len(swaps)
            start = rows.stop
            self._history.record(n_seen - max(0, n_rows(X) - start), self._objective.value, self.n_swaps_)

    def guarantee(self, confidence: float = 0.95) -> SwapGuarantee:
        """Theorem 4 of gomes2010 with the present numbers; a ValueError for the objective "error", which has none.

        It assumes that no swap gains more than `eta`. For rows of the validation sample this is computed; for rows that
        are not kept it is a condition. `confidence` is that of the validation sample, where there is one.
        """
        F = self._set()
        if not F.monotone_submodular:
            raise ValueError(f"StreamGreedy: no theorem covers {self._given_objective()!r}: it is not submodular.")
        eta = max(self.min_gain * abs(F.value), self._best_swap(F))
        others = "that is not kept " if F.needs_validation else ""
        quiet = f"no row {others}gains more than {eta:.3g} by replacing a chosen one"
        terms = self._terms(F, F.n_chosen, confidence, *([] if self._keeps_all() else [quiet]))
        return SwapGuarantee(**terms, least_loss=F.least_loss(), eta=eta)

    def _keeps_all(self) -> bool:
        """Whether every row seen is chosen or in the validation sample."""
        return self._buffered is not None or (self._sample is not None and self._sample.is_everything)

    def _best_swap(self, F: Any) -> float:
        """The most that a validation row gains by replacing a chosen one, or 0."""
        if self._buffered is not None or self._sample is None:
            return 0.0
        rows, chosen = F.rows.values, F.chosen.values
        own = np.maximum.outer(F.kernel.diagonal(rows), F.kernel.diagonal(chosen))
        is_alike = F.kernel(rows, chosen) - own >= -ALIKE * own  # shards may have used one id for different rows
        is_chosen = (is_alike & np.equal.outer(self._sample.row_ids, self.prototype_ids_)).any(axis=1)
        gains, _ = F.look(rows).swap_gains()
        return float(gains[~is_chosen].max(initial=0.0))
