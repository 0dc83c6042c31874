"""Sparse counts: as dense ones, without ever being dense."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from modicum import DirichletProcessMixture, MemoryBoundedMixture
from modicum.exceptions import DataError
from modicum.families import Multinomial
from modicum.rules.budget import as_budget

ANSWERS = ("predict", "predict_proba", "score_samples", "plug_in_score_samples", "novelty")


def documents(count, width=30, kinds=4, seed=0):
    """Counts of words in documents of several kinds and differing lengths; some are empty."""
    rng = np.random.default_rng(seed)
    frequencies = np.random.default_rng(99).dirichlet(np.full(width, 0.1), kinds)
    lengths = rng.poisson(rng.uniform(0, 60, count))
    lengths[:: count // 3] = 0
    return rng.multinomial(lengths, frequencies[rng.integers(0, kinds, count)]).astype(float)


def in_any_order(model):
    order = np.lexsort(model.means_.T)
    return model.weights_[order], model.means_[order]


@pytest.mark.parametrize(
    "model",
    [
        DirichletProcessMixture("multinomial"),
        MemoryBoundedMixture("multinomial", budget=120),
        MemoryBoundedMixture("multinomial", budget=300, epoch=40),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_are_learned_as_dense_ones(model, dtype):
    X, weight = documents(600).astype(dtype), np.random.default_rng(1).uniform(0.5, 2.0, 600)
    dense = clone(model).fit(X, sample_weight=weight)
    thin = clone(model).fit(sparse.csr_matrix(X), sample_weight=weight)
    assert dense.n_components_ == thin.n_components_ > 1
    assert_allclose(thin.free_energy_, dense.free_energy_, rtol=1e-6)
    for left, right in zip(in_any_order(thin), in_any_order(dense), strict=True):
        assert_allclose(left, right, rtol=1e-4, atol=1e-7)
    assert_allclose(thin.score_samples(X), dense.score_samples(X), rtol=1e-5)


@pytest.mark.parametrize("learn_sparse", [False, True])
@pytest.mark.parametrize("make", [DirichletProcessMixture, MemoryBoundedMixture])
def test_answers_for_sparse_rows(make, learn_sparse):
    X = documents(400)
    model = make("multinomial").fit(sparse.csr_matrix(X) if learn_sparse else X)
    for name in ANSWERS:
        assert_allclose(getattr(model, name)(sparse.csr_matrix(X)), getattr(model, name)(X), rtol=1e-10, atol=1e-12)


def test_other_formats():
    X = documents(200)
    twice = sparse.csr_matrix((np.ones(4), [3, 3, 1, 3], [0, 3, 4]), shape=(2, 30))  # an entry in two parts
    for make in (DirichletProcessMixture, MemoryBoundedMixture):
        expected = make("multinomial").fit(sparse.csr_matrix(X))
        for kind in (sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array):
            assert_array_equal(make("multinomial").fit(kind(X)).means_, expected.means_)
        assert_allclose(expected.score_samples(twice), expected.score_samples(twice.toarray()))
        assert twice.nnz == 4  # is not changed


@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
@pytest.mark.parametrize("make", [DirichletProcessMixture, MemoryBoundedMixture])
def test_gaussians_refuse_sparse_rows(make, family):
    X = documents(100)
    with pytest.raises(DataError, match=r'rows are sparse.*toarray\(\), or family="multinomial"'):
        make(family).fit(sparse.csr_matrix(X))
    with pytest.raises(DataError, match="rows are sparse"):
        make(family).fit(X).predict(sparse.csr_matrix(X))


@pytest.mark.parametrize("make", [DirichletProcessMixture, MemoryBoundedMixture])
def test_negative_counts_are_named(make):
    X = sparse.csr_matrix(documents(100))
    X.data[-1] = -2.0
    row, column = (int(at[0]) for at in (X < 0).nonzero())
    with pytest.raises(DataError, match=f"row {row}, column {column} of this chunk is -2.0"):
        make("multinomial").fit(X)


@pytest.mark.parametrize("budget", ["16 KiB", pytest.param("200 KiB", marks=pytest.mark.slow)])
@pytest.mark.parametrize("epoch", [None, 25])
@pytest.mark.parametrize("index", [np.int32, pytest.param(np.int64, marks=pytest.mark.slow)])
def test_bytes_hold_for_rows_of_differing_sizes(budget, epoch, index):
    """Rows become ten times longer."""
    rng = np.random.default_rng(0)
    model = MemoryBoundedMixture("multinomial", budget=budget, epoch=epoch)
    limit = as_budget(budget).nbytes
    for words in (5, 10, 50, 50, 5, 50):
        X = sparse.csr_matrix(rng.multinomial(words, rng.dirichlet(np.full(60, 0.3), 3)[rng.integers(0, 3, 100)]) * 1.0)
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        model.partial_fit(X)
        assert model.nbytes_ <= limit
    assert model.history_["n_seen"].size > 1 or budget == "200 KiB"
    assert_allclose(model.clumps_["counts"].sum(), 600)


@pytest.mark.parametrize("budget", [60, "16 KiB"])
def test_chunks_do_not_matter(budget):
    X = sparse.csr_matrix(documents(300, width=20))
    states = []
    for size in (300, 37, 1):
        model = MemoryBoundedMixture("multinomial", budget=budget)
        for first in range(0, 300, size):
            model.partial_fit(X[first : first + size])
        states.append(model.to_bytes())
    assert states[0] == states[1] == states[2]


def test_states_are_saved_and_merged():
    X = sparse.csr_matrix(documents(400))
    one, two = (MemoryBoundedMixture("multinomial", budget="32 KiB").fit(part) for part in (X[:200], X[200:]))
    again = MemoryBoundedMixture.from_bytes(one.to_bytes())
    assert again.to_bytes() == one.to_bytes()
    again.merge(two)
    assert again.nbytes_ <= 32 * 1024
    assert_allclose(again.clumps_["counts"].sum(), 400)


def test_dense_rows_after_sparse_ones():
    X = documents(300)
    mixed = MemoryBoundedMixture("multinomial", budget=80).partial_fit(sparse.csr_matrix(X[:100])).partial_fit(X[100:])
    only = MemoryBoundedMixture("multinomial", budget=80).partial_fit(sparse.csr_matrix(X))
    assert mixed.to_bytes() == only.to_bytes()


@pytest.mark.parametrize(
    "model",
    [
        MemoryBoundedMixture("multinomial", budget="16 MiB"),
        pytest.param(MemoryBoundedMixture("multinomial", budget="5 MiB", epoch=600), marks=pytest.mark.slow),
        pytest.param(MemoryBoundedMixture("multinomial", epoch=500), marks=pytest.mark.slow),
        DirichletProcessMixture("multinomial"),
    ],
)
def test_wide_rows_are_never_dense(model):
    """2,000 documents of 50,000 words: 800 MB if they were dense."""
    rng, width, count = np.random.default_rng(0), 50_000, 2000
    words = rng.integers(0, 2000, (count, 40)) + 2000 * rng.integers(0, 4, count)[:, None]
    X = sparse.csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 40)), shape=(count, width))
    X.sum_duplicates()
    tracemalloc.start()
    try:
        model.fit(X).score_samples(X[:500])
        assert 1 < model.n_components_ < 10
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("make", [DirichletProcessMixture, MemoryBoundedMixture])
def test_tags_tell_which_families_take_sparse_rows(make):
    for family, expected in (("multinomial", True), (Multinomial(0.1), True), ("diagonal", False), ("bogus", False)):
        assert make(family).__sklearn_tags__().input_tags.sparse is expected
