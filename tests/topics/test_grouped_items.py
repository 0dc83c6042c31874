"""Items of documents against plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from modicum._jit.groups import add_group_rows, add_group_values, add_halves_to_groups, add_to_groups, count_groups


def dense_averages(items):
    averages = items.averages(slice(0, len(items)))
    return averages.toarray() if hasattr(averages, "toarray") else averages


def some_scores(items, n_topics, seed=0):
    """Scores of topics that items are assigned to at random, and logs of proportions."""
    rng = np.random.default_rng(seed)
    weights = items.counts[:, None] * rng.dirichlet(np.ones(n_topics), len(items))
    scores = items.family.expected_log_likelihood(weights.sum(axis=0), weights.T @ dense_averages(items))
    return scores, np.log(rng.dirichlet(np.ones(n_topics), items.members.shape[1]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_topics", [1, 4])
def test_assignments_by_definition(kind, grouped, seed, n_topics):
    items, _ = grouped(kind, seed)
    (slopes, offsets), logs = some_scores(items, n_topics)
    found, kept = items.assign((slopes, offsets), logs)
    averages, members = dense_averages(items), items.members.toarray()
    likelihood = 0.0
    for c in range(len(items)):
        scored = [
            averages[c] @ slopes[k] + offsets[k] + members[c] @ logs[:, k] / items.counts[c] for k in range(n_topics)
        ]
        likelihood += items.counts[c] * logsumexp(scored)
        assert_allclose(kept[c], items.counts[c] * np.exp(scored - logsumexp(scored)), rtol=1e-8, atol=1e-12)
    assert_allclose(found.likelihood, likelihood)
    assert_allclose(found.counts, kept.sum(axis=0))
    assert_allclose(found.sums, kept.T @ averages, rtol=1e-7, atol=1e-9)
    assert_array_equal(found.labels, kept.argmax(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_counts_by_group(kind, grouped, seed):
    items, _ = grouped(kind, seed)
    weights = items.counts[:, None] * np.random.default_rng(seed).dirichlet(np.ones(3), len(items))
    members, out = items.members.toarray(), np.zeros((5, 3))
    for c in range(len(items)):
        for s in range(5):
            out[s] += members[c, s] / items.counts[c] * weights[c]
    assert_allclose(items.by_group(weights), out)
    assert_allclose(items.by_group(items.counts[:, None]).ravel(), members.sum(axis=0))


def test_shares_of_groups_sum_to_1(kind, grouped):
    items, _ = grouped(kind)
    which = np.array([7, 0, 2])
    shares = items.shares_of_groups(which).toarray()
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_allclose(shares, items.members.toarray()[which] / items.counts[which, None])


def test_many_items_are_assigned_in_tiles(grouped):
    """Each tile has the groups of its own items."""
    items, _ = grouped("gaussian", count=2000)
    scores, logs = some_scores(items, 3)
    shares = items.members.toarray() / items.counts[:, None]
    scored = dense_averages(items) @ scores[0].T + scores[1] + shares @ logs
    q = np.exp(scored - logsumexp(scored, axis=1, keepdims=True))
    assert_allclose(items.assign(scores, logs)[1], items.counts[:, None] * q, rtol=1e-8, atol=1e-12)


def test_loops(grouped):
    items, _ = grouped("gaussian", n_clumps=6)
    members, rng = items.members, np.random.default_rng(0)
    dense, table, values = members.toarray(), rng.normal(size=(5, 3)), rng.normal(size=(len(items), 3))
    out = np.ones((4, 3))
    add_group_rows(members.indptr, members.indices, members.data, table, 2, out)
    assert_allclose(out, 1 + dense[2:6] @ table)
    out = np.ones((5, 3))
    add_to_groups(members.indptr, members.indices, members.data, values, out)
    assert_allclose(out, 1 + dense.T @ values)
    column, halves, out = rng.integers(0, 3, len(items)), rng.normal(size=(2, len(items))), np.ones((5, 6))
    add_halves_to_groups(members.indptr, members.indices, members.data, *halves, column, out)
    picked = np.eye(3)[column]
    assert_allclose(out, 1 + dense.T @ np.concatenate([half[:, None] * picked for half in halves], axis=1))
    out = np.ones(len(items))
    add_group_values(members.indptr, members.indices, members.data, table, column, out)
    assert_allclose(out, 1 + (dense @ table)[np.arange(len(items)), column])
    seen = np.zeros(5, np.int64)
    for mark in range(1, 30):
        which = rng.choice(len(items), rng.integers(1, 8), replace=False)
        count = count_groups(members.indptr, members.indices, which, seen, mark)
        assert count == (dense[which] > 0).any(axis=0).sum()
