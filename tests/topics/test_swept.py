"""Topics of words in one pass: recovery of planted topics, chunks, limits, merges, odd streams."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix, vstack
from threadpoolctl import threadpool_limits

from modicum.families import Multinomial
from modicum.rules.budget import as_budget
from modicum.rules.invariants import check_invariants
from modicum.state import held_bytes, pack, unpack
from modicum.topics.held import HeldDocuments
from modicum.topics.limits import Limits, limits_within
from modicum.topics.sweeps import Sweeps
from modicum.topics.swept import SweptTopics, log_evidence

V = 120
FIELDS = ("counts", "frozen", "sums", "n_seen", "perplexity")


def planted(n, n_topics=6, seed=0, length=80):
    """Documents of planted topics (topics, words), which are sparse."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(99).dirichlet(np.full(V, 0.05), n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1), n)
    return csr_matrix(np.array([rng.multinomial(length, p) for p in shares @ topics], float)), topics


def learned(X, limits=None, chunk=None, seed=0, finish=True, **settings):
    engine, rng = SweptTopics(X.shape[1], limits or Limits(100, 30), **settings), np.random.default_rng(seed)
    for first in range(0, X.shape[0], chunk or X.shape[0]):
        part = X[first : first + (chunk or X.shape[0])]
        engine.add(part, np.arange(first, first + part.shape[0]), rng)
    if finish:
        engine.finish()
    return engine


def perplexity(topics, X, alpha=0.05):
    """Perplexity of half of the words of documents, the other half given."""
    rng = np.random.default_rng(1)
    given = X.astype(np.float32).tocsr()
    given.data = rng.binomial(X.data.astype(int), 0.5).astype(np.float32)
    asked = (X - given).astype(np.float32).tocsr()
    phi = np.ascontiguousarray(topics.T, dtype=np.float32) + np.float32(1e-7)
    folded = Sweeps(given, np.ones((X.shape[0], len(topics)), np.float32), alpha)
    folded.assign(phi, 100)
    return np.exp(-Sweeps(asked, folded.counts, alpha).scores(phi).sum() / asked.sum())


def topics_of(engine):
    smoothed = engine.present()[0] + engine.eta
    return smoothed / smoothed.sum(axis=1, keepdims=True)


def assert_same(one, two):
    for name in FIELDS:
        assert_array_equal(getattr(one, name), getattr(two, name), strict=name not in ("n_seen", "perplexity"))
    for name in ("ids", "keys", "n_reservoir", "n_learned"):
        assert_array_equal(getattr(one.documents, name), getattr(two.documents, name))
    assert (one.documents.rows.values != two.documents.rows.values).nnz == 0


def assert_sound(engine):
    check_invariants(engine, {})
    sums, alpha = engine.present()
    ids, counts = engine.held()
    assert sums.shape == (len(alpha), engine.n_words)
    assert counts.shape == (len(ids), len(alpha))
    assert len(alpha) >= 1
    assert np.isfinite(sums).all()
    assert np.isfinite(counts).all()
    assert engine.documents.costs(engine.limits).sum() <= engine.capacity


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
def test_planted_topics_are_recovered(order):
    X, topics = planted(1200)
    if order == "sorted":
        X = X[np.argsort((X @ topics.T).argmax(axis=1), kind="stable")]
    new = planted(200, seed=1)[0]
    engine = learned(X)
    best, flat = perplexity(topics, new), perplexity(topics.mean(axis=0)[None], new)
    assert perplexity(topics_of(engine), new) < best + 0.06 * (flat - best)
    assert 6 <= engine.n_topics <= 10
    assert_sound(engine)


def test_two_topics_of_ten_words_are_two():
    rng = np.random.default_rng(0)
    shares = np.repeat(rng.dirichlet([0.1, 0.1], 1000), 10, axis=1) / 10
    X = csr_matrix(np.array([rng.multinomial(50, p) for p in shares], float))
    assert learned(X, Limits(12_000, 500)).n_topics == 2


def test_perplexity_of_the_last_epoch():
    X = planted(1200)[0]
    assert np.isinf(learned(X[:5]).perplexity)  # none before the first
    assert 1 < learned(X).perplexity < V


def test_evidence_of_documents():
    X = vstack([planted(20)[0], csr_matrix((1, V))]).tocsr()
    prior = np.linspace(0.05, 0.2, V)
    family = Multinomial(prior)
    assert_allclose(log_evidence(X, prior), family.log_evidence(np.empty(0), X.toarray()), rtol=1e-9, atol=1e-9)


def test_unused_columns_change_next_to_nothing():
    X = planted(500)[0]
    used = X[:, np.asarray(X.sum(axis=0)).ravel() > 0]
    wide = csr_matrix((used.data, 7 * used.indices, used.indptr), (500, 7 * used.shape[1]))
    one, two = learned(used), learned(wide)
    assert one.n_topics == two.n_topics > 3
    assert_allclose(one.present()[0], two.present()[0][:, ::7], atol=0.05 * X.sum() / one.n_topics / 100)
    assert_allclose(one.perplexity, two.perplexity, rtol=0.02)
    assert_allclose(two.pseudocounts.sum(), one.pseudocounts.sum() + two.eta)


def test_no_word_is_lost():
    X = planted(500)[0]
    engine = learned(X)
    assert_allclose(engine.present()[0].sum(axis=0), np.asarray(X.sum(axis=0)).ravel(), rtol=1e-3)
    ids, counts = engine.held()
    assert_allclose(counts.sum(axis=1), np.asarray(X[ids].sum(axis=1)).ravel(), rtol=1e-3)


@pytest.mark.parametrize("chunk", [1, 7, 33])
@pytest.mark.parametrize("limits", [Limits(100, 30), Limits(40_000, 30, 140, 8)])
def test_chunks_change_nothing(chunk, limits):
    X = planted(230)[0]
    for finish in (False, True):
        assert_same(learned(X, limits, finish=finish), learned(X, limits, chunk, finish=finish))


def test_index_types_and_repeated_words_change_nothing():
    X = planted(100)[0]
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    halves = csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)
    for same in (wide, halves):
        engine = learned(same)
        assert_same(learned(X), engine)
        assert engine.documents.rows.values.indices.dtype == np.int32


def test_threads_change_nothing():
    X, found = planted(300)[0], []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(learned(X))
    assert_same(*found)


def test_answers_do_not_change_the_state():
    X = planted(60)[0]
    for n in (0, 3, 60):
        engine = learned(X[:n], chunk=10, finish=False)
        before = copy.deepcopy(engine)
        engine.present(), engine.held()
        assert_same(engine, before)
        assert_sound(engine)


def test_memory_is_constant():
    X = planted(3000, seed=2)[0]
    engine, rng, sizes = SweptTopics(V, limits := Limits(80, 10)), np.random.default_rng(0), []
    for first in range(0, 3000, 50):
        engine.add(X[first : first + 50], np.arange(first, first + 50), rng)
        assert engine.n_retained <= limits.capacity
        assert engine.n_topics <= limits.max_topics
        sizes.append(held_bytes(engine))
    assert max(sizes[30:]) < 1.15 * max(sizes[:30])
    assert engine.n_seen == 3000


@pytest.mark.parametrize("size", ["20 KiB", "60 KiB", "200 KiB"])
def test_a_budget_of_bytes_holds(size):
    budget = as_budget(size)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, 400)  # documents differ in length
    X = csr_matrix(np.array([rng.multinomial(n, np.full(V, 1 / V)) for n in lengths], float))
    limits = limits_within(budget, V, None, 300, "it")
    engine = SweptTopics(V, limits)
    for first in range(0, 400, 20):
        engine.add(X[first : first + 20], np.arange(first, first + 20), rng)
        assert held_bytes(engine) <= budget.nbytes
    assert_sound(engine)


def test_saved_and_loaded():
    X = planted(330)[0]
    engine = learned(X[:215], finish=False)
    arrays = {}
    loaded = unpack(pack(engine, arrays, "engine"), arrays)
    assert_same(engine, loaded)
    check_invariants(loaded, {})
    for one in (engine, loaded):
        one.add(X[215:], np.arange(215, 330), np.random.default_rng(5))
    assert_same(engine, loaded)


def test_halves_merge():
    X, topics = planted(1200)
    new = planted(200, seed=1)[0]
    whole, one, two = learned(X), learned(X[:600]), learned(X[600:], finish=False)
    before = copy.deepcopy(two)
    one.merge(two)
    assert_same(two, before)
    one.finish()
    best, flat = perplexity(topics, new), perplexity(topics.mean(axis=0)[None], new)
    assert perplexity(topics_of(one), new) < perplexity(topics_of(whole), new) + 0.1 * (flat - best)
    assert one.n_seen == 1200
    assert_allclose(one.present()[0].sum(axis=0), np.asarray(X.sum(axis=0)).ravel(), rtol=1e-3)
    assert_sound(one)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 300), (300, 0), (2, 300), (300, 2), (2, 3)])
def test_merging_with_little(n, m):
    X = planted(300)[0]
    one, two = learned(X[:n], finish=False, chunk=50), learned(X[:m], finish=False, chunk=50)
    one.merge(two)
    one.finish()
    assert one.n_seen == n + m
    assert_allclose(one.present()[0].sum(), X[:n].sum() + X[:m].sum(), rtol=1e-3)
    assert_sound(one)


def test_topics_are_followed_by_their_names():
    """A hook on `_rename` sees every birth and merge."""

    class Followed(SweptTopics):
        def _rename(self, into, n_topics):
            trail.append((into.copy(), n_topics, self.n_topics))
            super()._rename(into, n_topics)

    trail = []
    engine = Followed(V, Limits(100, 30))
    engine.add(planted(300)[0], np.arange(300), np.random.default_rng(0))
    assert trail[0][2] == 1
    assert [n for _, n, _ in trail] == [n for _, _, n in trail[1:]] + [engine.n_topics]
    assert all(len(into) == before and (into < n).all() for into, n, before in trail)


def row(*counts, n_words=V):
    X = np.zeros((1, n_words))
    X[0, : len(counts)] = counts
    return csr_matrix(X)


ODD = {
    "empty": csr_matrix((40, V)),
    "some empty": vstack([csr_matrix((15, V)), planted(30)[0], csr_matrix((15, V))]).tocsr(),
    "one word each": csr_matrix(np.eye(V)[np.arange(200) % V]),
    "the same document": vstack([row(3, 1, 0, 7)] * 100).tocsr(),
    "one document": planted(1)[0],
    "three documents": planted(3)[0],
    "a million words": vstack([planted(50)[0], row(900_000, 100_000), planted(50)[0]]).tocsr(),
    "fractions": csr_matrix(planted(100)[0] * 0.013),
    "one column": csr_matrix(np.arange(90.0).reshape(-1, 1)),
    "20,000 columns": csr_matrix((np.ones(90), (np.arange(90) % 30, np.arange(90) * 222)), (30, 20_000)),
}


@pytest.mark.parametrize("limits", [Limits(1, 1), Limits(2, 5), Limits(24, 3), Limits(50, 16)])
@pytest.mark.parametrize("name", ODD)
def test_odd_streams(name, limits):
    engine = learned(ODD[name], limits)
    assert_sound(engine)
    assert engine.n_topics <= limits.max_topics


def test_the_same_documents_have_one_topic():
    assert learned(ODD["the same document"]).n_topics == 1
    assert learned(ODD["one column"]).n_topics == 1


def test_words_without_end_do_not_stop_learning():
    """Single words still count after more of them than float32 resolves."""
    engine = learned(vstack([row(2**20, 2**20)] * 60).tocsr(), Limits(10, 2))
    assert engine.present()[0].max() < 2**25 < 60 * 2**20
    engine.add(vstack([row(0, 2)] * 40).tocsr(), np.arange(40), np.random.default_rng(0))
    engine.finish()
    sums = engine.present()[0].sum(axis=0)
    assert sums[1] > sums[0] + 50
    assert_sound(engine)


def test_forged_documents_are_refused():
    engine = learned(planted(50)[0])
    engine.documents.rows.values.data[0] = -1
    with pytest.raises(ValueError, match="counts"):
        check_invariants(engine, {})
    assert isinstance(engine.documents, HeldDocuments)
