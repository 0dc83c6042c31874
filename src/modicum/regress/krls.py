"""Kernel recursive least squares (engel2004), with a dictionary that may have a fixed size (vanvaerenbergh2012)."""

import sys
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from modicum._jit.krls import learn_rows
from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.exceptions import DataError
from modicum.kernels import KERNEL, Kernel, as_kernel, may_fail, takes_objects
from modicum.numeric.linalg import Inverse, Squares
from modicum.numeric.parallel import run_tiles
from modicum.regress.base import Regressor
from modicum.rows import Rows, RowsOf, Waiting, average_bytes, n_rows, put_values, take
from modicum.rules.budget import as_budget, format_bytes
from modicum.rules.invariants import LIMIT, Array, Is, Real, Whole
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, Number
from modicum.state.packing import missing_functions

FIRST_ROWS = 100  # of the stream, from which a kernel's width is found: their 4,950 distances are plenty
FEWEST, MOST = 128, 1024  # rows of a block: few while rows join, for they have to be compared with each other
LEAST_NOVELTY = 1e-6  # below, rounding decides what is left of a kernel value: the inverse multiplies it by 1 / novelty
LEAST_NOISE = (
    1e-10  # times that of a typical row, and of what is known of a row: one of more weight is as good as exact
)
PREDICT_TILE = 2048  # rows per tile when all rows are compared with all prototypes
HISTORY_BYTES = 512 * 2 * 8


class Posterior(Squares):
    """Mean and covariance, in variances of a target's noise, of the function's values at the prototypes."""

    _rooms = ("_covariance",)
    _covariance: np.ndarray

    _invariants = {
        "_covariance": Array("float64", "n", "n"),
        "_mean": Array("float64", "n"),
    }

    def __init__(self, limit: int):
        super().__init__(limit)
        self._mean = np.empty(0)

    @property
    def mean(self) -> np.ndarray:
        return self._mean[: self.n]

    @property
    def covariance(self) -> np.ndarray:
        return self._covariance[: self.n, : self.n]

    def observe(self, H: np.ndarray, y: np.ndarray, noise: np.ndarray) -> None:
        """Take in values y, with noise of these variances, of rows that are combinations H of the prototypes."""
        size = max(FEWEST, self.n // 2)  # longer pieces would cost more for themselves than they save
        for start in range(0, len(H), size):
            piece = slice(start, start + size)
            self._observe_piece(H[piece], y[piece], noise[piece])

    def _observe_piece(self, H: np.ndarray, y: np.ndarray, noise: np.ndarray) -> None:
        """Recursive least squares, all rows at once."""
        crossed = H @ self.covariance
        S = crossed @ H.T
        L = np.linalg.cholesky(S + np.diag(np.maximum(noise, LEAST_NOISE * np.diagonal(S))))
        gain = solve_triangular(L, crossed, lower=True, check_finite=False)
        self.mean[:] += gain.T @ solve_triangular(L, y - H @ self.mean, lower=True, check_finite=False)
        self.covariance[:] -= gain.T @ gain

    def information(self, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the targets alone tell: their precision matrix, and precision times mean, without those of the prior."""
        precision = Inverse.of(self.covariance, self.n).inverse
        return precision - prior, precision @ self.mean

    def put(self, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.n = len(mean)
        self._mean, self._covariance = mean, np.ascontiguousarray(covariance)

    def lend(self, more: int) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of mean and covariance, with room for `more` rows, for the compiled loop to change."""
        self._make_room(more)
        self._mean = np.concatenate([self.mean, np.empty(len(self._covariance) - self.n)])
        return self._mean, self._covariance

    def _corners(self) -> dict[str, np.ndarray]:
        return super()._corners() | {"_mean": self.mean}


class KRLS(Regressor):
    """Regression by the least squares of all rows, in the space of a kernel and with few of the rows.

    A row joins the dictionary if the rows in it explain it badly: if its image in feature space is farther than
    `ald_threshold` from all their combinations. Any other row counts as the combination nearest to it. The function
    f = sum_j coef_j k(x_j, .) on the dictionary minimizes, over all rows of the stream and not only those kept,

        sum_i w_i (y_i - intercept - f(x~_i))^2 + ridge |f|^2,    x~_i the combination that stands for row i

    Weights w_i are relative to the mean of the first 100.

    With a budget, a row that joins a full dictionary takes the place of the one whose value the others foretell best,
    among those that are less novel than itself. What was learned about the others stays: mean and covariance of the
    function's values there are kept, and those at the row that goes are integrated out.

    Guarantee: without a budget the dictionary is finite if the rows come from a compact set (engel2004, Theorem 3.1).
    With one, no swap lowers the determinant of the dictionary's kernel matrix, so swaps become rare and what was
    learned is not worn out by noise.
    Cost: O(m d + m^2) time per row and O(m d + m^2) memory for m prototypes, and the first 100 rows until there are
    more; scratch of 1,024 rows of m numbers.

    Parameters
    ----------
    budget : int, str or None, default=None
        Prototypes to keep at most, or a size such as "4 MiB" for all that is held. None: as many as it takes.
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first 100 rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    ald_threshold : float, default=1e-3
        The paper's nu, as a part of a row's own kernel value: smaller is more accurate and keeps more rows.
        Less than 1e-6 counts as that.
    ridge : float, default=0.1
        Variance of the noise over that of the signal. 0 is the paper's algorithm; with a budget and noise it is a bad
        choice, as every row that joins then has the value of its own target.
    random_state : int, Generator or None, default=None
        Not used here: nothing is random. It is there for a common signature.

    Attributes
    ----------
    prototypes_ : ndarray of shape (m, d), sparse matrix or list
        The dictionary.
    indices_ : ndarray of shape (m,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    coef_ : ndarray of shape (m,)
        Weights of the prototypes' kernel functions.
    intercept_ : float
        Mean target of the first 100 rows: the prediction far from all prototypes.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    history_ : dict of arrays
        Rows learned and prototypes kept, over the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import KRLS
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 1))
    >>> model = KRLS(budget=20).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True
    >>> model.n_retained_ <= 20
    True

    References
    ----------
    engel2004, Table 1. vanvaerenbergh2012, Algorithm 1, for the ridge and the fixed size (its forgetting is left out);
    its criterion for the row that goes is that of vanvaerenbergh2010. Departures: the threshold is relative, targets
    are centered; a row never takes the place of a more novel one; stretches of rows that the dictionary explains are
    taken in at once; while fewer than 100 rows have come, width and intercept are found anew from all of them and they
    are learned again; `merge` is ours: what the targets of the other side tell about the values at its prototypes is
    carried over to the prototypes of both.
    """

    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {
        "budget": [NULL, BUDGET],
        "kernel": [KERNEL],
        "ald_threshold": [Number(0.0)],
        "ridge": [Number(0.0)],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {
        "_limit": LIMIT,
        "_history": Is(History, width=2),
        "_waiting": [NULL, Is(Waiting, at_most={"n": FIRST_ROWS - 1})],
        "_typical_weight": Real(above=0.0),
        "intercept_": Real(),
        "_kernel": Is(Kernel),
        "_rows": RowsOf("n"),
        "_ids": Array("int64", "n"),
        "_prior": Is(Inverse, n="n"),
        "_posterior": Is(Posterior, n="n"),
        "_block_size": Whole(FEWEST, MOST),
    }

    _waiting: Waiting | None

    def __init__(
        self,
        budget: int | str | None = None,
        *,
        kernel: Any = "rbf",
        ald_threshold: float = 1e-3,
        ridge: float = 0.1,
        random_state: Any = None,
    ):
        self.budget = budget
        self.kernel = kernel
        self.ald_threshold = ald_threshold
        self.ridge = ridge
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_history"):
            self._limit = self._most_prototypes(average_bytes(X))
            self._history = History("rows", "prototypes")
            self._waiting = Waiting(X, y, FIRST_ROWS)
        weight = np.ones(n_rows(X)) if weight is None else weight
        done = 0 if self._waiting is None else self._start_anew(self._waiting, X, y, weight, row_ids)
        self._follow(take(X, slice(done, None)), y[done:], weight[done:], row_ids[done:])
        self._history.record(self.n_seen_ + n_rows(X), self._prior.n)
        if self.budget is not None:
            self._hold_budget(self._prior.n, 1, self._shrink)

    def _start_anew(self, waiting: Waiting, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> int:
        """Learn the first rows of the stream, with what depends on them found anew. Returns how many of X they were."""
        head = slice(0, FIRST_ROWS - len(waiting.ids))
        waiting.append(take(X, head), y[head], weight[head], row_ids[head])
        rows, targets = waiting.rows.values, _given(waiting.targets)
        self._typical_weight = float(waiting.weights.mean())
        self.intercept_ = float(np.average(targets, weights=waiting.weights))
        self._kernel = self._given_kernel().fitted(rows)
        self._rows = Rows.like(rows, self._limit)
        self._ids = np.empty(0, np.int64)
        self._prior, self._posterior = Inverse(self._limit), Posterior(self._limit)
        self._block_size = FEWEST
        self._follow(rows, targets, waiting.weights, waiting.ids)
        if len(waiting.ids) == FIRST_ROWS:
            self._waiting = None
        return head.stop

    def _follow(self, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> None:
        """Learn rows in their order, block by block."""
        y, noise = y - self.intercept_, np.maximum(self._typical_weight / weight, LEAST_NOISE)
        start = 0
        while start < n_rows(X):
            part = slice(start, start + self._block_size)
            joined = self._follow_block(take(X, part), y[part], noise[part], row_ids[part])
            start += self._block_size
            self._block_size = FEWEST if joined else min(MOST, 2 * self._block_size)

    def _follow_block(self, X: Any, y: np.ndarray, noise: np.ndarray, row_ids: np.ndarray) -> bool:
        """Learn a block: at once up to the first row that the dictionary explains badly, the rest one by one."""
        K, own = self._similarities(X), self._kernel.diagonal(X)
        if not np.isfinite(K.sum() + own.sum()):
            raise DataError(f"{type(self).__name__}: the kernel has values that are not finite.")
        H = K @ self._prior.inverse
        novel = np.flatnonzero(own - np.einsum("ij,ij->i", H, K) > self._novelty() * own)
        known = novel[0] if len(novel) else len(y)
        self._posterior.observe(H[:known], y[:known], noise[:known])
        if known < len(y):
            rest = slice(known, None)
            self._follow_each(take(X, rest), K[rest], own[rest], y[rest], noise[rest], row_ids[rest])
        return known < len(y)

    def _follow_each(
        self, X: Any, K: np.ndarray, own: np.ndarray, y: np.ndarray, noise: np.ndarray, row_ids: np.ndarray
    ) -> None:
        """Learn rows of which the first one is going to join, and others may."""
        n = self._prior.n
        most = min(n + len(y), self._limit)
        M, Q = self._prior.lend(most - n)
        mean, P = self._posterior.lend(most - n)
        wide = np.zeros((len(y), most))
        wide[:, :n] = K
        holder = np.full(most, -1)
        between, novelty, ridge = self._kernel(X, X), self._novelty(), float(self.ridge)
        n, log_det = learn_rows(wide, between, own, y, noise, novelty, ridge, self._limit, M, Q, P, mean, n, holder)
        self._prior.take_back(n, log_det)
        self._posterior.n = n
        taken = np.flatnonzero(holder >= 0)
        self._rows.put(taken, take(X, holder[taken]))
        self._ids = put_values(self._ids, taken, row_ids[holder[taken]])

    def _novelty(self) -> float:
        return max(float(self.ald_threshold), LEAST_NOVELTY)

    def _similarities(self, X: Any) -> np.ndarray:
        """Kernel values of rows against the prototypes."""
        return self._kernel(X, self._rows.values) if len(self._rows) else np.empty((n_rows(X), 0))

    # ---- budget ----------------------------------------------------------------------------------

    def _most_prototypes(self, row_bytes: int) -> int:
        if self.budget is None:
            return sys.maxsize
        what = f"{type(self).__name__} for rows of {format_bytes(row_bytes)}"
        return as_budget(self.budget).most_within(lambda n: self._bytes_for(n, row_bytes), at_least=1, what=what)

    def _bytes_for(self, n_prototypes: int, row_bytes: int) -> int:
        waiting = FIRST_ROWS * (row_bytes + 24)
        return n_prototypes * (row_bytes + 16 + 3 * 8 * n_prototypes) + waiting + HISTORY_BYTES + 2048

    def _shrink(self, n_prototypes: int) -> None:
        """Let those prototypes go whose values the others foretell best."""
        while self._prior.n > n_prototypes:
            errors = np.abs(self._prior.inverse @ self._posterior.mean / self._prior.inverse.diagonal())
            left = np.delete(np.arange(self._prior.n), errors.argmin())
            self._prior.remove(int(errors.argmin()))
            self._posterior.put(self._posterior.mean[left], self._posterior.covariance[np.ix_(left, left)])
            self._rows.keep(left)
            self._ids = self._ids[left]

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def prototypes_(self) -> Any:
        self._check_fitted()
        return self._rows.values

    @property
    def indices_(self) -> np.ndarray:
        self._check_fitted()
        return self._ids

    @property
    def coef_(self) -> np.ndarray:
        return self._derive("coef", lambda: self._prior.inverse @ self._posterior.mean)

    @property
    def kernel_(self) -> Kernel:
        self._check_fitted()
        return self._kernel

    @property
    def history_(self) -> dict[str, np.ndarray]:
        self._check_fitted()
        return self._history.columns_as_arrays()

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        X = self._check_input(X)
        coef, out = self.coef_, np.empty(n_rows(X))

        def fill(part: slice) -> None:
            out[part] = self._similarities(take(X, part)) @ coef + self.intercept_

        run_tiles(fill, len(out), PREDICT_TILE)
        return out

    # ---- merging ---------------------------------------------------------------------------------

    def _merge(self, other: "KRLS") -> None:
        if other._waiting is not None:
            self._learn_all(other._waiting)
        elif self._waiting is not None:  # go on from the side that has begun
            mine = self._waiting
            self._adopt(other)
            self._learn_all(mine)
        else:
            self._absorb(other)

    def _learn_all(self, waiting: Waiting) -> None:
        """A side that waits has all its rows."""
        self._learn(waiting.rows.values, _given(waiting.targets), waiting.weights, waiting.ids)

    def _absorb(self, other: "KRLS") -> None:
        """Precisions of what the targets of both sides tell add up, on the prototypes of both."""
        own_precision, own_sum = self._posterior.information(self.ridge * self._prior.inverse)
        precision, sums = other._posterior.information(self.ridge * other._prior.inverse)
        sums += (other.intercept_ - self.intercept_) * precision.sum(axis=1)  # values there, seen from here
        scale = other._typical_weight / self._typical_weight
        n, theirs = self._prior.n, other._rows.values
        K = self._join(theirs, other._ids)
        H = K @ self._prior.inverse  # values at the other's prototypes as combinations of those at all
        joint, total = self.ridge * self._prior.inverse + scale * H.T @ precision @ H, scale * H.T @ sums
        joint[:n, :n] += own_precision
        total[:n] += own_sum
        covariance = Inverse.of(joint, len(joint)).inverse
        self._posterior.put(covariance @ total, covariance)
        self._shrink(self._limit)
        self._history.record(self.n_seen_ + other.n_seen_, self._prior.n)

    def _join(self, X: Any, row_ids: np.ndarray) -> np.ndarray:
        """Let rows that the dictionary explains badly join it; returns the kernel values of all against it."""
        K, between, own = self._similarities(X), self._kernel(X, X), self._kernel.diagonal(X)
        for i in range(len(own)):
            explained = K[i] @ self._prior.inverse @ K[i]
            if own[i] - explained > self._novelty() * own[i]:
                slot = np.array([self._prior.n])
                self._prior.append(K[i], own[i])
                self._rows.put(slot, take(X, slice(i, i + 1)))
                self._ids = put_values(self._ids, slot, row_ids[i : i + 1])
                K = np.column_stack([K, between[:, i]])
        return K

    # ---- contract --------------------------------------------------------------------------------

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel, objects=self._kind == "objects")

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return may_fail(self.kernel)

    def _restored(self) -> None:
        if self._is_fitted() and missing_functions(self._kernel):
            self._kernel = self._given_kernel().fitted(self._rows.values)  # a file can't hold a function

    def _n_retained(self) -> int:
        return len(self._rows)


def _given(targets: np.ndarray | None) -> np.ndarray:
    assert targets is not None  # regressors refuse rows without
    return targets
