"""Memory of documents: whatever is compressed or merged, counts by document and sums of statistics are conserved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from modicum.families import as_family
from modicum.topics.memory import MERGED, DocumentMemory

N_DOCUMENTS = 8


def some(name, seed=0, count=60, capacity=500):
    """A memory of rows of consecutive documents, added in two parts in the middle of one; and its bound family."""
    rng = np.random.default_rng(seed)
    of_rows = np.sort(np.append(np.arange(N_DOCUMENTS), rng.integers(0, N_DOCUMENTS, count - N_DOCUMENTS)))
    if name == "multinomial":
        rows = csr_matrix(np.eye(5)[rng.integers(0, 5, count)])
        weights = rng.integers(1, 9, count).astype(float)
    else:
        rows, weights = rng.normal(size=(count, 3)), np.ones(count)
    family = as_family(name).bind(rows, weights)
    memory = DocumentMemory(rows, family.n_statistics, capacity)
    begins = np.append(True, np.diff(of_rows) > 0)
    for part in (slice(0, 25), slice(25, count)):
        memory.add(rows[part], weights[part], begins[part], 100 + of_rows[part][begins[part]])
    return memory, family, of_rows


def totals(memory, family):
    """Counts by group, and the sum of all statistics."""
    items = memory.items(family)
    return items.members.toarray().sum(axis=0), items.counts @ items.averages(slice(0, len(items)))


def random_groups(items, seed):
    labels = np.random.default_rng(seed).integers(0, 9, len(items))
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


NAMES = ["gaussian", "diagonal", "multinomial"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_have_their_documents(name):
    memory, family, of_rows = some(name)
    items = memory.items(family)
    assert_array_equal(items.members.toarray(), items.counts[:, None] * np.eye(N_DOCUMENTS)[of_rows])
    assert_array_equal(memory.ids, 100 + np.arange(N_DOCUMENTS))
    assert memory.n_documents == N_DOCUMENTS


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_compression_conserves_counts_by_group(name, seed):
    """In several rounds, so that clumps become parts of clumps."""
    memory, family, _ = some(name, seed)
    by_group, sums = totals(memory, family)
    for again in range(3):
        items = memory.items(family)
        groups = random_groups(items, 10 * seed + again)
        is_loose = lambda group, first=items.n_clumps: bool(group[0] >= first and len(group) < 5)  # noqa: E731
        memory.keep(items, groups, is_loose)
        clumps = [group for group in groups if not is_loose(group)]
        members = items.members.toarray()
        assert_allclose(memory.members.toarray(), [members[group].sum(axis=0) for group in clumps], rtol=1e-6)
        assert_allclose(memory.memory.clump_counts, [items.counts[group].sum() for group in clumps])
        now_by_group, now_sums = totals(memory, family)
        assert_array_equal(now_by_group, by_group)  # whole numbers
        assert_allclose(now_sums, sums, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_merging_documents_conserves_counts(name):
    memory, family, _ = some(name)
    items = memory.items(family)
    memory.keep(items, random_groups(items, 0), lambda group: len(group) < 6)
    by_group, sums = totals(memory, family)
    into = np.array([0, 1, 0, 2, 2, 1, 0, 3])
    memory.merge_documents(into)
    now_by_group, now_sums = totals(memory, family)
    assert_array_equal(now_by_group, np.bincount(into, by_group))
    assert_array_equal(now_sums, sums)
    assert memory.sizes.tolist() == [3, 2, 2, 1]
    assert memory.ids.tolist() == [MERGED, MERGED, MERGED, 107]
    memory.merge_documents(np.array([0, 0, 1, 2]))
    assert memory.sizes.tolist() == [5, 2, 1]
    assert memory.ids.tolist() == [MERGED, MERGED, 107]
    assert memory.n_documents == N_DOCUMENTS


@pytest.mark.parametrize("name", NAMES)
def test_the_last_document_goes_on(name):
    """Also after compression and merging."""
    memory, family, _ = some(name)
    items = memory.items(family)
    memory.keep(items, random_groups(items, 0), lambda group: len(group) < 6)
    memory.merge_documents(np.array([0, 1, 0, 2, 2, 1, 0, 3]))
    before, _ = totals(memory, family)
    more, *_ = some(name, seed=1)
    memory.add(more.memory.rows.values[:3], np.ones(3), np.array([False, False, True]), np.array([555]))
    after, _ = totals(memory, family)
    assert_array_equal(after, [*before[:3], before[3] + 2, 1])
    assert memory.ids[-2:].tolist() == [107, 555]


@pytest.mark.parametrize("name", NAMES)
def test_merging_memories(name):
    """Each keeps its documents; both may have clumps."""
    first, family, _ = some(name)
    second, other_family, _ = some(name, seed=1)
    for at, (memory, own) in enumerate([(first, family), (second, other_family)]):
        items = memory.items(own)
        memory.keep(items, random_groups(items, at), lambda group: len(group) < 6)
    theirs, my_counts = totals(second, other_family)[0], totals(first, family)[0]
    count = len(first.memory) + len(second.memory)
    sums = totals(first, family)[1]
    moved = family.translated_from(other_family, theirs.sum(keepdims=True), totals(second, other_family)[1][None])
    first.merge(second, family, other_family)
    by_group, now = totals(first, family)
    assert_array_equal(by_group, np.append(my_counts, theirs))
    assert_allclose(now, sums + moved[0], atol=1e-8)
    assert len(first.memory) == count
    assert first.n_documents == 2 * N_DOCUMENTS


@pytest.mark.parametrize("name", ["gaussian", "diagonal"])
def test_cutting_conserves_counts_and_sums_and_mixes_no_documents(name):
    memory, family, of_rows = some(name, count=120)
    by_document, sums = totals(memory, family)
    memory.cut(family, parts=3)
    after, sums_after = totals(memory, family)
    assert_allclose(after, by_document)
    assert_allclose(sums_after, sums, atol=1e-9)
    items = memory.items(family)
    assert (np.diff(items.members.indptr) == 1).all()
    assert N_DOCUMENTS < len(items) < len(of_rows)
    most = np.maximum(1, np.bincount(of_rows) // 3)
    assert (items.counts <= most[items.members.indices]).all()


def test_short_documents_are_not_cut():
    memory, family, of_rows = some("gaussian")
    memory.cut(family, parts=256)
    assert len(memory.items(family)) == len(of_rows)
    assert memory.memory.n_buffered == len(of_rows)
