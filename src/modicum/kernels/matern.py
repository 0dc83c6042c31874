"""Matern kernels of smoothness 3/2 and 5/2 (rasmussen2006, eq. 4.17)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from modicum._jit.kernels import decay
from modicum.kernels.stationary import Radial


class Matern32(Radial):
    """(1 + r) exp(-r) with r = sqrt(3) |a - b| / width: functions with one derivative.

    Parameters as for `RBF`.

    Examples
    --------
    >>> X = np.array([[0.0], [0.5]])
    >>> Matern32(0.5)(X[:1], X).round(3)
    array([[1.   , 0.483]])
    """

    def _shape(self, squares: np.ndarray) -> None:
        _decaying(squares, 3.0, lambda r: 1.0 + r)

    def _slope(self, squares: np.ndarray) -> None:
        _decaying(squares, 3.0, lambda r: 3.0)


class Matern52(Radial):
    """(1 + r + r^2 / 3) exp(-r) with r = sqrt(5) |a - b| / width: functions with two derivatives.

    Parameters as for `RBF`.

    Examples
    --------
    >>> X = np.array([[0.0], [0.5]])
    >>> Matern52(0.5)(X[:1], X).round(3)
    array([[1.   , 0.524]])
    """

    def _shape(self, squares: np.ndarray) -> None:
        _decaying(squares, 5.0, lambda r: 1.0 + r + r * r / 3.0)

    def _slope(self, squares: np.ndarray) -> None:
        _decaying(squares, 5.0, lambda r: 5.0 / 3.0 * (1.0 + r))


def _decaying(squares: np.ndarray, factor: float, polynomial: Callable[[np.ndarray], Any]) -> None:
    """Turn s^2 into polynomial(r) exp(-r) with r = sqrt(factor) s, in place."""
    r = np.sqrt(factor * np.maximum(squares, 0.0))
    squares[:] = r
    decay(squares.reshape(-1), 1.0)
    squares *= polynomial(r)
