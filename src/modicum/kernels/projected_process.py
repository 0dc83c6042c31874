"""The projected process: a Gaussian process whose functions are spanned by a few active rows and fitted to all rows.

seeger2003; quinonero2005, sections 4 and 5 (there: deterministic training conditional). With active rows A, features
k_n = k(x_n, A) of a row, noise s2 and sums over all rows,

    M = s2 K_AA + sum_n k_n k_n',    beta = M^-1 sum_n k_n y_n
    mean of f at x:  k(x, A) beta    variance:  k(x, x) - k(x, A) (K_AA^-1 - s2 M^-1) k(A, x)

so only the sums must be kept. Beyond the papers: `Moments` are translated when active rows or the
kernel change, by regressing new features on the old ones over a sample of the rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from scipy.linalg import lapack, solve_triangular

from modicum.kernels.kernel import Kernel
from modicum.kernels.marginal_likelihood import NO_LIKELIHOOD, maximize_likelihood
from modicum.rules.invariants import Array
from modicum.state.part import Part

JITTER = 1e-4  # added to the diagonal of K_AA, relative to it: no fit may depend on differences of near copies
ROUNDING = 1e-13  # relative to a row's own entry: a smaller pivot is rounding error
SUM_ROUNDING = 1e-10  # added to the diagonal of M, relative to it: sums of products are no more accurate than this
REGRESSION_RIDGE = 1e-9  # relative to the norm of the features that are regressed on
SLACK = 2.0  # features are no Gaussian columns: rows that few others resemble widen the bounds
MOST_SPREAD = 0.95  # with as few sample rows as features there is no upper bound
MAX_LOG_STEP = 3.0  # kernel parameters change by at most a factor of exp(3), about twenty, per fit
MIN_IMPROVEMENT = 1e-5  # of log-likelihood per row, for another step: a fit continues another one
LEAST_NOISE = 1e-6  # relative to the variance of the targets


class Moments(Part):
    """Sums of z z' over all rows with z = (k(x, A), 1, y), for active rows A and a kernel that may change.

    `sums` has one row and column for each active row, then those of 1 and y. Sums of unchanged features stay exact.
    Those of new features are exact for future rows and estimated for past ones.
    """

    _invariants = {
        "sums": Array("float64", "width", "width"),
    }

    def __init__(self) -> None:
        self.sums = np.zeros((2, 2))

    @property
    def count(self) -> float:
        return float(self.sums[-2, -2])

    @property
    def mean_target(self) -> float:
        return float(self.sums[-1, -2]) / (self.count or 1.0)

    def initialize(self, features: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Replace the sums by those of these rows."""
        z = _z(features, y, weights)
        self.sums = z.T @ z

    def add(self, features: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add rows."""
        z = _z(features, y, weights)
        self.sums += z.T @ z

    def fade(self, factor: float) -> None:
        """Multiply the weight of all rows by a factor."""
        self.sums = self.sums * factor

    def merge(self, other: "Moments") -> None:
        """Add the rows of another stream, in the same features."""
        self.sums = self.sums + other.sums

    def translate(
        self,
        old: np.ndarray,
        new: np.ndarray,
        kept: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        n_effective: float | None = None,
    ) -> None:
        """Replace features by new ones, given both for a sample of the rows, (W, K) each.

        `kept` has the old column of each new feature, -1 if there is none; `n_effective` is the number of rows of equal
        weights that would tell as much as these. A new feature is regressed on all old ones,
        1 and y over the sample; the residuals' sums, times rows per sample row, are added:

            z' = T'z + r,    sum z' z'' = T' (sum z z') T + n / W sum_sample r r'

        Residuals are uncorrelated with z, so the result is as accurate as the sample is representative. It is
        positive semidefinite, sums of kept features are unchanged, and a sample of all rows loses nothing.

        In coordinates in which the sample's own sums are the identity, the sums over all rows are near it. Where they
        are not, after rounding in a direction that the old features hardly had, they are brought within the bounds that
        chance allows (`_plausible`), so that no error grows from one translation to the next.
        """
        z = _z(old, y, weights)
        new = new if weights is None else new * np.sqrt(weights)[:, None]
        kept = np.append(kept, [old.shape[1], old.shape[1] + 1])
        fresh, width = np.flatnonzero(kept < 0), z.shape[1]
        if not self.count:
            self.sums = np.zeros((len(kept), len(kept)))
            return
        # One QR factor of old and new features contains the regression and its residuals without loss of digits
        R = cast(np.ndarray, np.linalg.qr(_with_ridge(z, new[:, fresh]), mode="r"))
        rows_each = self.count / (len(z) if weights is None else float(weights.sum()))
        root = _plausible(self.sums / rows_each, R[:width, :width], width / (n_effective or len(z)))
        half = np.empty((width, len(kept)))  # half' half = T' sums T; with T = R_11^-1 R_12, no inverse is needed
        half[:, kept >= 0] = root @ R[:width, kept[kept >= 0]]
        half[:, fresh] = root @ R[:width, width:]
        residuals = R[width:, width:]
        self.sums = rows_each * (half.T @ half)
        self.sums[np.ix_(fresh, fresh)] += rows_each * (residuals.T @ residuals)


def _plausible(sums: np.ndarray, R: np.ndarray, ratio: float) -> np.ndarray:
    """The root E with R' E'E R = sums, the eigenvalues of E'E within `SLACK` times the bounds of marchenko1967.

    R'R are sums over a sample with `ratio` features per row: between those and the sums over all rows, eigenvalues
    differ by factors between 1 / (1 + sqrt(ratio))^2 and 1 / (1 - sqrt(ratio))^2.
    """
    half = solve_triangular(R, sums, trans=1)
    white = solve_triangular(R, half.T, trans=1)
    values, vectors = np.linalg.eigh((white + white.T) / 2)
    spread = min(np.sqrt(ratio), MOST_SPREAD)
    values = np.clip(values, 1 / (SLACK * (1 + spread) ** 2), SLACK / (1 - spread) ** 2)
    return cast(np.ndarray, np.sqrt(values)[:, None] * vectors.T)


def _with_ridge(z: np.ndarray, new: np.ndarray) -> np.ndarray:
    """z beside new features, and below them a small diagonal: copies among the columns of z would be singular."""
    small = np.sqrt(np.maximum(np.einsum("ij,ij->j", z, z), 1.0)) * REGRESSION_RIDGE
    below = np.zeros((z.shape[1], z.shape[1] + new.shape[1]))
    np.fill_diagonal(below, small)
    return np.concatenate([np.concatenate([z, new], axis=1), below])


def _z(features: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Rows of z, each times the root of its weight."""
    z = np.column_stack([features, np.ones(len(y)), y])
    return z if weights is None else z * np.sqrt(weights)[:, None]


# ---- posteriors ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """The solution beta of M beta = b, with the lower triangular J of M^-1 = J'J."""

    J: np.ndarray  # (K, K)
    b: np.ndarray  # (K,)

    @classmethod
    def of(cls, M: np.ndarray, b: np.ndarray) -> Self:
        return cls(inverse_factor(M), b)

    @cached_property
    def beta(self) -> np.ndarray:
        return self.J.T @ (self.J @ self.b)

    @property
    def inverse(self) -> np.ndarray:
        return self.J.T @ self.J

    @cached_property
    def inverse_diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->j", self.J, self.J)


@dataclass(frozen=True)
class Posterior:
    """A Gaussian process posterior with mean offset + k(x, A) beta and variance k(x, x) - k(x, A) Q k(A, x)."""

    kernel: Kernel
    active: Any
    beta: np.ndarray
    Q: np.ndarray
    offset: float

    def at(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the function at rows of X."""
        K = self.kernel(X, self.active)
        variance = self.kernel.diagonal(X) - np.einsum("nk,nk->n", K @ self.Q, K)
        return K @ self.beta + self.offset, np.maximum(variance, 0.0)

    def mean(self, X: Any) -> np.ndarray:
        return self.kernel(X, self.active) @ self.beta + self.offset


def exact_posterior(kernel: Kernel, noise: float, X: Any, y: np.ndarray, offset: float) -> Posterior:
    """The exact Gaussian process of these rows (rasmussen2006, eq. 2.25 and 2.26)."""
    K = kernel(X, X)
    solution = Solution.of((K + K.T) / 2 + noise * np.eye(len(K)), y - offset)
    return Posterior(kernel, X, solution.beta, solution.inverse, offset)


def projected_posterior(kernel: Kernel, noise: float, active: Any, moments: Moments) -> Posterior:
    """The projected process of all rows in the moments."""
    K, offset = jittered(kernel(active, active)), moments.mean_target
    features, b = moments.sums[:-2, :-2], moments.sums[:-2, -1] - offset * moments.sums[:-2, -2]
    M = noise * K + (features + features.T) / 2
    M[np.diag_indices_from(M)] *= 1 + SUM_ROUNDING
    prior, solution = inverse_factor(K), Solution.of(M, b)
    return Posterior(kernel, active, solution.beta, prior.T @ prior - noise * solution.inverse, offset)


def jittered(K: np.ndarray) -> np.ndarray:
    """The kernel matrix K_AA as it is used everywhere here: symmetric, with a slightly larger diagonal."""
    K = (K + K.T) / 2
    K[np.diag_indices_from(K)] *= 1 + JITTER
    return K


# ---- likelihood ----------------------------------------------------------------------------------


def fit_projected(
    kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray, max_iter: int
) -> tuple[Kernel, float, float]:
    """Kernel parameters and noise that raise the likelihood of the projected process, and its logarithm.

    A few steps of L-BFGS from the given values. The noise also covers what the active rows can't express, so it starts
    from at least the present mean squared residual: from far below it, the first step is erratic.
    """
    residual = _mean_squared_residual(kernel, noise, active, X, y)
    least = LEAST_NOISE * max(float(y @ y) / len(y), residual) or LEAST_NOISE
    initial = np.append(kernel.log_params, np.log(max(noise, residual, least)))
    bounds = [(value - MAX_LOG_STEP, value + MAX_LOG_STEP) for value in initial]
    bounds[-1] = (np.log(least), bounds[-1][1])

    def likelihood(kernel: Kernel, noise: float) -> tuple[float, np.ndarray]:
        return log_likelihood(kernel, noise, active, X, y)

    options = {"maxiter": max_iter, "ftol": MIN_IMPROVEMENT}
    found, value = maximize_likelihood(likelihood, kernel, len(y), initial, bounds, **options)
    return kernel.with_log_params(found[:-1]), float(np.exp(found[-1])), value


def _mean_squared_residual(kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray) -> float:
    K_A, K = jittered(kernel(active, active)), kernel(X, active)
    residual = y - K @ Solution.of(noise * K_A + K.T @ K, y @ K).beta
    return float(residual @ residual) / len(y)


def log_likelihood(kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray) -> tuple[float, np.ndarray]:
    """log N(y; 0, S) with S = K_XA K_AA^-1 K_AX + noise I, and its gradient by `kernel.log_params` and log noise.

    quinonero2005, section 9. O(n |A|^2): with M as above, |S| = |M| |K_AA|^-1 noise^(n - |A|), S^-1 y = r / noise for
    the residuals r = y - K_XA beta, and S^-1 K_XA = K_XA M^-1 K_AA.
    """
    K, pull = kernel.differentiate(X, active)
    K_A, pull_A = kernel.differentiate(active, active)
    K_A = jittered(K_A)
    features = K.T @ K
    factors = [lapack.dpotrf(matrix, lower=1, clean=1) for matrix in (K_A, noise * K_A + features)]
    if any(failed for _, failed in factors):
        return NO_LIKELIHOOD, np.zeros(len(kernel.log_params) + 1)
    (L_A, _), (L, _) = factors
    J_A, J = (lapack.dtrtri(factor, lower=1)[0] for factor in (L_A, L))
    P, inverse = J_A.T @ J_A, J.T @ J
    n, m = K.shape
    beta = J.T @ (J @ (y @ K))
    r = y - K @ beta
    log_det = 2 * float(np.log(L.diagonal()).sum() - np.log(L_A.diagonal()).sum())
    value = -0.5 * (log_det + (n - m) * np.log(noise) + float(y @ r) / noise + n * np.log(2 * np.pi))
    # Gradients by K_XA and K_AA; the jitter scales the diagonal of K_AA
    by_K = np.outer(r / noise, beta) - K @ inverse
    by_A = 0.5 * (P @ features @ inverse - np.outer(beta, beta))
    by_A[np.diag_indices_from(by_A)] *= 1 + JITTER
    by_noise = 0.5 * (float(r @ r) / noise - n + np.vdot(inverse, features))
    return float(value), np.append(pull(by_K) + pull_A(by_A), by_noise)


def inverse_factor(M: np.ndarray) -> np.ndarray:
    """The lower triangular J with J'J = M^-1; if M is not positive definite its diagonal is raised first."""
    rise, diagonal = 0.0, np.maximum(M.diagonal(), ROUNDING * M.diagonal().max(initial=1.0))
    while True:
        raised = M + rise * np.diag(diagonal)
        L, failed = lapack.dpotrf(raised.T, lower=1, clean=1, overwrite_a=1)  # symmetric; transposed: LAPACK's order
        if not failed:
            return lapack.dtrtri(L, lower=1)[0] if len(L) else L
        rise = 10 * rise or ROUNDING
