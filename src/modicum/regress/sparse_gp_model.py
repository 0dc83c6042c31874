"""How a sparse Gaussian process learns from a stream: active rows, hyper-parameters, outliers and sums over all rows.

gomes2010 (active rows by StreamGreedy, sections 3, 4 and 6); seeger2003 and quinonero2005 (projected process);
lange1989 (outliers).
"""

import copy
from typing import Any, cast

import numpy as np

from modicum.kernels.projected_process import Moments, projected_posterior
from modicum.numeric.moments import RunningMean
from modicum.regress.active_set import Basis
from modicum.regress.calibration import error_table
from modicum.regress.gp_settings import ROWS_TO_ADAPT, GPSettings, Hyperparameters
from modicum.regress.sparse_gp_state import SparseGPState
from modicum.regress.tails import (
    OUTLIER,
    Tails,
    error_ratios,
    errors_have_tails,
    fit_freedom,
    tail_scale,
    tail_weights,
    targets_have_tails,
    usual,
)
from modicum.rows import n_rows, put_values, take

REWEIGHTINGS = 10  # of the validation rows, each time hyper-parameters are fitted
LEAST_WEIGHT = 1e-6  # of outliers among the first rows
LEAST_FACTOR = 1e-100  # by which weights change at once
REFINEMENTS = 3  # times at most that `refine` offers the validation rows


class SparseGPModel(SparseGPState):
    """A Gaussian process on active rows that are swapped, fitted to the targets of all rows seen."""

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
        """Offer the validation rows again and adapt hyper-parameters, until nothing is swapped."""
        for _ in range(0 if self.is_exact else REFINEMENTS):
            swaps, old, A = self.active.n_swaps, self.active.basis, self.active
            errors = self._sample_errors(self.posterior())
            rows = A.validation_rows, A.validation_targets, self.sample.row_ids
            changed = A.offer(*rows, settings.min_gain, again=True)
            self._adapt(settings, errors, afresh)
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

    def _rows_to_fit(self, settings: GPSettings) -> np.ndarray:
        """Validation rows that are neither outliers nor of the past."""
        rows = self._present_rows()
        if self._has_tails:
            return rows[self.tails.weights[rows] > OUTLIER]
        return rows[usual(self.active.validation_targets[rows])] if settings.robust else rows

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
            ratios = error_ratios(self._raw_sample_errors(projected_posterior(A.kernel, A.noise, A.rows, sums)))
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


def _product(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    """Products of two kinds of weights; None stands for ones."""
    if first is None or second is None:
        return second if first is None else first
    return first * second
