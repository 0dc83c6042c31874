"""Prediction error of the Gaussian process of the chosen rows at other rows (gomes2010, section 6).

    F(A) = -sum_i w_i (y_i - k_i P y_A)^2,    P = (K_AA + s2 I)^-1

In the notation of `subset`, with alpha = P y_A, residuals r = y_W - G y_A of the validation rows (Gr, Cr and rr: their
weighted products with G, C and themselves) and e of the candidates, the sum of squares after adding one, with
step = e / v, is

    rr - 2 step Cr + step^2 CC

and after replacing j by it, with a = alpha_j / P_jj, step = (e + U_j a) / v_j and back = a - beta step,

    rr + back^2 GG_j + step^2 CC + 2 back Gr_j - 2 step Cr - 2 back step CG

A candidate that is itself a validation row removes its own error, which biases the choice towards such rows. Offering
only other rows was no better on KIN40K with samples of 500, 1,000 or 2,000 rows and 200 to choose: the loss by fewer
candidates was larger.
"""

from dataclasses import dataclass

import numpy as np

from modicum.select.objectives.subset import Comparison, SubsetObjective


@dataclass(frozen=True)
class Residuals:
    """Residuals of the chosen rows' predictions, in the notation of the module's text."""

    alpha: np.ndarray  # (K,)
    r: np.ndarray  # (W,)
    Gr: np.ndarray  # (K,)
    GG: np.ndarray  # (K,)


class PredictionError(SubsetObjective):
    """Minus the mean squared error at the validation rows of the Gaussian process that has seen the chosen ones.

    Neither monotone nor submodular: a row with a misleading target can raise the error.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
    noise : float, default=0.1
        Variance of the noise of targets.
    """

    needs_targets = True

    targets: np.ndarray
    row_targets: np.ndarray

    @property
    def value(self) -> float:
        return -float(self.shares @ self._residuals() ** 2)

    def _residuals(self) -> np.ndarray:
        return self.row_targets - self._sample_features @ self.targets

    def summary(self) -> Residuals:
        r = self._residuals()
        Gr = (self.shares * r) @ self._sample_features
        return Residuals(self.inverse.inverse @ self.targets, r, Gr, self._squares())

    def gains(self, summary: Residuals, B: Comparison) -> np.ndarray:
        step = self._candidate_residuals(summary, B) / B.v
        return step * (2 * (B.C @ summary.r) - step * B.CC)

    def swap_gains(self, summary: Residuals, B: Comparison) -> np.ndarray:
        pair = self._pair(B)
        a = summary.alpha / self.inverse.inverse.diagonal()
        step = (self._candidate_residuals(summary, B)[:, None] + B.U * a) / pair.v
        back = a - pair.beta * step
        Cr = (B.C @ summary.r)[:, None]
        return step * (2 * (Cr + back * pair.CG) - step * B.CC[:, None]) - back * (back * summary.GG + 2 * summary.Gr)

    def _candidate_residuals(self, summary: Residuals, B: Comparison) -> np.ndarray:
        """e, the residuals of the candidates' targets."""
        assert B.targets is not None
        return B.targets - B.K @ summary.alpha
