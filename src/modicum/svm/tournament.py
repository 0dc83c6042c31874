"""Choice of C, of the preparation of rows and of a half-life: all candidates learn the same rows, side by side.

A stream can't be cross-validated. Instead every row is classified before it is learned (dawid1984), and each time the
number of rows has doubled the candidates are ranked by their mistakes, and the worse ones are dropped. Of candidates
that forget, mistakes fade too (gama2013). Where half-lives compete, one candidate of each is kept for good, and the one
with the fewest recent mistakes answers: a stream that was still may start to change.
"""

from itertools import groupby
from typing import Any

import numpy as np

from modicum._jit.classify import decide_rows, judge
from modicum.drift import Clock
from modicum.rows import is_sparse, take
from modicum.rules.invariants import ABSENT, Array, Each, Is, Real, Whole
from modicum.rules.params import NULL, TRUTH
from modicum.state.part import Part
from modicum.svm.inputs import Raw
from modicum.svm.machine import Machine
from modicum.svm.one_vs_rest import OneVsRest

FIRST_CUT = 1024  # rows from which every ranking drops half of the entrants: a row soon costs what it costs one entrant
LEAST_PAUSE = 32  # rows between two copies of weights for judging late labels: a copy costs as much as dozens of rows
RECENT = 512  # half-life of mistakes, in rows: from 256 to 1,024, accuracy on generated streams differs by 0.3 points


class Entrant(Part):
    """A C and machines that learn with it; `inputs` is the index of the preparation of their rows."""

    _invariants = {
        "inputs": Whole(0, lambda its: its["n_inputs"] - 1),
        "C": Real(above=0.0),
        "machines": Is(OneVsRest, n_classes="n_classes", width="width"),
        "totals": Array("float64", 2, low=0.0),
        "clock": [ABSENT, NULL, Is(Clock)],
        "past": [ABSENT, NULL, Array("float64", 2, None, None)],
    }
    clock: Clock | None = None
    past: np.ndarray | None = None  # weights of two times before: the older ones judge

    def __init__(self, inputs: int, C: float, machines: OneVsRest, clock: Clock | None = None):
        self.inputs = inputs
        self.C = C
        self.machines = machines
        self.clock = clock
        self.totals = np.zeros(2)  # of mistakes and of losses

    def learn(self, Z: Any, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn rows; returns decision values from before, one column per machine: long before, with a `past`."""
        decisions = self._learn(Z, codes, weight)
        return decisions if self.past is None else _decisions(Z, self.past[0])

    def _learn(self, Z: Any, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        cost = np.full(len(codes), self.C)
        if self.clock is None:
            return self.machines.learn(Z, codes, cost, weight)
        decisions = []
        for rows, growth, ends in self.clock.periods(len(codes)):
            decisions.append(self.machines.learn(Z[rows], codes[rows], cost[rows], weight[rows] * growth))
            if ends:
                self.machines.fade(0.5)
        return np.concatenate(decisions)

    def remember(self) -> None:
        """Keep the present weights to judge later rows by, and those kept at the time before."""
        coefs = self.machines.coefs
        self.past = np.stack([coefs if self.past is None else self.past[1], coefs])

    @property
    def half_life(self) -> int | None:
        """In rows; 0 where a machine has no memory but its mean, None if nothing is forgotten."""
        if self.clock is not None:
            return self.clock.half_life
        return 0 if self.machines.is_constant else None

    @property
    def rule(self) -> tuple[float, bool]:
        """C, and whether rows are skipped that the machines are certain of."""
        return self.C, self.machines.skips_certain

    @property
    def mistakes(self) -> float:
        """Weight of the rows that were misclassified before they were learned."""
        return float(self.totals[0])

    @property
    def score(self) -> tuple[float, ...]:
        """Mistakes, then losses; less is better."""
        return tuple(self.totals)

    def merge(self, other: "Entrant", codes: np.ndarray) -> None:
        """Absorb an entrant of another side, whose class i is our class codes[i]; both streams end now."""
        machines = other.machines
        if self.clock is not None and other.clock is not None:
            machines = machines.copied()
            machines.fade(self.clock.factor_for(other.clock))
        self.machines.merge(machines, codes)
        self.totals += other.totals


class Tournament(Part):
    """Entrants in the order of the last ranking. One of them answers: the first, or that with the fewest mistakes."""

    _invariants = {
        "inputs": Each(Is(Raw, constant="constant"), "n_inputs"),
        "entrants": Each(Is(Entrant, n_inputs="n_inputs", n_classes="n_classes", width="width"), low=1),
        "eliminate": TRUTH,
        "rows": Whole(),
        "next_ranking": Whole(lambda its: its["rows"] + 1),
        "lag": [ABSENT, Whole()],
        "answering": [ABSENT, Whole(0, lambda its: len(its["entrants"]) - 1)],
    }
    answering = 0  # the index of the leader
    lag = 0  # rows between the prediction of a row and learning it

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
        return self.entrants[self.answering]

    @property
    def standings(self) -> list[Entrant]:
        """All entrants, the leader first."""
        others = self.entrants[: self.answering] + self.entrants[self.answering + 1 :]
        return [self.leader, *sorted(others, key=lambda entrant: entrant.score)]

    @property
    def rows_to_go(self) -> int:
        """Rows until the next ranking or copy of weights, at which a tile has to end."""
        rows = self.next_ranking - self.rows
        return min(rows, self._pause - self.rows % self._pause) if self.lag else rows

    @property
    def _pause(self) -> int:
        """Rows between two copies of weights. Those of one to two pauses ago judge a row: a lag ago on average."""
        return max(2 * self.lag // 3, LEAST_PAUSE)

    @property
    def has_just_ranked(self) -> bool:
        return 2 * self.rows == self.next_ranking

    def prepare(self, X: Any) -> Any:
        """Rows as the leader's machines take them."""
        return self.inputs[self.leader.inputs].apply(X)

    def learn(self, X: Any, codes: np.ndarray, weight: np.ndarray, *, drops: bool = True) -> np.ndarray:
        """Learn rows; returns the leader's decision values from before. `drops`: a ranking drops the worse entrants."""
        if self.lag and (self.rows % self._pause == 0 or self.leader.past is None):
            for entrant in self.entrants:
                entrant.remember()
        prepared = {i: self.inputs[i].update(X, weight) for i in {entrant.inputs for entrant in self.entrants}}
        decisions = [entrant.learn(prepared[entrant.inputs], codes, weight) for entrant in self.entrants]
        together = decisions[0][None] if len(decisions) == 1 else np.stack(decisions)
        answers = self._judge(together, codes, weight)
        self.rows += len(codes)
        if self.rows == self.next_ranking:
            self._rank(drops=drops)
        return answers

    def _judge(self, decisions: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Count mistakes. Returns the decision values of the leader of each row, which may be another one each time."""
        half_lives = {entrant.half_life for entrant in self.entrants}
        fading = 1.0 if half_lives == {None} else 2.0 ** (-1.0 / RECENT)
        totals, answers = np.stack([entrant.totals for entrant in self.entrants]), np.empty(decisions.shape[1:])
        changing = len(half_lives) > 1
        self.answering = judge(decisions, codes, weight, fading, changing, self.answering, totals, answers)
        for entrant, total in zip(self.entrants, totals, strict=True):
            entrant.totals = total
        return answers

    def _rank(self, *, drops: bool) -> None:
        self.entrants.sort(key=lambda entrant: entrant.score)
        if drops and self.eliminate and self.rows >= FIRST_CUT:
            self.entrants = self._better_halves()
        self.answering = 0
        self.next_ranking *= 2

    def _better_halves(self) -> list[Entrant]:
        """The better half of the entrants of each half-life, in order."""

        def memory(entrant: Entrant) -> float:
            return np.inf if entrant.half_life is None else entrant.half_life

        halves = []
        for _, group in groupby(sorted(self.entrants, key=memory), key=memory):
            entrants = list(group)
            halves += entrants[: -(-len(entrants) // 2)]
        return sorted(halves, key=lambda entrant: entrant.score)

    def reinitialize(self, X: Any, codes: np.ndarray, weight: np.ndarray, chosen: np.ndarray) -> None:
        """Initialise the preparation of rows again with these rows, and the machines of all entrants with those chosen.

        Their mistakes still count.
        """
        prepared = [take(inputs.initialize(X, weight), chosen) for inputs in self.inputs]
        for entrant in self.entrants:
            entrant.machines.initialize(prepared[entrant.inputs], codes[chosen], np.full(len(chosen), entrant.C))

    def replay(self, X: Any, codes: np.ndarray, weight: np.ndarray, others: np.ndarray) -> None:
        """Enclose the others of the rows that machines were initialised with, and fit intercepts to all of them."""
        prepared = [inputs.apply(X) for inputs in self.inputs]
        for entrant in self.entrants:
            cost = np.full(len(codes), entrant.C)
            entrant.machines.replay(prepared[entrant.inputs], codes, cost, weight, others)

    def merge(self, other: "Tournament", codes: np.ndarray) -> bool:
        """Absorb another tournament, whose class i is our class codes[i].

        Only machines with the same half-life and the same preparation of rows can be merged. Of those, entrants with
        the same C are merged in pairs, or else the best of each side. Returns False if a half-life has no pair; then
        nothing has changed.
        """
        half_lives = {entrant.half_life for entrant in self.entrants}
        pairs = [pair for half_life in half_lives for pair in self._pairs(other, half_life)]
        if not pairs or {ours.half_life for ours, _ in pairs} != half_lives:
            return False
        for ours, theirs in pairs:
            ours.merge(theirs, codes)
        self.entrants = sorted((ours for ours, _ in pairs), key=lambda entrant: entrant.score)
        self.answering = 0
        self.rows += other.rows
        for mine, its in zip(self.inputs, other.inputs, strict=True):
            mine.merge(its)
        while self.next_ranking <= self.rows:
            self.next_ranking *= 2
        return True

    def _pairs(self, other: "Tournament", half_life: int | None) -> list[tuple[Entrant, Entrant]]:
        mine = [entrant for entrant in self.entrants if entrant.half_life == half_life]
        same = [(a, b) for a in mine for b in other.entrants if (a.inputs, a.half_life) == (b.inputs, b.half_life)]
        return [(a, b) for a, b in same if a.rule == b.rule] or same[:1]


def _decisions(Z: Any, coefs: np.ndarray) -> np.ndarray:
    """Decision values of rows by weight vectors, the same however rows come in chunks."""
    if is_sparse(Z):
        return np.asarray(Z @ coefs.T)
    decisions = np.empty((len(Z), len(coefs)))
    decide_rows(Z, coefs, decisions)
    return decisions
