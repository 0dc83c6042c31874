"""Gaussian process regression on a stream with a fixed number of active rows.

gomes2010 (active rows by StreamGreedy, sections 3, 4 and 6); seeger2003 and quinonero2005 (projected process).
"""

import copy
from typing import Any, cast

import numpy as np

from modicum.contract.history import History
from modicum.contract.learner import Traits
from modicum.kernels import KERNEL, Kernel, Scaled, as_kernel, may_fail, takes_objects
from modicum.kernels.marginal_likelihood import INITIAL_NOISE, fit_hyperparameters
from modicum.kernels.projected_process import Moments, Posterior, exact_posterior, fit_projected, projected_posterior
from modicum.numeric.moments import RunningMean
from modicum.numeric.parallel import run_tiles, single_threaded_blas
from modicum.regress.active_set import BLOCK, ActiveSet
from modicum.regress.base import Regressor
from modicum.regress.calibration import WINDOW, Calibration, error_table, likeliest_factors
from modicum.rows import BottomK, average_bytes, n_rows, take
from modicum.rules.budget import Plan, as_budget, format_bytes
from modicum.rules.invariants import Is, Real, Whole
from modicum.rules.params import BUDGET, NULL, RANDOM_STATE, TRUTH, Int, Number, OneOf
from modicum.select.objectives.error import PredictionError
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.projected_error import ProjectedError
from modicum.select.objectives.variance import VarianceReduction
from modicum.state.packing import missing_functions

ROWS_PER_ACTIVE, FEWEST_ROWS = 40, 2000  # sample rows that a size in bytes buys at most: more change little
FIRST_ROWS = 2000  # rows of the exact Gaussian process that hyper-parameters are first fitted to, as in gomes2010
FEW_FIRST_ROWS = 500  # the same if they follow the stream: then all that is needed is a start
ENOUGH_TO_ADAPT = 5  # sample rows per active one; with fewer, the likelihood of a sparse model praises what it overfits
FEWEST_TO_FIT = 8  # rows; for fewer, hyper-parameters are guessed
MOST_LOOKS = 3  # times that `refine` offers the sample's rows
STEPS = 10  # of L-BFGS when hyper-parameters follow the stream
PREDICT_TILE = 2048  # rows per tile of predictions

OBJECTIVES: dict[tuple[str, str], Any] = {
    ("error", "projected"): ProjectedError,
    ("error", "active"): PredictionError,
    ("variance", "projected"): VarianceReduction,
    ("variance", "active"): VarianceReduction,
    ("logdet", "projected"): LogDet,
    ("logdet", "active"): LogDet,
}

Basis = tuple[Kernel, Any]  # a kernel and active rows: what features are made of


class SparseGPRegressor(Regressor):
    """Gaussian process regression with a few active rows, chosen from a stream and taught by all of it.

    Every row is offered once as a candidate for the active set A, and takes the place of an active row where that
    lowers the error on a validation sample, a uniform reservoir of the stream. All rows teach: the projected process
    fits functions spanned by k(., A) to every target seen, through sums that are kept and that follow when active rows
    or hyper-parameters change. Hyper-parameters are fitted to the first rows, and then go with the sparse model as
    the stream goes on.

    As long as there are no more rows than `n_active`, this is the exact Gaussian process.

    Guarantee: none on the error. The standard deviations of `predict` are calibrated on rows that were predicted
    before they were learned.
    Cost: O(W K) time per row for K active and W validation rows, and O(W K^2) per step of a fit of hyper-parameters,
    some ten each time that the stream has doubled; memory O(W (K + d) + K^2). Within a call, scratch of W x (512 + 3 K)
    numbers.

    Parameters
    ----------
    n_active : int, default=200
        Rows in the active set.
    budget : int or str, default="64 MiB"
        Validation rows to hold, or a size for all that is held. A size buys at most 40 rows per active one (or 2,000
        if that is more): further ones cost time in proportion and change little.
    kernel : str, Kernel or callable, default="rbf-ard"
        "rbf-ard" has a width for each column.
    noise : float or None, default=None
        Variance of the noise of targets. With a number, kernel and noise are taken as they are (widths that the kernel
        does not have are those of the median heuristic). With None they are fitted, starting from the kernel's
        parameters if it has any.
    objective : {"error", "variance", "logdet"}, default="error"
        What a row must bring to become active: less error of the predictor in use, less variance at other rows, or
        being different from the other active rows.
    predictor : {"projected", "active"}, default="projected"
        Predict from the targets of all rows, or from those of the active rows alone, as in the paper.
    adapt : bool or None, default=None
        Whether hyper-parameters of the projected process follow the stream. None: if they are not given.
    min_gain : float, default=1e-4
        What a swap must gain, as a part of the present value of the objective.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    active_ : ndarray of shape (n, d), sparse matrix or list
        The active rows.
    active_indices_ : ndarray of shape (n,)
        Their row ids: positions in the stream unless `row_ids` was given.
    kernel_ : Kernel
    noise_ : float
        With few active rows it includes what they can't express.
    log_likelihood_ : float or None
        Logarithm of the likelihood of the rows that hyper-parameters were last fitted to, per row; None if given.
    mean_squared_error_ : float
        Of the latest 1,024 rows, each predicted before it was learned; at first the variance of targets.
    history_ : dict of arrays
        Rows, value of the objective, swaps, `mean_squared_error_` and noise, over the stream.
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
    gomes2010, sections 3, 4 and 6, Appendix II. seeger2003; quinonero2005. Departures: with the projected process, rows
    are chosen for its own error (smola2000) and hyper-parameters for its own likelihood; sums over rows that are gone
    are translated to new active rows and kernels by regression on the sample (csato2002 and bui2017 project by the
    prior); variances are scaled to the errors seen; `merge` is ours.
    """

    traits = Traits(merge="approximate", sparse=True, objects=True)
    _constraints = {
        "n_active": [Int(1)],
        "budget": [BUDGET],
        "kernel": [KERNEL],
        "noise": [NULL, Number(0.0, open_ends=True)],
        "objective": [OneOf("error", "variance", "logdet")],
        "predictor": [OneOf("projected", "active")],
        "adapt": [NULL, TRUTH],
        "min_gain": [Number(0.0)],
        "random_state": [RANDOM_STATE],
    }

    _invariants = {
        "_sample": Is(BottomK, n="n_validation"),
        "_set": Is(ActiveSet, n="n_chosen", n_validation="n_validation", n_active="n_active"),
        "_moments": [NULL, Is(Moments, width=lambda its: its["n_chosen"] + 2)],
        "_mean": Is(RunningMean, width=1),
        "_calibration": Is(Calibration),
        "_history": Is(History, width=5),
        "_fitted_at": Whole(),
        "_log_likelihood": [NULL, Real()],
    }

    def __init__(
        self,
        n_active: int = 200,
        *,
        budget: int | str = "64 MiB",
        kernel: Any = "rbf-ard",
        noise: float | None = None,
        objective: str = "error",
        predictor: str = "projected",
        adapt: bool | None = None,
        min_gain: float = 1e-4,
        random_state: Any = None,
    ):
        self.n_active = n_active
        self.budget = budget
        self.kernel = kernel
        self.noise = noise
        self.objective = objective
        self.predictor = predictor
        self.adapt = adapt
        self.min_gain = min_gain
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def refine(self) -> "SparseGPRegressor":
        """Offer the sample's rows again and go on fitting hyper-parameters. `fit` does so at the end of a stream."""
        self._check_fitted()
        self._derived = {}
        with single_threaded_blas():
            for _ in range(0 if self.is_exact_ else MOST_LOOKS):
                swaps, old = self.n_swaps_, self._basis()
                sample = self._set.sample, self._set.sample_targets, self._sample.row_ids
                changed = self._offer(*sample, again=True)
                self._adapt()
                self._follow(old, changed)
                if self.n_swaps_ == swaps:
                    break
        return self

    def _end_of_stream(self) -> None:
        self.refine()

    def _learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_set"):
            self._start(X, y)
        start = 0
        while start < n_rows(X):
            part = slice(start, start + max(BLOCK, self._n_first() - self._count))
            self._learn_block(take(X, part), y[part], row_ids[part])
            start = part.stop

    def _start(self, X: Any, y: np.ndarray) -> None:
        if self.adapt and self.predictor == "active":
            raise ValueError(f'{type(self).__name__}: adapt=True is for predictor="projected"; leave it out.')
        self._sample = BottomK(self._n_validation(average_bytes(X)))
        noise = INITIAL_NOISE * float(y.var()) or 1.0 if self.noise is None else self.noise
        kernel = self._given_kernel().fitted(take(X, slice(self._n_first())))
        self._set = ActiveSet(self._objective_class()(kernel, noise), noise, X, self.n_active, self._sample.size)
        self._moments = Moments() if self.predictor == "projected" else None
        self._mean = RunningMean(1)
        self._calibration = Calibration()
        self._history = History("rows", "value", "swaps", "error", "noise")
        self._fitted_at = 0  # rows at the latest fit of hyper-parameters
        self._log_likelihood: float | None = None

    def _learn_block(self, X: Any, y: np.ndarray, row_ids: np.ndarray) -> None:
        if self._count:
            self._judge(X, y)
        old = self._basis()
        slots, chosen = self._sample.offer(n_rows(X), None, row_ids, self._rng)
        self._mean.add(y[:, None], None)
        self._set.move_center(float(self._mean.mean[0]))
        self._set.put_rows(slots, take(X, chosen), y[chosen], self._sample.shares())
        is_taught = self._follow(old, self._fit_and_offer(X, y, row_ids))
        if self._moments is not None and not is_taught:
            self._moments.add(self._set.features(X), y)
        self._record()
        self._hold_budget(len(self._sample), self.n_active, self._shrink)

    def _fit_and_offer(self, X: Any, y: np.ndarray, row_ids: np.ndarray) -> set[int]:
        """Rows stand as candidates; hyper-parameters are fitted whenever the stream has doubled."""
        is_start = self._fitted_at < self._n_first()
        is_due = self._count >= 2 * self._fitted_at or (is_start and self._count >= self._n_first())
        if is_start and is_due:
            self._fit_exact()
        changed = self._offer(X, y, row_ids)
        if is_due:
            self._fitted_at = self._count
            if self._adapt():
                changed |= self._offer(X, y, row_ids, again=True)  # candidates look different now
        return changed

    def _offer(self, X: Any, y: np.ndarray, row_ids: np.ndarray, *, again: bool = False) -> set[int]:
        return self._set.offer(X, y, row_ids, self.min_gain, again=again)

    def _judge(self, X: Any, y: np.ndarray) -> None:
        """Predict rows that have not been learned, and note the errors."""
        mean, variance = self._posterior().at(X)
        self._calibration.judge((y - mean) ** 2, variance, self.noise_)

    def _record(self) -> None:
        value = self._set.objective.value
        self._history.record(self._count, value, self.n_swaps_, self.mean_squared_error_, self.noise_)

    # ---- hyper-parameters ------------------------------------------------------------------------

    def _given_kernel(self) -> Kernel:
        return as_kernel(self.kernel, objects=self._kind == "objects")

    def _adapts(self) -> bool:
        """Whether hyper-parameters follow the stream."""
        given = self.noise is not None
        return self.predictor == "projected" and (not given if self.adapt is None else bool(self.adapt))

    def _n_first(self) -> int:
        """Rows that hyper-parameters are fitted to before a sparse model takes over."""
        enough = max(FEW_FIRST_ROWS, ENOUGH_TO_ADAPT * self.n_active)
        return min(enough, FIRST_ROWS) if self._adapts() else FIRST_ROWS

    def _fit_exact(self) -> None:
        """Hyper-parameters of the exact Gaussian process of the first rows."""
        rows, y, noise = self._set.sample, self._set.sample_targets, self.noise
        if noise is not None:
            kernel = self._given_kernel().fitted(rows)
        elif len(y) < FEWEST_TO_FIT:
            variance = float(y.var()) or 1.0
            kernel, noise = Scaled(self._given_kernel().fitted(rows), variance), INITIAL_NOISE * variance
        else:
            kernel, noise, value = fit_hyperparameters(self._given_kernel(), rows, y)
            self._log_likelihood = value / len(y)
        if (kernel, noise) != (self._set.kernel, self._set.noise):
            self._set.retune(kernel, noise)

    def _adapt(self) -> bool:
        """Let hyper-parameters follow the sparse model; whether they did."""
        S = self._set
        y = S.centered_sample_targets
        if not self._adapts() or len(y) < ENOUGH_TO_ADAPT * len(S.targets):
            return False
        kernel, noise, value = fit_projected(S.kernel, S.noise, S.active, S.sample, y, STEPS)
        self._log_likelihood = value / len(y)
        S.retune(kernel, noise)
        return True

    # ---- sums over all rows ----------------------------------------------------------------------

    def _basis(self) -> Basis:
        active = self._set.active
        return self._set.kernel, take(active, np.arange(n_rows(active)))  # a copy

    def _follow(self, old: Basis, changed: set[int]) -> bool:
        """Bring the sums from an old basis to the present one, of which the slots `changed` are new.

        Whether they now have all rows of the sample in them, the latest included.
        """
        same_kernel = old[0] == self._set.kernel
        if self._moments is None or (same_kernel and not changed):
            return False
        if self._sample.is_everything:
            self._moments.initialize(self._set.features(self._set.sample), self._set.sample_targets)
            return True
        self._translate(self._moments, old, changed if same_kernel else None)
        return False

    def _translate(self, moments: Moments, old: Basis, changed: set[int] | None) -> None:
        """`changed`: None if all features are new."""
        (kernel, active), sample = old, self._set.sample
        features = self._set.features(sample)
        kept = np.arange(features.shape[1])
        kept[slice(None) if changed is None else list(changed)] = -1
        moments.translate(kernel(sample, active), features, kept, self._set.sample_targets)

    def _posterior(self) -> Posterior:
        S = self._set
        if self.is_exact_ or self._moments is None:
            return exact_posterior(S.kernel, S.noise, S.active, S.targets, S.center)
        return projected_posterior(S.kernel, S.noise, S.active, self._moments)

    # ---- budget ----------------------------------------------------------------------------------

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        row = n_features * np.dtype(dtype).itemsize
        rows = self._n_validation(row)
        return Plan.of(
            rows,
            validation_rows_and_their_kernel_values=rows * self._sample_bytes(row),
            active_rows_and_their_matrices=self._active_bytes(row),
            sums_over_all_rows=self._moments_bytes(),
            errors_and_history=_BOOK_BYTES,
        )

    def _n_validation(self, row_bytes: int) -> int:
        budget = as_budget(self.budget)
        fixed = self._active_bytes(row_bytes) + self._moments_bytes() + _BOOK_BYTES
        what = f"{type(self).__name__} with {self.n_active} active rows of {format_bytes(row_bytes)}"
        each = self._sample_bytes(row_bytes)
        fit = budget.rows_within(each, fixed_bytes=fixed, at_least=self.n_active, what=what)
        return fit if budget.nbytes is None else min(fit, max(FEWEST_ROWS, ROWS_PER_ACTIVE * self.n_active))

    def _objective_class(self) -> Any:
        return OBJECTIVES[self.objective, self.predictor]

    def _sample_bytes(self, row_bytes: int) -> int:
        """Per row: what the objective holds, or the row itself; its target; key, weight, id and share."""
        cls, K = self._objective_class(), self.n_active
        judged = cls.set_bytes(K, 1, row_bytes) - cls.set_bytes(K, 0, row_bytes)
        return (judged if cls.needs_validation else row_bytes) + 8 + 4 * 8

    def _active_bytes(self, row_bytes: int) -> int:
        return self._objective_class().set_bytes(self.n_active, 0, row_bytes) + 16 * self.n_active  # targets and ids

    def _moments_bytes(self) -> int:
        return 8 * ((self.n_active if self.predictor == "projected" else 0) + 2) ** 2

    def _shrink(self, size: int) -> None:
        self._set.keep_rows(self._sample.shrink_to(size), self._sample.shares())

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def active_(self) -> Any:
        self._check_fitted()
        return self._set.active

    @property
    def active_indices_(self) -> np.ndarray:
        self._check_fitted()
        return self._set.ids

    @property
    def kernel_(self) -> Kernel:
        self._check_fitted()
        return self._set.kernel

    @property
    def noise_(self) -> float:
        self._check_fitted()
        return self._set.noise

    @property
    def log_likelihood_(self) -> float | None:
        self._check_fitted()
        return self._log_likelihood

    @property
    def mean_squared_error_(self) -> float:
        self._check_fitted()
        judged = self._calibration.mean_squared_error
        return self._mean.variance if judged is None else judged

    @property
    def n_swaps_(self) -> int:
        self._check_fitted()
        return self._set.n_swaps

    @property
    def history_(self) -> dict[str, np.ndarray]:
        self._check_fitted()
        return self._history.columns_as_arrays()

    @property
    def is_exact_(self) -> bool:
        """Whether every row seen is active: then this is the exact Gaussian process."""
        self._check_fitted()
        return self._set.objective.n_chosen == self._count

    @property
    def _count(self) -> int:
        """Rows learned; `n_seen_` is behind while a chunk is being learned."""
        return int(self._mean.weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets; with `return_std` also their standard deviations, noise included."""
        X = self._check_input(X)
        posterior, (of_function, of_noise) = self._derive("posterior", self._solve)
        noise = of_noise * self.noise_
        mean, std = np.empty(n_rows(X)), np.empty(n_rows(X) if return_std else 0)

        def fill(part: slice) -> None:
            if return_std:
                mean[part], variance = posterior.at(take(X, part))
                std[part] = np.sqrt(of_function * variance + noise)
            else:
                mean[part] = posterior.mean(take(X, part))

        run_tiles(fill, len(mean), PREDICT_TILE)
        return (mean, std) if return_std else mean

    def _solve(self) -> tuple[Posterior, tuple[float, float]]:
        """The posterior, and the factors of its variances."""
        posterior = self._posterior()
        if self.is_exact_:
            return posterior, (1.0, 1.0)
        return posterior, self._calibration.factors() or self._factors_within(posterior)

    def _factors_within(self, posterior: Posterior) -> tuple[float, float]:
        """Factors from the errors at the sample itself, raised to what they would be if left out (golub1979)."""
        S = self._set
        mean, variance = posterior.at(S.sample)
        left = max(0.5, 1 - len(S.targets) / len(mean))  # of the degrees of freedom
        return likeliest_factors(error_table(((S.sample_targets - mean) / left) ** 2, variance, S.noise))

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The expected target of each row and its standard deviation."""
        mean, std = self.predict(X, return_std=True)
        return {"prediction": mean, "std": std}

    # ---- contract --------------------------------------------------------------------------------

    def _merge(self, other: "SparseGPRegressor") -> None:
        """The union of both samples; the other's active rows, then the sample, stand as candidates."""
        mine, theirs = self._basis(), other._basis()
        if other._count > self._count:
            self._set.retune(other._set.kernel, other._set.noise)
            self._fitted_at = other._fitted_at
        if other._sample.size < self._sample.size:
            self._shrink(other._sample.size)
        slots, chosen = self._sample.merge(other._sample)
        self._mean.merge(other._mean)
        self._calibration.merge(other._calibration)
        self._set.n_swaps += other._set.n_swaps
        self._set.move_center(float(self._mean.mean[0]))
        sample = take(other._set.sample, chosen), other._set.sample_targets[chosen]
        self._set.put_rows(slots, *sample, self._sample.shares())
        changed = self._fit_and_offer(other._set.active, other._set.targets, other._set.ids)
        if self._moments is not None and self._sample.is_everything:
            self._moments.initialize(self._set.features(self._set.sample), self._set.sample_targets)
        elif self._moments is not None:
            self._follow(mine, changed)
            moments = cast(Moments, copy.deepcopy(other._moments))
            self._translate(moments, theirs, None)
            self._moments.merge(moments)
        self.refine()
        self._record()
        self._hold_budget(len(self._sample), self.n_active, self._shrink)

    def _takes_objects(self, X: Any) -> bool:
        return takes_objects(self.kernel, X)

    def _may_fail_midway(self) -> bool:
        return may_fail(self.kernel)

    def _n_retained(self) -> int:
        return len(self._sample) + self._set.objective.n_chosen

    def _restored(self) -> None:
        F = self._set.objective if self._is_fitted() else None
        if F is not None and missing_functions(F.kernel):  # a file can't hold a function: take the given one
            F.kernel = (
                Scaled(self._given_kernel(), F.kernel.scale) if isinstance(F.kernel, Scaled) else self._given_kernel()
            )


_BOOK_BYTES = 3 * 8 * WINDOW + 5 * 8 * 512 + 1024  # errors for calibration, history, scalars
