"""What all machines share: one two-class problem over prepared rows (rai2009, section 3)."""

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from modicum.state.part import Part


class Machine(Part):
    """A decision learned row by row.

    Rows are float64 and C-contiguous, or CSR, as `Inputs` prepares them; kernels take rows of any kind. Signs are +1
    and -1; the cost of a row is its C.
    """

    n_core: int  # rows that changed the decision

    @abstractmethod
    def learn(self, Z: Any, sign: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """Learn rows in their order; returns each row's decision value from before it was learned.

        An ellipsoid multiplies costs by weights. To a ball it is all the same how often a row comes.
        """

    def decide(self, Z: Any) -> np.ndarray:
        """Decision values of rows."""
        return np.asarray(Z @ self.coef)

    @property
    def coef(self) -> np.ndarray:
        """Weights of the columns, of machines that have them."""
        raise NotImplementedError

    @abstractmethod
    def mirrored(self) -> Self:
        """A copy that is as if all signs had been the opposite."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Absorb a machine of the same kind that saw other rows."""

    @abstractmethod
    def blank(self) -> Self:
        """A machine like this one that has seen nothing."""

    def copied(self) -> Self:
        return copy.deepcopy(self)

    @property
    def n_kept(self) -> int:
        """Rows kept, a weight vector counting as one."""
        return 1


class Starter(Machine):
    """A machine that can begin with the best answer to the first rows of a stream."""

    @abstractmethod
    def begin(self, Z: Any, sign: np.ndarray, cost: np.ndarray) -> None:
        """Forget, and learn these rows all at once."""

    @property
    @abstractmethod
    def radius(self) -> float:
        """Of the ball."""

    @property
    @abstractmethod
    def least_radius(self) -> float:
        """What is proven that any ball around all points must have."""

    @property
    @abstractmethod
    def square(self) -> float:
        """Squared length of the ball's center, slack and all."""
