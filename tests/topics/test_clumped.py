"""Rounds of topics by clumps: documents that go on over rounds, and what is conserved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from modicum import MemoryBoundedTopicModel
from modicum.topics.memory import MERGED


def streamed(max_groups, n_documents=12, length=30, chunk=17, seed=0):
    """A model of documents that begin and end in the middle of chunks and epochs, chunk by chunk; y so far."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_documents), length)
    X = rng.normal(size=(len(y), 2)) + 8 * rng.integers(0, 2, (len(y), 1))
    model = MemoryBoundedTopicModel(budget=160, epoch=40, max_document_groups=max_groups)
    for first in range(0, len(y), chunk):
        model.partial_fit(X[first : first + chunk], y[first : first + chunk])
        yield model, X[: first + chunk], y[: first + chunk]


@pytest.mark.parametrize("max_groups", [2, 3, 50])
def test_the_open_document_has_all_its_rows(max_groups):
    for model, _, y in streamed(max_groups):
        memory, topics = model._engine.memory, model._engine.topics
        if topics is None:  # before the first round
            continue
        counts = memory.items(topics.family).members.toarray().sum(axis=0)
        assert_allclose(counts.sum(), len(y), rtol=1e-6)
        assert_allclose(counts[-1], (y == y[-1]).sum(), rtol=1e-6)
        assert memory.sizes.sum() == memory.n_documents == y[-1] + 1


def test_statistics_are_conserved():
    *_, (model, X, _) = streamed(3)
    memory, family = model._engine.memory, model._engine.topics.family
    items = memory.items(family)
    averages = items.averages(slice(0, len(items)))
    assert_allclose(items.counts @ averages, family.statistics(X).sum(axis=0), atol=1e-8)


def test_ids_are_positions_of_the_first_rows_of_documents():
    *_, (model, _, y) = streamed(50)
    assert_array_equal(model._engine.memory.ids, np.flatnonzero(np.append(True, np.diff(y) > 0)))


def test_merged_documents_have_no_id():
    *_, (model, _, y) = streamed(3)
    ids = model._engine.memory.ids
    assert ids[0] == MERGED
    assert set(ids) - {MERGED} <= set(np.flatnonzero(np.append(True, np.diff(y) > 0)))
