"""Allocation of a budget to an epoch, clumps, topics and groups of documents (gomes2008topics, eq. 3.26)."""

import math
import sys
from bisect import bisect_left
from dataclasses import dataclass

from modicum.clumps.allocation import CLUMPS_PER_COMPONENT, Cost
from modicum.rules.budget import Budget

ITEM_BYTES = 28  # of an item: its weight, the index of its document and, if it is the first one, its size and id
GROUP_BYTES = 24  # of a group of documents: its size and id, and the first of its counts in a clump


@dataclass(frozen=True)
class TopicAllocation:
    """Memory by use: in numbers, as the paper counts it, for a budget of rows; in bytes otherwise.

    Only a budget of bytes covers topics.
    """

    epoch: int  # items
    cost: Cost
    cell: float  # of the count of a clump in a group of documents
    left: float  # for everything but the epoch
    max_groups: int
    per_topic: float
    per_group: float
    most_topics: int  # that the user allows

    @property
    def max_topics(self) -> int:
        """The most topics for which there are enough clumps, even if each has items of all groups."""
        clumps = (CLUMPS_PER_COMPONENT if self.per_topic else 1) * (self.cost.clump + self.max_groups * self.cell)
        return min(self.most_topics, int((self.left - self.max_groups * self.per_group) / (clumps + self.per_topic)))

    @property
    def max_rows(self) -> int:
        """The most rows that may be held, including those of the epoch."""
        return self.epoch + int(self.left / self.cost.row)

    def beside(self, n_topics: int, n_groups: int) -> float:
        """Memory for clumps and single rows, beside topics and groups."""
        return self.left - n_topics * self.per_topic - n_groups * self.per_group


def allocate(
    budget: Budget,
    epoch: int | None,
    max_topics: int | None,
    max_groups: int | None,
    n_features: int,
    n_statistics: int,
    item_bytes: int,
    fixed_bytes: int,
    what: str,
) -> TopicAllocation:
    """The allocation of a budget; half of it is for the epoch if `epoch` is None."""

    def make(amount: int) -> TopicAllocation:
        if budget.nbytes is None:
            total, cost = amount * n_features, Cost(n_features, n_statistics + 1)
            cell, per_statistic, per_group = 1.0, 0, 0
        else:
            total, cell, per_statistic, per_group = amount - fixed_bytes, 8.0, 8, GROUP_BYTES
            cost = Cost(item_bytes + ITEM_BYTES, 8 * (n_statistics + 2))
        rows = max(1, int(total / cost.row) // 2) if epoch is None else epoch
        left = total - rows * cost.row
        groups = max(2, math.isqrt(max(0, int(left / (2 * cell))))) if max_groups is None else max_groups
        per_topic = per_statistic * (n_statistics + 3 + groups)
        return TopicAllocation(rows, cost, cell, left, groups, per_topic, per_group, max_topics or sys.maxsize)

    amount = budget.rows if budget.nbytes is None else budget.nbytes
    assert amount is not None
    allocation = make(amount)
    if allocation.max_topics < 1:
        most = 2 * amount
        while make(most).max_topics < 1:
            most *= 2
        raise budget.too_small(bisect_left(range(most), 1, lo=1, key=lambda size: make(size).max_topics), what)
    return allocation
