"""Merging of documents against a search through all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from modicum.topics import document_groups
from modicum.topics.document_groups import merged


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


def greedy(proportions, sizes, limit, apart):
    """Sets of documents: the pair with the largest cosine is merged, again and again."""
    groups = [({at}, proportions[at], sizes[at]) for at in range(len(sizes)) if at != apart]
    while len(groups) > limit - 1:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        i, j = max(pairs, key=lambda pair: cosine(groups[pair[0]][1], groups[pair[1]][1]))
        (mine, first, m), (others, second, n) = groups.pop(i), groups.pop(j)
        groups.append((mine | others, (m * first + n * second) / (m + n), m + n))
    return {frozenset(group) for group, *_ in groups} | {frozenset([apart])}


def some(seed, count=12, n_topics=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_topics, 0.5), count), rng.integers(1, 5, count).astype(float)


def sets_of(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@pytest.mark.parametrize("seed", range(10))
def test_the_first_merge_is_of_the_nearest_pair(seed):
    proportions, sizes = some(seed)
    labels = merged(proportions, sizes, 11, apart=11)
    assert sets_of(labels) == greedy(proportions, sizes, 11, 11)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("limit", [2, 3, 6])
def test_clear_groups_are_found(seed, limit):
    """Documents of a few kinds, each far from the others: every order of merges of the nearest ends there."""
    rng = np.random.default_rng(seed)
    kinds = np.append(np.arange(limit - 1), rng.integers(0, limit - 1, 10))
    proportions = np.eye(6)[kinds] + rng.uniform(0.0, 0.05, (len(kinds), 6))
    sizes, apart = rng.integers(1, 5, len(kinds)).astype(float), len(kinds) - 1
    labels = merged(proportions, sizes, limit, apart)
    assert sets_of(labels) == greedy(proportions, sizes, limit, apart)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [2, 3, 7, 12])
def test_merging_costs_little_more_than_greedy_merging(seed, limit):
    """Mutual nearest neighbors merge together, so groups may differ, but hardly their quality."""
    proportions, sizes = some(seed, 12)

    def spread(groups):
        means = {group: np.average(proportions[list(group)], axis=0, weights=sizes[list(group)]) for group in groups}
        return sum(sizes[at] * (1 - cosine(proportions[at], means[group])) for group in groups for at in group)

    labels = merged(proportions, sizes, limit, apart=11)
    assert spread(sets_of(labels)) <= 1.2 * spread(greedy(proportions, sizes, limit, 11)) + 0.1


@pytest.mark.parametrize("apart", [0, 5, 11])
@pytest.mark.parametrize("limit", [2, 4, 11])
def test_the_limit_holds_and_one_stays_alone(apart, limit):
    proportions, sizes = some(1)
    labels = merged(proportions, sizes, limit, apart)
    assert_array_equal(np.unique(labels), np.arange(limit))
    assert (labels == labels[apart]).sum() == 1


def test_the_one_apart_comes_last():
    """The open document must stay the last one."""
    for limit in (2, 5, 11):
        labels = merged(*some(2), limit, apart=11)
        assert labels[11] == labels.max()


@pytest.mark.parametrize("limit", [2, 3, 8, 20])
def test_blocks(monkeypatch, limit):
    """Many groups are merged block by block, within the same limit."""
    monkeypatch.setattr(document_groups, "AT_ONCE", 7)
    labels = merged(*some(3, 50), limit, apart=49)
    assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))
    assert labels.max() + 1 <= limit
    assert (labels == labels[49]).sum() == 1


def test_equal_documents():
    """All cosines are the same."""
    labels = merged(np.full((9, 3), 1 / 3), np.ones(9), 4, apart=8)
    assert len(np.unique(labels)) == 4
    assert (labels == labels[8]).sum() == 1


def test_means_of_groups_are_over_documents():
    """Ten documents and one: the group stays with the ten."""
    proportions = np.array([[1.0, 0.0], [0.95, 0.05], [0.0, 1.0], [0.7, 0.7]])
    labels = merged(proportions, np.array([10.0, 1.0, 1.0, 1.0]), 3, apart=3)
    assert labels[0] == labels[1] != labels[2]
    assert_allclose(np.bincount(labels, [10.0, 1.0, 1.0, 1.0]).sum(), 13.0)


def test_documents_that_are_alike_are_merged_in_few_rounds(monkeypatch):
    rounds = []
    search = document_groups._nearest_pairs
    monkeypatch.setattr(document_groups, "_nearest_pairs", lambda known: rounds.append(len(known)) or search(known))
    proportions = np.eye(3)[np.arange(1000) % 3]
    into = merged(proportions, np.ones(1000), 4, apart=999)
    assert len(rounds) < 20
    assert_array_equal(into[:999], np.arange(999) % 3)
