"""Allocation of a budget to the rows of an epoch, clumps and components (gomes2008, eq. 2.18)."""

import math
from dataclasses import dataclass

from modicum.exceptions import BudgetError
from modicum.rules.budget import Budget

CLUMPS_PER_COMPONENT = 2  # at least, where the budget covers components: with one each, nothing could be regrouped


@dataclass(frozen=True)
class Cost:
    """Memory of a row and of a clump, in the same unit."""

    row: float
    clump: float


@dataclass(frozen=True)
class Allocation:
    """Memory by use: in numbers, as the paper counts it, for a budget of rows; in bytes otherwise.

    Only a budget of bytes covers components.
    """

    epoch: int  # rows
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

    def beside(self, n_components: int) -> float:
        """Memory for clumps and single rows, beside the components."""
        return self.left - n_components * self.per_component


def allocate(
    budget: Budget, epoch: int | None, n_features: int, n_statistics: int, itemsize: int, fixed_bytes: int, what: str
) -> Allocation:
    """The allocation of a budget; half of it is for the epoch if `epoch` is None."""
    if budget.nbytes is None:
        cost = Cost(n_features, n_statistics + 1)
        total, per_component = (budget.rows or 0) * n_features, 0
    else:
        cost = Cost(n_features * itemsize + 8, 8 * (n_statistics + 1))
        total, per_component = budget.nbytes - fixed_bytes, 8 * (n_statistics + 2)
    rows = max(1, int(total / cost.row) // 2) if epoch is None else epoch
    allocation = Allocation(rows, cost, total - rows * cost.row, per_component)
    if allocation.max_components < 1:
        least = _least_budget(allocation, epoch, fixed_bytes)
        raise BudgetError(f"{what} needs a budget of at least {least}; got {budget}.")
    return allocation


def _least_budget(allocation: Allocation, epoch: int | None, fixed_bytes: int) -> str:
    """The smallest budget that allows one component."""
    cost = allocation.cost
    needed = 2 * (allocation.least + cost.row) if epoch is None else allocation.least + epoch * cost.row
    if allocation.per_component:
        return f"{math.ceil((needed + fixed_bytes) / 1024)} KiB"
    return f"{math.ceil(needed / cost.row)} rows"
