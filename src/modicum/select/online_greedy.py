"""OnlineGreedy: kernel prototypes that maximise a log-determinant over a stream (schlegel2017, Algorithm 1)."""

from typing import Any

import numpy as np

from modicum.kernels import KERNEL
from modicum.rows import n_rows, take
from modicum.rules.budget import Plan
from modicum.rules.invariants import Is, Whole
from modicum.rules.params import BUDGET, RANDOM_STATE, TRUTH, Number
from modicum.select.guarantees import OnlineGuarantee, kernel_conditions
from modicum.select.objectives.logdet import LogDet
from modicum.select.selector import HISTORY_BYTES, WAITS, Selector

FEWEST, MOST = 32, 1024  # candidates scored together: few while swaps spoil the scores, many on quiet streams
BUSY = 8  # swaps in a block that make the next one smaller


class OnlineGreedy(Selector):
    """Prototypes of a kernel representation, chosen from a stream to be as different as can be.

    Keeps the set S of `budget` rows whose regularized kernel matrix has the largest determinant found so far:

        maximise F(S) = log det(K_S + lambda I)

    The first `budget` rows are the first prototypes. Every later row takes the place of the prototype whose replacement
    raises F most, if that raises F by the threshold. All swaps of a row are scored exactly.

    Guarantee: half the best possible F, up to what the threshold and unseen regions cost; see `guarantee`.
    Cost: O(b d + b^2) time per row and O(b d + b^2) memory for b prototypes; a swap costs O(b^2).

    Parameters
    ----------
    budget : int or str, default=200
        Prototypes to keep, or a size such as "4 MiB" for all that is held.
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    regularization : float, default=1.0
        The paper's lambda, added to the diagonal of the kernel matrix.
    threshold : float, default=1e-3
        What a swap must gain.
    relative : bool, default=True
        Whether the threshold is a part of the present F, or a number by itself.
    random_state : int, Generator or None, default=None
        Not used here: nothing is random. It is there for a common signature.

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    indices_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        F of the prototypes.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        Rows offered, F and swaps so far, over the stream.
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

    _invariants = {"_F": [WAITS, Is(LogDet, limit="_limit")], "_block_size": [WAITS, Whole(FEWEST, MOST)]}
    _constraints = {
        "budget": [BUDGET],
        "kernel": [KERNEL],
        "regularization": [Number(0.0, open_ends=True)],
        "threshold": [Number(0.0)],
        "relative": [TRUTH],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        budget: int | str = 200,
        *,
        kernel: Any = "rbf",
        regularization: float = 1.0,
        threshold: float = 1e-3,
        relative: bool = True,
        random_state: Any = None,
    ):
        self.budget = budget
        self.kernel = kernel
        self.regularization = regularization
        self.threshold = threshold
        self.relative = relative
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _objective(self) -> LogDet:
        return LogDet(self.kernel, self.regularization)

    def _stand(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        start = 0
        if not self._F.n_chosen:
            start, self._block_size = self._limit, FEWEST
            self._join(take(X, slice(0, start)), y, row_ids)
        while start < n_rows(X):
            part = slice(start, start + self._block_size)
            swaps = self._consider(take(X, part), None if y is None else y[part], row_ids[part])
            start += self._block_size
            self._block_size = max(FEWEST, self._block_size // 2) if swaps > BUSY else min(MOST, self._block_size * 2)
            self._history.record(self.n_seen_ + min(start, n_rows(X)), self._value_now(), self.n_swaps_)

    def _join(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        """The first rows are the first prototypes."""
        block = self._F.look(X)
        for i in range(n_rows(X)):
            self._place(block.add(i), row_ids[i], None if y is None else y[i])

    def _consider(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> int:
        """Candidates in their order: each takes its best swap if that gains enough. Returns the number of swaps."""
        block = self._F.look(X)
        swaps, start = 0, 0
        while found := block.first_swap(start, self._min_gain()):
            i, slot = found
            block.swap(i, slot, start=i)
            self._place(slot, row_ids[i], None if y is None else y[i])
            swaps, start = swaps + 1, i + 1
        self.n_swaps_ += swaps
        return swaps

    def _min_gain(self) -> float:
        return self.threshold * (abs(self._value_now()) if self.relative else 1.0)

    def _value_now(self) -> float:
        """F, or what stands for it in decisions."""
        return self._F.value

    # ---- budget and guarantee --------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        row = n_features * np.dtype(dtype).itemsize
        b = self._most_chosen(row)
        fixed = self._bytes_for(0, row)
        return Plan.of(b, prototypes=b * (row + 16), kernel_matrix_and_inverse=16 * b * b, history_and_scalars=fixed)

    def _bytes_for(self, n_chosen: int, row_bytes: int) -> int:
        return LogDet.set_bytes(n_chosen, 0, row_bytes) + 16 * n_chosen + HISTORY_BYTES + 2048

    def guarantee(self, coverage: float = 0.0) -> OnlineGuarantee:
        """Theorem 1 of schlegel2017 with today's numbers.

        `coverage` is how far, as half the squared distance in feature space (1 - k(x, z) of a normalized kernel), the
        nearest row that was refused may be from a row of the best set; Lemma 2 turns it into a loss.
        """
        F, lam = self._set(), self.regularization
        value, n_chosen = F.value - F.n_chosen * F.least_gain, F.n_chosen
        who = f"a row within {coverage:.3g} of it" if coverage else "it"
        refused = f"for every row of the best set, {who} is a prototype or was refused by the present ones"
        waits = self._waiting is not None
        assumptions = kernel_conditions(F.kernel)
        least_loss, estimate_error = self._losses(F)
        return OnlineGuarantee(
            value=value,
            n_chosen=n_chosen,
            ceiling=value if waits else n_chosen * float(np.log1p(self._largest_own / lam)),
            assumptions=assumptions,
            conditions=(*assumptions, refused),
            least_loss=least_loss,
            coverage_error=float(np.log1p((np.sqrt(8 * coverage * lam) + 2 * coverage) / lam)),
            estimate_error=estimate_error,
            threshold=self._threshold_now(),
        )

    def _threshold_now(self) -> float:
        """What a swap must gain now."""
        return self.threshold * (abs(self.value_) if self.relative else 1.0)

    def _losses(self, F: Any) -> tuple[float, float]:
        """What the prototypes lose with the least useful one, and by how much a swap with it may be underrated."""
        return F.least_loss(), 0.0
