"""The greedy splitting, with a model as simple as possible."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from modicum.clumps.allocation import Cost
from modicum.clumps.compression import Compression, groups_of


class Plain(Compression):
    """All items are the first group, and clumps with items of many kinds cost more."""

    def __init__(self, items, cost, kinds, *, per_kind=0.0, gains=0.0):
        super().__init__(items, 1.0, cost)
        self.kinds, self.per_kind, self.gains, self.asked = kinds, per_kind, gains, []

    def _first_groups(self, limit):
        return [np.arange(len(self._items))]

    def _gains_of_weights(self, halves, counts):
        self.asked += [(halves, counts)]
        return np.full(len(halves), self.gains)

    def _likeliest(self, which, groups):
        return which % len(groups)  # mixes kinds

    def _cost_of_clump(self, group):
        return self._cost.clump + self.per_kind * len(np.unique(self.kinds[group]))


@pytest.mark.parametrize("room", [2, 5, 11, 30])
@pytest.mark.parametrize("per_kind", [0.0, 3.0])
def test_the_cost_of_a_group_may_depend_on_its_items(name, room, per_kind, make_items):
    """Also after items have moved."""
    items = make_items(name, count=60)
    cost = Cost(row=3.0, clump=10.0)
    compression = Plain(items, cost, np.arange(len(items)) % 5, per_kind=per_kind)
    limit = room * (cost.clump + 5 * per_kind)
    groups = compression.run(limit)
    assert sum(map(compression.cost_of, groups)) <= limit
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(items)))


def test_gains_of_weights_are_asked_for_all_candidates_at_once(name, make_items):
    items = make_items(name, count=60)
    compression = Plain(items, Cost(row=3.0, clump=10.0), np.zeros(len(items)))
    compression._split_up([np.arange(30), np.arange(30, 63)], limit=60.0)
    (first, second), counts = compression.asked[0][0], compression.asked[0][1]
    assert counts.shape == (2, 2)
    for at, halves in enumerate((first, second)):
        np.testing.assert_allclose(counts[:, at], [items.counts[half].sum() for half in halves])


def test_groups_of_labels():
    assert [group.tolist() for group in groups_of(np.array([2, 0, 2, 1, 0]))] == [[1, 4], [3], [0, 2]]
