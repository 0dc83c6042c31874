"""OnlineGreedy: kernel prototypes that maximise a log-determinant over a stream (schlegel2017, Algorithm 1)."""

from typing import Any

import numpy as np

from modicum.kernels import KERNEL
from modicum.rows import n_rows, take
from modicum.rules.budget import Plan
from modicum.rules.invariants import Is, Whole
from modicum.rules.params import NULL, Number
from modicum.select.guarantees import OnlineGuarantee, kernel_conditions
from modicum.select.objectives.logdet import LogDet
from modicum.select.selector import BUFFERING, FIXED_BYTES, Selector

FEWEST, MOST = 32, 1024  # candidates per block: few while swaps make scores outdated, many on quiet streams
BUSY = 8  # swaps in a block that make the next one smaller


class OnlineGreedy(Selector):
    """Prototypes of a kernel representation, chosen from a stream to differ as much as possible.

    Keeps the set S of `n_prototypes` rows whose regularized kernel matrix has the largest determinant found so far:

        maximise F(S) = log det(K_S + lambda I)

    The first `n_prototypes` rows are the first prototypes. Every later row replaces the prototype whose replacement
    raises F most, if F gains enough by it (`min_gain`). All swaps of a row are scored exactly.

    Guarantee: half the best possible F, up to the cost of `min_gain` and of unseen regions; see `guarantee`.
    Cost: O(b d + b^2) time per row and O(b d + b^2) memory for b prototypes; a swap costs O(b^2).

    Parameters
    ----------
    n_prototypes : int or None, default=200
        Prototypes to keep. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: a number of rows, or a size such as "4 MiB".
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    regularization : float, default=1.0
        The paper's lambda, added to the diagonal of the kernel matrix.
    min_gain : float, default=1e-3
        What a swap must gain, relative to the present log-determinant.
    min_distance : float or None, default=None
        No two prototypes are within this Euclidean distance of each other: 0 leaves out duplicates, more near
        duplicates. For rows of numbers.

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    prototype_ids_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        F of the prototypes.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        `n_seen`, F (`value`) and `swaps` so far.
    n_swaps_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import OnlineGreedy
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = OnlineGreedy(10).fit(X)
    >>> model.transform(X).shape
    (2000, 10)
    >>> bool(np.ptp(model.prototypes_) > np.ptp(X[:10]))  # they have spread out
    True

    References
    ----------
    schlegel2017, Algorithm 1 ("FullGreedy" in its experiments), Theorem 1, Lemma 2, Appendix D. Departures: all swaps
    of a row are scored in O(b^2) instead of O(b^3) or more; the bound is stated for log det(I + K / lambda), which is
    monotone for any lambda.
    """

    _count_param: str | None = "n_prototypes"  # of which fewer can be kept later, by `_resize`
    _invariants = {
        "_objective": [BUFFERING, Is(LogDet, limit="_limit")],
        "_block_size": [BUFFERING, Whole(FEWEST, MOST)],
    }
    _constraints = {
        **Selector._constraints,
        "kernel": [KERNEL],
        "regularization": [Number(0.0, open_ends=True)],
        "min_gain": [Number(0.0)],
        "min_distance": [NULL, Number(0.0)],
    }

    def __init__(
        self,
        n_prototypes: int | None = 200,
        *,
        budget: int | str | None = None,
        kernel: Any = "rbf",
        regularization: float = 1.0,
        min_gain: float = 1e-3,
        min_distance: float | None = None,
    ):
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.kernel = kernel
        self.regularization = regularization
        self.min_gain = min_gain
        self.min_distance = min_distance

    # ---- learning --------------------------------------------------------------------------------

    def _given_objective(self) -> LogDet:
        return LogDet(self.kernel, self.regularization)

    def _offer(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray, n_seen: int) -> None:
        start = 0
        if not self._objective.n_chosen:
            start, self._block_size = self._limit, FEWEST
            self._choose_first(take(X, slice(0, start)), y, row_ids)
        while start < n_rows(X):
            block = slice(start, start + self._block_size)
            swaps = self._offer_block(take(X, block), None if y is None else y[block], row_ids[block])
            start, self.n_swaps_ = block.stop, self.n_swaps_ + swaps
            self._block_size = max(FEWEST, self._block_size // 2) if swaps > BUSY else min(MOST, self._block_size * 2)
            self._history.record(n_seen - max(0, n_rows(X) - start), self._value_now(), self.n_swaps_)

    def _choose_first(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Choose the first rows, all of them."""
        block = self._objective.look(X)
        for i in range(n_rows(X)):
            self._record(block.add(i), row_ids[i], None if y is None else y[i])

    def _offer_block(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> int:
        """Offer candidates in their order: each takes its best swap if that gains enough. Returns their number."""
        block = self._block(X)
        swaps, start = 0, 0
        while found := block.first_swap(start, self._required_gain()):
            i, slot = found
            block.swap(i, slot, start=i)
            self._record(slot, row_ids[i], None if y is None else y[i])
            swaps, start = swaps + 1, i + 1
        return swaps

    def _value_now(self) -> float:
        """F, or its estimate."""
        return self._objective.value

    def _plan(self, n_chosen: int, n_validation: int, row_bytes: int) -> Plan:
        return Plan.of(
            n_chosen,
            prototypes=n_chosen * (row_bytes + 16),
            kernel_matrix_and_inverse=16 * n_chosen * n_chosen,
            history_and_scalars=self._kernel_bytes(row_bytes) + FIXED_BYTES,
        )

    # ---- guarantee -------------------------------------------------------------------------------

    def guarantee(self, *, coverage: float = 0.0) -> OnlineGuarantee:
        """Theorem 1 of schlegel2017 with the present numbers. It is deterministic.

        `coverage` is how far, as half the squared distance in feature space (1 - k(x, z) of a normalized kernel), the
        nearest row that was refused may be from a row of the best set; Lemma 2 turns it into a loss.
        """
        F = self._set()
        near = f"a row within {coverage:.3g} of it" if coverage else "it"
        refused = f"for every row of the best set, {near} is a prototype or was refused by the present ones"
        apart = () if self.min_distance is None else ("no row was refused because of min_distance",)
        least_loss, estimate_error = self._losses(F)
        lam = self.regularization
        return OnlineGuarantee(
            **self._terms(F, F.n_chosen, 1.0, refused, *apart),
            least_loss=least_loss,
            coverage_error=float(np.log1p((np.sqrt(8 * coverage * lam) + 2 * coverage) / lam)),
            estimate_error=estimate_error,
            required_gain=self._required_gain(),
        )

    def _terms(self, F: Any, n_chosen: int, confidence: float, *conditions: str) -> dict[str, Any]:
        value, is_all = F.value - F.n_chosen * F.least_gain, self._buffered is not None  # then every row is chosen
        assumptions = kernel_conditions(F.kernel)
        return {
            "value": value,
            "n_chosen": n_chosen,
            "ceiling": value if is_all else n_chosen * float(np.log1p(self._largest_own / self.regularization)),
            "assumptions": assumptions,
            "conditions": (*assumptions, *conditions),
        }

    def _required_gain(self) -> float:
        """What a swap must gain now."""
        return 0.0 if self._buffered is not None else self.min_gain * abs(self._value_now())

    def _losses(self, F: Any) -> tuple[float, float]:
        """The loss of removing the least useful prototype, and by how much a swap with it may be underestimated."""
        return F.least_loss(), 0.0
