"""The active rows of a Gaussian process, and the sample of the stream that judges candidates for them (gomes2010)."""

from typing import Any

import numpy as np

from modicum.kernels import Kernel
from modicum.rows import Rows, RowsOf, n_rows, put_values, take
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import NULL
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.validated import Validated
from modicum.select.swaps import grow, improve
from modicum.state.part import Part

BLOCK = 512  # candidates looked at together
MOST_ROUNDS = 4  # times that a block is gone through while it brings swaps


class ActiveSet(Part):
    """Active rows with their targets and ids, chosen to raise an objective on a sample of the stream.

    `objective` is one without a set, made by `type(objective)(kernel, noise)`. Targets are held as they came; to the
    objective they are given around `center`.
    """

    _invariants = {
        "noise": Real(above=0.0),
        "n_active": Whole(1),
        "n_sample": Whole(1),
        "objective": [
            Is(LogDet, n="n", limit="n_active"),
            Is(Validated, n="n", n_validation="n_validation", limit="n_active"),
        ],
        "targets": Array("float64", "n"),
        "ids": Array("int64", "n"),
        "center": Real(),
        "n_swaps": Whole(),
        "sample_targets": Array("float64", "n_validation"),
        "_rows": [NULL, RowsOf("n_validation")],
    }

    def __init__(self, objective: Any, noise: float, like: Any, n_active: int, n_sample: int):
        self.noise = noise
        self.n_active = n_active
        self.n_sample = n_sample
        self.objective = objective.empty_set(like, n_active, n_sample)
        self.targets = np.empty(0)
        self.ids = np.empty(0, np.int64)
        self.center = 0.0
        self.n_swaps = 0
        self.sample_targets = np.empty(0)
        self._rows = None if objective.needs_validation else Rows.like(like, n_sample)

    @property
    def kernel(self) -> Kernel:
        return self.objective.kernel

    @property
    def active(self) -> Any:
        """The active rows."""
        return self.objective.chosen.values

    @property
    def sample(self) -> Any:
        """The sample's rows."""
        return (self.objective.rows if self._rows is None else self._rows).values

    def features(self, X: Any) -> np.ndarray:
        """Kernel values of rows against the active ones."""
        return self.kernel(X, self.active)

    @property
    def centered_sample_targets(self) -> np.ndarray:
        return self.sample_targets - self.center

    # ---- the sample ------------------------------------------------------------------------------

    def put_rows(self, slots: np.ndarray, X: Any, y: np.ndarray, shares: np.ndarray) -> None:
        """Rows take places in the sample, whose weights are now `shares`."""
        self.sample_targets = put_values(self.sample_targets, slots, y)
        if self._rows is None:
            self.objective.put_rows(slots, X, shares, y - self.center)
        elif n_rows(X):
            self._rows.put(slots, X)

    def keep_rows(self, slots: np.ndarray, shares: np.ndarray) -> None:
        """Drop all other rows from the sample."""
        self.sample_targets = self.sample_targets[slots]
        if self._rows is None:
            self.objective.keep_rows(slots, shares)
        else:
            self._rows.keep(slots)

    def move_center(self, center: float) -> None:
        """Take targets around another number."""
        if self.objective.needs_targets:
            self.objective.shift_targets(self.center - center)
        self.center = center

    # ---- the active rows -------------------------------------------------------------------------

    def offer(self, X: Any, y: np.ndarray, row_ids: np.ndarray, min_gain: float, *, again: bool = False) -> set[int]:
        """Candidates join or swap, block by block; returns the slots that have changed.

        A swap must gain `min_gain` of the present value. `again`: among the rows there may be active ones, which are
        not offered; a copy of one would count as another observation.
        """
        changed: set[int] = set()
        others = np.flatnonzero(~np.isin(row_ids, self.ids)) if again else np.arange(n_rows(X))
        for start in range(0, len(others), BLOCK):
            part = others[start : start + BLOCK]
            missing = self.n_active - self.objective.n_chosen
            if missing:
                joined = grow(self._look(X, y, part), missing, -np.inf)
                changed |= self._note(joined, y[part], row_ids[part])
                part = np.delete(part, [i for i, _ in joined])
            if len(part):
                swapped = self._improve(self._look(X, y, part), min_gain)
                changed |= self._note(swapped, y[part], row_ids[part])
                self.n_swaps += len(swapped)
        return changed

    def _look(self, X: Any, y: np.ndarray, part: np.ndarray) -> Any:
        return self.objective.look(take(X, part), y[part] - self.center)

    def _improve(self, block: Any, min_gain: float) -> list[tuple[int, int]]:
        """Take every swap that pays; returns (candidate, slot) pairs."""
        swapped: list[tuple[int, int]] = []
        for _ in range(MOST_ROUNDS):
            more = improve(block, None, min_gain * abs(self.objective.value))
            swapped += more
            if not more:
                break
        return swapped

    def _note(self, changes: list[tuple[int, int]], y: np.ndarray, row_ids: np.ndarray) -> set[int]:
        """Write down who has taken which slots; returns the slots."""
        for i, slot in changes:
            self.targets = put_values(self.targets, np.array([slot]), y[i : i + 1])
            self.ids = put_values(self.ids, np.array([slot]), row_ids[i : i + 1])
        return {slot for _, slot in changes}

    def retune(self, kernel: Kernel, noise: float) -> None:
        """Go on with other hyper-parameters: the same active rows and sample, everything else anew."""
        old, self.noise = self.objective, noise
        self.objective = type(old)(kernel, noise).empty_set(self.active, self.n_active, self.n_sample)
        if old.n_chosen:
            block = self.objective.look(old.chosen.values, self.targets - self.center)
            for i in range(old.n_chosen):
                block.add(i)
        if self._rows is None:
            rows = old.rows.values
            self.objective.put_rows(np.arange(n_rows(rows)), rows, old.shares, self.centered_sample_targets)
