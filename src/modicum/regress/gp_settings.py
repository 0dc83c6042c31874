"""How kernel and noise of a sparse Gaussian process are found: given, fitted to the first rows, or adapted later on.

rasmussen2006, section 5.4.1 (exact process of the first rows); quinonero2005, section 9 (sparse process).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from modicum.kernels import Kernel, Scaled
from modicum.kernels.marginal_likelihood import INITIAL_NOISE, fit_hyperparameters
from modicum.kernels.projected_process import fit_projected
from modicum.rows import take

INITIAL_ROWS = 2000  # rows of the exact Gaussian process that hyper-parameters are first fitted to, as in gomes2010
FEW_INITIAL_ROWS = 500  # the same if they are adapted later: then only an initial value is needed
ROWS_TO_ADAPT = 5  # validation rows per active row; with fewer, the likelihood of a sparse model favors overfitting
ROWS_TO_FIT = 8  # with fewer rows, hyper-parameters are guessed
ADAPT_STEPS = 10  # of L-BFGS whenever hyper-parameters are adapted


class Hyperparameters(NamedTuple):
    """Kernel and noise, and the log-likelihood per row of the rows they were fitted to; None if they are given."""

    kernel: Kernel
    noise: float
    log_likelihood: float | None = None


@dataclass(frozen=True)
class GPSettings:
    """What the parameters of a `SparseGPRegressor` ask for.

    `kernel` and `noise` are as given. With `adapts`, hyper-parameters are fitted again as the stream continues.
    """

    n_active: int
    kernel: Kernel
    noise: float | None
    adapts: bool
    min_gain: float
    robust: bool | str = False

    @property
    def n_initial(self) -> int:
        """Rows that hyper-parameters are fitted to before the sparse model takes over."""
        enough = max(FEW_INITIAL_ROWS, ROWS_TO_ADAPT * self.n_active)
        return min(enough, INITIAL_ROWS) if self.adapts else INITIAL_ROWS

    def guess(self, X: Any, y: np.ndarray) -> Hyperparameters:
        """Hyper-parameters before any fit."""
        noise = INITIAL_NOISE * float(y.var()) or 1.0 if self.noise is None else self.noise
        return Hyperparameters(self.kernel.fitted(take(X, slice(self.n_initial))), noise)

    def fit_exact(self, X: Any, y: np.ndarray) -> Hyperparameters:
        """Hyper-parameters of the exact Gaussian process of these rows."""
        if self.noise is not None:
            return Hyperparameters(self.kernel.fitted(X), self.noise)
        if len(y) < ROWS_TO_FIT:
            variance = float(y.var()) or 1.0
            return Hyperparameters(Scaled(self.kernel.fitted(X), variance), INITIAL_NOISE * variance)
        kernel, noise, value = fit_hyperparameters(self.kernel, X, y)
        return Hyperparameters(kernel, noise, value / len(y))

    def adapt(self, kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray) -> Hyperparameters:
        """Hyper-parameters of the projected process of rows with centered targets, from those given."""
        kernel, noise, value = fit_projected(kernel, noise, active, X, y, ADAPT_STEPS)
        return Hyperparameters(kernel, noise, value / len(y))

    def restart(self, active: Any, X: Any, y: np.ndarray) -> Hyperparameters:
        """The same, from the exact Gaussian process of a few rows: the present ones may be those of other rows."""
        few = np.linspace(0, len(y) - 1, min(len(y), FEW_INITIAL_ROWS)).astype(int)
        kernel, noise, _ = self.fit_exact(take(X, few), y[few])
        return self.adapt(kernel, noise, active, X, y)
