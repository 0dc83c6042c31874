"""Kernels of inner products: linear and polynomial (rasmussen2006, section 4.2.2)."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from modicum.kernels.kernel import Kernel, Pullback
from modicum.numeric.distances import product, square_norms
from modicum.rules.invariants import Real, Whole
from modicum.rules.params import NULL, Int, Number, check_params


class Linear(Kernel):
    """a . b: linear functions through the origin. For others, add a constant column or use `Polynomial(1)`.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> Linear()(X, X)
    array([[ 5., 11.],
           [11., 25.]])
    """

    takes_sparse = True

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return product(A.astype(np.float64, copy=False), B.astype(np.float64, copy=False))

    def diagonal(self, A: Any) -> np.ndarray:
        return square_norms(A)


class Polynomial(Kernel):
    """(scale a . b + offset)^degree: polynomials of the columns up to a degree.

    Parameters
    ----------
    degree : int, default=2
    offset : number from 0, default=1.0
        With a larger offset, low degrees count more; with 0 only the full degree counts.
    scale : number or None (1 over the mean square length of rows), default=None

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> Polynomial(2, scale=1.0)(X, X)
    array([[ 36., 144.],
           [144., 676.]])
    """

    takes_sparse = True

    _invariants = {
        "degree": Whole(1),
        "offset": Real(0.0),
        "scale": [NULL, Real(above=0.0)],
    }

    def __init__(self, degree: int = 2, *, offset: float = 1.0, scale: float | None = None):
        self.degree = degree
        self.offset = offset
        self.scale = scale
        check_params(
            self, vars(self), {"degree": [Int(1)], "offset": [Number(0)], "scale": [Number(0, open_ends=True), NULL]}
        )

    def fitted(self, rows: Any) -> Kernel:
        if self.scale is not None:
            return self
        square = float(np.mean(square_norms(rows))) if rows.shape[0] else 0.0
        return Polynomial(self.degree, offset=self.offset, scale=1.0 / square if square > 0 else 1.0)

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return _power(self._base(Linear()(A, B)), self.degree)

    def diagonal(self, A: Any) -> np.ndarray:
        return _power(self._base(square_norms(A)), self.degree)

    @property
    def log_params(self) -> np.ndarray:
        return np.log([getattr(self, name) for name in self._learned])

    def with_log_params(self, values: np.ndarray) -> Kernel:
        params = {"offset": self.offset, "scale": self.scale, **dict(zip(self._learned, np.exp(values), strict=True))}
        return Polynomial(self.degree, **params)

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        base = self._base(Linear()(A, B))
        slope = self.degree * _power(base, self.degree - 1)

        def gradient(weight: np.ndarray) -> np.ndarray:
            pull = weight * slope
            by_offset = self.offset * pull.sum()
            found = {"offset": by_offset, "scale": np.vdot(pull, base) - by_offset}
            return np.array([found[name] for name in self._learned])

        return _power(base, self.degree), gradient

    @property
    def _learned(self) -> list[str]:
        """An offset of 0 stays, and a missing scale is left to `fitted`."""
        return [name for name in ("offset", "scale") if getattr(self, name)]

    def _base(self, products: np.ndarray) -> np.ndarray:
        if self.scale is None:
            raise NotFittedError("Polynomial has no scale yet: call fitted(rows) first, or give one.")
        products *= self.scale
        products += self.offset
        return products


def _power(base: np.ndarray, degree: int) -> np.ndarray:
    """base^degree by products: numpy's power takes ten times as long."""
    out = np.ones_like(base)
    for _ in range(degree):
        out *= base
    return out
