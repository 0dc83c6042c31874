"""How kernel and noise of a sparse Gaussian process are found: given, fitted to the first rows, or adapted later on.

rasmussen2006, section 5.4.1 (exact process of the first rows); quinonero2005, section 9 (sparse process).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from modicum.kernels import Kernel, Scaled
from modicum.kernels.marginal_likelihood import INITIAL_NOISE, fit_hyperparameters
from modicum.kernels.projected_process import fit_projected
from modicum.rows import n_rows, take

INITIAL_ROWS = 2000  # rows of the exact Gaussian process that hyper-parameters are first fitted to, as in gomes2010
FEW_INITIAL_ROWS = 500  # the same, at least, if they are adapted later: then only an initial value is needed
ENOUGH_INITIAL_ROWS = 1000  # and at most
ROWS_TO_ADAPT = 5  # validation rows per active row; with fewer, the likelihood of a sparse model favors overfitting
ROWS_THAT_ADAPT, LEAST_THAT_ADAPT = 10, 2000  # used per active row, and at least: more cost time and change nothing
ROWS_TO_FIT = 8  # with fewer rows, hyper-parameters are guessed
MOST_STEPS = 60  # of L-BFGS if hyper-parameters are fitted only once
INITIAL_STEPS, ADAPT_STEPS = 15, 10  # the same at first, and whenever they are adapted


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
    decay: float = 1.0  # what the weight of a row is multiplied by for each later row

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
        X, y = _some(X, y, ENOUGH_INITIAL_ROWS if self.adapts else INITIAL_ROWS)
        steps = INITIAL_STEPS if self.adapts else MOST_STEPS
        kernel, noise, value = fit_hyperparameters(self.kernel, X, y, max_iter=steps)
        return Hyperparameters(kernel, noise, value / len(y))

    def adapt(self, kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray) -> Hyperparameters:
        """Hyper-parameters of the projected process of rows with centered targets, from those given."""
        X, y = _some(X, y, max(LEAST_THAT_ADAPT, ROWS_THAT_ADAPT * n_rows(active)))
        kernel, noise, value = fit_projected(kernel, noise, active, X, y, ADAPT_STEPS)
        return Hyperparameters(kernel, noise, value / len(y))

    def restart(self, active: Any, X: Any, y: np.ndarray) -> Hyperparameters:
        """The same, from the exact Gaussian process of a few rows: the present ones may be those of other rows."""
        kernel, noise, _ = self.fit_exact(*_some(X, y, FEW_INITIAL_ROWS))
        return self.adapt(kernel, noise, active, X, y)


def _some(X: Any, y: np.ndarray, most: int) -> tuple[Any, np.ndarray]:
    """At most so many of these rows, evenly spaced, and their targets."""
    some = np.linspace(0, len(y) - 1, min(len(y), most)).astype(int)
    return take(X, some), y[some]
