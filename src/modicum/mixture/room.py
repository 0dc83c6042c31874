"""How a budget is divided between the rows of an epoch, clumps and components (gomes2008, eq. 2.18)."""

import math
from dataclasses import dataclass

from modicum.exceptions import BudgetError
from modicum.mixture.compression import Cost
from modicum.rules.budget import Budget

CLUMPS_PER_COMPONENT = 2  # at least, where components are paid for: with fewer there would be nothing to choose from


@dataclass(frozen=True)
class Room:
    """In numbers if the budget is one of rows, as the paper counts them; in bytes otherwise.

    Only bytes cover components as well.
    """

    epoch: int  # rows
    cost: Cost
    left: float  # for all but the epoch
    per_component: float

    @property
    def max_components(self) -> int:
        """So many that there are clumps for each."""
        return int(self.left / self.least)

    @property
    def least(self) -> float:
        """For one component and its clumps."""
        return (CLUMPS_PER_COMPONENT if self.per_component else 1) * self.cost.clump + self.per_component

    @property
    def most_rows(self) -> int:
        return self.epoch + int(self.left / self.cost.row)

    def beside(self, n_components: int) -> float:
        """For clumps and single rows, beside the components."""
        return self.left - n_components * self.per_component


def divide(
    budget: Budget, epoch: int | None, n_features: int, n_statistics: int, itemsize: int, fixed_bytes: int, what: str
) -> Room:
    """The room that a budget gives; half of it is for the epoch if that is not given."""
    if budget.nbytes is None:
        cost = Cost(n_features, n_statistics + 1)
        total, per_component = (budget.rows or 0) * n_features, 0
    else:
        cost = Cost(n_features * itemsize + 8, 8 * (n_statistics + 1))
        total, per_component = budget.nbytes - fixed_bytes, 8 * (n_statistics + 2)
    rows = max(1, int(total / cost.row) // 2) if epoch is None else epoch
    room = Room(rows, cost, total - rows * cost.row, per_component)
    if room.max_components < 1:
        raise BudgetError(f"{what} needs a budget of at least {_least(room, epoch, fixed_bytes)}; got {budget}.")
    return room


def _least(room: Room, epoch: int | None, fixed_bytes: int) -> str:
    """The smallest budget that leaves room for one component."""
    needed = 2 * (room.least + room.cost.row) if epoch is None else room.least + epoch * room.cost.row
    if room.per_component:
        return f"{math.ceil((needed + fixed_bytes) / 1024)} KiB"
    return f"{math.ceil(needed / room.cost.row)} rows"
