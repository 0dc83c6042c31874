"""Expectations of workers' matrices and of activities A_t = x_a^T W_j x_b + tau_j (gomes2011, section 7.7, corrected).

As printed, eqs. 7.7.1 and 7.7.3 lack the terms of the variances of W_j off the diagonal, and those of the bias.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from modicum._jit.crowd import pair_activities
from modicum.crowd.posterior import CrowdPosterior


class WorkerMoments(NamedTuple):
    """Of every worker j, with matrices as flat rows of D * D numbers."""

    M: np.ndarray  # E[W_j]
    G: np.ndarray  # E[tau_j W_j]
    T: np.ndarray  # S -> E[W_j S W_j], as a matrix
    tau: np.ndarray  # E[tau_j]
    tau2: np.ndarray  # E[tau_j^2]


def worker_moments(posterior: CrowdPosterior) -> WorkerMoments:
    """First and second moments of W_j = sum_m c_jm B_m and tau_j under q."""
    B, D = posterior.basis, posterior.n_dims
    c, covariance = posterior.coefficient, posterior.coefficient_covariance
    second = covariance + c[:, :, None] * c[:, None]
    J = len(c)
    M = np.tensordot(c[:, :-1], B, 1)
    G = np.tensordot(second[:, :-1, -1], B, 1)
    half = np.tensordot(second[:, :-1, :-1], B, 1)  # (J, m, f, q)
    T = np.einsum("jmfq,mdp->jdfpq", half, B, optimize=True)  # E[W_dp W_fq]
    flat = np.ascontiguousarray(T).reshape(J, D * D, D * D)
    return WorkerMoments(M.reshape(J, -1), G.reshape(J, -1), flat, c[:, -1].copy(), second[:, -1, -1].copy())


def second_moments(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """E[x x^T] of each item, flat."""
    return (covariance + mean[:, :, None] * mean[:, None]).reshape(len(mean), -1)


def expected_activities(
    posterior: CrowdPosterior, first: np.ndarray, second: np.ndarray, worker: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E[A] and E[A^2] of pairs of items, each for a worker."""
    mean, square = np.empty(len(first)), np.empty(len(first))
    P = second_moments(posterior.mean, posterior.covariance)
    pair_activities(first, second, worker, *worker_moments(posterior), posterior.mean, P, mean, square)
    return mean, square


def probability(mean: np.ndarray, square: np.ndarray) -> np.ndarray:
    """The probability of the label +1: E[1 / (1 + exp(-A))] of a Gaussian A, by MacKay's approximation."""
    variance = np.maximum(square - mean**2, 0)
    return expit(mean / np.sqrt(1 + np.pi / 8 * variance))
