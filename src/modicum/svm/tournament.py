"""Choice of C and of the preparation of rows: all candidates learn the same rows, and the worse ones are dropped.

A stream can't be cross-validated. Instead every row is classified before it is learned (dawid1984), and each time the
number of rows has doubled the candidates are ranked by their mistakes.
"""

from typing import Any

import numpy as np

from modicum._jit.classify import count_mistakes
from modicum.rules.invariants import Array, Each, Is, Real, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part
from modicum.svm.inputs import Raw
from modicum.svm.machine import Machine
from modicum.svm.one_vs_rest import OneVsRest

FIRST_CUT = 1024  # rows from which every ranking drops half of the entrants: a row soon costs what it costs one entrant


class Entrant(Part):
    """A C and machines that learn with it; `inputs` is the index of the preparation of their rows."""

    _invariants = {
        "inputs": Whole(0, lambda its: its["n_inputs"] - 1),
        "C": Real(above=0.0),
        "machines": Is(OneVsRest, n_classes="n_classes", width="width"),
        "totals": Array("float64", 2, low=0.0),
    }

    def __init__(self, inputs: int, C: float, machines: OneVsRest):
        self.inputs = inputs
        self.C = C
        self.machines = machines
        self.totals = np.zeros(2)  # of mistakes and of losses

    def learn(self, Z: Any, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        decisions = self.machines.learn(Z, codes, np.full(len(codes), self.C), weight)
        count_mistakes(decisions, codes, weight, self.totals)
        return decisions

    @property
    def mistakes(self) -> float:
        """Weight of the rows that were misclassified before they were learned."""
        return float(self.totals[0])

    @property
    def score(self) -> tuple[float, ...]:
        """Mistakes, then losses; less is better."""
        return tuple(self.totals)


class Tournament(Part):
    """Entrants in the order of the last ranking; the first one answers."""

    _invariants = {
        "inputs": Each(Is(Raw, constant="constant"), "n_inputs"),
        "entrants": Each(Is(Entrant, n_inputs="n_inputs", n_classes="n_classes", width="width"), low=1),
        "eliminate": TRUTH,
        "rows": Whole(),
        "next_ranking": Whole(lambda its: its["rows"] + 1),
    }

    def __init__(self, inputs: list[Raw], entrants: list[Entrant], *, eliminate: bool):
        self.inputs = inputs
        self.entrants = entrants
        self.eliminate = eliminate
        self.rows = 0
        self.next_ranking = 2

    @property
    def all_machines(self) -> list[Machine]:
        return [machine for entrant in self.entrants for machine in entrant.machines.all()]

    @property
    def leader(self) -> Entrant:
        return self.entrants[0]

    @property
    def rows_to_go(self) -> int:
        """Rows until the next ranking, at which a tile has to end."""
        return self.next_ranking - self.rows

    @property
    def has_just_ranked(self) -> bool:
        return 2 * self.rows == self.next_ranking

    def prepare(self, X: Any) -> Any:
        """Rows as the leader's machines take them."""
        return self.inputs[self.leader.inputs].apply(X)

    def learn(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn rows; returns the leader's decision values from before."""
        prepared = {i: self.inputs[i].update(X, weight) for i in {entrant.inputs for entrant in self.entrants}}
        decisions, *_ = [entrant.learn(prepared[entrant.inputs], codes, weight) for entrant in self.entrants]
        self.rows += len(codes)
        if self.rows == self.next_ranking:
            self._rank()
        return decisions

    def _rank(self) -> None:
        self.entrants.sort(key=lambda entrant: entrant.score)
        if self.eliminate and self.rows >= FIRST_CUT:
            self.entrants = self.entrants[: -(-len(self.entrants) // 2)]
        self.next_ranking *= 2

    def reinitialize(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        """Initialise the machines of all entrants again, with all of these rows. Their mistakes still count."""
        prepared = [inputs.initialize(X, weight) for inputs in self.inputs]
        for entrant in self.entrants:
            entrant.machines.initialize(prepared[entrant.inputs], codes, np.full(len(codes), entrant.C))

    def merge(self, other: "Tournament", codes: np.ndarray) -> bool:
        """Absorb another tournament, whose class i is our class codes[i].

        Only machines with the same preparation of rows can be merged. Of those, entrants with the same C are merged in
        pairs, or else the best of each side. Returns False if the sides have no preparation in common; then nothing
        has changed.
        """
        pairs = self._pairs(other)
        for ours, theirs in pairs:
            ours.machines.merge(theirs.machines, codes)
            ours.totals += theirs.totals
        if pairs:
            self.entrants = sorted((ours for ours, _ in pairs), key=lambda entrant: entrant.score)
            self.rows += other.rows
            for mine, its in zip(self.inputs, other.inputs, strict=True):
                mine.merge(its)
            while self.next_ranking <= self.rows:
                self.next_ranking *= 2
        return bool(pairs)

    def _pairs(self, other: "Tournament") -> list[tuple[Entrant, Entrant]]:
        same = [(a, b) for a in self.entrants for b in other.entrants if a.inputs == b.inputs]
        return [(a, b) for a, b in same if a.C == b.C] or same[:1]
