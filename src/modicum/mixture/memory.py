"""What is kept of a stream: clumps, single rows, and the rows of the present epoch (gomes2008, eq. 2.10 and 2.18)."""

from collections.abc import Callable

import numpy as np

from modicum.families import Family
from modicum.mixture.items import Items
from modicum.rows import Rows, RowsOf
from modicum.rules.invariants import Array, Whole
from modicum.state.part import Part


class Memory(Part):
    """Clumps by their counts and sums of statistics, and rows with weights: first single ones, then the epoch's."""

    _invariants = {
        "rows": RowsOf("n"),
        "weights": Array("float64", "n", above=0.0),
        "n_singlets": Whole(0, "n"),
        "clump_counts": Array("float64", "n_clumps", above=0.0),
        "clump_sums": Array("float64", "n_clumps", "n_statistics"),
        "n_taken": Whole("n"),
    }

    def __init__(self, like: np.ndarray, n_statistics: int, most_rows: int):
        self.rows = Rows.like(like, most_rows)
        self.weights = np.empty(0)
        self.n_singlets = 0
        self.clump_counts = np.empty(0)
        self.clump_sums = np.empty((0, n_statistics))
        self.n_taken = 0  # rows, ever

    def __len__(self) -> int:
        return len(self.clump_counts) + len(self.weights)

    @property
    def n_waiting(self) -> int:
        """Rows of the present epoch."""
        return len(self.weights) - self.n_singlets

    def take(self, X: np.ndarray, weight: np.ndarray) -> None:
        """Rows join the present epoch."""
        self.rows.put(np.arange(len(self.weights), len(self.weights) + len(X)), X)
        self.weights = np.append(self.weights, weight)
        self.n_taken += len(X)

    def items(self, family: Family) -> Items:
        return Items(family, self.rows.values, self.weights, self.clump_counts, self.clump_sums)

    def keep(self, items: Items, groups: list[np.ndarray], is_loose: Callable[[np.ndarray], bool]) -> None:
        """Groups of items become clumps; the rows of loose ones become single."""
        clumps = [group for group in groups if not is_loose(group)]
        loose = [group for group in groups if is_loose(group)]
        singlets = np.sort(np.concatenate(loose)) - items.n_clumps if loose else np.empty(0, np.intp)
        self.rows.keep(singlets)
        self.weights = self.weights[singlets]
        self.n_singlets = len(singlets)
        self.clump_counts, self.clump_sums = items.totals(clumps)

    def join(self, other: "Memory", family: Family, other_family: Family) -> None:
        """Take over what another one keeps; its rows join the present epoch."""
        moved = family.translated_from(other_family, other.clump_counts, other.clump_sums)
        self.clump_counts = np.append(self.clump_counts, other.clump_counts)
        self.clump_sums = np.concatenate([self.clump_sums, moved])
        self.take(other.rows.values, other.weights)
        self.n_taken += other.n_taken - len(other.weights)
