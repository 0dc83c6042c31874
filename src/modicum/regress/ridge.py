"""Ridge regression in the space spanned by kernel functions, its penalty given or chosen by leaving rows out.

smola2000 (functions spanned by few rows and fitted to more); allen1974 (errors of rows left out).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from modicum.kernels.projected_process import inverse_factor, jittered

JITTER = 1e-10  # relative to the mean diagonal: similar prototypes make the equations nearly singular
PENALTIES = 10.0 ** np.arange(1.0, -7.5, -0.5)  # to choose from, relative to the mean of k(z, z); large ones first
MOST_LEVERAGE = 0.99  # of a row on its own prediction; its error left out is not resolved beyond


class Ridge(NamedTuple):
    """The weights of kernel functions, the mean target and the penalty in use."""

    coef: np.ndarray
    intercept: float
    regularization: float


def solve_ridge(
    features: np.ndarray,
    K: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    regularization: float | None,
    fit_intercept: bool,
) -> Ridge:
    """The w that minimizes sum_i weight_i (y_i - mean - features_i w)^2 + regularization w'Kw.

    `features` are the kernel values of rows and prototypes, (n, b); `K` those among the prototypes. Without a
    penalty, it is the one with the smallest squared error of rows left out.
    """
    mean = float(np.average(y, weights=weight)) if fit_intercept else 0.0
    if regularization is None:
        share = weight / weight.sum() if fit_intercept else np.zeros(len(y))
        coef, regularization = _best_by_leaving_out(features, K, y - mean, weight, share)
        return Ridge(coef, mean, regularization)
    left = features.T * weight @ features + regularization * K
    left[np.diag_indices_from(left)] += JITTER * (np.trace(left) / max(1, len(left)) or 1.0)
    return Ridge(cho_solve(cho_factor(left), features.T @ (weight * (y - mean))), mean, regularization)


def _best_by_leaving_out(
    features: np.ndarray, K: np.ndarray, y: np.ndarray, weight: np.ndarray, share: np.ndarray
) -> tuple[np.ndarray, float]:
    """The weights with the penalty whose rows left out have the smallest error, and this penalty.

    With features Z = U S V' in which the penalty is that of plain ridge regression, a row predicts itself with the
    leverage h_i = sum_j u_ij^2 s_j^2 / (s_j^2 + penalty), and its share in the mean; left out, its error is that of
    the fit divided by 1 - h_i.
    """
    J = inverse_factor(jittered(K))
    Z = np.sqrt(weight)[:, None] * (features @ J.T)
    squares, V = np.linalg.eigh(Z.T @ Z)
    penalties = PENALTIES * (np.trace(K) / max(1, len(K)) or 1.0)
    shrunk = 1.0 / (np.maximum(squares, 0.0)[:, None] + penalties)  # (b, penalties)
    U, target = Z @ V, np.sqrt(weight) * y
    projected = U.T @ target
    leverage = np.minimum(U**2 @ shrunk + share[:, None], MOST_LEVERAGE)
    errors = (target[:, None] - U @ (shrunk * projected[:, None])) / (1.0 - leverage)
    best = int(np.einsum("ij,ij->j", errors, errors).argmin())
    return J.T @ (V @ (shrunk[:, best] * projected)), float(penalties[best])
