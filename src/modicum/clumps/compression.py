"""Compression of items into clumps, which are not divided again (gomes2008, section 2.5.2, eq. 2.14-2.18)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from modicum.clumps.allocation import Cost
from modicum.clumps.items import Items
from modicum.clumps.splits import split_firmly

MAX_STEPS = 10  # of the refinement of a split

Halves = tuple[np.ndarray, np.ndarray]  # items of a group


@dataclass(frozen=True)
class Candidate:
    """A group, its two halves, the gain of the split and the memory it takes."""

    group: np.ndarray
    halves: Halves
    gain: float
    price: float
    makes_loose: bool


class Compression(ABC):
    """Groups of items, split from the top down, as if there were `growth` times as many rows like those seen.

    A subclass gives the first groups, of a model learned with some of that growth. Then the splits that would raise the
    free energy most (eq. 2.17) are made first. Each group is split independently of the others, so candidates are
    computed once. A few rows take less memory than a clump: such a group is `loose`, and its rows are kept as single
    rows. Splits that make a loose group are made last: for few rows the gain of a split is mostly chance.
    """

    def __init__(self, items: Items, growth: float, cost: Cost):
        self._items = items
        self._growth = growth
        self._cost = cost
        self._row_costs = cost.of_rows(items.rows)

    # ---- of the model ----------------------------------------------------------------------------

    @abstractmethod
    def _first_groups(self, limit: float) -> list[np.ndarray]:
        """Groups to start from, within the `limit` of memory; all items are in one of them, in ascending order."""

    @abstractmethod
    def _gains_of_weights(self, halves: list[Halves], counts: np.ndarray) -> np.ndarray:
        """Gains of splits in the evidence of weights; `counts` has two rows, those of first and of second halves."""

    def _cost_of_rows(self, group: np.ndarray) -> float:
        """Memory of a group whose rows are kept as single rows."""
        return float(self._row_costs[group - self._items.n_clumps].sum())

    def _cost_of_clump(self, group: np.ndarray) -> float:
        """Memory of a group that becomes a clump."""
        return self._cost.clump

    def _improved(self, groups: list[np.ndarray], room: float) -> list[np.ndarray]:
        """Hook: better groups of the same items within the `room`."""
        return groups

    # ---- of all models ---------------------------------------------------------------------------

    def run(self, limit: float) -> list[np.ndarray]:
        """Groups within the `limit` of memory."""
        clumps = [np.array([at]) for at in range(self._items.n_clumps)]
        rows = np.arange(self._items.n_clumps, len(self._items))
        if sum(map(self._cost_of_clump, clumps)) + self._cost_of_rows(rows) <= limit:
            return clumps + [np.array([at]) for at in rows]
        groups = self._split_up(self._first_groups(limit), limit)
        loose = [group for group in groups if self.is_loose(group)]
        firm = [group for group in groups if not self.is_loose(group)]
        return loose + self._improved(firm, limit - sum(map(self.cost_of, loose)))

    def is_loose(self, group: np.ndarray) -> bool:
        """Whether the items of a group are rows that take less memory than a clump."""
        return bool(group[0] >= self._items.n_clumps and self._cost_of_rows(group) <= self._cost_of_clump(group))

    def cost_of(self, group: np.ndarray) -> float:
        """Memory of a group."""
        return self._cost_of_rows(group) if self.is_loose(group) else self._cost_of_clump(group)

    def _split_up(self, groups: list[np.ndarray], limit: float) -> list[np.ndarray]:
        """Split while there is memory. The best splits take half of what is left; their halves become candidates."""
        left = limit - sum(map(self.cost_of, groups))
        whole, candidates = self._candidates(groups)
        while candidates:
            candidates.sort(key=lambda candidate: (candidate.makes_loose, -candidate.gain))
            whole += [candidate.group for candidate in candidates if candidate.price > left]
            candidates = [candidate for candidate in candidates if candidate.price <= left]
            prices = np.cumsum([candidate.price for candidate in candidates])
            best = candidates[: max(1, int(np.searchsorted(prices, left / 2, side="right")))]
            left -= sum(candidate.price for candidate in best)
            more_whole, more = self._candidates([half for candidate in best for half in candidate.halves])
            whole, candidates = whole + more_whole, candidates[len(best) :] + more
        return whole

    def _candidates(self, groups: list[np.ndarray]) -> tuple[list[np.ndarray], list[Candidate]]:
        """Groups that can't be split, and the splits of the others."""
        whole = [group for group in groups if len(group) < 2 or self.is_loose(group)]
        groups = [group for group in groups if len(group) > 1 and not self.is_loose(group)]
        if not groups:
            return whole, []
        starts = np.cumsum([0, *map(len, groups[:-1])])
        which = np.concatenate(groups)
        counts = self._growth * self._items.counts[which]
        split = split_firmly(self._items.family, counts, self._items.averages(which), starts, MAX_STEPS)
        firsts = np.split(split.first, starts[1:])
        is_split = np.array([first.any() and not first.all() for first in firsts])
        whole += [group for group, split_it in zip(groups, is_split, strict=True) if not split_it]
        found = np.flatnonzero(is_split)
        halves = [(groups[at][firsts[at]], groups[at][~firsts[at]]) for at in found]
        gains = split.gains[found] + self._gains_of_weights(halves, split.counts[:, found])
        return whole, [self._candidate(groups[at], *one) for at, *one in zip(found, halves, gains, strict=True)]

    def _candidate(self, group: np.ndarray, halves: Halves, gain: float) -> Candidate:
        price = sum(map(self.cost_of, halves)) - self.cost_of(group)
        return Candidate(group, halves, gain, price, any(map(self.is_loose, halves)))


def groups_of(labels: np.ndarray) -> list[np.ndarray]:
    """Indices of equal labels, in ascending order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
