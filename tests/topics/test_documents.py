"""Documents: conversions and halves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from modicum.topics.documents import Documents


def counts(seed=0, n=20, n_words=8):
    X = np.random.default_rng(seed).poisson(0.8, (n, n_words)).astype(float)
    X[4] = 0
    return X


def dense(documents, n_words=8):
    out = np.zeros((len(documents), n_words))
    np.add.at(out, (documents.of_items, documents.words), documents.weights)
    return out


def test_counts_and_back():
    X = counts()
    for given in (X, csr_matrix(X), csr_matrix(X.astype(np.float32))):
        documents = Documents.of_counts(given)
        assert len(documents) == 20
        assert_array_equal(dense(documents), X)
        assert_array_equal(documents.totals(documents.weights), X.sum(axis=1))


def test_stored_zeros_are_no_words():
    X = csr_matrix(counts())
    X.data[::3] = 0.0
    documents = Documents.of_counts(X)
    assert (documents.weights > 0).all()
    assert_array_equal(dense(documents), X.toarray())


def test_rows():
    rows = np.arange(12.0).reshape(6, 2)
    documents = Documents.of_rows(rows, [2, 0, 3, 1])
    assert documents.of_items.tolist() == [0, 0, 2, 2, 2, 3]
    assert_array_equal(documents.rows[documents.words], rows)
    assert documents.totals(documents.weights).tolist() == [2.0, 0.0, 3.0, 1.0]


def test_one_hot():
    X = csr_matrix(counts().astype(np.float32))
    documents = Documents.of_counts(X)
    rows = documents.one_hot(X)
    assert rows.shape == (X.nnz, 8)
    assert rows.dtype == np.float32
    assert_array_equal(rows.toarray(), np.eye(8)[documents.words])
    picks = np.zeros((20, X.nnz))
    picks[documents.of_items, np.arange(X.nnz)] = documents.weights
    assert_array_equal(picks @ rows.toarray(), X.toarray())


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_halves_conserve_counts(scale):
    X = scale * counts()
    halves = Documents.of_counts(X).halves(np.random.default_rng(1))
    assert_allclose(dense(halves[0]) + dense(halves[1]), X)
    assert all((half.weights > 0).all() and len(half) == 20 for half in halves)


def test_halves_are_binomial():
    """Each occurrence of a word falls into either half with probability 1/2, whatever becomes of the others."""
    documents, rng = Documents.of_counts(np.array([[3.0, 1.0]])), np.random.default_rng(0)
    found = np.array([dense(documents.halves(rng)[0], 2)[0] for _ in range(8000)])
    assert_allclose(np.bincount(found[:, 0].astype(int)) / 8000, [1 / 8, 3 / 8, 3 / 8, 1 / 8], atol=0.02)
    assert_allclose(found[:, 1].mean(), 0.5, atol=0.02)
    assert abs(np.corrcoef(found.T)[0, 1]) < 0.05


def test_halves_of_rows():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    seen, unseen = Documents.of_rows(rows, [10, 20]).halves(np.random.default_rng(0))
    assert_array_equal(np.sort(np.append(seen.words, unseen.words)), np.arange(30))
    for half in (seen, unseen):
        assert ((half.words < 10) == (half.of_items == 0)).all()


def test_a_loop_sees_every_document_once():
    """In tiles, each with its own borders."""
    X = np.random.default_rng(0).poisson(1.0, (300, 5)).astype(float)
    documents, out = Documents.of_counts(X), np.zeros(300)

    def loop(borders, words, weights, out):
        for j in range(len(out)):
            out[j] += weights[borders[j] : borders[j + 1]].sum()

    documents.run(loop, documents.weights, by_document=(out,))
    assert_array_equal(out, X.sum(axis=1))
