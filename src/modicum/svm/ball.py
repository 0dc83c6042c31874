"""The streaming ball (rai2009, Algorithms 1 and 2; zarrabizadeh2006): a maximum margin in one pass and one vector."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from modicum._jit.ball import RADIUS, SCALE, SLACK, SQUARE, scan_dense, scan_sparse
from modicum.kernels import Linear
from modicum.rows import Rows, is_sparse, n_rows, take
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.svm.enclosing import enclose, enclose_two
from modicum.svm.machine import Starter

STRETCH = (
    1.5  # the radius is at most so many times the smallest (zarrabizadeh2006; rai2009, section 6.1, for lookahead)
)


class Ball(Starter):
    """A ball around all rows seen; its center, without the slack, is the weight vector.

    A row z of sign s and cost C is the point [s z ; e / sqrt(C)], where e is a coordinate that no other row has. A row
    inside the ball changes nothing. One outside waits until there are `lookahead` of them; then the ball becomes the
    smallest one that encloses itself and them. What the machine answers is the ball after the rows that still wait;
    decisions of rows as they are learned come from the ball before.

    Guarantee: all points but those that wait are inside the ball, up to rounding. With a lookahead of 1, its radius is
    at most 3/2 of that of the smallest ball around all points (zarrabizadeh2006), in any order of rows.
    Cost: O(d) or O(non-zeros) per row, O(d) per row taken in and O(lookahead^2 (lookahead + d)) per `lookahead` of
    them; one vector, and the rows that wait.

    Parameters
    ----------
    width : int
        Columns.
    lookahead : int
        The paper's L. With 1 it is Algorithm 1.

    Attributes
    ----------
    n_core : int
        Rows that were outside when they came: the paper's M, an upper bound of the number of support vectors.

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
        "_waiting": [NULL, Is(Rows, n="n_waiting", width="width")],
        "_costs": Array("float64", "n_waiting", above=0.0),
        "_floor": [NULL, Real(0.0)],
    }

    _end: tuple[np.ndarray, np.ndarray] | None = None  # the ball after the rows that wait, once somebody asked for it

    def __init__(self, width: int, lookahead: int):
        self.lookahead = lookahead
        self.n_core = 0
        self._v = np.zeros(width)
        self._ball = np.array([1.0, 0.0, -1.0, 0.0])
        self._waiting: Rows | None = None  # times their signs
        self._costs = np.empty(0)  # of the rows that wait
        self._floor: float | None = None  # under the radius of any ball around all points, once the theorem ends

    # ---- learning --------------------------------------------------------------------------------

    def begin(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        """Forget, and become the smallest ball around these rows."""
        points, slack = signed(Z, sign), 1.0 / cost
        weights, radius = enclose(Linear()(points, points) + np.diag(slack), np.zeros(len(slack)))
        self._v = points.T @ weights
        self._ball = _new_ball(self._v, radius, float(weights**2 @ slack))
        self.n_core = int(np.count_nonzero(weights))
        self._let_go()

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        decisions = np.empty(len(sign))
        outside = self._scan(Z, sign, cost, 0, decisions)
        while outside < len(sign):
            self._wait(take(Z, slice(outside, outside + 1)) * sign[outside], cost[outside])
            outside = self._scan(Z, sign, cost, outside + 1, decisions)
        return decisions

    def _scan(self, Z: Any, sign: np.ndarray, cost: np.ndarray, start: int, decisions: np.ndarray) -> int:
        """Go on to the first row outside the ball, or to the end."""
        ends = (sign, cost, start, self.lookahead == 1, self._v, self._ball, decisions)
        outside, joined = scan_sparse(Z.data, Z.indices, Z.indptr, *ends) if is_sparse(Z) else scan_dense(Z, *ends)
        self.n_core += joined
        return outside

    def _wait(self, row: Any, cost: float) -> None:
        if self._waiting is None:
            self._waiting = Rows.like(row, self.lookahead)
        slot = len(self._waiting)
        self._waiting.put(np.array([slot]), alike(row, self._waiting.values))
        self._costs = np.append(self._costs, cost)
        self._end = None
        self.n_core += 1
        if slot + 1 == self.lookahead:
            self._v, self._ball = self._enclosed(self._waiting.values)
            self._let_go()

    def _let_go(self) -> None:
        """Nobody waits any more."""
        self._waiting, self._costs, self._end = None, np.empty(0), None

    def _enclosed(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """The smallest ball around this one and the points that wait."""
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
        """The vector and the numbers of the ball after the rows that wait; nothing changes by asking."""
        if self._waiting is None:
            return self._v, self._ball
        if self._end is None:
            self._end = self._enclosed(self._waiting.values)
        return self._end

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
        mirror._end = None
        mirror._v *= -1.0
        if mirror._waiting is not None:
            points = mirror._waiting.values * -1.0
            mirror._waiting.put(np.arange(n_rows(points)), points)
        return mirror

    def merge(self, other: Self) -> None:
        """The smallest ball around both; rows that wait and are not in it go on waiting."""
        if other._ball[RADIUS] < 0.0:
            return
        self._floor = max(self.least_radius, other.least_radius)
        waiting = [(side._waiting, side._costs) for side in (self, other) if side._waiting is not None]
        core = self.n_core + other.n_core
        self._let_go()
        self._v, self._ball = self._united(other)
        for rows, costs in waiting:
            self.learn(rows.values, np.ones(len(costs)), costs)
        self.n_core = core

    def _united(self, other: Self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest ball around both, without the rows that wait: slacks of different rows are orthogonal."""
        own, theirs = self._ball, other._ball
        w, v = own[SCALE] * self._v, theirs[SCALE] * other._v
        if own[RADIUS] < 0.0:
            return v, _new_ball(v, theirs[RADIUS], theirs[SLACK])
        step, radius = enclose_two((w - v) @ (w - v) + own[SLACK] + theirs[SLACK], own[RADIUS], theirs[RADIUS])
        w = (1.0 - step) * w + step * v
        return w, _new_ball(w, radius, (1.0 - step) ** 2 * own[SLACK] + step**2 * theirs[SLACK])

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_end"}


def _new_ball(w: np.ndarray, radius: float, slack: float) -> np.ndarray:
    return np.array([1.0, w @ w, radius, slack])


def signed(Z: Any, sign: np.ndarray) -> Any:
    """Rows times their signs."""
    return sparse.diags(sign).dot(Z).tocsr() if is_sparse(Z) else sign[:, None] * Z


def alike(row: Any, values: Any) -> Any:
    """A row, sparse or not as others are."""
    if is_sparse(row) == is_sparse(values):
        return row
    return row.toarray() if is_sparse(row) else sparse.csr_matrix(row)
