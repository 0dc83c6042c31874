"""The streaming ball (rai2009, Algorithms 1 and 2; zarrabizadeh2006): a maximum margin in one pass and one vector."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from modicum._jit.ball import RADIUS, SCALE, SLACK, SQUARE, scan_dense, scan_sparse
from modicum.kernels import Linear
from modicum.rows import Rows, is_sparse, n_rows, take
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.state.packing import held_bytes
from modicum.svm.enclosing import enclose, enclose_two
from modicum.svm.machine import BallMachine, Size

STRETCH = 1.5  # radius over that of the smallest ball, at most (zarrabizadeh2006; rai2009, section 6.1, for lookahead)


class Ball(BallMachine):
    """A ball around all rows seen; its center, without the slack, is the weight vector.

    A row z of sign s and cost C is the point [s z ; e / sqrt(C)], where e is a coordinate that no other row has. A row
    inside the ball changes nothing. Rows outside are buffered until there are `lookahead` of them; then the ball
    becomes the smallest one that encloses itself and them. Answers come from the ball that encloses the buffered rows
    as well; decision values of rows being learned come from the ball without them.

    Guarantee: all points but the buffered ones are inside the ball, up to rounding. With a lookahead of 1, its radius
    is at most 3/2 of that of the smallest ball around all points (zarrabizadeh2006), in any order of rows.
    Cost: O(d) or O(non-zeros) per row, O(d) per row outside and O(lookahead^2 (lookahead + d)) per `lookahead` of
    them; one vector, and the buffered rows.

    Parameters
    ----------
    width : int
        Columns.
    lookahead : int
        The paper's L. With 1 it is Algorithm 1.

    Attributes
    ----------
    n_core : int
        Rows that were outside when they were learned: the paper's M, an upper bound of the number of support vectors.

    References
    ----------
    rai2009, Algorithms 1 and 2. Departures: the slack of a row is 1 / cost where the paper prints 1, and steps use the
    radius from before the update; the merge is ours.
    """

    _invariants = {
        "lookahead": Whole(1),
        "n_core": Whole(),
        "_v": Array("float64", "width"),
        "_ball": Array("float64", 4),
        "_buffered": [NULL, Is(Rows, n="n_buffered", width="width")],
        "_costs": Array("float64", "n_buffered", above=0.0),
        "_floor": [NULL, Real(0.0)],
    }

    _answer: tuple[np.ndarray, np.ndarray] | None = None  # the ball around the buffered rows too, once it was asked for

    def __init__(self, width: int, lookahead: int):
        self.lookahead = lookahead
        self.n_core = 0
        self._v = np.zeros(width)
        self._ball = np.array([1.0, 0.0, -1.0, 0.0])
        self._buffered: Rows | None = None  # times their signs
        self._costs = np.empty(0)  # of the buffered rows
        self._floor: float | None = None  # below the radius of any ball around all points, if not by the theorem

    # ---- learning --------------------------------------------------------------------------------

    def initialize(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        """Forget, and become the smallest ball around these rows."""
        points, slack = signed(Z, sign), 1.0 / cost
        weights, radius = enclose(Linear()(points, points) + np.diag(slack), np.zeros(len(slack)))
        self._v = points.T @ weights
        self._ball = _new_ball(self._v, radius, float(weights**2 @ slack))
        self.n_core = int(np.count_nonzero(weights))
        self._empty_buffer()

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions = np.empty(len(sign))
        outside = self._scan(Z, sign, cost, 0, decisions)
        while outside < len(sign):
            self._buffer(take(Z, slice(outside, outside + 1)) * sign[outside], cost[outside])
            outside = self._scan(Z, sign, cost, outside + 1, decisions)
        return decisions

    def _scan(self, Z: Any, sign: np.ndarray, cost: np.ndarray, start: int, decisions: np.ndarray) -> int:
        """Scan up to the first row outside the ball, or to the end."""
        rest = (sign, cost, start, self.lookahead == 1, self._v, self._ball, decisions)
        outside, enclosed = scan_sparse(Z.data, Z.indices, Z.indptr, *rest) if is_sparse(Z) else scan_dense(Z, *rest)
        self.n_core += enclosed
        return outside

    def _buffer(self, row: Any, cost: float) -> None:
        if self._buffered is None:
            self._buffered = Rows.like(row, self.lookahead)
        slot = len(self._buffered)
        self._buffered.put(np.array([slot]), alike(row, self._buffered.values))
        self._costs = np.append(self._costs, cost)
        self._answer = None
        self.n_core += 1
        if slot + 1 == self.lookahead:
            self._v, self._ball = self._enclosed(self._buffered.values)
            self._empty_buffer()

    def _empty_buffer(self) -> None:
        self._buffered, self._costs, self._answer = None, np.empty(0), None

    def _enclosed(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """The smallest ball around this one and the buffered points."""
        own, slack = self._ball, 1.0 / self._costs
        gram = np.empty((len(slack) + 1, len(slack) + 1))
        gram[0, 0] = own[SQUARE] + own[SLACK]
        gram[0, 1:] = gram[1:, 0] = own[SCALE] * (points @ self._v)
        gram[1:, 1:] = Linear()(points, points) + np.diag(slack)
        weights, radius = enclose(gram, np.append(own[RADIUS], np.zeros(len(slack))))
        w = weights[0] * own[SCALE] * self._v + points.T @ weights[1:]
        return w, _new_ball(w, radius, weights**2 @ np.append(own[SLACK], slack))

    # ---- what was learned ------------------------------------------------------------------------

    def _finished(self) -> tuple[np.ndarray, np.ndarray]:
        """Vector and numbers of the ball around the buffered rows too; the state does not change."""
        if self._buffered is None:
            return self._v, self._ball
        if self._answer is None:
            self._answer = self._enclosed(self._buffered.values)
        return self._answer

    @property
    def coef(self) -> np.ndarray:
        v, ball = self._finished()
        return ball[SCALE] * v

    @property
    def n_kept(self) -> int:
        return 1 + len(self._costs)

    @property
    def radius(self) -> float:
        return max(float(self._finished()[1][RADIUS]), 0.0)

    @property
    def least_radius(self) -> float:
        return self.radius / STRETCH if self._floor is None else self._floor

    @property
    def square(self) -> float:
        ball = self._finished()[1]
        return float(ball[SQUARE] + ball[SLACK])

    @property
    def slack(self) -> float:
        """The paper's xi^2: squared length of the center in the coordinates of single rows."""
        return float(self._finished()[1][SLACK])

    # ---- copies and merging ----------------------------------------------------------------------

    def blank(self) -> Self:
        return type(self)(len(self._v), self.lookahead)

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror._answer = None
        mirror._v *= -1.0
        if mirror._buffered is not None:
            points = mirror._buffered.values * -1.0
            mirror._buffered.put(np.arange(n_rows(points)), points)
        return mirror

    def merge(self, other: Self) -> None:
        """The smallest ball around both; buffered rows that are outside stay buffered."""
        if other._ball[RADIUS] < 0.0:
            return
        self._floor = max(self.least_radius, other.least_radius)
        buffered = [(side._buffered, side._costs) for side in (self, other) if side._buffered is not None]
        core = self.n_core + other.n_core
        self._empty_buffer()
        self._v, self._ball = self._united(other)
        for rows, costs in buffered:
            self.learn(rows.values, np.ones(len(costs)), costs)
        self.n_core = core

    def _united(self, other: Self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest ball around both, without buffered rows: slacks of different rows are orthogonal."""
        own, theirs = self._ball, other._ball
        w, v = own[SCALE] * self._v, theirs[SCALE] * other._v
        if own[RADIUS] < 0.0:
            return v, _new_ball(v, theirs[RADIUS], theirs[SLACK])
        step, radius = enclose_two((w - v) @ (w - v) + own[SLACK] + theirs[SLACK], own[RADIUS], theirs[RADIUS])
        w = (1.0 - step) * w + step * v
        return w, _new_ball(w, radius, (1.0 - step) ** 2 * own[SLACK] + step**2 * theirs[SLACK])

    @property
    def nbytes(self) -> int:
        """Bytes held; the answer counts whether it has been asked for or not."""
        return held_bytes(self._fields()) + self._v.nbytes + self._ball.nbytes

    @staticmethod
    def size(width: int, lookahead: int) -> Size:
        buffered = lookahead - 1
        return Size(1 + buffered, 8 * ((2 + buffered) * width + buffered + 16))

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_answer"}


def _new_ball(w: np.ndarray, radius: float, slack: float) -> np.ndarray:
    """The four numbers of a ball whose vector is w, with a scale of 1."""
    return np.array([1.0, w @ w, radius, slack])


def signed(Z: Any, sign: np.ndarray) -> Any:
    """Rows times their signs."""
    return sparse.diags(sign).dot(Z).tocsr() if is_sparse(Z) else sign[:, None] * Z


def alike(row: Any, values: Any) -> Any:
    """A row in the format of others, sparse or dense."""
    if is_sparse(row) == is_sparse(values):
        return row
    return row.toarray() if is_sparse(row) else sparse.csr_matrix(row)
