"""A kernel divided by the lengths of both rows in its feature space."""

from typing import Any

import numpy as np

from modicum.kernels.kernel import Kernel, Pullback
from modicum.rules.invariants import Is
from modicum.rules.params import TRUTH


class Normalized(Kernel):
    """k(a, b) / sqrt(k(a, a) k(b, b)): 1 for equal rows, the cosine of an angle in general.

    Rows with k(a, a) = 0 have similarity 0 to all rows, themselves included.

    Examples
    --------
    >>> from modicum.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [5.0, 5.0]])
    >>> Normalized(Linear())(X, X).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    _invariants = {
        "kernel": Is(Kernel),
        "takes_objects": TRUTH,
        "takes_sparse": TRUTH,
    }

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.takes_objects = kernel.takes_objects
        self.takes_sparse = kernel.takes_sparse

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        K = self.kernel(A, B)
        K *= self._scale(A)[:, None]
        K *= self._scale(B)
        return K

    def diagonal(self, A: Any) -> np.ndarray:
        return (self._scale(A) > 0).astype(np.float64)

    def fitted(self, rows: Any) -> Kernel:
        return Normalized(self.kernel.fitted(rows))

    @property
    def log_params(self) -> np.ndarray:
        return self.kernel.log_params

    def with_log_params(self, values: np.ndarray) -> Kernel:
        return Normalized(self.kernel.with_log_params(values))

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        K, pull = self.kernel.differentiate(A, B)
        a, b = self._scale(A), self._scale(B)
        K = K * a[:, None] * b

        def gradient(weight: np.ndarray) -> np.ndarray:
            # d(k / sqrt(kaa kbb)) = dk / sqrt(kaa kbb) - k / sqrt(kaa kbb) (dkaa / kaa + dkbb / kbb) / 2
            pulled = weight * K
            by_a = self.kernel.gradient(A, A, np.diag(pulled.sum(axis=1) * a * a))
            by_b = self.kernel.gradient(B, B, np.diag(pulled.sum(axis=0) * b * b))
            return pull(weight * a[:, None] * b) - 0.5 * (by_a + by_b)

        return K, gradient

    def _scale(self, A: Any) -> np.ndarray:
        """1 over the length of each row."""
        squares = self.kernel.diagonal(A)
        return np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
