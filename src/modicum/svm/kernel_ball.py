"""The streaming ball in the space of a kernel (rai2009, section 4.2), with a limited number of core vectors."""

import math
import sys
from typing import Any, Self

import numpy as np

from modicum.exceptions import DataError
from modicum.kernels import Kernel
from modicum.numeric.linalg import Inverse
from modicum.numeric.parallel import run_tiles
from modicum.rows import Rows, RowsOf, n_rows, take
from modicum.rules.invariants import LIMIT, Array, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.state.packing import held_bytes
from modicum.svm.ball import STRETCH, alike
from modicum.svm.enclosing import enclose, enclose_two
from modicum.svm.machine import BallMachine, Size

KERNEL_ROWS = 256  # rows whose kernel values are computed together: after a change of the core, the rest is recomputed
DECIDE_ROWS = 2048  # the same for rows that are only classified
RIDGE = 1e-3  # added to kernel values k(x, x) of core vectors before one is removed: some may be nearly equal


class KernelBall(BallMachine):
    """`Ball` with a kernel: the center is a combination of the core vectors, rows that were once outside.

    Beyond the limit, the core vector is removed whose removal moves the center the least, after its projection on the
    others has been added to their coefficients: by |coefficient| / sqrt((K^-1)_jj). `radius` includes the distances
    that the center has moved, so that the ball still encloses all rows that it did. Which rows are outside is decided
    without these distances, or the ball would soon be too large to learn anything.

    Guarantee: all points but the buffered ones are inside the ball, up to rounding, whatever the limit. While no core
    vector has been removed and with a lookahead of 1, its radius is at most 3/2 of the smallest.
    Cost: O(m d) per row for m core vectors; O(lookahead^3) per `lookahead` rows outside, and with a limit O(m^2) for
    each of them; O(m d) memory, with a limit O(m d + m^2). Scratch of 256 rows of m kernel values.

    Parameters
    ----------
    kernel : Kernel
        Parameters that depend on the data are estimated by `initialize`, or before it by `fit_kernel`.
    lookahead : int
        The paper's L. With 1 it is Algorithm 1.
    limit : int, default=sys.maxsize
        Core vectors to keep, in addition to fewer than `lookahead` buffered rows.

    Attributes
    ----------
    core : Rows or None
    alpha : ndarray
        Coefficients of the core vectors, signs included.

    References
    ----------
    rai2009, section 4.2 (with kernel values k(x, x) that may differ). The limit and the merge are ours.
    """

    _invariants = {
        "given": Is(Kernel),
        "kernel": Is(Kernel),
        "lookahead": Whole(1),
        "limit": LIMIT,
        "n_core": Whole(),
        "core": [NULL, RowsOf("n")],
        "alpha": Array("float64", "n"),
        "_square": Real(),
        "_radius": Real(),
        "_moved": Real(0.0),
        "_slack": Real(0.0),
        "_gram": [NULL, Is(Inverse, n="n")],
        "_buffered": [NULL, RowsOf("n_buffered")],
        "_signs": Array("float64", "n_buffered"),
        "_costs": Array("float64", "n_buffered", above=0.0),
        "_floor": [NULL, Real(0.0)],
    }

    _answer: tuple[np.ndarray, float, float, float] | None = None  # of `_finished`, until something changes

    def __init__(self, kernel: Kernel, lookahead: int, limit: int = sys.maxsize):
        self.given = self.kernel = kernel
        self.lookahead = lookahead
        self.limit = limit
        self._forget()

    def fit_kernel(self, X: Any) -> None:
        self.kernel = self.given.fitted(X)

    def _forget(self) -> None:
        self.n_core = 0
        self.core: Rows | None = None
        self.alpha = np.empty(0)
        self._square = 0.0  # squared length of the center, without the slack
        self._radius = 0.0
        self._moved = 0.0  # distances that the center has moved as core vectors were removed
        self._slack = 0.0
        self._gram: Inverse | None = None  # kernel values between core vectors, once one has been removed
        self._buffered: Rows | None = None
        self._signs, self._costs = np.empty(0), np.empty(0)  # of the buffered rows
        self._floor: float | None = None  # below the radius of any ball around all points, if not by the theorem

    # ---- learning --------------------------------------------------------------------------------

    def initialize(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        """Forget, and become the smallest ball around these rows."""
        self._forget()
        self.fit_kernel(Z)
        gram, slack = self.kernel(Z, Z) * np.outer(sign, sign), 1.0 / cost
        weights, self._radius = enclose(gram + np.diag(slack), np.zeros(len(slack)))
        self._square, self._slack = float(weights @ gram @ weights), float(weights**2 @ slack)
        core = np.flatnonzero(weights)
        self.n_core = len(core)
        self._join(take(Z, core), (weights * sign)[core])

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions = np.empty(len(sign))
        for start in range(0, len(sign), KERNEL_ROWS):
            block = slice(start, start + KERNEL_ROWS)
            self._learn_block(take(Z, block), sign[block], cost[block], decisions[block])
        return decisions

    def _learn_block(self, Z: Any, sign: np.ndarray, cost: np.ndarray, decisions: np.ndarray) -> None:
        K, own = self._similarities(Z), self.kernel.diagonal(Z)
        if not np.isfinite(K.sum() + own.sum()):
            raise DataError(f"the kernel {self.kernel!r} has values that are not finite.")
        decisions[:] = K @ self.alpha
        squares = own + 1.0 / cost  # of the points' lengths
        row = 0
        while (row := self._first_outside(sign * decisions, squares, row)) < len(sign):
            change = self._take_in(take(Z, slice(row, row + 1)), sign[row], cost[row], own[row])
            row += 1
            if change is not None:
                joined, left = change
                rest = take(Z, slice(row, None))
                K = np.hstack([K[len(K) - n_rows(rest) :], self._between(rest, joined)])[:, left]
                decisions[row:] = K @ self.alpha

    def _first_outside(self, products: np.ndarray, squares: np.ndarray, start: int) -> int:
        """The first point from `start` on that is outside the ball, or their number."""
        if self.core is None:
            return start
        distances = self._square + self._slack - 2.0 * products[start:] + squares[start:]
        outside = np.flatnonzero(distances > self._radius**2)
        return start + int(outside[0]) if len(outside) else len(squares)

    def _take_in(self, row: Any, sign: float, cost: float, own: float) -> tuple[Any, np.ndarray] | None:
        """Buffer or enclose a row outside. If core vectors change: the new ones, and which of old and new are left."""
        self.n_core += 1
        if self.core is None:
            self._square, self._slack = float(own), 1.0 / float(cost)
            return row, self._join(row, np.array([sign]))
        if self._buffered is None:
            self._buffered = Rows.like(row, self.lookahead)
        self._buffered.put(np.array([len(self._buffered)]), row)
        self._signs, self._costs = np.append(self._signs, sign), np.append(self._costs, cost)
        self._answer = None
        if len(self._buffered) < self.lookahead:
            return None
        rows, signs = self._buffered.values, self._signs
        weights, self._square, self._radius, self._slack = self._finished()
        self._empty_buffer()
        self.alpha *= weights[0]
        return rows, self._join(rows, weights[1:] * signs)

    def _empty_buffer(self) -> None:
        self._buffered, self._signs, self._costs, self._answer = None, np.empty(0), np.empty(0), None

    # ---- core vectors ----------------------------------------------------------------------------

    def _join(self, rows: Any, alpha: np.ndarray) -> np.ndarray:
        """Add core vectors. Those without weight are dropped, and others beyond the limit. Returns which are left."""
        if self.core is None:
            self.core = Rows.like(rows, self.limit)
        if self._gram is not None:
            _append(self._gram, self._between(self.core.values, rows), _ridged(self._between(rows, rows)))
        self.core.put(len(self.alpha) + np.arange(len(alpha)), rows)
        self.alpha = np.concatenate([self.alpha, alpha])
        left = np.flatnonzero(self.alpha)
        if len(left) < len(self.alpha):
            self._keep(left)
        return left[self.shrink(self.limit)]

    def _keep(self, left: np.ndarray) -> None:
        if self._gram is not None:
            for j in np.setdiff1d(np.arange(len(self.alpha)), left)[::-1]:
                self._gram.remove(int(j))
        self.alpha = self.alpha[left]
        if self.core is not None:
            self.core.keep(left)

    def shrink(self, limit: int) -> np.ndarray:
        """Remove the least important core vectors until `limit` are left. Returns which are left."""
        left = np.arange(len(self.alpha))
        while len(self.alpha) > limit:
            least = self._least_important()
            others = np.delete(np.arange(len(self.alpha)), least)
            self._project(least)
            self._keep(others)
            left = left[others]
        return left

    def _least_important(self) -> int:
        """The core vector with the smallest component orthogonal to the others."""
        if self._gram is None:
            assert self.core is not None
            self._gram = Inverse.of(_ridged(self._between(self.core.values, self.core.values)), self.limit)
        return int(np.argmin(self.alpha**2 / self._gram.inverse.diagonal()))

    def _project(self, j: int) -> None:
        """Add the projection of core vector j on the others to their coefficients."""
        assert self._gram is not None
        self._floor = self.least_radius
        column = self._gram.inverse[j]
        change = self.alpha[j] / column[j] * column
        self.alpha = self.alpha - change
        self.alpha[j] = 0.0
        self._moved += math.sqrt(max(self._quadratic(change), 0.0))
        self._square = self._quadratic(self.alpha)
        self._answer = None

    def _quadratic(self, a: np.ndarray) -> float:
        """a.K a for the kernel matrix K of the core vectors, without the ridge."""
        assert self._gram is not None
        M = self._gram.matrix
        return float(a @ M @ a - RIDGE / (1.0 + RIDGE) * (a**2 @ M.diagonal()))

    def _similarities(self, X: Any) -> np.ndarray:
        """Kernel values of rows against the core vectors."""
        return np.empty((n_rows(X), 0)) if self.core is None else self._between(X, self.core.values)

    def _between(self, A: Any, B: Any) -> np.ndarray:
        return self.kernel(A, B) if n_rows(A) and n_rows(B) else np.empty((n_rows(A), n_rows(B)))

    # ---- what was learned ------------------------------------------------------------------------

    def _finished(self) -> tuple[np.ndarray, float, float, float]:
        """The ball around the buffered rows too: weights of the center and of them, |w|^2, radius and slack."""
        if self._buffered is None:
            return np.ones(1), self._square, self._radius, self._slack
        if self._answer is None:
            self._answer = self._enclosed(self._buffered.values)
        return self._answer

    def _enclosed(self, rows: Any) -> tuple[np.ndarray, float, float, float]:
        """The smallest ball around this one and the buffered rows."""
        slack = np.append(self._slack, 1.0 / self._costs)
        gram = np.empty((len(slack), len(slack)))
        gram[0, 0] = self._square
        gram[0, 1:] = gram[1:, 0] = self._signs * (self._similarities(rows) @ self.alpha)
        gram[1:, 1:] = self._between(rows, rows) * np.outer(self._signs, self._signs)
        weights, radius = enclose(gram + np.diag(slack), np.append(self._radius, np.zeros(len(self._costs))))
        return weights, float(weights @ gram @ weights), radius, float(weights**2 @ slack)

    @property
    def radius(self) -> float:
        return self._finished()[2] + self._moved

    @property
    def least_radius(self) -> float:
        return self.radius / STRETCH if self._floor is None else self._floor

    @property
    def square(self) -> float:
        _, square, _, slack = self._finished()
        return square + slack

    @property
    def slack(self) -> float:
        """The paper's xi^2: squared length of the center in the coordinates of single rows."""
        return self._finished()[3]

    @property
    def n_kept(self) -> int:
        """Rows held: core vectors and buffered rows."""
        return len(self.alpha) + len(self._costs)

    def decide(self, Z: Any) -> np.ndarray:
        out, weights = np.zeros(n_rows(Z)), self._finished()[0]
        held = [(self.core, weights[0] * self.alpha), (self._buffered, weights[1:] * self._signs)]

        def fill(tile: slice) -> None:
            for rows, alpha in held:
                if rows is not None:
                    out[tile] += self._between(take(Z, tile), rows.values) @ alpha

        run_tiles(fill, len(out), DECIDE_ROWS)
        return out

    # ---- copies and merging ----------------------------------------------------------------------

    def blank(self) -> Self:
        blank = type(self)(self.given, self.lookahead, self.limit)
        blank.kernel = self.kernel
        return blank

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror.alpha *= -1.0
        mirror._signs *= -1.0
        return mirror

    def merge(self, other: Self) -> None:
        """The smallest ball around both; buffered rows that are outside stay buffered."""
        if other.core is None:
            return
        buffered = [(side._buffered, side._signs, side._costs) for side in (self, other) if side._buffered is not None]
        self._floor = max(self.least_radius, other.least_radius)
        self._moved = max(self._moved, other._moved)
        n_core = self.n_core + other.n_core
        theirs = other.core.values
        kind = theirs if self.core is None else self.core.values
        self._empty_buffer()
        self._unite(other, alike(theirs, kind))
        for rows, signs, costs in buffered:
            self.learn(alike(rows.values, kind), signs, costs)
        self.n_core = n_core

    def _unite(self, other: Self, theirs: Any) -> None:
        """Become the smallest ball around both, in closed form: slacks of different rows are orthogonal."""
        if self.core is None:
            step, self._radius, product = 1.0, other._radius, 0.0
        else:
            product = float(other.alpha @ self._similarities(theirs) @ self.alpha)
            square = self._square - 2.0 * product + other._square + self._slack + other._slack
            step, self._radius = enclose_two(square, self._radius, other._radius)
        keep = 1.0 - step
        self._square = keep**2 * self._square + 2.0 * keep * step * product + step**2 * other._square
        self._slack = keep**2 * self._slack + step**2 * other._slack
        self.alpha = keep * self.alpha
        self._join(theirs, step * other.alpha)

    @property
    def nbytes(self) -> int:
        """Bytes held; the answer counts whether it has been asked for or not."""
        return held_bytes(self._fields()) + 8 * (len(self._costs) + 4)

    @staticmethod
    def size(kernel_bytes: int, row_bytes: int, n_core: int, n_buffered: int) -> Size:
        """The most that is held of dense rows, apart from their kernel matrix (`matrix_bytes`)."""
        numbers = 8 * n_core + 24 * n_buffered + 8 * 20
        return Size(n_core + n_buffered, kernel_bytes + (n_core + n_buffered) * row_bytes + numbers)

    @staticmethod
    def matrix_bytes(n_core: int) -> int:
        """Bytes of the kernel matrix and its inverse, which are held once core vectors have been removed."""
        return 16 * n_core**2

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_answer"}


def _ridged(K: np.ndarray) -> np.ndarray:
    """A kernel matrix with `RIDGE` added to its diagonal, relative to it."""
    return K + RIDGE * np.diag(K.diagonal())


def _append(gram: Inverse, columns: np.ndarray, corner: np.ndarray) -> None:
    """Append rows to a matrix: `columns` are against the present rows, `corner` against each other."""
    for j in range(len(corner)):
        gram.append(np.append(columns[:, j], corner[:j, j]), corner[j, j])
