"""Rows that a selection represents least, against all distances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

import modicum
from modicum import BalancedSelection, ExemplarClustering, OnlineGreedy, Reservoir
from modicum.exceptions import DataError
from modicum.select import find_outliers


def rows():
    return np.random.default_rng(0).normal(size=(500, 3))


@pytest.mark.parametrize("chunk", [1, 64, 500])
def test_the_farthest_rows_come_first(chunk):
    X = rows()
    model = ExemplarClustering(6, random_state=0).fit(X)
    found = find_outliers(model, modicum.stream(X, chunk_size=chunk), 10)
    D = cdist(X, model.exemplars_, "sqeuclidean")
    expected = np.argsort(-D.min(axis=1), kind="stable")[:10]
    assert_array_equal(found.ids, expected)
    assert_allclose(found.scores, D.min(axis=1)[expected])
    assert_array_equal(found.nearest, model.exemplar_ids_[D.argmin(axis=1)[expected]])


def test_kernel_prototypes_and_groups():
    X = rows()
    model = OnlineGreedy(6).fit(X)
    assert_array_equal(find_outliers(model, X, 5).ids, np.argsort(model.transform(X).max(axis=1))[:5])
    y = np.arange(500) % 2
    model = BalancedSelection(ExemplarClustering(6), random_state=0).fit(X, y)
    D = cdist(X, model.picks().rows, "sqeuclidean").min(axis=1)
    assert_array_equal(find_outliers(model, X, 5).ids, np.argsort(-D)[:5])


def test_picks_and_rows_of_weight_0_are_none():
    X, weight = rows(), np.ones(500)
    model = ExemplarClustering(6, random_state=0).fit(X)
    first = find_outliers(model, X, 1).ids[0]
    weight[first] = 0
    everything = find_outliers(model, modicum.stream(X, weight=weight), 1000)
    assert len(everything) == 500 - 6 - 1
    assert first not in everything.ids
    assert not np.isin(everything.ids, model.exemplar_ids_).any()


def test_what_can_not_be_done():
    X = rows()
    model = ExemplarClustering(6, random_state=0).fit(X)
    with pytest.raises(DataError, match="can be read only once"):
        find_outliers(model, iter([X]), 3)
    with pytest.raises(ValueError, match="Reservoir"):
        find_outliers(Reservoir(5).fit(X), X, 3)
