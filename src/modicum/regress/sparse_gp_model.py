"""The state of a sparse Gaussian process on a stream: active rows, validation sample, sums over all rows, calibration.

gomes2010 (active rows by StreamGreedy, sections 3, 4 and 6); seeger2003 and quinonero2005 (projected process).
"""

import copy
from typing import Any, cast

import numpy as np

from modicum.kernels import Kernel, Scaled
from modicum.kernels.projected_process import Moments, Posterior, exact_posterior, projected_posterior
from modicum.numeric.moments import RunningMean
from modicum.regress.active_set import ActiveSet, Basis
from modicum.regress.calibration import ROWS_TO_CALIBRATE, WINDOW, Calibration, error_table, likeliest_factors
from modicum.regress.gp_settings import ROWS_TO_ADAPT, GPSettings, Hyperparameters
from modicum.regress.tails import (
    OUTLIER,
    Tails,
    errors_have_tails,
    fit_freedom,
    tail_scale,
    tail_weights,
    targets_have_tails,
    usual,
)
from modicum.rows import BottomK, n_rows, put_values, take
from modicum.rules.invariants import ABSENT, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.state.packing import missing_functions
from modicum.state.part import Part

HARDER = 1.3  # latest errors over those of the sample; in random order, 0.9 to 1.25 after 2,000 rows
BULK = 9 / 3.84  # errors count up to three deviations, of which 95% lie within 1.96
REWEIGHTINGS = 10  # of the validation rows, each time hyper-parameters are fitted
LEAST_WEIGHT = 1e-6  # of outliers among the first rows
LEAST_FREE = 0.3  # share of the sample that is left to judge by; with less, the estimate is too rough
LEAST_FACTOR = 1e-100  # by which weights change at once
PRESENT = 0.25  # of the largest weight: rows of the last two half-lives, which have three quarters of the weight
REFINEMENTS = 2  # times at most that `refine` adapts hyper-parameters and offers the validation rows


class SparseGPModel(Part):
    """A Gaussian process on active rows that are swapped, fitted to the targets of all rows seen.

    Parameters
    ----------
    objective : class of the objective that active rows are chosen by
    settings : GPSettings
    n_validation : int
        Validation rows at most.
    projected : bool
        Whether all rows are learned from, or only the active ones.
    X, y : the first rows and their targets
    """

    tails: Tails  # if the targets have outliers
    learned: int
    weight_at_fit: float  # of the rows seen at the latest fit of hyper-parameters, faded since then; if any have faded

    _invariants = {
        "sample": Is(BottomK, n="n_validation"),
        "active": Is(ActiveSet, n="n_chosen", n_validation="n_validation", n_active="n_active"),
        "moments": [NULL, Is(Moments, width=lambda its: its["n_chosen"] + 2)],
        "targets": Is(RunningMean, width=1),
        "calibration": Is(Calibration),
        "tails": [ABSENT, Is(Tails, n_validation="n_validation")],
        "learned": [ABSENT, Whole(1)],
        "fitted_at": Whole(),
        "weight_at_fit": [ABSENT, Real(0.0)],
        "log_likelihood": [NULL, Real()],
    }

    def __init__(self, objective: Any, settings: GPSettings, n_validation: int, projected: bool, X: Any, y: np.ndarray):
        kernel, noise, _ = settings.guess(X, y)
        self.sample = BottomK(n_validation)
        self.active = ActiveSet(objective(kernel, noise), noise, X, settings.n_active, n_validation)
        self.moments = Moments() if projected else None
        self.targets = RunningMean(1)
        self.calibration = Calibration()
        self.fitted_at = 0  # rows seen at the latest fit of hyper-parameters
        self.log_likelihood: float | None = None

    @property
    def count(self) -> int:
        """Rows learned."""
        return int(vars(self).get("learned", self.targets.weight))  # before rows had weights, these were all 1

    @property
    def is_exact(self) -> bool:
        """Whether every row is active."""
        return len(self.active.ids) == self.count

    @property
    def n_retained(self) -> int:
        return len(self.sample) + len(self.active.ids)

    @property
    def mean_squared_error(self) -> float:
        """The error of the latest rows when they were predicted; at first the variance of targets."""
        judged = self.calibration.mean_squared_error
        return self.targets.variance if judged is None else judged

    @staticmethod
    def planned_bytes(
        objective: Any, n_active: int, n_validation: int, projected: bool, row_bytes: int
    ) -> dict[str, int]:
        """Bytes held by a full model, by what they are for."""
        fixed = objective.set_bytes(n_active, 0, row_bytes)
        judged = objective.set_bytes(n_active, 1, row_bytes) - fixed if objective.needs_validation else row_bytes
        return {
            # a validation row comes with its target, key, weight, id, share and weight for outliers
            "validation_rows_and_their_kernel_values": n_validation * (judged + 6 * 8),
            "active_rows_and_their_matrices": fixed + 2 * 8 * n_active,  # targets and ids
            "sums_over_all_rows": 8 * (n_active + 2) ** 2 if projected else 0,
            "errors": 3 * 8 * WINDOW,
        }

    # ---- learning --------------------------------------------------------------------------------

    def learn(self, X: Any, y: np.ndarray, row_ids: np.ndarray, settings: GPSettings, rng: np.random.Generator) -> None:
        """Predict rows, then learn them, and offer them as candidates for the active set."""
        posterior, errors, of_tails = self.posterior() if self.count else None, None, None
        of_time = self._make_older(n_rows(X), settings.decay)
        is_due = self._is_due(n_rows(X), n_rows(X) if of_time is None else float(of_time.sum()), settings)
        if posterior is not None:
            mean, variance = posterior.at(X)
            self.calibration.judge((y - mean) ** 2, variance, self.active.noise)
            of_tails = self._weights(error_table((y - mean) ** 2, variance, self.active.noise))
            if is_due:
                errors = self._sample_errors(posterior)
        old = self.active.basis
        slots, chosen = self.sample.offer(n_rows(X), of_time, row_ids, rng)
        self.learned = self.count + n_rows(X)
        weights = _product(of_time, of_tails)
        self.targets.add(y[:, None], weights)
        if self._has_tails:
            assert of_tails is not None
            self.tails.weights = put_values(self.tails.weights, slots, of_tails[chosen])
        self._put_validation(slots, take(X, chosen), y[chosen])
        has_all = self._update_moments(old, self._fit_and_offer(X, y, row_ids, settings, errors, is_due))
        if self.moments is not None and not has_all:
            self.moments.add(self.active.features(X), y, weights)
        if is_due and self._weigh_sample(settings):
            self.refine(settings, afresh=True)

    def fade(self, factor: float) -> None:
        """Multiply the weight of all that was learned by a factor."""
        factor = max(factor, LEAST_FACTOR)
        self.sample.fade(factor)
        self.targets.fade(factor)
        self.calibration.fade(factor)
        if self.moments is not None:
            self.moments.fade(factor)
        self.weight_at_fit = factor * self._weight_at_fit

    def _make_older(self, count: int, decay: float) -> np.ndarray | None:
        """Fade what was learned before `count` rows; returns the weights of these rows, None if all weigh 1."""
        if decay == 1:
            return None
        if self.count:
            self.fade(decay**count)
        return np.maximum(decay ** np.arange(count - 1.0, -1.0, -1.0), LEAST_FACTOR)

    def refine(self, settings: GPSettings, afresh: bool = False) -> None:
        """Adapt hyper-parameters and offer the validation rows again, until nothing is swapped."""
        for _ in range(0 if self.is_exact else REFINEMENTS):
            swaps, old, A = self.active.n_swaps, self.active.basis, self.active
            errors = self._sample_errors(self.posterior())
            self._adapt(settings, errors, afresh)
            rows = A.validation_rows, A.validation_targets, self.sample.row_ids
            changed = A.offer(*rows, settings.min_gain, again=True)
            self._update_moments(old, changed)
            if A.n_swaps == swaps:
                break

    def merge(self, other: "SparseGPModel", settings: GPSettings) -> None:
        """Unite both samples; then offer the other's active rows, and the validation rows, as candidates."""
        mine, theirs = self.active.basis, other.active.basis
        if other.sample.total_weight > self.sample.total_weight:
            self._retune(Hyperparameters(other.active.kernel, other.active.noise, other.log_likelihood))
            self.fitted_at, self.weight_at_fit = other.fitted_at, other._weight_at_fit
        if other.sample.size < self.sample.size:
            self.shrink(other.sample.size)
        slots, chosen = self.sample.merge(other.sample)
        self.learned = self.count + other.count
        self.targets.merge(other.targets)
        self._merge_tails(other, slots, chosen)
        self.calibration.merge(other.calibration)
        self.active.n_swaps += other.active.n_swaps
        self._put_validation(slots, take(other.active.validation_rows, chosen), other.active.validation_targets[chosen])
        theirs_to_offer = other.active.rows, other.active.targets, other.active.ids
        changed = self._fit_and_offer(*theirs_to_offer, settings, None, self._is_due(0, 0.0, settings))
        self._merge_moments(other.moments, mine, theirs, changed)
        self.refine(settings)

    def shrink(self, n_validation: int) -> None:
        """Hold at most this many validation rows from now on."""
        stay = self.sample.shrink_to(n_validation)
        if self._has_tails:
            self.tails.weights = self.tails.weights[stay]
        self.active.keep_validation(stay, self._shares())

    def _put_validation(self, slots: np.ndarray, X: Any, y: np.ndarray) -> None:
        self.active.move_center(float(self.targets.mean[0]))
        self.active.put_validation(slots, X, y, self._shares())

    def _is_due(self, count: int, weight: float, settings: GPSettings) -> bool:
        """Whether hyper-parameters are fitted with `count` more rows: first, and whenever half of the weight is new."""
        is_new = self.sample.total_weight + weight >= 2 * self._weight_at_fit
        return is_new or self.fitted_at < settings.n_initial <= self.count + count

    @property
    def _weight_at_fit(self) -> float:
        return float(vars(self).get("weight_at_fit", self.fitted_at))

    def _fit_and_offer(
        self,
        X: Any,
        y: np.ndarray,
        row_ids: np.ndarray,
        settings: GPSettings,
        errors: np.ndarray | None,
        is_due: bool,
    ) -> set[int]:
        """Offer candidates, and fit hyper-parameters if that is due. Returns the changed slots.

        `errors` are those of the sample before; None if they are unknown.
        """
        A = self.active
        has_little = settings.adapts and self._has_faded and self._n_effective < settings.n_initial
        if is_due and (has_little or self.fitted_at < settings.n_initial):
            rows = self._rows_to_fit(settings)
            found = settings.fit_exact(take(A.validation_rows, rows), A.validation_targets[rows])
            if (found.kernel, found.noise) != (A.kernel, A.noise):
                self._retune(found)
        changed = A.offer(X, y, row_ids, settings.min_gain)
        if is_due:
            self.fitted_at, self.weight_at_fit = self.count, self.sample.total_weight
            if self._adapt(settings, errors):
                changed |= A.offer(X, y, row_ids, settings.min_gain, again=True)  # their gains have changed
        return changed

    def _adapt(self, settings: GPSettings, errors: np.ndarray | None, afresh: bool = False) -> bool:
        """Fit hyper-parameters to the sparse model; returns whether they have changed."""
        A = self.active
        if not settings.adapts:
            return False
        if self._sample_is_large:
            rows = self._rows_to_fit(settings)
            sample = A.rows, take(A.validation_rows, rows), A.centered_validation_targets[rows]
            found = settings.adapt(A.kernel, A.noise, *sample)
            if afresh or self._has_faded or (errors is not None and self._is_hard(errors)):
                found = max(found, settings.restart(*sample), key=lambda it: it.log_likelihood or -np.inf)
        elif errors is not None:
            found = Hyperparameters(A.kernel, max(A.noise, float(errors[:, 0].mean())), self.log_likelihood)
        else:
            return False
        self._retune(found)
        return True

    def _retune(self, found: Hyperparameters) -> None:
        self.log_likelihood = found.log_likelihood
        self.active.retune(found.kernel, found.noise)

    # ---- outliers --------------------------------------------------------------------------------

    @property
    def _has_tails(self) -> bool:
        return "tails" in vars(self)

    @property
    def _tail_weights(self) -> np.ndarray | None:
        return self.tails.weights if self._has_tails else None

    def _shares(self) -> np.ndarray:
        """Shares of the validation rows, times their weights."""
        shares = self.sample.shares()
        return shares * self.tails.weights if self._has_tails else shares

    def _weights(self, errors: np.ndarray) -> np.ndarray | None:
        """Weights of rows by their errors, relative to the latest errors: in rows unlike all before, all are large."""
        if not self._has_tails:
            return None
        scale = tail_scale(_ratios(self.calibration.errors), self.tails.freedom)
        return tail_weights(_ratios(errors), self.tails.freedom, scale)

    def _rows_to_fit(self, settings: GPSettings) -> np.ndarray:
        """Validation rows that are neither outliers nor of the past."""
        rows = self._present_rows()
        if self._has_tails:
            return rows[self.tails.weights[rows] > OUTLIER]
        return rows[usual(self.active.validation_targets[rows])] if settings.robust else rows

    def _without_outliers(self, errors: np.ndarray) -> np.ndarray:
        """Errors whose outliers are brought to where Gaussian noise with as many rows within two deviations ends."""
        if not self._has_tails or not len(errors):
            return errors
        ratios = _ratios(errors)
        most = BULK * float(np.quantile(ratios, 0.95))
        return np.column_stack([np.minimum(errors[:, 0], most * (errors[:, 1] + errors[:, 2])), errors[:, 1:]])

    def _weigh_sample(self, settings: GPSettings) -> bool:
        """Weigh the validation rows by their errors, if there is evidence of outliers; returns whether that is new."""
        A, was = self.active, self._has_tails
        if not settings.robust or self.moments is None or len(self.sample) < ROWS_TO_ADAPT * len(A.ids):
            return False
        present, y, unsure = self._present_rows(), A.validation_targets, not was and settings.robust == "auto"
        if unsure and not targets_have_tails(y[present]):
            return False
        features = A.features(A.validation_rows)
        weights = self.tails.weights if was else np.where(np.isin(np.arange(len(y)), usual(y)), 1.0, LEAST_WEIGHT)
        of_time = self._weights_of_time()
        for _ in range(REWEIGHTINGS):
            sums = Moments()
            sums.initialize(features, y, _product(weights, of_time))
            ratios = _ratios(self._raw_sample_errors(projected_posterior(A.kernel, A.noise, A.rows, sums)))
            freedom, _ = fit_freedom(ratios[present])
            weights = tail_weights(ratios, freedom, tail_scale(ratios[present], freedom))
        if unsure and not errors_have_tails(ratios[present]):
            return False
        self.tails = Tails(freedom, weights)
        if not was:  # sums with outliers are of no use
            each = _product(self.sample.total_weight / len(y) * weights, of_time)
            self.moments.initialize(features, y, each)
            self.targets = RunningMean(1)
            self.targets.add(y[:, None], each)
        self._put_validation(np.empty(0, np.int64), take(A.validation_rows, slice(0)), np.empty(0))
        return not was

    def _merge_tails(self, other: "SparseGPModel", slots: np.ndarray, chosen: np.ndarray) -> None:
        """Take over the weights of the validation rows that come from another model."""
        if not self._has_tails and not other._has_tails:
            return
        if not self._has_tails:
            self.tails = Tails(other.tails.freedom, np.ones(len(self.active.validation_targets)))
        theirs = other.tails.weights if other._has_tails else np.ones(len(other.active.validation_targets))
        self.tails.weights = put_values(self.tails.weights, slots, theirs[chosen])

    # ---- sums over all rows ----------------------------------------------------------------------

    def _update_moments(self, old: Basis, changed: set[int]) -> bool:
        """Translate the sums from an old basis to the present one, in which the slots `changed` are new.

        Returns whether they were computed from all rows instead, the latest included.
        """
        same_kernel = old.kernel == self.active.kernel
        if self.moments is None or (same_kernel and not changed):
            return False
        if self.sample.is_everything:
            self._initialize_moments(self.moments)
            return True
        self._translate(self.moments, old, changed if same_kernel else None)
        return False

    def _merge_moments(self, other: Moments | None, mine: Basis, theirs: Basis, changed: set[int]) -> None:
        if self.moments is None:
            return
        if self.sample.is_everything:
            self._initialize_moments(self.moments)
            return
        self._update_moments(mine, changed)
        translated = cast(Moments, copy.deepcopy(other))
        self._translate(translated, theirs, None)
        self.moments.merge(translated)

    def _initialize_moments(self, moments: Moments) -> None:
        rows, y = self.active.validation_rows, self.active.validation_targets
        of_time = self.sample.weights if self._has_faded else None
        moments.initialize(self.active.features(rows), y, _product(of_time, self._tail_weights))

    def _translate(self, moments: Moments, old: Basis, changed: set[int] | None) -> None:
        """Translate sums from an old basis to the present one; `changed` is None if all features are new."""
        rows = self.active.validation_rows
        features = self.active.features(rows)
        kept = np.arange(features.shape[1])
        kept[slice(None) if changed is None else list(changed)] = -1
        weights = _product(self._weights_of_time(), self._tail_weights)
        moments.translate(
            old.features(rows), features, kept, self.active.validation_targets, weights, self._n_effective
        )

    # ---- weights of time -------------------------------------------------------------------------

    @property
    def _has_faded(self) -> bool:
        """Whether some rows of the sample weigh less than others."""
        return bool((self.sample.weights != 1).any())

    def _weights_of_time(self) -> np.ndarray | None:
        """What the rows of the sample stand for, 1 on average; None if all are alike."""
        return len(self.sample) * self.sample.shares() if self._has_faded else None

    @property
    def _n_effective(self) -> float:
        """The number of rows of equal weights that tell as much as the sample."""
        weights = self._weights_of_time()
        return len(self.sample) if weights is None else len(weights) ** 2 / float(weights @ weights)

    def _present_rows(self) -> np.ndarray:
        """Rows of the sample that stand for nearly as much as any other."""
        weights = self._weights_of_time()
        if weights is None:
            return np.arange(len(self.sample))
        return np.flatnonzero(weights >= PRESENT * weights.max())

    # ---- predicting ------------------------------------------------------------------------------

    def posterior(self) -> Posterior:
        A = self.active
        if self.moments is None or (self.is_exact and not self._has_faded):
            return exact_posterior(A.kernel, A.noise, A.rows, A.targets, A.center)
        return projected_posterior(A.kernel, A.noise, A.rows, self.moments)

    def solve(self) -> tuple[Posterior, tuple[float, float]]:
        """The posterior, and the factors that calibrate the variances of the function and of the noise."""
        posterior = self.posterior()
        return posterior, (1.0, 1.0) if self.is_exact else likeliest_factors(self._representative_errors(posterior))

    def _representative_errors(self, posterior: Posterior) -> np.ndarray:
        """Errors of rows like all those seen: of the latest rows, unless their order has made them hard to predict.

        In sorted rows, the next ones are unlike those learned from; then errors are those of the validation rows.
        """
        latest, of_sample = self._without_outliers(self.calibration.errors), self._sample_errors(posterior)
        if len(latest) < ROWS_TO_CALIBRATE:
            return of_sample
        return of_sample if self._sample_is_large and self._is_hard(of_sample) else latest

    def _is_hard(self, of_sample: np.ndarray) -> bool:
        """Whether the latest rows were harder to predict than those of the sample are."""
        latest = self._without_outliers(self.calibration.errors)
        return len(latest) >= ROWS_TO_CALIBRATE and latest[:, 0].mean() > HARDER * of_sample[:, 0].mean()

    @property
    def _sample_is_large(self) -> bool:
        return self._n_effective >= ROWS_TO_ADAPT * len(self.active.ids)

    def _sample_errors(self, posterior: Posterior) -> np.ndarray:
        return self._without_outliers(self._raw_sample_errors(posterior)[self._present_rows()])

    def _raw_sample_errors(self, posterior: Posterior) -> np.ndarray:
        """Errors at the validation rows, raised to those at other rows.

        As in leave-one-out (golub1979), but each degree of freedom counts twice: once as it was fitted to the sample,
        once as the active row was chosen by it.
        """
        A = self.active
        mean, variance = posterior.at(A.validation_rows)
        freedom = float(np.vdot(posterior.Q, A.kernel(A.rows, A.rows)))  # the trace of the smoother
        free = max(LEAST_FREE, 1 - 2 * freedom / self._n_effective)
        return error_table(((A.validation_targets - mean) / free) ** 2, variance, A.noise)

    def restore_functions(self, given: Kernel) -> None:
        """Take functions of the kernel, which a file can't hold, from the given one."""
        F = self.active.objective
        if missing_functions(F.kernel):
            F.kernel = Scaled(given, F.kernel.scale) if isinstance(F.kernel, Scaled) else given


def _product(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    """Products of two kinds of weights; None stands for ones."""
    if first is None or second is None:
        return second if first is None else first
    return first * second


def _ratios(errors: np.ndarray) -> np.ndarray:
    """Squared errors relative to the variances that were predicted."""
    return errors[:, 0] / (errors[:, 1] + errors[:, 2])
