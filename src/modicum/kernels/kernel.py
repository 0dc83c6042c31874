"""Kernels between two chunks of rows: their interface, and how they combine.

A kernel is called with two chunks and returns the matrix of their similarities in float64, for the sake of the inverses
and determinants computed from it. Kernels are immutable: `fitted` returns one with what depends on the data (a width by
the median heuristic) filled in, and `with_log_params` one with other parameters.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from modicum.numeric.parallel import run_tiles
from modicum.rows import n_rows, take
from modicum.rules.invariants import Is, Real
from modicum.rules.params import TRUTH, Number, check_params
from modicum.state.part import Part

ROWS_PER_TILE = 64  # with thousands of other rows, a few MiB of kernel values

Pullback = Callable[[np.ndarray], np.ndarray]


class Kernel(Part):
    """k(a, b) for all a of one chunk and b of another.

    `takes_objects`: rows are Python objects. `takes_sparse`: CSR matrices stay sparse. Arguments of the constructor are
    kept under their own names.
    """

    takes_objects = False
    takes_sparse = False
    __array_ufunc__ = None  # products of numpy scalars with kernels are ours

    def __deepcopy__(self, memo: dict[int, Any]) -> "Kernel":
        return self  # it never changes, and a user's function should not be copied

    @abstractmethod
    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """The matrix k(A, B) in float64, rows of A by rows of B."""

    def diagonal(self, A: Any) -> np.ndarray:
        """k(a, a) for each row."""
        return np.array([self(row, row)[0, 0] for row in (take(A, slice(i, i + 1)) for i in range(n_rows(A)))])

    def sums(self, A: Any, B: Any, weights: np.ndarray) -> np.ndarray:
        """sum_j weight_j k(a_i, b_j) for each a_i, for estimates: in single precision where that is faster."""
        found = np.empty(n_rows(A))

        def add_up(tile: slice) -> None:
            found[tile] = self(take(A, tile), B) @ weights

        run_tiles(add_up, len(found), ROWS_PER_TILE)
        return found

    def fitted(self, rows: Any) -> "Kernel":
        """The kernel with what depends on the data filled in; itself where nothing does."""
        return self

    # ---- parameters that can be learned --------------------------------------------------------------

    @property
    def log_params(self) -> np.ndarray:
        """Logarithms of the parameters that can be learned, without those left to `fitted`."""
        return np.empty(0)

    def with_log_params(self, values: np.ndarray) -> "Kernel":
        """The same kernel with other parameters."""
        return self

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        """k(A, B), and the function that takes weights to d/d log_params of sum_ij weight_ij k(a_i, b_j).

        Both share work; the function uses the matrix, so don't write into it.
        """
        return self(A, B), lambda weight: np.empty(0)

    def gradient(self, A: Any, B: Any, weight: np.ndarray) -> np.ndarray:
        """d/d log_params of sum_ij weight_ij k(a_i, b_j): O(n m) per parameter, no third dimension."""
        return self.differentiate(A, B)[1](weight)

    # ---- combinations --------------------------------------------------------------------------------

    def __add__(self, other: "Kernel") -> "Kernel":
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, int | float | np.number) else NotImplemented

    __rmul__ = __mul__

    # ---- equality and text ---------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[key], theirs[key]) for key in mine)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        """Arguments other than the defaults, the first one without its name."""
        shown = []
        for i, (name, argument) in enumerate(inspect.signature(type(self)).parameters.items()):
            value = getattr(self, name)
            if value is not argument.default:
                shown.append(_brief(value) if i == 0 else f"{name}={_brief(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


class _Pair(Kernel):
    """Two kernels on the same rows."""

    _invariants = {
        "left": Is(Kernel),
        "right": Is(Kernel),
        "takes_objects": TRUTH,
        "takes_sparse": TRUTH,
    }

    def __init__(self, left: Kernel, right: Kernel):
        if left.takes_objects != right.takes_objects:
            raise ValueError(f"{type(self).__name__}: {left!r} and {right!r} are not kernels on the same kind of rows.")
        self.left = left
        self.right = right
        self.takes_objects = left.takes_objects
        self.takes_sparse = left.takes_sparse and right.takes_sparse

    def fitted(self, rows: Any) -> Kernel:
        return type(self)(self.left.fitted(rows), self.right.fitted(rows))

    @property
    def log_params(self) -> np.ndarray:
        return np.concatenate([self.left.log_params, self.right.log_params])

    def with_log_params(self, values: np.ndarray) -> Kernel:
        split = len(self.left.log_params)
        return type(self)(self.left.with_log_params(values[:split]), self.right.with_log_params(values[split:]))


class Sum(_Pair):
    """k1 + k2."""

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return self.left(A, B) + self.right(A, B)

    def diagonal(self, A: Any) -> np.ndarray:
        return self.left.diagonal(A) + self.right.diagonal(A)

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        left, pull_left = self.left.differentiate(A, B)
        right, pull_right = self.right.differentiate(A, B)
        return left + right, lambda weight: np.concatenate([pull_left(weight), pull_right(weight)])

    def __repr__(self) -> str:
        return f"{self.left!r} + {self.right!r}"


class Product(_Pair):
    """k1 * k2, entry by entry."""

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        return self.left(A, B) * self.right(A, B)

    def diagonal(self, A: Any) -> np.ndarray:
        return self.left.diagonal(A) * self.right.diagonal(A)

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        left, pull_left = self.left.differentiate(A, B)
        right, pull_right = self.right.differentiate(A, B)
        return left * right, lambda weight: np.concatenate([pull_left(weight * right), pull_right(weight * left)])

    def __repr__(self) -> str:
        return f"{_factor(self.left)} * {_factor(self.right)}"


class Scaled(Kernel):
    """scale * k; for a Gaussian process the scale is the variance of the signal."""

    _invariants = {
        "kernel": Is(Kernel),
        "scale": Real(above=0.0),
        "takes_objects": TRUTH,
        "takes_sparse": TRUTH,
    }

    def __init__(self, kernel: Kernel, scale: float):
        self.kernel = kernel
        self.scale = scale
        check_params(self, vars(self), {"scale": [Number(0, open_ends=True)]})
        self.scale = float(scale)
        self.takes_objects = kernel.takes_objects
        self.takes_sparse = kernel.takes_sparse

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        K = self.kernel(A, B)
        return np.multiply(K, self.scale, out=K)

    def diagonal(self, A: Any) -> np.ndarray:
        return self.scale * self.kernel.diagonal(A)

    def sums(self, A: Any, B: Any, weights: np.ndarray) -> np.ndarray:
        return self.scale * self.kernel.sums(A, B, weights)

    def fitted(self, rows: Any) -> Kernel:
        return Scaled(self.kernel.fitted(rows), self.scale)

    @property
    def log_params(self) -> np.ndarray:
        return np.concatenate([[np.log(self.scale)], self.kernel.log_params])

    def with_log_params(self, values: np.ndarray) -> Kernel:
        return Scaled(self.kernel.with_log_params(values[1:]), float(np.exp(values[0])))

    def differentiate(self, A: Any, B: Any) -> tuple[np.ndarray, Pullback]:
        K, pull = self.kernel.differentiate(A, B)

        def gradient(weight: np.ndarray) -> np.ndarray:
            return self.scale * np.concatenate([[np.vdot(weight, K)], pull(weight)])

        return self.scale * K, gradient

    def __repr__(self) -> str:
        return f"{self.scale!r} * {_factor(self.kernel)}"


def _factor(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


def _brief(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return getattr(value, "__name__", repr(value))
    if value.ndim > 1:
        return f"<{' x '.join(map(str, value.shape))} values>"
    return np.array2string(value, precision=4, separator=", ", threshold=12)
