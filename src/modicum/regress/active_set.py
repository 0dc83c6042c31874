"""The active rows of a Gaussian process, and the validation rows that candidates are scored on (gomes2010)."""

from dataclasses import dataclass
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

CANDIDATES_PER_BLOCK = 512  # scored together: enough for fast matrix products, few enough to bound their memory
CANDIDATES_PER_ESTIMATE = 2048  # whose gains are estimated together: at most a quarter of them is compared exactly
LIKELY = 0.25  # of the least gain: candidates with less are not kept up to date, as they hardly ever reach it
MOST_ROUNDS = 4  # times that a block is offered while it brings swaps


@dataclass(frozen=True)
class Basis:
    """A kernel and active rows: what features are made of."""

    kernel: Kernel
    rows: Any

    def features(self, X: Any) -> np.ndarray:
        """Kernel values of rows against the active ones."""
        return self.kernel(X, self.rows)


class ActiveSet(Part):
    """Active rows with their targets and ids, chosen to raise an objective on validation rows.

    `objective` is one without a set, made by `type(objective)(kernel, noise)`. Targets are held as given; the
    objective receives them minus `center`.
    """

    _invariants = {
        "noise": Real(above=0.0),
        "n_active": Whole(1),
        "validation_limit": Whole(1),
        "objective": [
            Is(LogDet, n="n", limit="n_active"),
            Is(Validated, n="n", n_validation="n_validation", limit="n_active"),
        ],
        "targets": Array("float64", "n"),
        "ids": Array("int64", "n"),
        "center": Real(),
        "n_swaps": Whole(),
        "validation_targets": Array("float64", "n_validation"),
        "_validation": [NULL, RowsOf("n_validation")],
    }

    def __init__(self, objective: Any, noise: float, like: Any, n_active: int, validation_limit: int):
        self.noise = noise
        self.n_active = n_active
        self.validation_limit = validation_limit
        self.objective = objective.empty_set(like, n_active, validation_limit)
        self.targets = np.empty(0)
        self.ids = np.empty(0, np.int64)
        self.center = 0.0
        self.n_swaps = 0
        self.validation_targets = np.empty(0)
        self._validation = None if objective.needs_validation else Rows.like(like, validation_limit)

    @property
    def kernel(self) -> Kernel:
        return self.objective.kernel

    @property
    def rows(self) -> Any:
        """The active rows."""
        return self.objective.chosen.values

    @property
    def validation_rows(self) -> Any:
        return (self.objective.rows if self._validation is None else self._validation).values

    @property
    def centered_validation_targets(self) -> np.ndarray:
        return self.validation_targets - self.center

    @property
    def basis(self) -> Basis:
        """The present kernel and active rows; a copy, as rows are replaced in place."""
        return Basis(self.kernel, take(self.rows, np.arange(len(self.ids))))

    def features(self, X: Any) -> np.ndarray:
        """Kernel values of rows against the active ones."""
        return self.kernel(X, self.rows)

    # ---- the validation rows ---------------------------------------------------------------------

    def put_validation(self, slots: np.ndarray, X: Any, y: np.ndarray, shares: np.ndarray) -> None:
        """Put rows into slots of the validation sample, whose weights are now `shares`."""
        self.validation_targets = put_values(self.validation_targets, slots, y)
        if self._validation is None:
            self.objective.put_rows(slots, X, shares, y - self.center)
        elif n_rows(X):
            self._validation.put(slots, X)

    def keep_validation(self, slots: np.ndarray, shares: np.ndarray) -> None:
        """Drop all other validation rows."""
        self.validation_targets = self.validation_targets[slots]
        if self._validation is None:
            self.objective.keep_rows(slots, shares)
        else:
            self._validation.keep(slots)

    def move_center(self, center: float) -> None:
        """Subtract another number from targets."""
        if self.objective.needs_targets:
            self.objective.shift_targets(self.center - center)
        self.center = center

    # ---- the active rows -------------------------------------------------------------------------

    def offer(self, X: Any, y: np.ndarray, row_ids: np.ndarray, min_gain: float, *, again: bool = False) -> set[int]:
        """Let candidates join or swap, block by block; returns the slots that have changed.

        A swap must gain `min_gain` of the present value. With `again` some rows may be active already. They are not
        offered: a copy would count as another observation.
        """
        changed: set[int] = set()
        others = np.flatnonzero(~np.isin(row_ids, self.ids)) if again else np.arange(n_rows(X))
        first = 0
        while first < len(others):
            missing = self.n_active - self.objective.n_chosen
            block = others[first : first + (CANDIDATES_PER_BLOCK if missing else CANDIDATES_PER_ESTIMATE)]
            first += len(block)
            if missing:
                joined = grow(self._look(X, y, block), missing, -np.inf)
                changed |= self._note(joined, y[block], row_ids[block])
                block = np.delete(block, [i for i, _ in joined])
            changed |= self._swap(X, y, row_ids, block, min_gain)
        return changed

    def _swap(self, X: Any, y: np.ndarray, row_ids: np.ndarray, block: np.ndarray, min_gain: float) -> set[int]:
        """Let candidates of which a swap may gain enough replace active rows; returns the slots that have changed."""
        changed: set[int] = set()
        least = min_gain * abs(self.objective.value)
        promising = block[self.objective.promising(take(X, block), least)]
        for first in range(0, len(promising), CANDIDATES_PER_BLOCK):
            part = promising[first : first + CANDIDATES_PER_BLOCK]
            candidates = self._look(X, y, part)
            gaining = np.flatnonzero(candidates.swap_gains()[0] > LIKELY * least)
            candidates.keep(gaining)
            part = part[gaining]
            swapped = self._improve(candidates, least)
            changed |= self._note(swapped, y[part], row_ids[part])
            self.n_swaps += len(swapped)
        return changed

    def _look(self, X: Any, y: np.ndarray, block: np.ndarray) -> Any:
        return self.objective.look(take(X, block), y[block] - self.center)

    def _improve(self, candidates: Any, min_gain: float) -> list[tuple[int, int]]:
        """Make every swap that gains enough; returns (candidate, slot) pairs."""
        swapped: list[tuple[int, int]] = []
        for _ in range(MOST_ROUNDS):
            more = improve(candidates, None, min_gain)
            swapped += more
            if not more:
                break
        return swapped

    def _note(self, changes: list[tuple[int, int]], y: np.ndarray, row_ids: np.ndarray) -> set[int]:
        """Record targets and ids of (candidate, slot) pairs; returns the slots."""
        for i, slot in changes:
            self.targets = put_values(self.targets, np.array([slot]), y[i : i + 1])
            self.ids = put_values(self.ids, np.array([slot]), row_ids[i : i + 1])
        return {slot for _, slot in changes}

    def retune(self, kernel: Kernel, noise: float) -> None:
        """Change hyper-parameters: the rows stay, everything else is computed again."""
        old, self.noise = self.objective, noise
        self.objective = type(old)(kernel, noise).empty_set(self.rows, self.n_active, self.validation_limit)
        if old.n_chosen:
            self.objective.look(old.chosen.values, self.targets - self.center).add_all()
        if self._validation is None:
            rows = old.rows.values
            self.objective.put_rows(np.arange(n_rows(rows)), rows, old.shares, self.centered_validation_targets)
