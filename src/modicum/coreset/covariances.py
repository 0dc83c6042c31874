"""Covariances of mixture components as one stack of matrices, whatever their type.

Full covariances, and what is computed from them, have the shape (k, d, d). Diagonal and spherical ones have the shape
(k, 1, d): each matrix is its diagonal, as a single row.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 1e-13  # of a column's variance: less than this left unexplained by other columns is rounding error
# From the stack of matrices to the shape that scikit-learn gives each type of covariance.
PUBLIC: dict[str, Any] = {"full": np.s_[:], "diag": np.s_[:, 0], "spherical": np.s_[:, 0, 0]}


def as_matrices(values: np.ndarray, covariance_type: str, width: int) -> np.ndarray:
    """Covariances, precisions or their factors, in the shape that scikit-learn gives them, as a stack of matrices."""
    values = values.repeat(width) if covariance_type == "spherical" else values
    return values.reshape(-1, width if covariance_type == "full" else 1, width)


def transposed(matrices: np.ndarray) -> np.ndarray:
    """Each matrix transposed; diagonals are returned unchanged."""
    return matrices if matrices.shape[1] == 1 else np.ascontiguousarray(matrices.swapaxes(1, 2))


def diagonals(matrices: np.ndarray) -> np.ndarray:
    """A view of the diagonals, one per row."""
    return matrices[:, 0] if matrices.shape[1] == 1 else np.einsum("kii->ki", matrices)


def inverse_factors(covariances: np.ndarray) -> np.ndarray:
    """The inverses of the Cholesky factors; singular covariances are raised (in the given array) to have one."""
    if covariances.shape[1] == 1:
        return 1 / np.sqrt(covariances)
    return np.array([_inverse_factor(matrix) for matrix in covariances])


def _inverse_factor(covariance: np.ndarray) -> np.ndarray:
    variances = np.einsum("ii->i", covariance)
    more = 10 * ROUNDING
    while True:
        root, failed = lapack.dpotrf(covariance, lower=1)
        if not failed and (np.diagonal(root) ** 2 > ROUNDING * variances).all():
            return lapack.dtrtri(root, lower=1)[0]
        variances *= 1 + more
        more *= 10


def inverse(precisions: np.ndarray) -> np.ndarray:
    """Covariances from precisions; eigenvalues that rounding made zero or slightly negative are set to a minimum."""
    if precisions.shape[1] == 1:
        return 1 / _positive(precisions)
    values, vectors = np.linalg.eigh(precisions)
    return (vectors / _positive(values)[:, None]) @ vectors.swapaxes(1, 2)


def _positive(values: np.ndarray) -> np.ndarray:
    largest = values.max(axis=-1, keepdims=True)
    if not (values > -math.sqrt(EPS) * largest).all():
        raise ValueError("WeightedGaussianMixture: precisions_init must be positive definite.")
    return np.maximum(values, EPS * largest)
