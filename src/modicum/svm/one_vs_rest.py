"""A machine for every class, against all others; two classes share one (rai2009 has two)."""

import copy
from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np

from modicum.rules.invariants import Each, Is, Whole
from modicum.rules.params import NULL
from modicum.state.part import Part
from modicum.svm.ellipsoid import Constant, Ellipsoid
from modicum.svm.machine import BallMachine, Machine


def n_machines(n_classes: int) -> int:
    """How many machines a number of classes needs: two share one, and a single one needs none."""
    return n_classes if n_classes > 2 else max(0, n_classes - 1)


class OneVsRest(Part):
    """Machines by the code of their class, and one for a class that has not been seen yet.

    The machine `unseen` has learned all rows as negative. A new class gets a copy of it, as if the class had been
    announced. With two classes, a single machine has the second on its positive side; mirrored, it is that of the
    first. `unseen` is None where no other classes are expected: should one occur after all, its machine is initially
    blank.
    """

    _invariants = {
        "n_classes": Whole(),
        "machines": Each(Is(Machine, width="width"), lambda its: n_machines(its["n_classes"])),
        "unseen": [NULL, Is(Machine, width="width")],
    }

    def __init__(self, machine: Machine):
        self.n_classes = 0
        self.machines: list[Machine] = []
        self.unseen: Machine | None = machine

    def add_class(self) -> None:
        if self.n_classes == 2:
            self.machines = [self.machines[0].mirrored(), self.machines[0]]
        if self.n_classes:
            self.machines.append(self.machines[0].blank() if self.unseen is None else self.unseen.copied())
        self.n_classes += 1

    def close(self) -> None:
        """Expect no classes but these, of which there are two or more."""
        self.unseen = None

    def initialize(self, Z: Any, codes: np.ndarray, cost: np.ndarray) -> None:
        """Forget, and learn these rows together."""
        for ball, sign in self._balls(codes):
            ball.initialize(Z, sign, cost)

    def replay(self, Z: Any, codes: np.ndarray, cost: np.ndarray, weight: np.ndarray, others: np.ndarray) -> None:
        """Complete `initialize`: enclose the others of these rows, and fit intercepts to all of them."""
        for ball, sign in self._balls(codes):
            ball.replay(Z, sign, cost, weight, others)

    def _balls(self, codes: np.ndarray) -> Iterator[tuple[BallMachine, np.ndarray]]:
        """The machines with their signs of rows."""
        for column, machine in enumerate(self.machines):
            yield cast(BallMachine, machine), self._signs(column, codes)
        if self.unseen is not None:
            yield cast(BallMachine, self.unseen), np.full(len(codes), -1.0)

    def learn(self, Z: Any, codes: np.ndarray, cost: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """Learn rows; returns decision values from before, one column per machine."""
        decisions = np.empty((len(codes), len(self.machines)))
        for column, machine in enumerate(self.machines):
            decisions[:, column] = machine.learn(Z, self._signs(column, codes), cost, weight)
        if self.unseen is not None:
            self.unseen.learn(Z, np.full(len(codes), -1.0), cost, weight)
        return decisions

    def _signs(self, column: int, codes: np.ndarray) -> np.ndarray:
        positive = 1 if self.n_classes == 2 else column
        return np.where(codes == positive, 1.0, -1.0)

    def decide(self, Z: Any) -> np.ndarray:
        """Decision values, one column per machine."""
        return np.column_stack([machine.decide(Z) for machine in self.machines] or [np.zeros(Z.shape[0])])

    def merge(self, other: "OneVsRest", codes: np.ndarray) -> None:
        """Absorb machines of another side, whose class i is our class codes[i]; all of its classes are known here."""
        for column in range(len(self.machines)):
            code = 1 if self.n_classes == 2 else column
            theirs = other._machine_of(code, codes)
            if theirs is not None:
                self.machines[column].merge(theirs)
        if other.unseen is None:
            self.unseen = None
        elif self.unseen is not None:
            self.unseen.merge(other.unseen)

    def _machine_of(self, code: int, codes: np.ndarray) -> Machine | None:
        """The machine of what the other side calls class `code`; None if that is unseen here and none is expected."""
        mine = np.flatnonzero(codes == code)
        if not len(mine):
            return self.unseen
        if self.n_classes == 1:  # all rows were of this class
            assert self.unseen is not None
            return self.unseen.mirrored()
        if self.n_classes == 2:
            return self.machines[0] if mine[0] == 1 else self.machines[0].mirrored()
        return self.machines[mine[0]]

    @property
    def coefs(self) -> np.ndarray:
        """Weights of columns, a row per machine; without machines, no rows."""
        return np.array([machine.coef for machine in self.machines]).reshape(
            len(self.machines), len(self.all()[0].coef)
        )

    @property
    def is_constant(self) -> bool:
        """Whether machines keep the covariance that they began with."""
        return any(isinstance(machine, Constant) for machine in self.all())

    @property
    def skips_certain(self) -> bool:
        """Whether machines skip rows that they are certain of."""
        return any(isinstance(machine, Ellipsoid) and machine.skips_certain for machine in self.all())

    def copied(self) -> Self:
        """A copy of the whole state."""
        return copy.deepcopy(self)

    def fade(self, factor: float) -> None:
        """Multiply the weight of all rows learned by a factor."""
        for machine in self.all():
            machine.fade(factor)

    def all(self) -> list[Machine]:
        """All machines, that of unseen classes included."""
        return self.machines + ([] if self.unseen is None else [self.unseen])
