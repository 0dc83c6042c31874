"""What a sparse Gaussian process on a stream holds, and what follows from it: weights of rows, predictions, errors.

seeger2003 and quinonero2005 (projected process); dawid1984 (errors of rows predicted before they are learned).
"""

from typing import Any

import numpy as np

from modicum.kernels import Kernel, Scaled
from modicum.kernels.projected_process import Moments, Posterior, exact_posterior, projected_posterior
from modicum.numeric.moments import RunningMean
from modicum.regress.active_set import ActiveSet
from modicum.regress.calibration import ROWS_TO_CALIBRATE, WINDOW, Calibration, error_table, likeliest_factors
from modicum.regress.gp_settings import ROWS_TO_ADAPT, GPSettings
from modicum.regress.tails import Tails, error_ratios, tail_scale, tail_weights, without_outliers
from modicum.rows import BottomK
from modicum.rules.invariants import ABSENT, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.state.packing import missing_functions
from modicum.state.part import Part

HARDER = 1.3  # latest errors over those of the sample; in random order, 0.9 to 1.25 after 2,000 rows
LEAST_FREE = 0.3  # share of the sample that is left to judge by; with less, the estimate is too rough
PRESENT = 0.25  # of the largest weight: rows of the last two half-lives, which have three quarters of the weight


class SparseGPState(Part):
    """Active rows, a validation sample, sums over all rows and recent errors: what predictions are made from.

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

    # ---- weights of outliers ---------------------------------------------------------------------

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
        scale = tail_scale(error_ratios(self.calibration.errors), self.tails.freedom)
        return tail_weights(error_ratios(errors), self.tails.freedom, scale)

    def _without_outliers(self, errors: np.ndarray) -> np.ndarray:
        return without_outliers(errors) if self._has_tails else errors

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
