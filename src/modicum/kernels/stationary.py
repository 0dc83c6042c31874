"""Kernels of a distance between rows, measured in widths: one for all columns, or one each (rasmussen2006, ch. 4)."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from modicum.exceptions import DataError
from modicum.kernels.kernel import Kernel, Pullback
from modicum.numeric.distances import column_widths, median_width, shaped_distances, square_distances
from modicum.rows import is_sparse, n_rows
from modicum.rules.invariants import Array, Real
from modicum.rules.params import NULL, POSITIVE, TRUTH, Constraint, Where, check_params

ONE_EACH = Where(
    lambda value: np.ndim(value) == 1 and len(value) > 0 and all(map(POSITIVE.accepts, value)), "one such per column"
)


class Stationary(Kernel):
    """A kernel with k(a, a) = 1 and a width, which `fitted` finds where it is None."""

    _widths: list[Constraint] = [POSITIVE, NULL]

    _invariants = {
        "width": [NULL, Real(above=0.0), Array("float64", "n_features", above=0.0)],
    }

    def __init__(self, width: Any = None):
        check_params(self, {"width": width}, {"width": self._widths})
        self.width: Any = np.array(width, np.float64) if np.ndim(width) else width and float(width)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(n_rows(A))

    def fitted(self, rows: Any) -> Kernel:
        return self if self.width is not None else type(self)(self._suitable_width(rows))

    @abstractmethod
    def _suitable_width(self, rows: Any) -> Any: ...

    def _given_width(self) -> Any:
        if self.width is None:
            name = type(self).__name__
            raise NotFittedError(f"{name} has no width yet: call fitted(rows) first, or give one as in {name}(0.5).")
        return self.width

    @property
    def log_params(self) -> np.ndarray:
        return np.empty(0) if self.width is None else np.log(np.atleast_1d(self.width))

    def with_log_params(self, values: np.ndarray) -> Self:
        if self.width is None:
            return self
        return type(self)(np.exp(values) if np.ndim(self.width) else float(np.exp(values[0])))


class Radial(Stationary):
    """k(s) of the Euclidean distance s between rows whose columns were divided by the width.

    A kernel writes `_shape` and `_slope`; both work in place on a matrix of s^2.
    """

    takes_sparse = True
    _widths = [POSITIVE, ONE_EACH, NULL]

    _invariants = {
        "ard": TRUTH,
    }

    def __init__(self, width: Any = None, *, ard: bool = False):
        super().__init__(width)
        if ard and width is not None:
            raise ValueError(f"{type(self).__name__}: ard=True leaves the widths to `fitted`; leave out width.")
        self.ard = ard

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return shaped_distances(A, B, self._scale(B), self._shape)

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        K = self(A, B)

        def gradient(weight: np.ndarray) -> np.ndarray:
            pull = weight * self._slopes(A, B, K)
            if np.ndim(self.width):
                return _column_sums(pull, A, B) / self.width**2
            return np.array([np.vdot(pull, square_distances(A, B, self._scale(B)))])

        return K, gradient

    @abstractmethod
    def _shape(self, squares: np.ndarray) -> None:
        """Turn s^2 into k(s)."""

    def _slope(self, squares: np.ndarray) -> None:
        """Turn s^2 into -k'(s) / s; for kernels that do not write `_slopes`."""
        raise NotImplementedError

    def _slopes(self, A: Any, B: Any, K: np.ndarray) -> np.ndarray:
        """-k'(s) / s for all pairs; K is given because some kernels need no more than it."""
        return shaped_distances(A, B, self._scale(B), self._slope)

    def _suitable_width(self, rows: Any) -> Any:
        return column_widths(rows) if self.ard else median_width(rows)

    def _scale(self, rows: Any) -> Any:
        """The factor on columns."""
        width = self._given_width()
        if np.ndim(width) and len(width) != rows.shape[1]:
            raise DataError(
                f"{type(self).__name__}: it has {len(width)} widths, one per column, "
                f"but the rows have {rows.shape[1]} columns."
            )
        return 1.0 / width


def _column_sums(weight: np.ndarray, A: Any, B: Any) -> np.ndarray:
    """sum_ij weight_ij (a_ic - b_jc)^2 for each column c, by products instead of a third dimension."""
    A, B = (X.toarray() if is_sparse(X) else X for X in (A, B))
    shift = B.mean(axis=0, dtype=np.float64)  # fewer digits cancel
    A, B = A - shift, B - shift
    crossed = np.einsum("ic,ic->c", A, weight @ B)
    return weight.sum(axis=1) @ (A * A) + weight.sum(axis=0) @ (B * B) - 2 * crossed
