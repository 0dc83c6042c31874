"""Which rows will stay together whatever comes (gomes2008, section 2.5.2, eq. 2.14-2.18)."""

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from modicum.mixture.components import Components
from modicum.mixture.items import Items
from modicum.mixture.splits import split_firmly

STEPS = 10  # at most, of the refinement of a split
SWEEPS = 5  # in which items move between groups
MOST_GROUPS = 1000  # that items move between: where there are more, they are small, and it would take long


@dataclass(frozen=True)
class Cost:
    """Memory that a row and a clump take, in one unit."""

    row: float
    clump: float


class Compression:
    """Groups of items, split from the top down.

    The split that would raise the free energy most, were there `growth` times as many rows like those seen (eq. 2.17),
    comes next. Groups are split alone, so candidates are computed once; in the end items move to the groups that suit
    them best. Few rows are cheaper as they are than as a clump: such a group is `loose`, and its rows need not stay
    together. Splits that make one come last: where rows are few, what a split seems to gain is mostly chance.
    """

    def __init__(self, items: Items, growth: float, concentration: float, cost: Cost):
        self._items = items
        self._growth = growth
        self._concentration = concentration
        self._cost = cost

    def run(self, labels: np.ndarray, limit: float) -> list[np.ndarray]:
        """The groups that `limit` leaves room for, beginning with those of equal labels."""
        if self._items.n_clumps * self._cost.clump + len(self._items.rows) * self._cost.row <= limit:
            return [np.array([at]) for at in range(len(self._items))]
        groups = self._split_up(_groups(labels), limit)
        firm = [group for group in groups if not self.is_loose(group)]
        return [group for group in groups if self.is_loose(group)] + self._moved(firm)

    def is_loose(self, group: np.ndarray) -> bool:
        """Whether the items of a group are rows, and cheaper as such."""
        return group[0] >= self._items.n_clumps and len(group) * self._cost.row <= self._cost.clump

    def _split_up(self, groups: list[np.ndarray], limit: float) -> list[np.ndarray]:
        spent = sum(map(self._cost_of, groups))
        numbers = itertools.count()
        known = {next(numbers): group for group in groups}
        heap = [candidate for number in known for candidate in self._candidate(number, known[number])]
        heapq.heapify(heap)
        while heap:
            *_, number, parts = heapq.heappop(heap)
            price = sum(map(self._cost_of, parts)) - self._cost_of(known[number])
            if spent + price > limit:
                continue  # a loose one may cost less
            del known[number]
            spent += price
            for part in parts:
                known[number := next(numbers)] = part
                for candidate in self._candidate(number, part):
                    heapq.heappush(heap, candidate)
        return list(known.values())

    def _cost_of(self, group: np.ndarray) -> float:
        return len(group) * self._cost.row if self.is_loose(group) else self._cost.clump

    def _candidate(self, number: int, group: np.ndarray) -> list[tuple[bool, float, int, list[np.ndarray]]]:
        """(whether it makes a loose one, minus the gain, number of the group, its parts), if it can be split."""
        if len(group) < 2 or self.is_loose(group):
            return []
        counts = self._growth * self._items.counts[group]
        split = split_firmly(self._items.family, counts, self._items.averages(group), STEPS)
        parts = [group[split.shares < 0.5], group[split.shares > 0.5]]
        if not all(map(len, parts)):
            return []
        of_weights = np.log(self._concentration) + gammaln(split.counts).sum() - gammaln(counts.sum())
        return [(any(map(self.is_loose, parts)), -(split.gain + of_weights), number, parts)]

    def _moved(self, groups: list[np.ndarray]) -> list[np.ndarray]:
        """Each item goes to the group that expects most of it (eq. 2.16), a few times over."""
        if not 1 < len(groups) <= MOST_GROUPS:
            return groups
        which = np.sort(np.concatenate(groups))
        averages = self._items.averages(which)
        for _ in range(SWEEPS):
            counts, sums = (self._growth * total for total in self._items.totals(groups))
            slopes, offsets = Components.new(self._items.family, self._concentration, counts, sums).scores
            groups = [which[group] for group in _groups((averages @ slopes.T + offsets).argmax(axis=1))]
        return groups


def _groups(labels: np.ndarray) -> list[np.ndarray]:
    """Indices of equal labels, in ascending order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
