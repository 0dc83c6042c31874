"""The validation sample of exemplar clustering: a uniform sample of the stream on which exemplars are evaluated.

gomes2010, section 4 (limited access to the stream). Once the sample does not hold all rows, its rows do not
represent themselves: see `modicum.select.objectives.exemplar`.
"""

from typing import Any

import numpy as np

from modicum.rows import BottomK, n_rows, take
from modicum.select.objectives.exemplar import ExemplarObjective


class ValidationSample(BottomK):
    """Keys, weights and ids of the validation rows; the rows themselves are in an objective, under the same slots."""

    def learn(
        self, F: ExemplarObjective, X: Any, weight: np.ndarray | None, row_ids: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Sample rows of X into the objective; returns the slot of each row, -1 if it is not in the sample."""
        slots, chosen = self.offer(n_rows(X), weight, row_ids, rng)
        F.put_rows(slots, take(X, chosen), self.shares())
        own = np.full(n_rows(X), -1)
        own[chosen] = slots
        return own

    def absorb(self, F: ExemplarObjective, other: "ValidationSample", rows: Any) -> np.ndarray:
        """Merge another sample, whose rows are `rows`; returns their slots here, -1 if left out, and -1 at the end."""
        if other.size < self.size:
            self.shrink(F, other.size)
        slots, chosen = self.merge(other)
        F.put_rows(slots, take(rows, chosen), self.shares())
        moved = np.full(len(other) + 1, -1)
        moved[chosen] = slots
        return moved

    def shrink(self, F: ExemplarObjective, size: int) -> None:
        """Keep at most `size` rows from now on."""
        F.keep_rows(self.shrink_to(size), self.shares())

    def excluded(self, own: np.ndarray) -> np.ndarray:
        """Slots of validation rows excluded from the scores of candidates: `own` where the rows are equal, else -1.

        A sample of all rows has no such exclusions.
        """
        return np.full_like(own, -1) if self.is_everything else own
