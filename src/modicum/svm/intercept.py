"""An intercept for balls: the paper's machine has none, and a constant column would change its geometry (rai2009)."""

from typing import Any, Self

import numpy as np

from modicum.rules.invariants import Array, Is
from modicum.svm.ellipsoid import Full
from modicum.svm.machine import BallMachine, Size

EAGERNESS = 100.0  # times the cost of a row: two numbers need hardly any regularization


class WithIntercept(BallMachine):
    """A ball with a slope and an intercept for its decision values.

    The two numbers are the weights of an ellipsoid whose rows are a ball's decision value, from before the row was
    learned, and a constant. Decision values of different classes are then in the same unit, the margin. Where this
    makes more mistakes than the ball alone, as it may when a class is rare, the ball's own decision is used.
    """

    _invariants = {
        "ball": Is(BallMachine, width="width"),
        "line": Is(Full, width=2),
        "mistakes": Array("float64", 2, low=0.0),
    }

    def __init__(self, ball: BallMachine):
        self.ball = ball
        self.line = Full(2)
        self.mistakes = np.zeros(2)  # of the ball and of the line, in weights of rows

    def initialize(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        self.ball.initialize(Z, sign, cost)

    def replay(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray, others: np.ndarray) -> None:
        """Fit the line again as well: what it learned before was about another ball."""
        self.ball.replay(Z, sign, cost, weight, others)
        self.line, self.mistakes = Full(2), np.zeros(2)
        self._learn_line(self.ball.decide(Z), sign, cost, weight)

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        return self._learn_line(self.ball.learn(Z, sign, cost), sign, cost, weight)

    def _learn_line(
        self, bare: np.ndarray, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray:
        """Learn the line from a ball's decision values; returns decision values from before."""
        lined = self.line.learn(_with_one(bare), sign, EAGERNESS * cost, weight)
        wrong = (1.0 if weight is None else weight) * (np.stack([bare, lined]) * sign <= 0.0)
        totals = np.cumsum(
            np.column_stack([self.mistakes, wrong]), axis=1
        )  # row by row, so that chunks make no difference
        self.mistakes = totals[:, -1].copy()
        return np.where(totals[0, :-1] < totals[1, :-1], bare, lined)

    @property
    def _is_bare(self) -> bool:
        return bool(self.mistakes[0] < self.mistakes[1])

    def decide(self, Z: Any) -> np.ndarray:
        bare = self.ball.decide(Z)
        return bare if self._is_bare else self.line.decide(_with_one(bare))

    @property
    def coef(self) -> np.ndarray:
        """Weights of the columns, then the intercept."""
        slope, intercept = (1.0, 0.0) if self._is_bare else self.line.coef
        return np.append(slope * self.ball.coef, intercept)

    @staticmethod
    def size(ball: Size) -> Size:
        return Size(ball.rows, ball.nbytes + Full.size(2).nbytes + 16)

    def blank(self) -> Self:
        return type(self)(self.ball.blank())

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror.ball = self.ball.mirrored()
        mirror.line = self.line.reflected(1)  # a decision value changes its sign with the row's
        return mirror

    def merge(self, other: Self) -> None:
        self.ball.merge(other.ball)
        self.line.merge(other.line)
        self.mistakes = self.mistakes + other.mistakes

    @property
    def n_core(self) -> int:  # type: ignore[override]
        return self.ball.n_core

    @property
    def n_kept(self) -> int:
        return self.ball.n_kept

    @property
    def radius(self) -> float:
        return self.ball.radius

    @property
    def least_radius(self) -> float:
        return self.ball.least_radius

    @property
    def square(self) -> float:
        return self.ball.square


def _with_one(decisions: np.ndarray) -> np.ndarray:
    """Rows of a decision value and a constant."""
    return np.column_stack([decisions, np.ones(len(decisions))])
