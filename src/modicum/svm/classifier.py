"""All that `StreamSVC` learns: labels, a tournament of candidates, the first rows, and a record of accuracy."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.contract.labels import Labels
from modicum.drift import Adwin, Changes, ErrorWatch
from modicum.numeric.parallel import run_tiles
from modicum.rows import n_rows, take
from modicum.rules.invariants import ABSENT, Is, Whole
from modicum.rules.params import NULL
from modicum.state.packing import held_bytes
from modicum.state.part import Part
from modicum.svm.core_limits import CoreLimits
from modicum.svm.first_rows import FirstRows
from modicum.svm.intercept import WithIntercept
from modicum.svm.kernel_ball import KernelBall
from modicum.svm.machine import BallMachine, Machine
from modicum.svm.record import Record, likeliest_offsets, likeliest_sharpness, mistakes
from modicum.svm.tournament import Tournament
from modicum.svm.weights import Weights, class_weights

LOOK_EVERY = 128  # rows between two looks for a change of mistakes: more would take a tenth of the time of a pass
DECIDE_ROWS = 2048  # rows that a thread classifies together


@dataclass(frozen=True)
class Terms:
    """Parameters of a learner that determine how rows are learned."""

    class_weight: str | dict[Any, float] | None
    rng: np.random.Generator
    limits: CoreLimits | None  # with a kernel
    memory: int | None = None  # half-life of the rows that probabilities are calibrated on
    lag: int = 0  # rows between the prediction of a row and learning it


class Classifier(Part):
    """The classifier that rows are learned by, with codes for classes in the order of their first row."""

    _invariants = {
        "labels": Is(Labels, n="n_classes"),
        "weights": Is(Weights),
        "record": Is(Record, n_classes="n_classes"),
        "tournament": Is(Tournament, n_classes="n_classes", constant="constant", width="width"),
        "first": [NULL, Is(FirstRows, n_classes="n_classes")],
        "tile": Whole(1),
        "watch": [ABSENT, Is(ErrorWatch)],
        "changes": [ABSENT, Is(Changes)],
    }

    def __init__(self, tournament: Tournament, first: FirstRows | None, tile: int):
        self.labels, self.weights, self.record = Labels(), Weights(), Record()
        self.tournament = tournament
        self.first = first
        self.tile = tile  # rows that are prepared and learned together
        self.watch, self.changes = ErrorWatch(is_bounded=True), Changes()
        self.watch.detector = Adwin(every=LOOK_EVERY)

    # ---- learning --------------------------------------------------------------------------------

    def learn(self, X: Any, y: np.ndarray, weight: np.ndarray, terms: Terms) -> None:
        """Learn rows in their order. A tile ends before a new class, and at a ranking of candidates."""
        start, self.tournament.lag = 0, terms.lag
        while start < len(y):
            codes = self.labels.codes(y[start : start + min(self.tile, self.tournament.rows_to_go)])
            if codes[0] < 0:
                self.add_class(y[start], terms)
                continue
            new = np.flatnonzero(codes < 0)
            stop = start + (int(new[0]) if len(new) else len(codes))
            self._learn_tile(take(X, slice(start, stop)), codes[: stop - start], weight[start:stop], terms)
            start = stop

    def _learn_tile(self, X: Any, codes: np.ndarray, weight: np.ndarray, terms: Terms) -> None:
        if self.first is not None:
            self.first.append(X, codes, weight)
        if terms.class_weight is not None:
            before = self.record.confusion.sum(axis=1)
            counts = before + np.cumsum(codes[:, None] == np.arange(len(before)), axis=0)
            weight = weight * class_weights(terms.class_weight, self.labels, codes, counts)
        decisions = self.tournament.learn(X, codes, weight, drops=self.first is None)
        self._look_for_change(decisions, codes)
        self.record.add(decisions, codes, terms.rng, terms.memory)
        if self.first is not None and self.tournament.has_just_ranked:
            self._reinitialize(self.first, terms)

    def _look_for_change(self, decisions: np.ndarray, codes: np.ndarray) -> None:
        """Note where mistakes become more frequent."""
        if not hasattr(self, "watch"):  # learned by a version that did not look
            self.watch, self.changes = ErrorWatch(is_bounded=True), Changes()
        for change in self.watch.add(mistakes(decisions, codes), self.record.seen):
            self.changes.append(change)

    def _reinitialize(self, first: FirstRows, terms: Terms) -> None:
        """Initialise balls again with the first rows. If a class is rare, rows are prepared as if classes were even."""
        chosen, others = first.split
        counts = self.record.confusion.sum(axis=1)[None]
        weights = [
            first.weights if given is None else first.weights * class_weights(given, self.labels, first.codes, counts)
            for given in ("balanced" if len(others) else terms.class_weight, terms.class_weight)
        ]
        if first.are_complete(len(self.labels)):
            self.first = None
        for ball in self.kernel_balls:
            ball.limit = sys.maxsize  # it is set below, for the new balls
        self.tournament.reinitialize(first.rows.values, first.codes, weights[0], chosen)
        self.hold_limits(terms)
        self.tournament.replay(first.rows.values, first.codes, weights[1], others)

    # ---- classes ---------------------------------------------------------------------------------

    def add_class(self, label: Any, terms: Terms) -> None:
        self.labels.add(label)
        for entrant in self.tournament.entrants:
            entrant.machines.add_class()
            entrant.past = None
        self.record.add_class(len(self.tournament.leader.machines.machines))
        self.hold_limits(terms)  # the same rows are shared by more balls

    def expect(self, labels: np.ndarray, terms: Terms) -> None:
        """Add these classes, two or more, and expect no others."""
        for label in labels:
            self.add_class(label, terms)
        for entrant in self.tournament.entrants:
            entrant.machines.close()

    def add_classes(self, labels: Labels, terms: Terms) -> None:
        """Add those of these classes that are new."""
        for label, code in zip(labels.values, self.labels.codes(labels.values), strict=True):
            if code < 0:
                self.add_class(label, terms)

    # ---- answers -----------------------------------------------------------------------------------

    def decide(self, X: Any) -> np.ndarray:
        """Decision values of rows, by class in sorted order; a single one for two classes."""
        machines = self.tournament.leader.machines
        decisions = np.zeros((n_rows(X), max(1, len(machines.machines))))

        def fill(tile: slice) -> None:
            decisions[tile] = machines.decide(self.tournament.prepare(take(X, tile)))

        if len(self.labels) > 1:
            run_tiles(fill, len(decisions), DECIDE_ROWS)
        return self._in_order(decisions)

    def _in_order(self, decisions: np.ndarray) -> np.ndarray:
        """A column per machine as one per class, in sorted order; a single one for two classes."""
        if len(self.labels) > 2:
            return decisions[:, self.labels.order]
        return -decisions[:, 0] if self._is_mirrored else decisions[:, 0]

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of columns, then of the constant if there is one; a row per class, or a single one for two."""
        coefficients = np.stack([machine.coef for machine in self.answering])
        return -coefficients if self._is_mirrored else coefficients

    @property
    def _is_mirrored(self) -> bool:
        """Whether there is one machine, with the first of the sorted classes on its positive side, not the second."""
        return len(self.labels) == 2 and bool(self.labels.order[1] == 0)

    @property
    def confusion(self) -> np.ndarray:
        """Rows by true and by chosen class, in sorted order."""
        return self.record.confusion[np.ix_(self.labels.order, self.labels.order)]

    def calibration(self, *, is_weighted: bool) -> tuple[float, np.ndarray | float]:
        """The factor of decision values that makes probabilities of them, and the offset if classes are weighted."""
        decisions, codes = self.record.sample
        decisions, codes = self._in_order(decisions), self.labels.order.argsort()[codes]
        if not is_weighted:
            return likeliest_sharpness(decisions, codes), 0.0
        return likeliest_offsets(decisions, codes, self.confusion.sum(axis=1))

    @property
    def problems(self) -> list[str]:
        """The problem of each answering machine, as text."""
        labels = [str(label) for label in self.labels.sorted]
        if len(labels) > 2:
            return [f"{label} against the rest" for label in labels]
        return [f"{labels[1]} against {labels[0]}"] if len(labels) == 2 else [f"only {labels[0]}"]

    @property
    def settings(self) -> list[dict[str, Any]]:
        """C and preparation of the candidates left with their mistakes, the best one first."""
        return [
            {
                "C": entrant.C,
                **self.tournament.inputs[entrant.inputs].settings,
                "skips_certain": entrant.machines.skips_certain,
                "half_life": entrant.half_life,
                "mistakes": entrant.mistakes,
            }
            for entrant in self.tournament.standings
        ]

    @property
    def balls(self) -> list[BallMachine]:
        """The answering machines that are balls."""
        return [machine for machine in self.answering if isinstance(machine, BallMachine)]

    # ---- memory ----------------------------------------------------------------------------------

    def hold_limits(self, terms: Terms) -> None:
        """With a kernel, remove core vectors beyond what the budget allows."""
        if terms.limits is not None:
            terms.limits.enforce(self.kernel_balls, self.n_first_rows, lambda: held_bytes(self))

    @property
    def answering(self) -> list[Machine]:
        """The machines that answer, in the order of sorted classes; for a single class, that of unseen classes."""
        machines = self.tournament.leader.machines
        if len(machines.machines) > 2:
            return [machines.machines[code] for code in self.labels.order]
        return machines.machines or machines.all()

    @property
    def kernel_balls(self) -> list[KernelBall]:
        machines = self.tournament.all_machines
        balls = [machine.ball if isinstance(machine, WithIntercept) else machine for machine in machines]
        return [ball for ball in balls if isinstance(ball, KernelBall)]

    @property
    def n_first_rows(self) -> int:
        return 0 if self.first is None else len(self.first)

    @property
    def n_kept(self) -> int:
        """Rows held; a weight vector counts as one."""
        return self.n_first_rows + sum(machine.n_kept for machine in self.tournament.all_machines)

    # ---- merging ---------------------------------------------------------------------------------

    def learn_first_rows_of(self, other: "Classifier", terms: Terms) -> None:
        """Absorb a classifier that still holds all of its rows."""
        assert other.first is not None
        labels = other.labels.values[other.first.codes]
        self.learn(other.first.rows.values, labels, other.first.weights, terms)
        self.weights.merge(other.weights)

    def merge(self, other: "Classifier", terms: Terms) -> bool:
        """Absorb machines and record of another classifier; False if their preparations of rows differ."""
        self.add_classes(other.labels, terms)
        codes = self.labels.codes(other.labels.values)
        if not self.tournament.merge(other.tournament, codes):
            return False
        self.record.merge(other.record, codes, terms.rng)
        self.weights.merge(other.weights)
        return True
