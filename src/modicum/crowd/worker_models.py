"""What a worker can be: a matrix of their own, or a reliability (gomes2011, section 7.3.1).

A worker's matrix is W_j = sum_m c_jm B_m with a few given matrices B_m, and A_t = x_a^T W_j x_b + tau_j. With all
symmetric matrices as the basis, W_j is any of them: workers may look at different things. With the identity alone,
c_j is the reliability of a worker who sees what all see.
"""

import numpy as np

MODELS = ("reliability", "matrix")  # the simplest first


def basis(model: str, n_dims: int) -> np.ndarray:
    """The matrices B_m; those on the diagonal first."""
    if model == "reliability":
        return np.eye(n_dims)[None]
    first, second = np.triu_indices(n_dims)
    order = np.argsort(first != second, kind="stable")
    B = np.zeros((len(first), n_dims, n_dims))
    B[np.arange(len(first)), first[order], second[order]] = 1
    return np.maximum(B, B.transpose(0, 2, 1))


def is_diagonal(B: np.ndarray) -> np.ndarray:
    """Which matrices of a basis are diagonal: a typical worker, whose W is the identity, has 1 there, 0 elsewhere."""
    return np.array([not (b - np.diag(np.diag(b))).any() for b in B])
