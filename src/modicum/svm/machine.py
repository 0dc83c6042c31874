"""What all machines share: one two-class problem over prepared rows (rai2009, section 3)."""

import copy
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from modicum.rows import take
from modicum.state.part import Part


class Size(NamedTuple):
    """The most that a machine holds: rows, where a weight vector counts as one, and bytes."""

    rows: int
    nbytes: int


class Machine(Part):
    """A decision learned row by row.

    Rows are float64 and C-contiguous, or CSR, as `Inputs` prepares them; kernels take rows of any kind. Signs are +1
    and -1; the cost of a row is its C.
    """

    n_core: int  # rows that changed the decision

    @abstractmethod
    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """Learn rows in their order; returns each row's decision value from before it was learned.

        An ellipsoid multiplies costs by weights. A ball ignores weights: duplicate rows do not affect it.
        """

    def decide(self, Z: Any) -> np.ndarray:
        """Decision values of rows."""
        return np.asarray(Z @ self.coef)

    @property
    def coef(self) -> np.ndarray:
        """Weights of the columns, for machines that have them."""
        raise NotImplementedError

    @abstractmethod
    def mirrored(self) -> Self:
        """A copy, as if all signs had been the opposite."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Absorb a machine of the same kind that learned other rows."""

    @abstractmethod
    def blank(self) -> Self:
        """A machine like this one that has learned nothing."""

    def copied(self) -> Self:
        """A copy of the whole state."""
        return copy.deepcopy(self)

    def fade(self, factor: float) -> None:
        """Multiply the weight of all rows learned by a factor up to 1, and keep the decision."""
        raise NotImplementedError

    @property
    def n_kept(self) -> int:
        """Rows kept; a weight vector counts as one."""
        return 1


class BallMachine(Machine):
    """A machine that is a ball. It can be initialised with the exact solution for the first rows of a stream."""

    @abstractmethod
    def initialize(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        """Forget, and learn these rows together."""

    def replay(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray, others: np.ndarray) -> None:
        """Complete `initialize`, which was given these rows without the others: enclose those, one by one."""
        if len(others):
            self.learn(take(Z, others), sign[others], cost[others])

    @property
    @abstractmethod
    def radius(self) -> float:
        """Radius of the ball."""

    @property
    @abstractmethod
    def least_radius(self) -> float:
        """A lower bound on the radius of any ball around all points."""

    @property
    @abstractmethod
    def square(self) -> float:
        """Squared length of the ball's center, slack included."""
