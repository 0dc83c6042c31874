"""Positive definite matrices to which rows are added, removed and swapped in O(n^2): inverse and Cholesky factor.

The swap is the rank-two update of schlegel2017, appendix D, as two rank-one updates: removing the old row subtracts
p p' / p_j, and adding the new one adds v v' / pivot. Both change the determinant by a positive factor, so the
log-determinant stays exact (appendix E there).

The pivot of a row is the fraction of its diagonal entry (`corner`) that the other rows do not explain. If it is only
rounding error, as for a copy of another row, the diagonal entry is increased: by `TINY` of it, or by as much as is
needed. No entry ever becomes NaN.
"""

import math
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from modicum._jit.linalg import (
    delete_from_factor,
    delete_row,
    empty_row,
    move_last_to,
    project,
    replace_row,
    solve_forward,
    times,
)
from modicum.exceptions import DataError
from modicum.numeric.parallel import single_threaded_blas
from modicum.rules.invariants import LIMIT, Array, Real, Whole
from modicum.state.packing import held_bytes
from modicum.state.part import Part

TINY = 1e-11  # the smallest pivot, relative to the diagonal entry: well above rounding errors of a zero
RESIDUAL = 1e-7  # below this, errors in P A - I are negligible: gains are compared at 1e-3
ROUNDINGS = 256 * np.finfo(np.float64).eps  # up to this, times the condition, errors occur in a new inverse too
PROBES = 64  # different vectors used in turn to check the inverse


class Squares(Part):
    """Square matrices of n rows, each in the corner of a larger array, which doubles up to the limit.

    A subclass names its arrays in `_rooms`.
    """

    _rooms: ClassVar[tuple[str, ...]]

    _invariants = {
        "n": Whole(),
        "_limit": LIMIT,
    }

    def __init__(self, limit: int):
        self.n = 0
        self._limit = limit
        for name in self._rooms:
            setattr(self, name, np.empty((0, 0)))

    def _make_room(self, more: int = 1) -> None:
        needed = self.n + more
        for name in self._rooms:
            room = getattr(self, name)
            if needed > len(room):
                size = max(needed, min(2 * needed, self._limit))
                larger = np.empty((size, size))
                larger[: self.n, : self.n] = room[: self.n, : self.n]
                setattr(self, name, larger)

    def _corners(self) -> dict[str, np.ndarray]:
        """The corner in use of each array."""
        return {name: getattr(self, name)[: self.n, : self.n] for name in self._rooms}

    @property
    def nbytes(self) -> int:
        return held_bytes(self._fields())  # unused room is not counted: the limit bounds it

    def _fields(self) -> dict[str, Any]:
        return vars(self) | self._corners()


class Inverse(Squares):
    """A symmetric positive definite matrix A, its inverse P and its log-determinant.

    Each change costs O(n^2). It is followed by a check of P A z = z for a vector z of random signs, a different one
    each time: the expected squared error is the squared Frobenius norm of P A - I, so drift is detected anywhere. (The
    changed row alone would not show it: the update makes its residual zero whatever P was.) Beyond a tolerance P is
    recomputed.

    Parameters
    ----------
    limit : int
        The largest number of rows.

    Attributes
    ----------
    n : int
        Rows.
    matrix, inverse : ndarray of shape (n, n)
        Views, valid until the next change.
    log_det : float
    n_refreshes : int
        How often the inverse was recomputed.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.numeric.linalg import Inverse
    >>> P = Inverse(limit=10)
    >>> P.append(np.empty(0), 2.0)
    >>> P.append(np.array([1.0]), 2.0)
    >>> np.allclose(P.inverse, [[2 / 3, -1 / 3], [-1 / 3, 2 / 3]]), bool(np.isclose(P.log_det, np.log(3)))
    (True, True)
    """

    _rooms = ("_matrix", "_inverse")
    _matrix: np.ndarray
    _inverse: np.ndarray

    _invariants = {
        "_matrix": Array("float64", "n", "n"),
        "_inverse": Array("float64", "n", "n"),
        "log_det": Real(),
        "n_refreshes": Whole(),
        "_n_checks": Whole(),
    }

    def __init__(self, limit: int):
        super().__init__(limit)
        self.log_det = 0.0
        self.n_refreshes = 0
        self._n_checks = 0

    @classmethod
    def of(cls, matrix: np.ndarray, limit: int) -> Self:
        """The inverse of a whole matrix, in O(n^3)."""
        self = cls(limit)
        self._make_room(len(matrix))
        self.n = len(matrix)
        self.matrix[:] = matrix
        self.refresh()
        return self

    @property
    def matrix(self) -> np.ndarray:
        return self._matrix[: self.n, : self.n]

    @property
    def inverse(self) -> np.ndarray:
        return self._inverse[: self.n, : self.n]

    def append(self, column: np.ndarray, corner: float) -> None:
        """Add a last row: `column` is its product with the present rows, `corner` with itself."""
        n, column = self.n, _finite(column, corner)
        self._make_room()
        for room in (self._matrix, self._inverse):  # an orthogonal row, to be replaced
            room[n, :n] = room[:n, n] = 0.0
            room[n, n] = 1.0
        self.n = n + 1
        self._replace(n, np.append(column, 0.0), corner)

    def swap(self, j: int, column: np.ndarray, corner: float) -> None:
        """Replace row j: `column` is its product with the present rows (entry j is ignored), `corner` with itself."""
        column = np.array(column, np.float64)
        column[j] = 0.0
        self._replace(j, _finite(column, corner), corner)

    def remove(self, j: int) -> None:
        """Remove row j; later rows move up."""
        self.log_det += math.log(self._entry(j))
        empty_row(self._inverse, self.n, j)
        delete_row(self._inverse, self.n, j)
        delete_row(self._matrix, self.n, j)
        self.n -= 1
        self._check()

    def refresh(self) -> None:
        """Recompute inverse and log-determinant; rows with too small a pivot get a larger diagonal entry first."""
        self.n_refreshes += 1
        with single_threaded_blas():  # threads do not pay for small matrices, and may cost much
            self._factorize()

    def lend(self, more: int) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of matrix and inverse, with room for `more` rows, for a compiled loop that changes them in place.

        Call `take_back` afterwards.
        """
        self._make_room(more)
        return self._matrix, self._inverse

    def take_back(self, n: int, log_det: float) -> None:
        """Set the number of rows after both arrays were changed in place; the log-determinant rose by `log_det`."""
        self.n = n
        self.log_det += log_det
        self._check()

    def _factorize(self) -> None:
        if not self.n:
            self.log_det = 0.0
            return
        corners = self.matrix.diagonal().copy()
        least = _least_pivot(corners)
        rise = least / 10
        while True:
            factor, failed = lapack.dpotrf(self.matrix, lower=1)
            weak = failed - 1 if failed else np.flatnonzero(factor.diagonal() ** 2 < least / 2)
            if not np.size(weak):
                break
            rise[weak] *= 10
            corners[weak] += rise[weak]
            np.fill_diagonal(self.matrix, corners)
        lower = np.tril(lapack.dpotri(factor, lower=1)[0])
        self.inverse[:] = lower + np.tril(lower, -1).T
        self.log_det = 2 * float(np.log(factor.diagonal()).sum())

    def _replace(self, j: int, column: np.ndarray, corner: float) -> None:
        going, condition, projection = self._entry(j), self._condition(), np.empty(self.n)
        pivot = corner - project(self._inverse, self.n, j, column, projection)
        column[j] = corner
        self.matrix[j] = self.matrix[:, j] = column
        if not pivot > max(TINY, ROUNDINGS * condition) * abs(corner):  # it is mostly rounding error
            self.refresh()
            return
        self.log_det += math.log(pivot * going)
        probe, image = self._probe()
        self._refresh_beyond(replace_row(self._inverse, self.n, j, projection, pivot, probe, image))

    def _entry(self, j: int) -> float:
        """P_jj: the inverse of the pivot of row j, and thus at least the inverse of its diagonal entry."""
        if not self._inverse[j, j] * self._matrix[j, j] > 0.5:
            self.refresh()
        return self._inverse[j, j]

    def _check(self) -> None:
        probe, image = self._probe()
        again = np.empty(self.n)
        times(self._inverse, self.n, image, again)
        self._refresh_beyond(np.abs(again - probe).max(initial=0.0))

    def _probe(self) -> tuple[np.ndarray, np.ndarray]:
        """The next vector z to check with, and A z."""
        self._n_checks += 1
        first = self._n_checks % PROBES
        probe = _random_signs(len(self._matrix) + PROBES)[first : first + self.n]
        image = np.empty(self.n)
        times(self._matrix, self.n, probe, image)
        return probe, image

    def _refresh_beyond(self, error: float) -> None:
        """Recompute if the error of the inverse is larger than the condition of the matrix explains."""
        if not error <= RESIDUAL and not error <= ROUNDINGS * self._condition():
            self.refresh()

    def _condition(self) -> float:
        """A lower bound of the condition number, close to it in practice."""
        return self._matrix.diagonal()[: self.n].max() * self._inverse.diagonal()[: self.n].max()


class Cholesky(Squares):
    """The lower factor L of a symmetric positive definite matrix, L L' = A.

    Rows are added by forward substitution and removed by Givens rotations; a swapped row keeps its slot (it is added
    last and rotated there). Rotations are stable, so nothing needs to be checked or recomputed. O(n^2) per change.

    Parameters
    ----------
    limit : int
        The largest number of rows.

    Attributes
    ----------
    n : int
        Rows.
    factor : ndarray of shape (n, n)
        L.
    log_det : float

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.numeric.linalg import Cholesky
    >>> L = Cholesky(limit=10)
    >>> L.append(np.empty(0), 4.0)
    >>> L.append(np.array([2.0]), 5.0)
    >>> L.factor
    array([[2., 0.],
           [1., 2.]])
    """

    _rooms = ("_upper",)
    _upper: np.ndarray

    _invariants = {
        "_upper": Array("float64", "n", "n"),
    }

    @property
    def factor(self) -> np.ndarray:
        return np.triu(self._upper[: self.n, : self.n]).T

    @property
    def log_det(self) -> float:
        return 2 * float(np.log(self._upper.diagonal()[: self.n]).sum())

    def append(self, column: np.ndarray, corner: float) -> None:
        """Add a last row: `column` is its product with the present rows, `corner` with itself."""
        self._make_room()
        row = _finite(column, corner).copy()
        solve_forward(self._upper, self.n, row)
        self._upper[: self.n, self.n] = row
        self._upper[self.n, self.n] = math.sqrt(max(corner - row @ row, _least_pivot(corner)))
        self.n += 1

    def remove(self, j: int) -> None:
        """Remove row j; later rows move up."""
        delete_from_factor(self._upper, self.n, j, np.empty(self.n))
        self.n -= 1

    def swap(self, j: int, column: np.ndarray, corner: float) -> None:
        """Replace row j: `column` is its product with the present rows (entry j is ignored), `corner` with itself."""
        self.remove(j)
        self.append(np.delete(column, j), corner)
        move_last_to(self._upper, self.n, j, np.empty(self.n))

    def half_solve(self, b: np.ndarray) -> np.ndarray:
        """L^-1 b, for a vector or the columns of a matrix."""
        return solve_triangular(self._upper[: self.n, : self.n], b, trans=1, check_finite=False)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """A^-1 b, for a vector or the columns of a matrix."""
        half = self.half_solve(b)
        return solve_triangular(self._upper[: self.n, : self.n], half, overwrite_b=True, check_finite=False)

    def _corners(self) -> dict[str, np.ndarray]:
        return {"_upper": self.factor.T}  # zero below the diagonal


def _least_pivot(corner: Any) -> Any:
    return TINY * np.where(corner == 0, 1.0, np.abs(corner))  # a row of zeros needs a positive pivot too


def _finite(column: np.ndarray, corner: float) -> np.ndarray:
    column = np.asarray(column, np.float64)
    if not math.isfinite(corner + column.sum()):
        raise DataError("a row of a matrix has entries that are not finite: check the kernel.")
    return column


@lru_cache(maxsize=16)
def _random_signs(size: int) -> np.ndarray:
    """Numbers from 1 to 2 (so that copies of a row do not cancel) of random sign; the first do not depend on `size`."""
    index = np.arange(1, size + 1, dtype=np.float64)
    fraction = (index * index * 0.6180339887498949) % 1  # equidistributed: an irrational times squares
    return np.where(fraction < 0.5, 1 + 2 * fraction, -2 * fraction)
