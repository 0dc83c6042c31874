"""Held-out rows of exemplar clustering: a uniform sample of the rows that are not in the validation sample.

Exemplars fit the validation rows better than others, since they are chosen on them. The mean loss over the stream is
estimated without that optimism: validation rows count for themselves alone, and held-out rows for all others. A row
that leaves the validation sample is offered to this one, so each of the others is in it with the same probability.
"""

from typing import Any

import numpy as np

from modicum.cluster.answers import nearest_exemplars
from modicum.rows import BottomK, Rows, RowsOf, take
from modicum.select.objectives.exemplar import ExemplarObjective

VALIDATION_PER_ROW, MOST_ROWS = 4, 2000  # the standard error of a mean loss is then 1 to 2%


def n_held_out(n_validation: int) -> int:
    """Rows to hold out beside this many validation rows."""
    return min(-(-n_validation // VALIDATION_PER_ROW), MOST_ROWS)


class HeldOutSample(BottomK):
    """Held-out rows with their keys, weights and ids; `total_weight` is that of all rows it stands for."""

    _invariants = {"rows": RowsOf("n")}

    def __init__(self, size: int, like: Any):
        super().__init__(size)
        self.rows = Rows.like(like, size)

    def learn(
        self, X: Any, some: np.ndarray, weight: np.ndarray, row_ids: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Sample from `some` rows of X, whose weights and ids are given."""
        if len(some):
            slots, chosen = self.offer(len(some), weight, row_ids, rng)
            self.rows.put(slots, take(X, some[chosen]))

    def absorb(self, other: "HeldOutSample") -> None:
        """Merge another sample."""
        self.shrink(other.size)
        slots, chosen = self.merge(other)
        self.rows.put(slots, take(other.rows.values, chosen))

    def shrink(self, size: int) -> None:
        """Keep at most `size` rows from now on."""
        if size < self.size:
            self.rows.keep(self.shrink_to(size))

    def mean_loss(self, F: ExemplarObjective, own_weight: np.ndarray) -> float:
        """The mean dissimilarity of all rows to their nearest exemplar; `own_weight` is that of the validation rows."""
        total = own_weight @ F.nearest_exemplar()
        if len(self):
            total += self.total_weight * (self.shares() @ nearest_exemplars(F, self.rows.values)[1].astype(np.float64))
        return float(total / (own_weight.sum() + self.total_weight))
