"""Variance reduction F_V: how much observing the chosen rows reduces the variance at all others (gomes2010, eq. 3.4).

    F(A) = sum_i w_i k_i P k_i',    P = (K_AA + s2 I)^-1

is the mean reduction of the prior variance at the validation rows by observing A. It is also the generalised
coherence criterion of schlegel2017 (eq. 3 and 4), with its squared weights as weights of the rows and s2 = lambda.
In the notation of `subset`, adding a candidate gains CC / v, and replacing j by it gains

    (CC + 2 beta CG + beta^2 GG_j) / v_j - GG_j / P_jj
"""

import numpy as np

from modicum.select.objectives.subset import Comparison, SubsetObjective


class VarianceReduction(SubsetObjective):
    """Mean reduction of a Gaussian process' variance at the validation rows by observing the chosen ones.

    Monotone. Submodular where no row makes another one more informative ("suppressor-free"), which does not always
    hold and is not checked: theorems on submodular objectives hold under this condition.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
    noise : float, default=0.1
        Variance of the noise of an observation; the lambda of the coherence criterion.
    """

    monotone_submodular = True  # under the condition below
    conditions = ("variance reduction is submodular on these rows",)

    @property
    def value(self) -> float:
        explained = np.einsum("wk,wk->w", self._sample_features, self.kernel(self.rows.values, self.chosen.values))
        return float(self.shares @ explained)

    def summary(self) -> np.ndarray:
        return self._squares()

    def least_loss(self) -> float:
        """The loss of removing the least useful row."""
        return float((self._squares() / self.inverse.inverse.diagonal()).min())

    def gains(self, summary: np.ndarray, B: Comparison) -> np.ndarray:
        return B.CC / B.v

    def swap_gains(self, summary: np.ndarray, B: Comparison) -> np.ndarray:
        pair = self._pair(B)
        without = B.CC[:, None] + pair.beta * (2 * pair.CG + pair.beta * summary)
        return without / pair.v - summary / self.inverse.inverse.diagonal()
