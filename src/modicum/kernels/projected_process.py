"""The projected process: a Gaussian process whose functions are spanned by a few active rows, taught by all rows.

seeger2003; quinonero2005, sections 4 and 5 (where it is called deterministic training conditional). With active
rows A, features k_n = k(x_n, A) of a row, noise s2 and sums over all rows,

    M = s2 K_AA + sum_n k_n k_n',    beta = M^-1 sum_n k_n y_n
    mean of f at x:  k(x, A) beta    variance:  k(x, x) - k(x, A) (K_AA^-1 - s2 M^-1) k(A, x)

so the sums are all that must be kept of the rows. What goes beyond the papers: `Moments` follows active rows and
kernels that change, by what a sample of the rows says about new features given the old ones.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import minimize

from modicum.kernels.kernel import Kernel
from modicum.rules.invariants import Array
from modicum.state.part import Part

JITTER = 1e-4  # added to the diagonal of K_AA, as a part of it: no fit may live on differences of near copies
ROUNDING = 1e-13  # of a row's own entry: a pivot below it is nothing else
STEADY = 1e-10  # added to the diagonal of M: sums of products have no more digits, and beta must not follow the rest
RIDGE = 1e-9  # of the length of features that are regressed on
FARTHEST = 3.0  # kernel parameters move within a factor of exp(3), about twenty, at a time
LEAST_NOISE = 1e-6  # of the targets' variance
TOO_BAD = 1e25  # minus the log-likelihood of parameters for which there is no Cholesky factor


class Moments(Part):
    """Sums of z z' over all rows with z = (k(x, A), 1, y), for active rows A and a kernel that may change.

    `sums` has one row and column for each active row, then those of 1 and y. Sums of features that stay are exact for
    ever. Those of new features are exact for rows to come; for rows that are gone they are estimated.
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
        return float(self.sums[-1, -2]) / max(1.0, self.count)

    def start(self, features: np.ndarray, y: np.ndarray) -> None:
        """The sums of these rows and no others."""
        z = _z(features, y)
        self.sums = z.T @ z

    def add(self, features: np.ndarray, y: np.ndarray) -> None:
        """More rows."""
        z = _z(features, y)
        self.sums += z.T @ z

    def merge(self, other: "Moments") -> None:
        """Rows of another stream, in the same features."""
        self.sums = self.sums + other.sums

    def translate(self, old: np.ndarray, new: np.ndarray, kept: np.ndarray, y: np.ndarray) -> None:
        """Go on with other features, those of a uniform sample of the rows being known in both (W, K).

        `kept` gives the old place of each new feature, -1 if it is really new. A new feature is regressed on all of
        the old ones, 1 and y over the sample; what its residuals there sum to, times rows per sample row, is added:

            z' = T'z + r,    sum z' z'' = T' (sum z z') T + n / W sum_sample r r'

        Residuals are not correlated with z, so these are the sums sought, up to how well a sample stands for all
        rows. They are positive semidefinite, sums of features that stay are as they were, and a sample of all rows
        loses nothing.
        """
        z = _z(old, y)
        kept = np.append(kept, [old.shape[1], old.shape[1] + 1])
        fresh, width = np.flatnonzero(kept < 0), z.shape[1]
        T = np.zeros((width, len(kept)))
        T[kept[kept >= 0], np.flatnonzero(kept >= 0)] = 1.0
        # One triangular factor of old and new features has the regression and its residuals in it, with all digits
        R = cast(np.ndarray, np.linalg.qr(_tall(z, new[:, fresh]), mode="r"))
        T[:, fresh] = solve_triangular(R[:width, :width], R[:width, width:])
        residuals = R[width:, width:]
        self.sums = T.T @ self.sums @ T
        self.sums[np.ix_(fresh, fresh)] += self.count / len(z) * (residuals.T @ residuals)


def _tall(z: np.ndarray, new: np.ndarray) -> np.ndarray:
    """z beside new features, and below them rows that keep copies among z from making it singular."""
    small = np.sqrt(np.maximum(np.einsum("ij,ij->j", z, z), 1.0)) * RIDGE
    below = np.zeros((z.shape[1], z.shape[1] + new.shape[1]))
    np.fill_diagonal(below, small)
    return np.concatenate([np.concatenate([z, new], axis=1), below])


def _z(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(y)), y])


@dataclass(frozen=True)
class Posterior:
    """A Gaussian process that has learned: beta and the matrix Q with variance k(x, x) - k(x, A) Q k(A, x)."""

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
    """The Gaussian process that has seen these rows, and no others (rasmussen2006, eq. 2.25 and 2.26)."""
    K = kernel(X, X)
    J = inverse_factor((K + K.T) / 2 + noise * np.eye(len(K)))
    return Posterior(kernel, X, J.T @ (J @ (y - offset)), J.T @ J, offset)


def projected_posterior(kernel: Kernel, noise: float, active: Any, moments: Moments) -> Posterior:
    """The projected process of all rows that the moments have seen."""
    K, offset = _jittered(kernel(active, active)), moments.mean_target
    features, b = moments.sums[:-2, :-2], moments.sums[:-2, -1] - offset * moments.sums[:-2, -2]
    M = noise * K + (features + features.T) / 2
    M[np.diag_indices_from(M)] *= 1 + STEADY
    prior, J = inverse_factor(K), inverse_factor(M)
    return Posterior(kernel, active, J.T @ (J @ b), prior.T @ prior - noise * (J.T @ J), offset)


def _jittered(K: np.ndarray) -> np.ndarray:
    K = (K + K.T) / 2
    K[np.diag_indices_from(K)] *= 1 + JITTER
    return K


# ---- likelihood ----------------------------------------------------------------------------------


def fit_projected(
    kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray, max_iter: int
) -> tuple[Kernel, float, float]:
    """Kernel parameters and noise that raise the likelihood of the projected process, and its logarithm.

    A few steps of L-BFGS from where they are. The noise also has to stand for what active rows can't express, so it
    starts from no less than the present mean squared residual: from far below, the first step would go anywhere.
    """
    residual = _mean_square_residual(kernel, noise, active, X, y)
    least = LEAST_NOISE * max(float(y @ y) / len(y), residual) or LEAST_NOISE
    place = np.append(kernel.log_params, np.log(max(noise, residual, least)))
    bounds = [(at - FARTHEST, at + FARTHEST) for at in place]
    bounds[-1] = (np.log(least), bounds[-1][1])

    def loss(place: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = log_likelihood(kernel.with_log_params(place[:-1]), np.exp(place[-1]), active, X, y)
        return -value / len(y), -gradient / len(y)

    found = minimize(loss, place, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": max_iter})
    return kernel.with_log_params(found.x[:-1]), float(np.exp(found.x[-1])), -float(found.fun) * len(y)


def _mean_square_residual(kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray) -> float:
    K_A, K = _jittered(kernel(active, active)), kernel(X, active)
    J = inverse_factor(noise * K_A + K.T @ K)
    residual = y - K @ (J.T @ (J @ (y @ K)))
    return float(residual @ residual) / len(y)


def log_likelihood(kernel: Kernel, noise: float, active: Any, X: Any, y: np.ndarray) -> tuple[float, np.ndarray]:
    """log N(y; 0, S) with S = K_XA K_AA^-1 K_AX + noise I, and its gradient by `kernel.log_params` and log noise.

    quinonero2005, section 9. O(n |A|^2): with M as above, |S| = |M| |K_AA|^-1 noise^(n - |A|), S^-1 y = r / noise for
    the residuals r = y - K_XA beta, and S^-1 K_XA = K_XA M^-1 K_AA.
    """
    K, pull = kernel.differentiate(X, active)
    K_A, pull_A = kernel.differentiate(active, active)
    K_A = _jittered(K_A)
    features = K.T @ K
    factors = [lapack.dpotrf(matrix, lower=1, clean=1) for matrix in (K_A, noise * K_A + features)]
    if any(failed for _, failed in factors):
        return -TOO_BAD, np.zeros(len(kernel.log_params) + 1)
    (L_A, _), (L, _) = factors
    J_A, J = (lapack.dtrtri(factor, lower=1)[0] for factor in (L_A, L))
    P, inverse = J_A.T @ J_A, J.T @ J
    n, m = K.shape
    beta = J.T @ (J @ (y @ K))
    r = y - K @ beta
    log_det = 2 * float(np.log(L.diagonal()).sum() - np.log(L_A.diagonal()).sum())
    value = -0.5 * (log_det + (n - m) * np.log(noise) + float(y @ r) / noise + n * np.log(2 * np.pi))
    # d value / dK_XA and d value / dK_AA, by way of S; the jitter is a part of K_AA's diagonal
    by_K = np.outer(r / noise, beta) - K @ inverse
    by_A = 0.5 * (P @ features @ inverse - np.outer(beta, beta))
    by_A[np.diag_indices_from(by_A)] *= 1 + JITTER
    by_noise = 0.5 * (float(r @ r) / noise - n + np.vdot(inverse, features))
    return float(value), np.append(pull(by_K) + pull_A(by_A), by_noise)


def inverse_factor(M: np.ndarray) -> np.ndarray:
    """J, lower triangular, with J'J = M^-1; the diagonal of a matrix that is not definite is raised first."""
    rise, diagonal = 0.0, np.maximum(M.diagonal(), ROUNDING * M.diagonal().max(initial=1.0))
    while True:
        raised = M + rise * np.diag(diagonal)
        L, failed = lapack.dpotrf(raised.T, lower=1, clean=1, overwrite_a=1)  # symmetric: the transpose is as good
        if not failed:
            return lapack.dtrtri(L, lower=1)[0] if len(L) else L
        rise = 10 * rise or ROUNDING
