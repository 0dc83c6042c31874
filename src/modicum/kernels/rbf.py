"""The squared-exponential kernel (rasmussen2006, eq. 4.9), also called RBF or Gaussian kernel."""

from typing import Any

import numpy as np

from modicum._jit.kernels import decay
from modicum.kernels.stationary import Radial


class RBF(Radial):
    """exp(-|a - b|^2 / (2 width^2)): very smooth functions.

    Parameters
    ----------
    width : number, one per column, or None (the median distance between rows), default=None
    ard : bool, default=False
        Without a width, `fitted` finds one per column.

    Examples
    --------
    >>> X = np.array([[0.0], [0.5]])
    >>> RBF(0.5)(X[:1], X).round(3)
    array([[1.   , 0.607]])
    >>> RBF(ard=True).fitted(np.array([[0.0, 0.0], [1.0, 10.0]]))
    RBF([ 1.4142, 14.1421])
    """

    def _shape(self, squares: np.ndarray) -> None:
        decay(squares.reshape(-1), 0.5)

    def _slopes(self, A: Any, B: Any, K: np.ndarray) -> np.ndarray:
        return K
