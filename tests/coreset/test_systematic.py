"""Systematic draws: inclusion probabilities and counts of neighbors."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from modicum.coreset.systematic import inclusion, systematic

masses = st.lists(st.floats(1e-6, 1e6) | st.just(0.0), min_size=1, max_size=40).filter(any).map(np.array)


@given(masses, st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_probabilities_are_proportional_to_the_mass_and_sum_to_the_count(mass, count):
    chances = inclusion(mass, count)
    assert_allclose(chances.sum(), min(count, np.count_nonzero(mass)), rtol=1e-9)
    assert chances.max() <= 1
    assert_array_equal(chances[mass == 0], 0)
    free = (chances > 0) & (chances < 1)
    if free.any():
        shares = chances[free] / mass[free]
        assert_allclose(shares, shares[0], rtol=1e-9)
        assert (mass[chances == 1] * shares[0] >= 1 - 1e-9).all()


@given(masses, st.integers(1, 50), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_every_run_of_neighbors_has_its_share_to_within_one(mass, count, seed):
    hit, chances = systematic(mass, count, np.random.default_rng(seed))
    expected = inclusion(mass, count)
    assert_array_equal(chances, expected[hit])
    assert (np.diff(hit) > 0).all()
    assert len(hit) == min(count, np.count_nonzero(mass))
    counts = np.isin(np.arange(len(mass)), hit) - expected
    ahead = np.concatenate([[0.0], np.cumsum(counts)])  # a run's surplus is the difference of two of these
    assert ahead.max() - ahead.min() < 1 + 1e-9


def test_every_item_is_drawn_with_its_probability():
    mass = np.array([5.0, 0.3, 0, 1, 1, 0.01, 40, 2, 0.7, 0])
    chances, drawn = inclusion(mass, 4), np.zeros(10)
    rng = np.random.default_rng(0)
    for _ in range(8000):
        drawn[systematic(mass, 4, rng)[0]] += 1
    error = 5 * np.sqrt(8000 * chances * (1 - chances))  # false alarms: fewer than one in 100,000
    assert (np.abs(drawn - 8000 * chances) <= error + 1e-6).all()
    assert drawn[6] == 8000
    assert drawn[2] == drawn[9] == 0


def test_an_offset_of_zero_draws_no_item_without_mass():
    class Zero:
        def random(self):
            return 0.0

    assert_array_equal(systematic(np.array([0.0, 1, 1, 0, 1]), 3, Zero())[0], [1, 2, 4])


def test_all_items_when_there_are_no_more():
    hit, chances = systematic(np.array([3.0, 0, 1e-9, 2]), 7, np.random.default_rng(0))
    assert_array_equal(hit, [0, 2, 3])
    assert_array_equal(chances, 1)
