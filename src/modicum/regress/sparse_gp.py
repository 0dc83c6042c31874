"""Gaussian process regression on a stream with a fixed number of active rows.

gomes2010 (active rows by StreamGreedy, sections 3, 4 and 6); seeger2003 and quinonero2005 (projected process).
"""

from typing import Any

import numpy as np

from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.contract.picks import Picks
from modicum.contract.watchful import Watchful
from modicum.kernels import KERNEL, Kernel, as_kernel, may_fail, takes_objects
from modicum.numeric.parallel import run_tiles, single_threaded_blas
from modicum.regress.active_set import CANDIDATES_PER_BLOCK
from modicum.regress.base import Regressor, kernel_bytes
from modicum.regress.gp_settings import GPSettings
from modicum.regress.sparse_gp_model import SparseGPModel
from modicum.rows import average_bytes, n_rows, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import Is
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, Number, OneOf
from modicum.select.objectives.error import PredictionError
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.projected_error import ProjectedError
from modicum.select.objectives.variance import VarianceReduction

USEFUL_PER_ACTIVE, USEFUL_ROWS = 40, 2000  # validation rows, per active row and at least: more change little
BLOCKS_PER_DOUBLING = 16  # sums are translated once per block: later ones change what was learned less
HISTORY = ("n_seen", "value", "swaps", "error", "noise")
HISTORY_AND_SCALARS = 512 * 8 * len(HISTORY) + 1024  # bytes
PREDICT_TILE = 2048  # rows per tile of predictions

OBJECTIVES: dict[tuple[str, str], Any] = {
    ("error", "projected"): ProjectedError,
    ("error", "active"): PredictionError,
    ("variance", "projected"): VarianceReduction,
    ("variance", "active"): VarianceReduction,
    ("logdet", "projected"): LogDet,
    ("logdet", "active"): LogDet,
}


class SparseGPRegressor(Regressor, Watchful):
    """Gaussian process regression with few active rows, chosen from a stream and fitted to all of it.

    Every row is offered once as a candidate for the active set A. It replaces an active row if that lowers the error on
    a validation sample, a uniform reservoir of the stream. All rows are learned from: the projected process fits
    functions spanned by k(., A) to every target seen, through sums that are translated when active rows or
    hyper-parameters change. Hyper-parameters are fitted to the first rows and then adapted to the sparse model as the
    stream continues.

    With no more than `n_active` rows, this is the exact Gaussian process.

    Guarantee: none on the error. The standard deviations of `predict` are calibrated on rows that were predicted
    before they were learned or, where the order of rows has made those harder than others, on the validation sample.
    Cost: O(W (d + K / 8)) time per row for K active and W validation rows, as most candidates are only estimated, and
    O(K^3) per swap and per step of a fit of hyper-parameters, about ten steps each time the stream has doubled; memory
    O(W (K + d) + K^2). Within a call, scratch of W x (512 + 3 K) numbers.

    Parameters
    ----------
    n_active : int, default=200
        Rows in the active set.
    n_validation : int or None, default=None
        Rows of the validation sample. None: as many as the budget allows, up to 40 per active row (or 2,000 if that is
        more); more cost time in proportion and change little.
    budget : int, str or None, default="64 MiB"
        Bound on everything held: rows, active and validation rows together, or a size.
    kernel : str, Kernel or callable, default="rbf-ard"
        "rbf-ard" has a width for each column.
    noise : float or None, default=None
        Variance of the noise of targets. With a number, kernel and noise are used as given (missing widths come from
        the median heuristic). With None both are fitted, starting from the kernel's parameters if it has any.
    objective : {"error", "variance", "logdet"}, default="error"
        What makes a row active: it lowers the "error" of the predictor in use, it lowers the "variance" at other rows,
        or ("logdet") it differs from the other active rows.
    predictor : {"projected", "active"}, default="projected"
        "projected" predicts from the targets of all rows, "active" from those of the active rows, as in the paper.
    adapt : bool or None, default=None
        Whether hyper-parameters of the projected process are adapted as the stream continues. None: if noise is None.
    robust : bool or "auto", default="auto"
        Whether rows with outlying targets weigh less, as by noise from Student's t distribution. "auto": once both the
        targets and the errors at the validation rows show outliers. `predictor="active"` never does.
    min_gain : float, default=1e-4
        What a swap must gain, relative to the present value of the objective.
    half_life : int, "auto" or None, default=None
        Rows after which the weight of a row has halved, in the sums and in the validation sample; hyper-parameters are
        adapted whenever half of the weight is new. "auto": forget where errors rise. None: never. Not for
        `predictor="active"`.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    active_ : ndarray of shape (n, d), sparse matrix or list
        The active rows.
    active_ids_ : ndarray of shape (n,)
        Their row ids: positions in the stream unless `row_ids` was given.
    kernel_ : Kernel
    noise_ : float
        With few active rows it includes what they can't express.
    log_likelihood_ : float or None
        Log-likelihood per row of the rows that hyper-parameters were last fitted to; None if they are given.
    mean_squared_error_ : float
        Error of the latest 1,024 rows, each predicted before it was learned; at first the variance of targets. In
        sorted rows, which go where none has been, it is larger than that of rows like those seen.
    changes_ : list of Change
        Where the stream changed, for `half_life="auto"`.
    history_ : dict of arrays
        Rows seen, value of the objective, swaps, `mean_squared_error_` and noise, over the stream.
    n_swaps_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import SparseGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(3000, 2))
    >>> y = np.sin(2 * X[:, 0]) + rng.normal(0, 0.1, 3000)
    >>> model = SparseGPRegressor(20, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.0, 0.0], [1.0, 2.0]], return_std=True)
    >>> np.abs(mean - np.sin([0.0, 2.0])).max() < 0.1, std.round(1)
    (np.True_, array([0.1, 0.1]))

    References
    ----------
    gomes2010, sections 3, 4 and 6, Appendix II. seeger2003; quinonero2005; lange1989 for outliers. Departures: with the
    projected process, rows are chosen by its own error (smola2000) and hyper-parameters by its own likelihood; sums
    over past rows are translated to new active rows and kernels by regression on the sample (csato2002 and bui2017
    project by the prior); their eigenvalues are held within the bounds of marchenko1967; variances are scaled to the
    errors seen; `merge` is ours.
    """

    _decays_by_row = True
    _minds_order = True
    _constraints = {
        "n_active": [Int(1)],
        "n_validation": [NULL, Int(1)],
        "budget": [NULL, BUDGET],
        "kernel": [KERNEL],
        "noise": [NULL, Number(0.0, open_ends=True)],
        "objective": [OneOf("error", "variance", "logdet")],
        "predictor": [OneOf("projected", "active")],
        "adapt": [NULL, TRUTH],
        "robust": [TRUTH, OneOf("auto")],
        "min_gain": [Number(0.0)],
        "half_life": [NULL, Int(1), OneOf("auto")],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {
        "_model": Is(SparseGPModel, n_active="n_active"),
        "_history": Is(History, width=len(HISTORY)),
    }

    def __init__(
        self,
        n_active: int = 200,
        *,
        n_validation: int | None = None,
        budget: int | str | None = "64 MiB",
        kernel: Any = "rbf-ard",
        noise: float | None = None,
        objective: str = "error",
        predictor: str = "projected",
        adapt: bool | None = None,
        robust: bool | str = "auto",
        min_gain: float = 1e-4,
        half_life: int | str | None = None,
        random_state: Any = None,
    ):
        self.n_active = n_active
        self.n_validation = n_validation
        self.budget = budget
        self.kernel = kernel
        self.noise = noise
        self.objective = objective
        self.predictor = predictor
        self.adapt = adapt
        self.robust = robust
        self.min_gain = min_gain
        self.half_life = half_life
        self.random_state = random_state

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        return Traits(merge="approximate", sparse=True, objects=True, forgets=self.predictor == "projected")

    # ---- learning --------------------------------------------------------------------------------

    def refine(self) -> "SparseGPRegressor":
        """Offer the validation rows again and adapt hyper-parameters. `fit` does so at the end of a stream."""
        self._check_fitted()
        self._derived = {}
        with single_threaded_blas():
            self._model.refine(self._settings())
        return self

    def _end_of_stream(self) -> None:
        self.refine()

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        settings = self._settings()
        if not hasattr(self, "_model"):
            n_validation = self._validation_rows(average_bytes(X), take(X, slice(2)))
            projected = self.predictor == "projected"
            self._model = SparseGPModel(self._given_objective(), settings, n_validation, projected, X, y)
            self._history = History(*HISTORY)
        first = 0
        while first < n_rows(X):
            missing, held = settings.n_initial - self._model.count, int(self._model.sample.total_weight)
            size = max(CANDIDATES_PER_BLOCK, missing, held // BLOCKS_PER_DOUBLING)
            block = slice(first, first + size)
            self._model.learn(take(X, block), y[block], row_ids[block], settings, self._rng)
            self._settle()
            first = block.stop

    def _fade(self, factor: float) -> None:
        self._model.fade(factor)

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Absolute errors; variances need no calibration for that."""
        return np.abs(y - self._derive("function", self._model.posterior).mean(X))

    def _settle(self) -> None:
        """Record the present state and hold the budget."""
        A, error = self._model.active, self._model.mean_squared_error
        self._history.record(self._model.count, A.objective.value, A.n_swaps, error, A.noise)
        self._hold_budget(len(self._model.sample), self.n_active, self._model.shrink)

    def _settings(self) -> GPSettings:
        adapts = self.noise is None if self.adapt is None else bool(self.adapt)
        adapts = adapts and self.predictor == "projected"
        robust = self.robust if self.predictor == "projected" else False
        return GPSettings(
            self.n_active, self._given_kernel(), self.noise, adapts, self.min_gain, robust, self._row_decay()
        )

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel, objects=getattr(self, "_kind", "dense") == "objects")

    def _given_objective(self) -> Any:
        return OBJECTIVES[self.objective, self.predictor]

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """Bytes held for dense rows of `n_features` columns, before any data is seen."""
        row_bytes, example = n_features * np.dtype(dtype).itemsize, np.zeros((2, n_features))
        return self._plan(self._validation_rows(row_bytes, example), row_bytes, example)

    def _plan(self, n_validation: int, row_bytes: int, example: Any) -> Plan:
        objective, projected = self._given_objective(), self.predictor == "projected"
        planned = SparseGPModel.planned_bytes(objective, self.n_active, n_validation, projected, row_bytes)
        rest = HISTORY_AND_SCALARS + self._watch_bytes() + kernel_bytes(self._given_kernel(), example)
        return Plan.of(self.n_active + n_validation, **planned, kernel_and_history=rest)

    def _validation_rows(self, row_bytes: int, example: Any) -> int:
        """Validation rows to hold; `example` are rows to fit the kernel to."""
        _, n_validation = as_budget(self.budget).split(
            lambda _, n: self._plan(n, row_bytes, example),
            n_produced=self.n_active,
            n_validation=self.n_validation,
            useful=max(USEFUL_ROWS, USEFUL_PER_ACTIVE * self.n_active),
            at_least=self.n_active,
            what=f"{type(self).__name__} with {self.n_active} active rows of {format_bytes(row_bytes)}",
        )
        return n_validation

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def active_(self) -> Any:
        return self._model.active.rows

    @property
    def active_ids_(self) -> np.ndarray:
        return self._model.active.ids

    def picks(self) -> Picks:
        """The active rows."""
        self._check_fitted()
        A = self._model.active
        return Picks("active row", A.rows, A.ids, targets=A.targets)

    @property
    def kernel_(self) -> Kernel:
        return self._model.active.kernel

    @property
    def noise_(self) -> float:
        return self._model.active.noise

    @property
    def log_likelihood_(self) -> float | None:
        return self._model.log_likelihood

    @property
    def mean_squared_error_(self) -> float:
        return self._model.mean_squared_error

    @property
    def n_swaps_(self) -> int:
        return self._model.active.n_swaps

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._history.columns_as_arrays()

    @property
    def is_exact_(self) -> bool:
        """Whether every row seen is active: then this is the exact Gaussian process."""
        return self._model.is_exact

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets; with `return_std` also their standard deviations, noise included."""
        X = self._check_input(X)
        posterior, (of_function, of_noise) = self._derive("posterior", self._model.solve)
        noise = of_noise * self.noise_
        mean, std = np.empty(n_rows(X)), np.empty(n_rows(X) if return_std else 0)

        def fill(tile: slice) -> None:
            if return_std:
                mean[tile], variance = posterior.at(take(X, tile))
                std[tile] = np.sqrt(of_function * variance + noise)
            else:
                mean[tile] = posterior.mean(take(X, tile))

        run_tiles(fill, len(mean), PREDICT_TILE)
        return (mean, std) if return_std else mean

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The expected target of each row and its standard deviation."""
        mean, std = self.predict(X, return_std=True)
        return {"prediction": mean, "std": std}

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "SparseGPRegressor") -> None:
        self._model.merge(other._model, self._settings())
        self._settle()

    def _check_params(self) -> None:
        super()._check_params()
        if self.adapt and self.predictor == "active":
            raise ValueError(f'{type(self).__name__}: adapt=True is for predictor="projected"; leave it out.')
        if self.robust is True and self.predictor == "active":
            raise ValueError(f'{type(self).__name__}: robust=True is for predictor="projected"; leave it out.')
        if self.half_life is not None and self.predictor == "active":
            raise ValueError(f'{type(self).__name__}: half_life is for predictor="projected"; leave it out.')
        if self.n_validation is not None and self.n_validation < self.n_active:
            raise ValueError(
                f"{type(self).__name__}: n_validation must be at least n_active ({self.n_active}); "
                f"got {self.n_validation}."
            )

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return may_fail(self.kernel) or self._rows_differ_in_size()

    def _n_retained(self) -> int:
        return self._model.n_retained

    def _restored(self) -> None:
        if self._is_fitted():
            self._model.restore_functions(self._given_kernel())
