"""Items of documents, for tests of topics by clumps."""

import numpy as np
import pytest
from scipy import sparse

from items import _items, rows  # noqa: F401
from modicum.families import as_family
from modicum.topics.grouped_items import GroupedItems


def words(count, n_words=6, seed=0):
    """Words as sparse rows with a 1 each."""
    columns = np.random.default_rng(seed).integers(0, n_words, count)
    return sparse.csr_matrix((np.ones(count), columns, np.arange(count + 1)), (count, n_words))


def _grouped(name, seed=0, count=40, n_clumps=3, n_groups=5):
    """Rows, each of one document, and clumps with items of several, in random order of documents; and group sizes."""
    rng = np.random.default_rng(seed)
    if name == "words":
        rows, weights = words(count, seed=seed), rng.integers(1, 5, count).astype(float)
        family = as_family("multinomial").bind(rows, weights)
        clump_counts = np.full(n_clumps, 8.0)
        given = (rows, weights, clump_counts, rng.multinomial(8, np.full(6, 1 / 6), n_clumps).astype(float))
    else:
        items = _items(name, seed, count, n_clumps)
        family, clump_counts = items.family, items.counts[:n_clumps]
        given = (items.rows, items.counts[n_clumps:], clump_counts, items._clump_means * clump_counts[:, None])
    of_clumps = clump_counts[:, None] * rng.dirichlet(np.full(n_groups, 0.3), n_clumps)
    of_rows = given[1][:, None] * np.eye(n_groups)[rng.integers(0, n_groups, count)]
    members = sparse.csr_matrix(np.concatenate([of_clumps, of_rows]))
    sizes = np.where(rng.random(n_groups) < 0.5, 1.0, rng.integers(2, 6, n_groups)) if seed % 2 else np.ones(n_groups)
    return GroupedItems(family, *given, members=members), sizes


@pytest.fixture
def grouped():
    return _grouped


@pytest.fixture(params=["gaussian", "diagonal", "multinomial", "words"])
def kind(request):
    """Of items: rows of a family, or single words."""
    return request.param
