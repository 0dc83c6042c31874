"""Kernel recursive least squares (engel2004), with a dictionary of a fixed size (vanvaerenbergh2012)."""

from typing import Any

import numpy as np

from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.contract.watchful import Watchful
from modicum.kernels import KERNEL, RBF, Kernel, as_kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles
from modicum.regress.base import Regressor, kernel_bytes
from modicum.regress.dictionary import LEAST_NOISE, Dictionary, Rules
from modicum.regress.first_fit import fit_to_targets
from modicum.regress.recent_error import RecentError
from modicum.rows import BufferedRows, average_bytes, n_rows, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import ABSENT, Is, Real, Whole
from modicum.rules.params import BUDGET, NULL, Int, Number, OneOf
from modicum.state.packing import missing_functions

INITIAL_ROWS = 100  # of the stream, from which a kernel's width is found: their 4,950 distances are plenty
ROWS_TO_FIT = 500  # the same where widths are fitted to targets: with 200, errors are up to a tenth larger
MOST_WIDTHS = ROWS_TO_FIT  # that these rows can determine; with more columns there is one width
REGULARIZATION = 0.1  # where it is not fitted
FIRST_ERRORS = 1e-6  # weight of the errors of those rows, predicted by their mean target: later errors override them
LEAST_NOVELTY = 1e-6  # below, rounding decides: the inverse kernel matrix multiplies it by 1 / novelty
PREDICT_TILE = 2048  # rows per tile when rows are compared with all prototypes
HISTORY = ("n_seen", "prototypes", "error")
HISTORY_AND_SCALARS = 512 * 8 * len(HISTORY) + 2048  # bytes


class KRLS(Regressor, Watchful):
    """Least squares regression on all rows of a stream, in the feature space of a kernel, with few of the rows kept.

    A row joins the dictionary if its image in feature space is farther than `ald_threshold` from all combinations of
    the rows in it. Any other row is represented by the nearest combination. The function
    f = sum_j coef_j k(x_j, .) on the dictionary minimizes, over all rows of the stream and not only those kept,

        sum_i w_i (y_i - intercept - f(x~_i))^2 + regularization |f|^2,    x~_i the combination that represents row i

    Weights w_i are relative to the mean of the first rows. With `half_life` it is a tracker: before each row, the
    function's values return a little to the prior, so that f is a function that changes slowly over time.

    A row that joins a full dictionary replaces the prototype whose value is best predicted by the others, among those
    that are less novel than itself. What was learned about the others stays: mean and covariance of the function's
    values there are kept, and the value at the removed prototype is integrated out.

    Guarantee: if the rows come from a compact set, the dictionary stops growing, with or without a limit (engel2004,
    Theorem 3.1). Once it is full, no swap lowers the determinant of its kernel matrix, so swaps become rare and noise
    does not degrade what was learned.
    Cost: O(m d + m^2) time per row and O(m d + m^2) memory for m prototypes, and the first rows, 500 at most, until
    more have come; scratch of 1,024 rows of m numbers.

    Parameters
    ----------
    n_prototypes : int or None, default=1000
        Maximum number of rows in the dictionary. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: rows, or a size such as "4 MiB".
    kernel : str, Kernel, callable or None, default=None
        None: RBF with a width for each column (one for all if there are more than 500), found by the likelihood of the
        targets of the first 500 rows, or of fewer if the budget is small. "rbf" takes the median distance of the first
        100 rows as its width, for all columns; `modicum.kernels.RBF(0.5)` has its own.
    ald_threshold : float, default=1e-4
        The paper's nu (approximate linear dependence), relative to a row's own kernel value: smaller is more accurate
        and keeps more rows. The smallest effective value is 1e-6.
    regularization : float or None, default=None
        Variance of the noise over that of the signal. None: found with the kernel, or 0.1 if that is given. 0
        is the paper's algorithm; with a full dictionary and noise it is a bad choice, as every row that joins is then
        fitted exactly.
    half_life : int, "auto" or None, default=None
        The function changes over time: values that many rows apart have a correlation of 0.71, and twice as many of
        0.5. "auto" forgets where errors rise (`changes_`), None never.

    Attributes
    ----------
    prototypes_ : ndarray of shape (m, d), sparse matrix or list
        The dictionary.
    prototype_ids_ : ndarray of shape (m,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    coef_ : ndarray of shape (m,)
        Weights of the prototypes' kernel functions.
    intercept_ : float
        Mean target of those first rows: the prediction far from all prototypes.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    regularization_ : float
        The regularization in use.
    mean_squared_error_ : float
        Error of the latest rows, about 1,000, predicted before they were learned, in blocks of at most 1,024; for the
        first rows the variance of targets.
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
    engel2004, Table 1. vanvaerenbergh2012, Algorithm 1, for the regularization, the fixed size and the forgetting
    ("back to the prior"); its criterion for the prototype to remove is that of vanvaerenbergh2010. rasmussen2006,
    section 5.4.1 (widths). Departures: the threshold is relative, targets are centered; a row never replaces a more
    novel one; consecutive rows that the dictionary explains are learned together; while few rows have come, widths and
    intercept are computed again from all of them and they are learned again; `merge` is ours: the other side's
    information about the values at its prototypes is carried over to the prototypes of both.
    """

    _decays_by_row = True
    _minds_order = True  # the first rows set the widths
    traits = Traits(merge="approximate", weights=True, sparse=True, objects=True, forgets=True)
    _constraints = {
        "n_prototypes": [NULL, Int(1)],
        "budget": [NULL, BUDGET],
        "kernel": [NULL, KERNEL],
        "ald_threshold": [Number(0.0)],
        "regularization": [NULL, Number(0.0)],
        "half_life": [NULL, Int(1), OneOf("auto")],
    }

    _invariants = {
        "_dictionary": Is(Dictionary),
        "_history": Is(History, width=len(HISTORY)),
        "_error": Is(RecentError),
        "_buffer": [NULL, Is(BufferedRows, at_most={"n": ROWS_TO_FIT - 1})],
        "_n_initial": [ABSENT, Whole(1, ROWS_TO_FIT)],
        "_regularization": [ABSENT, Real(0.0)],
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
        kernel: Any = None,
        ald_threshold: float = 1e-4,
        regularization: float | None = None,
        half_life: int | str | None = None,
    ):
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.kernel = kernel
        self.ald_threshold = ald_threshold
        self.regularization = regularization
        self.half_life = half_life

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_dictionary"):
            limit, self._n_initial = self._sizes(average_bytes(X), take(X, slice(2)))
            self._dictionary = Dictionary(self._given_kernel(), X, limit)
            self._history = History(*HISTORY)
            self._buffer = BufferedRows(X, y, self._n_initial)
        self._learn_rows(X, y, np.ones(n_rows(X)) if weight is None else weight, row_ids)
        self._settle(self.n_seen_ + n_rows(X))

    def _learn_rows(self, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> None:
        """Learn rows; the first ones of the stream are buffered, and learned again as others come."""
        if self._buffer is not None:
            before = len(self._buffer)
            head = slice(0, self._n_initial - before)
            first = tuple(take(column, head) for column in (X, y, weight, row_ids))
            self._buffer.append(*first)
            if _is_time_to_reinitialize(before, len(self._buffer), self._n_initial):
                self._reinitialize(self._buffer)
            else:
                self._learn_known(*first)
            X, y, weight, row_ids = (take(column, slice(head.stop, None)) for column in (X, y, weight, row_ids))
        self._learn_known(X, y, weight, row_ids)

    def _learn_known(self, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> None:
        """Learn rows with the present kernel and intercept."""
        self._error.add(self._update(X, y, weight, row_ids) ** 2, weight)

    def _reinitialize(self, buffer: BufferedRows) -> None:
        """Compute again what depends on the first rows, and learn them again."""
        rows, targets = buffer.rows.values, _given(buffer.targets)
        self._typical_weight = float(buffer.weights.mean())
        self.intercept_ = float(np.average(targets, weights=buffer.weights))
        kernel, self._regularization = self._fitted(rows, targets)
        self._dictionary = Dictionary(kernel, rows, self._dictionary.limit)
        errors = self._update(rows, targets, buffer.weights, buffer.ids)
        self._error = RecentError()
        self._error.add(errors**2, FIRST_ERRORS * buffer.weights)
        if len(buffer) == self._n_initial:
            self._buffer = None

    def _fitted(self, rows: Any, targets: np.ndarray) -> tuple[Kernel, float]:
        """The kernel and the regularization for the first rows; both are fitted to targets if no kernel was given."""
        kernel, given = self._given_kernel(), REGULARIZATION if self.regularization is None else self.regularization
        if self.kernel is not None or len(targets) < min(INITIAL_ROWS, self._n_initial):
            return kernel.fitted(rows), float(given)
        kernel, found = fit_to_targets(kernel, rows, targets)
        return kernel, found if self.regularization is None else float(given)

    def _end_of_stream(self) -> None:
        if self._buffer is not None:
            self._derived = {}
            self._reinitialize(self._buffer)

    def _update(self, X: Any, y: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> np.ndarray:
        """Learn rows; returns their errors before."""
        noise, centered = np.maximum(self._typical_weight / weight, LEAST_NOISE), y - self.intercept_
        return self._dictionary.learn(X, centered, noise, row_ids, self._rules())

    def _rules(self) -> Rules:
        novelty = max(float(self.ald_threshold), LEAST_NOVELTY)
        return Rules(novelty, self.regularization_, self._row_decay())

    def _fade(self, factor: float) -> None:
        self._dictionary.fade(min(factor, 1.0), self.regularization_)

    def _settle(self, n_seen: int) -> None:
        """Record the present state and hold the budget."""
        self._history.record(n_seen, len(self._dictionary), self._error.mean)
        self._hold_budget(len(self._dictionary), 1, self._dictionary.shrink)

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """Bytes held for dense rows of `n_features` columns, before any data is seen."""
        row_bytes, example = n_features * np.dtype(dtype).itemsize, np.zeros((2, n_features))
        return self._plan(*self._sizes(row_bytes, example), row_bytes, example)

    def _plan(self, n_prototypes: int, n_initial: int, row_bytes: int, example: Any) -> Plan:
        return Plan.of(
            max(n_prototypes, n_initial),  # prototypes are among the first rows
            prototypes_and_their_matrices=Dictionary.planned_bytes(n_prototypes, row_bytes),
            first_rows=n_initial * (row_bytes + 3 * 8),  # with target, weight and id
            kernel_and_history=HISTORY_AND_SCALARS
            + self._watch_bytes()
            + kernel_bytes(self._given_kernel(example.shape[1]), example),
        )

    def _sizes(self, row_bytes: int, example: Any) -> tuple[int, int]:
        """Prototypes to hold at most, and first rows to buffer; `example` are rows to fit the kernel to."""
        if self.n_prototypes is None and self.budget is None:
            raise ValueError(f"{type(self).__name__}: n_prototypes=None needs a budget; give one of the two.")
        budget = as_budget(self.budget)
        return budget.split(
            lambda n, initial: self._plan(n, initial, row_bytes, example),
            n_produced=self.n_prototypes,
            n_validation=None,
            useful=min(ROWS_TO_FIT if self.kernel is None else INITIAL_ROWS, budget.rows or ROWS_TO_FIT),
            at_least=min(INITIAL_ROWS, budget.rows or INITIAL_ROWS),
            what=f"{type(self).__name__} for rows of {format_bytes(row_bytes)}",
        )

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
    def regularization_(self) -> float:
        given = REGULARIZATION if self.regularization is None else self.regularization
        return getattr(self, "_regularization", float(given))

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
            self._dictionary.merge(other._dictionary, shift, scale, self._rules(), other.regularization_)
            self._error.merge(other._error)
        self._settle(n_seen)

    def _learn_buffer(self, buffer: BufferedRows) -> None:
        self._learn_rows(buffer.rows.values, _given(buffer.targets), buffer.weights, buffer.ids)

    # ---- contract --------------------------------------------------------------------------------

    @property
    def _adds_up_columns(self) -> bool:  # type: ignore[override]
        return self.kernel is not None

    def _check_params(self) -> None:
        super()._check_params()
        if self.half_life is not None and self.regularization == 0:
            raise ValueError(
                f"{type(self).__name__}: half_life needs a regularization above 0, such as 0.1: values return to a "
                "prior, whose variance is 1 / regularization."
            )

    def _given_kernel(self, n_columns: int | None = None) -> Kernel:
        if self.kernel is None:
            return RBF(ard=(n_columns or self.n_features_in_) <= MOST_WIDTHS)
        return as_kernel(self.kernel, objects=getattr(self, "_kind", "dense") == "objects")

    def _takes_objects(self, X: Any) -> bool:
        return self.kernel is not None and takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return (self.kernel is not None and may_fail(self.kernel)) or self._rows_differ_in_size()

    def _restored(self) -> None:
        if self._is_fitted() and missing_functions(self._dictionary.kernel):  # a file can't hold a function
            self._dictionary.kernel = self._given_kernel().fitted(self.prototypes_)

    def _n_retained(self) -> int:
        return max(len(self._dictionary), 0 if self._buffer is None else len(self._buffer))


def _is_time_to_reinitialize(before: int, after: int, n_initial: int) -> bool:
    """Whether what depends on the first rows is computed again: at each chunk at first, then when they have doubled."""
    return after <= INITIAL_ROWS or after == n_initial or before.bit_length() < after.bit_length()


def _given(targets: np.ndarray | None) -> np.ndarray:
    assert targets is not None  # regressors refuse rows without
    return targets
