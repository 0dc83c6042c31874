"""What a multilogit model sees of a row by a kernel: coordinates in the span of basis rows (gomes2010rim, 5.5).

For basis rows B with k(B, B) = L L', the features phi(x) = L^-1 k(B, x) have inner products k(x, x') where the span
of B allows it, and w . phi(x) = sum_j alpha_j k(b_j, x) for alpha = L'^-1 w. The penalty |w|^2 = alpha' k(B, B) alpha
is the norm of that function in the kernel's Hilbert space (eq. 5.5.1). So kernel RIM is linear RIM on these features:
the thesis' own if B are all rows, on a budget if B are prototypes.
"""

from typing import Any, Self

import numpy as np
from scipy.linalg import lapack

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.principal_axes import PrincipalAxes
from modicum.exceptions import DataError
from modicum.kernels.kernel import Kernel
from modicum.numeric.parallel import run_tiles
from modicum.rows import Rows, RowsOf, n_rows, take
from modicum.rules.invariants import Array, Is
from modicum.state.part import Part

TILE = 1024  # rows whose kernel values with the basis are held at a time
LEAST_VARIANCE = 1e-5  # of a feature, of a total variance of 1: weights of smaller ones never pay for themselves
CUTOFF = 1e-10  # relative to the largest k(b, b): basis rows nearer to the span of the others add nothing


class KernelFeatures(Part):
    """Feature j of a row is sum_i coefficients_ij k(b_i, x) - mean_j; the total variance of features is 1.

    Scaling is that of the kernel, centering that of the biases: neither changes which functions are penalised how much
    relative to each other. Only basis rows that are needed to span all of them are kept, found by a Cholesky
    factorisation with pivoting in O(b r^2) for b rows of rank r, and only principal axes with some variance.
    """

    _invariants = {
        "kernel": Is(Kernel),
        "basis": RowsOf("n_basis"),
        "coefficients": Array("float64", "n_basis", "n_inputs"),
        "mean": Array("float64", "n_inputs"),
    }

    def __init__(self, kernel: Kernel, basis: Rows, coefficients: np.ndarray, mean: np.ndarray):
        self.kernel = kernel
        self.basis = basis
        self.coefficients = np.ascontiguousarray(coefficients)
        self.mean = mean

    @classmethod
    def of(cls, kernel: Kernel, basis: Any, X: Any, shares: np.ndarray) -> Self:
        """The map for rows of these shares, by a fitted kernel and basis rows."""
        return cls.with_features(kernel, basis, X, shares)[0]

    @classmethod
    def with_features(cls, kernel: Kernel, basis: Any, X: Any, shares: np.ndarray) -> tuple[Self, np.ndarray]:
        """The map, and the features of X: kernels may be slow, and if X is the basis one matrix of them is enough."""
        K = kernel(basis, basis)
        pivots, coefficients = independent(K)
        kept = Rows.like(basis, len(pivots))
        kept.put(np.arange(len(pivots)), take(basis, pivots))
        raw = cls(kernel, kept, coefficients, np.zeros(len(pivots)))
        phi = K[:, pivots] @ coefficients if X is basis else raw(X)
        mean = shares @ phi
        phi -= mean
        scale = float(np.sqrt(shares @ np.einsum("ij,ij->i", phi, phi))) or 1.0
        phi /= scale
        axes = PrincipalAxes.of(phi, shares, LEAST_VARIANCE).axes
        found = cls(kernel, kept, coefficients @ axes / scale, mean @ axes / scale)
        return found, np.ascontiguousarray(phi @ axes, _precision(X))

    def __call__(self, X: Any) -> np.ndarray:
        """Features of rows, of shape (n, r)."""
        out = np.empty((n_rows(X), len(self.mean)), _precision(X))

        def work(tile: slice) -> None:
            out[tile] = self.kernel(take(X, tile), self.basis.values) @ self.coefficients - self.mean

        run_tiles(work, len(out), TILE)
        return out

    def dual(self, model: Multilogit) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients alpha of shape (r, k) and biases of the same model: its logits are k(x, B) alpha + biases."""
        return self.coefficients @ model.weights, model.biases - self.mean @ model.weights


def _precision(X: Any) -> np.dtype:
    """The type of features: single precision is kept."""
    return np.dtype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)


def independent(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that span all others, as numbers, and L'^-1 for K = L L' of these rows; at least one row."""
    if K.diagonal().min() < 0:
        raise DataError(
            "the kernel of a row with itself is negative, so it is not positive definite. Distances are no kernel: "
            "give similarities, such as exp(-distance**2)."
        )
    L, pivots, rank, _ = lapack.dpstrf(K.T, tol=CUTOFF * K.diagonal().max(), lower=1)
    rank = max(1, int(rank))
    L = np.tril(L[:rank, :rank])
    if L[0, 0] <= 0:  # a kernel that is 0 for all rows
        L[0, 0] = 1.0
    return pivots[:rank].astype(np.int64) - 1, lapack.dtrtri(L, lower=1)[0].T
