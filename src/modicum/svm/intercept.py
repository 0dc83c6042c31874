"""An intercept for balls: the paper's machine has none, and a constant column would change its geometry (rai2009)."""

from typing import Any, Self

import numpy as np

from modicum.rules.invariants import Array, Is
from modicum.svm.ellipsoid import Full
from modicum.svm.machine import Starter

EAGERNESS = 100.0  # times the cost of a row: two numbers need next to no regularization


class WithIntercept(Starter):
    """A ball, and a slope and an intercept for its decisions.

    The two numbers are learned as if a ball's decision and a constant were the columns of a row, from decisions made
    before the row was learned. Machines of different classes then speak in the same unit, the margin. Where that makes
    more mistakes than the ball does by itself, as it may when a class is rare, the ball is left alone.
    """

    _invariants = {
        "ball": Is(Starter, width="width"),
        "line": Is(Full, width=2),
        "mistakes": Array("float64", 2, low=0.0),
    }

    def __init__(self, ball: Starter):
        self.ball = ball
        self.line = Full(2)
        self.mistakes = np.zeros(2)  # of the ball and of the line, in weights of rows

    def begin(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        self.ball.begin(Z, sign, cost)

    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        bare = self.ball.learn(Z, sign, cost)
        lined = self.line.learn(_with_one(bare), sign, EAGERNESS * cost, weight)
        wrong = (1.0 if weight is None else weight) * (np.stack([bare, lined]) * sign <= 0.0)
        totals = np.cumsum(np.column_stack([self.mistakes, wrong]), axis=1)  # one by one, whatever the chunks
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

    def blank(self) -> Self:
        return type(self)(self.ball.blank())

    def mirrored(self) -> Self:
        mirror = self.copied()
        mirror.ball = self.ball.mirrored()
        mirror.line = self.line.reflected(1)  # a decision changes its sign with the row's
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
    return np.column_stack([decisions, np.ones(len(decisions))])
