"""Kernel parameters and noise by marginal likelihood on a subset of rows (rasmussen2006, section 5.4.1).

The exact Gaussian process of the subset is fitted by L-BFGS. A step costs a Cholesky factor, an inverse and a product
per parameter. The first steps use a few of the rows: they cost very little and save half of the steps on all rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack
from scipy.optimize import minimize

from modicum.exceptions import DataError
from modicum.kernels import Kernel, Scaled, as_kernel
from modicum.numeric.parallel import single_threaded_blas
from modicum.rows import n_rows, take
from modicum.rules.params import POSITIVE

FEW_ROWS = 500  # enough to find the neighborhood of the optimum
INITIAL_NOISE = 0.1  # relative to the variance of the targets, as are the next three
RESTART_NOISE = 0.01  # the least to continue from on all rows: a few may seem noise-free, and L-BFGS would stay there
LEAST_NOISE, LARGEST_NOISE = 1e-6, 10.0  # with less, Cholesky factors lose their digits
MAX_LOG_STEP = 10.0  # kernel parameters stay within a factor of exp(10) of their initial values
MIN_IMPROVEMENT = 1e-5  # of log-likelihood per row, for another step: 0.02 for 2,000 rows, which is negligible
NO_LIKELIHOOD = -1e25  # the log-likelihood of parameters for which there is no Cholesky factor


def fit_hyperparameters(
    kernel: str | Kernel, X: Any, y: Any, noise: float | None = None, *, max_iter: int = 60
) -> tuple[Kernel, float, float]:
    """The kernel and noise with the largest likelihood of targets y, and the logarithm of that likelihood.

    Targets are modelled as signal + noise around their mean. A kernel without a scale gets the variance of the signal
    as its scale. The search starts from the kernel's parameters, or from those that `kernel.fitted` finds.

    Cost: O(n^3) time per step and O(n^2) memory; a subset of 2,000 rows takes seconds, and is enough for a dozen
    parameters.

    Parameters
    ----------
    kernel : name or Kernel
    X, y : rows and one target each
    noise : number or None (a tenth of the variance of y), default=None
        Variance of the noise to start from.
    max_iter : int, default=60
        Most steps of L-BFGS.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 2))
    >>> y = np.sin(2 * X[:, 0]) + rng.normal(0, 0.1, 200)
    >>> kernel, noise, value = fit_hyperparameters("rbf-ard", X, y)
    >>> bool(kernel.kernel.width[1] > 10 * kernel.kernel.width[0])  # the second column does not matter
    True
    >>> 0.005 < noise < 0.02
    True
    """
    if noise is not None and not POSITIVE.accepts(noise):
        raise ValueError(f"fit_hyperparameters: noise must be {POSITIVE}, or None; got {noise!r}.")
    y, variance = _centered(y, n_rows(X))
    kernel = as_kernel(kernel).fitted(X)
    if not isinstance(kernel, Scaled):
        kernel = Scaled(kernel, variance)
    log_params = np.append(kernel.log_params, np.log(INITIAL_NOISE * variance if noise is None else noise))
    bounds = np.stack([log_params - MAX_LOG_STEP, log_params + MAX_LOG_STEP], axis=1)
    bounds[-1] = np.log([LEAST_NOISE * variance, LARGEST_NOISE * variance])
    with single_threaded_blas():  # matrices of some thousand rows gain little by threads, and lose much on busy cores
        if n_rows(X) > 2 * FEW_ROWS:
            few = np.linspace(0, n_rows(X) - 1, FEW_ROWS).astype(int)
            log_params, _ = _maximize(kernel, take(X, few), y[few], log_params, bounds, max_iter)
            log_params[-1] = max(log_params[-1], np.log(RESTART_NOISE * variance))
        log_params, value = _maximize(kernel, X, y, log_params, bounds, max_iter)
    return kernel.with_log_params(log_params[:-1]), float(np.exp(log_params[-1])), value


def _centered(y: Any, count: int) -> tuple[np.ndarray, float]:
    """Targets around their mean, and their variance."""
    y = np.asarray(y, np.float64)
    if y.shape != (count,) or not count:
        raise DataError(f"fit_hyperparameters: {count} rows came with targets of shape {y.shape}; give one per row.")
    y = y - y.mean()
    return y, float(y @ y) / count or 1.0  # constant targets do not determine scales


def _maximize(
    kernel: Kernel, X: Any, y: np.ndarray, log_params: np.ndarray, bounds: np.ndarray, max_iter: int
) -> tuple[np.ndarray, float]:
    def likelihood(kernel: Kernel, noise: float) -> tuple[float, np.ndarray]:
        return log_likelihood(kernel, noise, X, y)

    options = {"maxiter": max_iter, "ftol": MIN_IMPROVEMENT}
    return maximize_likelihood(likelihood, kernel, len(y), log_params, bounds, **options)


def maximize_likelihood(
    likelihood: Callable[[Kernel, float], tuple[float, np.ndarray]],
    kernel: Kernel,
    count: int,
    log_params: np.ndarray,
    bounds: Any,
    **options: Any,
) -> tuple[np.ndarray, float]:
    """The logarithms of kernel parameters and noise with the largest likelihood of `count` rows, and its logarithm.

    L-BFGS from `log_params`; `likelihood(kernel, noise)` returns the log-likelihood and its gradient.
    """

    def loss(log_params: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = likelihood(kernel.with_log_params(log_params[:-1]), np.exp(log_params[-1]))
        return -value / count, -gradient / count  # per row: then the first step of L-BFGS has the right size

    found = minimize(loss, log_params, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return found.x, -float(found.fun) * count


def log_likelihood(kernel: Kernel, noise: float, X: Any, y: np.ndarray) -> tuple[float, np.ndarray]:
    """log N(y; 0, K + noise I), and its gradient by `kernel.log_params` and log noise (rasmussen2006, eq. 5.8, 5.9)."""
    K, pull = kernel.differentiate(X, X)
    S = K.copy()
    S.flat[:: len(S) + 1] += noise
    L, failed = lapack.dpotrf(S.T, lower=True, overwrite_a=True)  # symmetric; transposed: LAPACK's order
    if failed:
        return NO_LIKELIHOOD, np.zeros(len(kernel.log_params) + 1)
    alpha, _ = lapack.dpotrs(L, y, lower=True)
    value = -0.5 * y @ alpha - np.log(L.diagonal()).sum() - 0.5 * len(y) * np.log(2 * np.pi)
    # The gradient by K is (alpha alpha^T - S^-1) / 2. LAPACK returns one triangle of the inverse, zeros for the other;
    # since K is symmetric, that triangle with half of the diagonal represents both.
    inverse, _ = lapack.dpotri(L, lower=True, overwrite_c=True)
    inverse *= -1.0
    inverse.T.flat[:: len(inverse) + 1] *= 0.5
    weight = blas.dger(0.5, alpha, alpha, a=inverse, overwrite_a=True).T
    return float(value), np.append(pull(weight), noise * np.trace(weight))
