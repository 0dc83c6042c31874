"""Held documents: the window has the latest, the reservoir is a uniform sample of the others."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from modicum.exceptions import BudgetError
from modicum.rules.budget import as_budget
from modicum.topics.held import HeldDocuments
from modicum.topics.limits import Limits, limits_within


def streamed(n, limits, seed, n_words=3):
    """Documents held after n documents, one epoch of 10 after the other."""
    rng = np.random.default_rng(seed)
    held = HeldDocuments(n_words)
    for first in range(0, n, 10):
        held.add(csr_matrix(np.ones((10, n_words), np.float32)), np.arange(first, first + 10), rng.random(10))
        held.n_learned = len(held)
        stay, n_reservoir = held.surviving(limits)
        held.keep(stay)
        held.n_reservoir = n_reservoir
    return held


def test_the_window_has_the_latest_documents():
    limits = Limits(60, 5)
    held = streamed(200, limits, 0)
    window = held.ids[held.n_reservoir :]
    assert_array_equal(window, np.arange(200 - limits.window, 200))
    assert held.n_reservoir == limits.reservoir
    assert len(held) <= limits.capacity - limits.epoch


def test_the_reservoir_is_a_uniform_sample_of_documents_that_left_the_window():
    limits, times = Limits(60, 5), 600
    old = 100 - limits.window
    drawn = np.zeros(old)
    for seed in range(times):
        held = streamed(100, limits, seed)
        drawn[held.ids[: held.n_reservoir]] += 1
    expected = times * limits.reservoir / old
    squares = (drawn - expected) ** 2 / expected
    assert squares.sum() < old + 4 * np.sqrt(2 * old)  # chi-squared, 4 standard deviations


def test_a_reservoir_of_all_documents_with_small_keys():
    limits = Limits(60, 5)
    held = streamed(500, limits, 3)
    keys = np.random.default_rng(3).random(500)[: 500 - limits.window]
    assert_array_equal(held.ids[: held.n_reservoir], np.sort(np.argsort(keys)[: limits.reservoir]))


def test_documents_cost_what_their_words_cost():
    limits = Limits(1000, 5, document_cost=20, nonzero_cost=8)
    held = streamed(200, limits, 0)
    costs = held.costs(limits)
    assert_array_equal(costs, 20 + 8 * 3)
    assert costs.sum() <= limits.capacity - limits.epoch


@pytest.mark.parametrize("n_words", [1, 30, 50_000])
def test_the_least_budget_of_bytes_suffices(n_words):
    with pytest.raises(BudgetError, match="needs a budget of at least") as caught:
        limits_within(as_budget("100 B"), n_words, None, 0, "it")
    least = str(caught.value).split("at least ")[1].split(";")[0]
    limits = limits_within(as_budget(least), n_words, None, 0, "it")
    assert limits.max_topics >= 1
    assert limits.epoch < limits.capacity


def test_a_budget_of_documents_counts_documents():
    assert limits_within(as_budget(300), 10, None, 0, "it") == Limits(300, 100)
    assert limits_within(as_budget(1), 10, None, 0, "it") == Limits(1, 1)
    assert limits_within(as_budget(300), 10, 7, 0, "it").max_topics == 7
