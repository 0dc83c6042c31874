"""Compression of items into clumps, which are not divided again (gomes2008, section 2.5.2, eq. 2.14-2.18)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from modicum.mixture.components import Components
from modicum.mixture.items import Items
from modicum.mixture.search import Search
from modicum.mixture.splits import split_firmly

MAX_GROWTH = 2.0  # in the search for components: with more, it would find too many
MAX_STEPS = 10  # of the refinement of a split
SWEEPS = 5  # of moving items between groups
MAX_GROUPS = 1000  # for moving items between them: more groups are small, and moving would take long


@dataclass(frozen=True)
class Cost:
    """Memory of a row and of a clump, in the same unit."""

    row: float
    clump: float


@dataclass(frozen=True)
class Candidate:
    """A group, its two halves, the gain of the split and the memory it takes."""

    group: np.ndarray
    halves: tuple[np.ndarray, np.ndarray]
    gain: float
    price: float
    makes_loose: bool


class Compression:
    """Groups of items, split from the top down, as if there were `growth` times as many rows like those seen.

    The first groups are the components of a mixture learned with some of that growth. Then the splits that would raise
    the free energy most (eq. 2.17) are made first. Each group is split independently of the others, so candidates are
    computed once; at the end items move to the most likely groups. A few rows take less memory than a clump: such a
    group is `loose`, and its rows are kept as single rows. Splits that make a loose group are made last: for few rows
    the gain of a split is mostly chance.
    """

    def __init__(self, items: Items, growth: float, concentration: float, cost: Cost):
        self._items = items
        self._growth = growth
        self._concentration = concentration
        self._cost = cost

    def run(self, components: Components, tol: float, limit: float) -> list[np.ndarray]:
        """Groups within the `limit` of memory; `components` are the present ones."""
        if self._items.n_clumps * self._cost.clump + len(self._items.rows) * self._cost.row <= limit:
            return [np.array([at]) for at in range(len(self._items))]
        more = self._items.scaled(min(self._growth, MAX_GROWTH))
        search = Search(more, tol, int(limit / self._cost.clump))
        labels = search.run(components.scaled_to(more.counts.sum())).expectation.labels
        groups = self._split_up(_groups(labels), limit)
        firm = [group for group in groups if not self.is_loose(group)]
        return [group for group in groups if self.is_loose(group)] + self._moved(firm)

    def is_loose(self, group: np.ndarray) -> bool:
        """Whether the items of a group are rows that take less memory than a clump."""
        return group[0] >= self._items.n_clumps and len(group) * self._cost.row <= self._cost.clump

    def _split_up(self, groups: list[np.ndarray], limit: float) -> list[np.ndarray]:
        """Split while there is memory. The best splits take half of what is left; their halves become candidates."""
        left = limit - sum(map(self._cost_of, groups))
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

    def _cost_of(self, group: np.ndarray) -> float:
        return len(group) * self._cost.row if self.is_loose(group) else self._cost.clump

    def _candidates(self, groups: list[np.ndarray]) -> tuple[list[np.ndarray], list[Candidate]]:
        """Groups that can't be split, and the splits of the others."""
        whole = [group for group in groups if len(group) < 2 or self.is_loose(group)]
        groups = [group for group in groups if len(group) > 1 and not self.is_loose(group)]
        candidates: list[Candidate] = []
        if groups:
            starts = np.cumsum([0, *map(len, groups[:-1])])
            which = np.concatenate(groups)
            counts = self._growth * self._items.counts[which]
            split = split_firmly(self._items.family, counts, self._items.averages(which), starts, MAX_STEPS)
            for at, (group, first) in enumerate(zip(groups, np.split(split.first, starts[1:]), strict=True)):
                if first.all() or not first.any():
                    whole.append(group)
                else:
                    candidates.append(self._candidate(group, first, split.gains[at], split.counts[:, at]))
        return whole, candidates

    def _candidate(self, group: np.ndarray, first: np.ndarray, gain: float, counts: np.ndarray) -> Candidate:
        halves = group[first], group[~first]
        of_weights = np.log(self._concentration) + gammaln(counts).sum() - gammaln(counts.sum())
        price = sum(map(self._cost_of, halves)) - self._cost_of(group)
        return Candidate(group, halves, gain + of_weights, price, any(map(self.is_loose, halves)))

    def _moved(self, groups: list[np.ndarray]) -> list[np.ndarray]:
        """Items moved to their most likely groups (eq. 2.16), in a few sweeps."""
        if not 1 < len(groups) <= MAX_GROUPS:
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
