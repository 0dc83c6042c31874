"""The validation sample of exemplar clustering: a uniform sample of the stream on which exemplars are evaluated.

gomes2010, section 4 (limited access to the stream). Once the sample does not hold all rows, its rows do not
represent themselves: see `modicum.select.objectives.exemplar`.
"""

from typing import Any

import numpy as np

from modicum.cluster.held_out import HeldOutSample, n_held_out
from modicum.rows import BottomK, n_rows, take
from modicum.select.objectives.exemplar import ExemplarObjective


class ValidationSample(BottomK):
    """Keys, weights and ids of the validation rows; the rows themselves are in an objective, under the same slots."""

    def learn(
        self,
        F: ExemplarObjective,
        held_out: HeldOutSample,
        X: Any,
        weight: np.ndarray | None,
        row_ids: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Sample rows of X into the objective; returns the slot of each row, -1 if it is not in the sample."""
        count, before = n_rows(X), self._drawn()
        slots, chosen = self.offer(count, weight, row_ids, rng)
        self._hold_out(F, held_out, before, slots, rng)
        rest = np.delete(np.arange(count), chosen)
        held_out.learn(X, rest, np.ones(len(rest)) if weight is None else weight[rest], row_ids[rest], rng)
        F.put_rows(slots, take(X, chosen), self.shares())
        own = np.full(count, -1)
        own[chosen] = slots
        return own

    def absorb(
        self,
        F: ExemplarObjective,
        held_out: HeldOutSample,
        other: "ValidationSample",
        rows: Any,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Merge another sample, whose rows are `rows`; returns their slots here, -1 if left out, and -1 at the end."""
        self.shrink(F, held_out, other.size, rng)
        before = self._drawn()
        slots, chosen = self.merge(other)
        self._hold_out(F, held_out, before, slots, rng)
        rest = np.delete(np.arange(len(other)), chosen)
        held_out.learn(rows, rest, other.weights[rest], other.row_ids[rest], rng)
        F.put_rows(slots, take(rows, chosen), self.shares())
        moved = np.full(len(other) + 1, -1)
        moved[chosen] = slots
        return moved

    def shrink(self, F: ExemplarObjective, held_out: HeldOutSample, size: int, rng: np.random.Generator) -> None:
        """Keep at most `size` rows from now on, and as many held-out rows as go with them."""
        if size >= self.size:
            return
        before = self._drawn()
        stay = self.shrink_to(size)
        held_out.shrink(n_held_out(size))
        self._hold_out(F, held_out, before, np.delete(np.arange(len(before[0])), stay), rng)
        F.keep_rows(stay, self.shares())

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        return self.weights, self.row_ids

    def _hold_out(
        self,
        F: ExemplarObjective,
        held_out: HeldOutSample,
        before: tuple[np.ndarray, np.ndarray],
        slots: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Offer the rows that leave these slots to the held-out sample; `before` are weights and ids as they were."""
        weights, row_ids = before
        leave = slots[slots < len(weights)]
        held_out.learn(F.rows.values, leave, weights[leave], row_ids[leave], rng)

    def excluded(self, own: np.ndarray) -> np.ndarray:
        """Slots of validation rows excluded from the scores of candidates: `own` where the rows are equal, else -1.

        A sample of all rows has no such exclusions.
        """
        return np.full_like(own, -1) if self.is_everything else own
