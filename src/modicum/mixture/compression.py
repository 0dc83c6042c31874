"""Compression of the items of a mixture into clumps (gomes2008, section 2.5.2)."""

import numpy as np
from scipy.special import gammaln

from modicum.clumps.allocation import Cost
from modicum.clumps.compression import Compression, Halves, groups_of
from modicum.clumps.items import Items
from modicum.mixture.components import Components
from modicum.mixture.search import Search

MAX_GROWTH = 2.0  # in the search for components: with more, it would find too many
MOST_PARTS = 4  # per component: with a weak prior, the search would go on to components of a few rows, and take long
SWEEPS = 5  # of moving items between groups
MAX_GROUPS = 1000  # for moving items between them: more groups are small, and moving would take long


class MixtureCompression(Compression):
    """Compression that begins with the components of a mixture; `components` are the present ones."""

    def __init__(self, items: Items, growth: float, cost: Cost, components: Components, tol: float):
        super().__init__(items, growth, cost)
        self._components = components
        self._tol = tol

    def _first_groups(self, limit: float) -> list[np.ndarray]:
        more = self._items.scaled(min(self._growth, MAX_GROWTH))
        most = min(int(limit / self._cost.clump), MOST_PARTS * len(self._components))
        search = Search(more, self._tol, most)
        return groups_of(search.run(self._components.scaled_to(more.counts.sum())).expectation.labels)

    def _gains_of_weights(self, halves: list[Halves], counts: np.ndarray) -> np.ndarray:
        return np.log(self._components.concentration) + gammaln(counts).sum(axis=0) - gammaln(counts.sum(axis=0))

    def _improved(self, groups: list[np.ndarray], room: float) -> list[np.ndarray]:
        """Items moved to their most likely groups (eq. 2.16), in a few sweeps, while these fit into the `room`."""
        if not 1 < len(groups) <= MAX_GROUPS:
            return groups
        which = np.sort(np.concatenate(groups))
        for _ in range(SWEEPS):
            moved = [which[group] for group in groups_of(self._likeliest(which, groups))]
            if sum(map(self.cost_of, moved)) > room:
                break
            groups = moved
        return groups

    def _likeliest(self, which: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
        counts, sums = (self._growth * total for total in self._items.totals(groups))
        components = Components.new(self._items.family, self._components.concentration, counts, sums)
        return self._items.scored(which, components.scores).argmax(axis=1)
