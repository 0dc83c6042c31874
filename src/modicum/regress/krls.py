"""Kernel recursive least squares (engel2004), with a dictionary of a fixed size (vanvaerenbergh2012)."""

from typing import Any

import numpy as np

from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.kernels import KERNEL, Kernel, as_kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles
from modicum.regress.base import Regressor, kernel_bytes
from modicum.regress.dictionary import LEAST_NOISE, Dictionary
from modicum.regress.recent_error import RecentError
from modicum.rows import BufferedRows, average_bytes, n_rows, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import Is, Real
from modicum.rules.params import BUDGET, NULL, Int, Number
from modicum.state.packing import missing_functions

INITIAL_ROWS = 100  # of the stream, from which a kernel's width is found: their 4,950 distances are plenty
FIRST_ERRORS = 1e-6  # weight of the errors of those rows, predicted by their mean target: later errors override them
LEAST_NOVELTY = 1e-6  # below, rounding decides: the inverse kernel matrix multiplies it by 1 / novelty
PREDICT_TILE = 2048  # rows per tile when rows are compared with all prototypes
HISTORY = ("n_seen", "prototypes", "error")
HISTORY_AND_SCALARS = 512 * 8 * len(HISTORY) + 2048  # bytes


class KRLS(Regressor):
    """Least squares regression on all rows of a stream, in the feature space of a kernel, with few of the rows kept.

    A row joins the dictionary if its image in feature space is farther than `ald_threshold` from all combinations of
    the rows in it. Any other row is represented by the nearest combination. The function
    f = sum_j coef_j k(x_j, .) on the dictionary minimizes, over all rows of the stream and not only those kept,

        sum_i w_i (y_i - intercept - f(x~_i))^2 + regularization |f|^2,    x~_i the combination that represents row i

    Weights w_i are relative to the mean of the first 100.

    A row that joins a full dictionary replaces the prototype whose value is best predicted by the others, among those
    that are less novel than itself. What was learned about the others stays: mean and covariance of the function's
    values there are kept, and the value at the removed prototype is integrated out.

    Guarantee: if the rows come from a compact set, the dictionary stops growing, with or without a limit (engel2004,
    Theorem 3.1). Once it is full, no swap lowers the determinant of its kernel matrix, so swaps become rare and noise
    does not degrade what was learned.
    Cost: O(m d + m^2) time per row and O(m d + m^2) memory for m prototypes, and the first 100 rows until more have
    come; scratch of 1,024 rows of m numbers.

    Parameters
    ----------
    n_prototypes : int or None, default=1000
        Maximum number of rows in the dictionary. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: rows, or a size such as "4 MiB".
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first 100 rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    ald_threshold : float, default=1e-3
        The paper's nu (approximate linear dependence), relative to a row's own kernel value: smaller is more accurate
        and keeps more rows. The smallest effective value is 1e-6.
    regularization : float, default=0.1
        Variance of the noise over that of the signal. 0 is the paper's algorithm; with a full dictionary and noise it
        is a bad choice, as every row that joins is then fitted exactly.

    Attributes
    ----------
    prototypes_ : ndarray of shape (m, d), sparse matrix or list
        The dictionary.
    prototype_ids_ : ndarray of shape (m,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    coef_ : ndarray of shape (m,)
        Weights of the prototypes' kernel functions.
    intercept_ : float
        Mean target of the first 100 rows: the prediction far from all prototypes.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    mean_squared_error_ : float
        Error of the latest rows, about 1,000, predicted before they were learned, in blocks of at most 1,024; for the
        first 100 rows the variance of targets.
    history_ : dict of arrays
        Rows seen, prototypes kept and `mean_squared_error_` ("error"), over the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import KRLS
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 1))
    >>> model = KRLS(20).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True
    >>> model.n_retained_ <= 20
    True

    References
    ----------
    engel2004, Table 1. vanvaerenbergh2012, Algorithm 1, for the regularization and the fixed size (without its
    forgetting); its criterion for the prototype to remove is that of vanvaerenbergh2010. Departures: the threshold is
    relative, targets are centered; a row never replaces a more novel one; consecutive rows that the dictionary
    explains are learned together; while fewer than 100 rows have come, width and intercept are computed again from all
    of them and they are learned again; `merge` is ours: the other side's information about the values at its
    prototypes is carried over to the prototypes of both.
    """

    _adds_up_columns = True
    _minds_order = True
    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True)
    _constraints = {
        "n_prototypes": [NULL, Int(1)],
        "budget": [NULL, BUDGET],
        "kernel": [KERNEL],
        "ald_threshold": [Number(0.0)],
        "regularization": [Number(0.0)],
    }

    _invariants = {
        "_dictionary": Is(Dictionary),
        "_history": Is(History, width=len(HISTORY)),
        "_error": Is(RecentError),
        "_buffer": [NULL, Is(BufferedRows, at_most={"n": INITIAL_ROWS - 1})],
        "_typical_weight": Real(above=0.0),
        "intercept_": Real(),
    }

    _error: RecentError
    _buffer: BufferedRows | None  # the first rows, until there are enough to find the kernel's width from

    def __init__(
        self,
        n_prototypes: int | None = 1000,
        *,
        budget: int | str | None = None,
        kernel: Any = "rbf",
        ald_threshold: float = 1e-3,
        regularization: float = 0.1,
    ):
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.kernel = kernel
        self.ald_threshold = ald_threshold
        self.regularization = regularization

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_dictionary"):
            limit = self._most_prototypes(average_bytes(X), take(X, slice(2)))
            self._dictionary = Dictionary(self._given_kernel(), X, limit)
            self._history = History(*HISTORY)
            self._buffer = BufferedRows(X, y, self._n_initial())
        self._learn_rows(X, y, np.ones(n_rows(X)) if weight is None else weight, row_ids)
        self._settle(self.n_seen_ + n_rows(X))

    def _learn_rows(self, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> None:
        """Learn rows; the first ones of the stream are buffered, and learned again as others come."""
        if self._buffer is not None:
            head = slice(0, self._n_initial() - len(self._buffer))
            self._buffer.append(take(X, head), y[head], weight[head], row_ids[head])
            self._reinitialize(self._buffer)
            X, y, weight, row_ids = (take(column, slice(head.stop, None)) for column in (X, y, weight, row_ids))
        self._error.add(self._update(X, y, weight, row_ids) ** 2, weight)

    def _reinitialize(self, buffer: BufferedRows) -> None:
        """Compute again what depends on the first rows, and learn them again."""
        rows, targets = buffer.rows.values, _given(buffer.targets)
        self._typical_weight = float(buffer.weights.mean())
        self.intercept_ = float(np.average(targets, weights=buffer.weights))
        self._dictionary = Dictionary(self._given_kernel().fitted(rows), rows, self._dictionary.limit)
        errors = self._update(rows, targets, buffer.weights, buffer.ids)
        self._error = RecentError()
        self._error.add(errors**2, FIRST_ERRORS * buffer.weights)
        if len(buffer) == self._n_initial():
            self._buffer = None

    def _update(self, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> np.ndarray:
        """Learn rows; returns their errors before."""
        noise, centered = np.maximum(self._typical_weight / weight, LEAST_NOISE), y - self.intercept_
        return self._dictionary.learn(X, centered, noise, row_ids, self._novelty(), float(self.regularization))

    def _novelty(self) -> float:
        return max(float(self.ald_threshold), LEAST_NOVELTY)

    def _settle(self, n_seen: int) -> None:
        """Record the present state and hold the budget."""
        self._history.record(n_seen, len(self._dictionary), self._error.mean)
        self._hold_budget(len(self._dictionary), 1, self._dictionary.shrink)

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """Bytes held for dense rows of `n_features` columns, before any data is seen."""
        row_bytes, example = n_features * np.dtype(dtype).itemsize, np.zeros((2, n_features))
        return self._plan(self._most_prototypes(row_bytes, example), row_bytes, example)

    def _plan(self, n_prototypes: int, row_bytes: int, example: Any) -> Plan:
        return Plan.of(
            max(n_prototypes, self._n_initial()),
            prototypes_and_their_matrices=Dictionary.planned_bytes(n_prototypes, row_bytes),
            first_rows=self._n_initial() * (row_bytes + 3 * 8),  # with target, weight and id
            kernel_and_history=HISTORY_AND_SCALARS + kernel_bytes(self._given_kernel(), example),
        )

    def _most_prototypes(self, row_bytes: int, example: Any) -> int:
        """Prototypes to hold at most; `example` are rows to fit the kernel to."""
        if self.n_prototypes is None and self.budget is None:
            raise ValueError(f"{type(self).__name__}: n_prototypes=None needs a budget; give one of the two.")
        n_prototypes, _ = as_budget(self.budget).split(
            lambda n, _: self._plan(n, row_bytes, example),
            n_produced=self.n_prototypes,
            n_validation=0,
            what=f"{type(self).__name__} for rows of {format_bytes(row_bytes)}",
        )
        return n_prototypes

    def _n_initial(self) -> int:
        """First rows to buffer; they count among the rows of a budget, and prototypes are among them."""
        return min(INITIAL_ROWS, as_budget(self.budget).rows or INITIAL_ROWS)

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def prototypes_(self) -> Any:
        return self._dictionary.rows.values

    @property
    def prototype_ids_(self) -> np.ndarray:
        return self._dictionary.ids

    def picks(self) -> Picks:
        """The prototypes."""
        return Picks("prototype", self.prototypes_, self.prototype_ids_)

    @property
    def coef_(self) -> np.ndarray:
        return self._derive("coef", lambda: self._dictionary.coef)

    @property
    def kernel_(self) -> Kernel:
        return self._dictionary.kernel

    @property
    def mean_squared_error_(self) -> float:
        return self._error.mean

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._history.columns_as_arrays()

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        X = self._check_input(X)
        coef, out = self.coef_, np.empty(n_rows(X))

        def fill(tile: slice) -> None:
            out[tile] = self._dictionary.similarities(take(X, tile)) @ coef + self.intercept_

        run_tiles(fill, len(out), PREDICT_TILE)
        return out

    # ---- merging ---------------------------------------------------------------------------------

    def _merge(self, other: "KRLS") -> None:
        mine, n_seen = self._buffer, self.n_seen_ + other.n_seen_
        if other._buffer is not None:  # all rows of the other side
            self._learn_buffer(other._buffer)
        elif mine is not None:  # continue from the other side, which has learned more
            self._adopt(other)
            self._learn_buffer(mine)
        else:
            shift, scale = other.intercept_ - self.intercept_, other._typical_weight / self._typical_weight
            self._dictionary.merge(other._dictionary, shift, scale, self._novelty(), self.regularization)
            self._error.merge(other._error)
        self._settle(n_seen)

    def _learn_buffer(self, buffer: BufferedRows) -> None:
        self._learn_rows(buffer.rows.values, _given(buffer.targets), buffer.weights, buffer.ids)

    # ---- contract --------------------------------------------------------------------------------

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel, objects=getattr(self, "_kind", "dense") == "objects")

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return may_fail(self.kernel) or self._rows_differ_in_size()

    def _restored(self) -> None:
        if self._is_fitted() and missing_functions(self._dictionary.kernel):  # a file can't hold a function
            self._dictionary.kernel = self._given_kernel().fitted(self.prototypes_)

    def _n_retained(self) -> int:
        return max(len(self._dictionary), 0 if self._buffer is None else len(self._buffer))


def _given(targets: np.ndarray | None) -> np.ndarray:
    assert targets is not None  # regressors refuse rows without
    return targets
