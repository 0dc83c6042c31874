"""Allocation of a budget to the rows of an epoch, clumps and components (gomes2008, eq. 2.18)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.exceptions import BudgetError
from modicum.rows import n_rows, take
from modicum.rules.budget import Budget

INDEX_BYTES = 4  # of a column, or of the first entry of a row, in a CSR matrix
CLUMPS_PER_COMPONENT = 2  # at least, where the budget covers components: with one each, nothing could be regrouped


@dataclass(frozen=True)
class Cost:
    """Memory of a row and of a clump, in the same unit; of a sparse row, each entry takes `entry` more."""

    row: float
    clump: float
    entry: float = 0

    def of_rows(self, X: Any) -> np.ndarray:
        """Memory of each row."""
        return self.row + self.entry * np.diff(X.indptr) if self.entry else np.full(n_rows(X), float(self.row))


@dataclass(frozen=True)
class Allocation:
    """Memory by use: in numbers, as the paper counts it, for a budget of rows; in bytes otherwise.

    Only a budget of bytes covers components. To a budget of rows, a sparse row counts like a dense one; of bytes it
    takes what it takes, so that the number of rows of an epoch depends on them.
    """

    epoch: int  # rows, at most
    for_epoch: float
    cost: Cost
    left: float  # for everything but the epoch
    per_component: float

    @property
    def max_components(self) -> int:
        """The most components for which there are enough clumps."""
        return int(self.left / self.least)

    @property
    def least(self) -> float:
        """The memory of one component and its clumps."""
        return (CLUMPS_PER_COMPONENT if self.per_component else 1) * self.cost.clump + self.per_component

    @property
    def max_rows(self) -> int:
        """The most rows that may be held, including those of the epoch."""
        return self.epoch + int(self.left / self.cost.row)

    def n_fitting(self, X: Any, buffered: Any) -> int:
        """How many of the first rows of X fit into the epoch, beside those buffered."""
        X = take(X, slice(0, max(0, self.epoch - n_rows(buffered))))
        if not self.cost.entry:
            return n_rows(X)
        room = self.for_epoch - self.cost.of_rows(buffered).sum()
        return int(np.searchsorted(np.cumsum(self.cost.of_rows(X)), room, side="right"))

    def is_exceeded_by(self, rows: Any, n_clumps: int, n_components: int) -> bool:
        """Whether rows, clumps and components take more memory than there is."""
        held = self.cost.of_rows(rows).sum() + n_clumps * self.cost.clump
        return bool(held > self.for_epoch + self.beside(n_components))

    def beside(self, n_components: int) -> float:
        """Memory for clumps and single rows, beside the components."""
        return self.left - n_components * self.per_component


def allocate(
    budget: Budget,
    epoch: int | None,
    n_features: int,
    n_statistics: int,
    clump_bytes: int,
    itemsize: int,
    fixed_bytes: int,
    what: str,
    *,
    sparse: bool = False,
) -> Allocation:
    """The allocation of a budget; half of it is for the epoch if `epoch` is None."""
    if budget.nbytes is None:
        cost = Cost(n_features, n_statistics + 1)
        total, per_component = (budget.rows or 0) * n_features, 0
    else:
        cost = Cost(n_features * itemsize + 8, clump_bytes)
        total, per_component = budget.nbytes - fixed_bytes, 8 * (n_statistics + 2)
    rows = max(1, int(total / cost.row) // 2) if epoch is None else epoch
    for_epoch = rows * cost.row
    if sparse and budget.nbytes is not None:
        cost = Cost(INDEX_BYTES + 8, cost.clump, entry=itemsize + INDEX_BYTES)
        for_epoch = total / 2 if epoch is None else min(total / 2, epoch * (cost.row + n_features * cost.entry))
        rows = int(for_epoch / cost.row) if epoch is None else epoch
    allocation = Allocation(rows, for_epoch, cost, total - for_epoch, per_component)
    if allocation.max_components < 1:
        least = _least_budget(allocation, epoch, fixed_bytes)
        raise BudgetError(f"{what} needs a budget of at least {least}; got {budget}.")
    return allocation


def _least_budget(allocation: Allocation, epoch: int | None, fixed_bytes: int) -> str:
    """The smallest budget that allows one component."""
    cost = allocation.cost
    needed = 2 * (allocation.least + cost.row) if epoch is None or cost.entry else allocation.least + epoch * cost.row
    if allocation.per_component:
        return f"{math.ceil((needed + fixed_bytes) / 1024)} KiB"
    return f"{math.ceil(needed / cost.row)} rows"
