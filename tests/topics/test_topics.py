"""What topics say about documents, against plain numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from scipy.integrate import quad
from scipy.sparse import csr_matrix
from scipy.stats import beta

from modicum._jit import compiled
from modicum._jit.proportions import digamma
from modicum.families import as_family
from modicum.topics.documents import Documents
from modicum.topics.topics import CHANGE, MAX_ITER, Topics


def words(n_topics=4, n_words=30, n_documents=100, seed=0):
    """Topics of words and documents, one of them empty."""
    rng = np.random.default_rng(seed)
    sums = rng.gamma(0.3, 20.0, (n_topics, n_words))
    family = as_family("multinomial").bind(csr_matrix((1, n_words)), np.ones(1))
    X = rng.poisson(rng.gamma(0.3, 3.0, (n_documents, n_words))).astype(float)
    X[5] = 0
    return Topics(family, sums.sum(axis=1), sums, rng.gamma(0.5, 1.0, n_topics) + 0.01), X


def numbers(name="gaussian", n_topics=3, seed=0):
    """Topics of numbers, and documents as arrays of 4 to 12 rows."""
    rng = np.random.default_rng(seed)
    rows, z = rng.normal(size=(60, 2)) * 2, np.arange(60) % n_topics
    rows += 3 * z[:, None]
    family = as_family(name).bind(rows, np.ones(60))
    statistics = family.statistics(rows)
    counts, sums = np.bincount(z).astype(float), np.array([statistics[z == k].sum(axis=0) for k in range(n_topics)])
    arrays = [rng.normal(size=(length, 2)) * 3 + 3 for length in rng.integers(4, 13, 20)]
    return Topics(family, counts, sums, rng.gamma(0.5, 1.0, n_topics) + 0.05), arrays


def likelihoods(topics, document):
    """p(item | topic) of all items, and their weights: of an array of rows, or of counts of words."""
    if document.ndim == 1:
        here = np.flatnonzero(document)
        frequencies = topics.family.pseudocounts + topics.sums
        return (frequencies / frequencies.sum(axis=1, keepdims=True))[:, here].T, document[here]
    return np.exp(topics.family.log_predictive(document, topics.counts, topics.sums)), np.ones(len(document))


def infer(topics, document, max_iter=MAX_ITER, tol=CHANGE):
    """Eq. 3.10 and 3.11."""
    p, weights = likelihoods(topics, document)
    after = topics.alpha + weights.sum() / len(topics)
    for _ in range(max_iter):
        before = after
        q = p * np.exp(special.digamma(after) - special.digamma(after.sum()))
        after = topics.alpha + weights @ (q / q.sum(axis=1, keepdims=True))
        if np.abs(after - before).mean() <= tol:
            break
    return after


CASES = ["words", "gaussian", "diagonal"]


def case(name):
    """Topics, documents, and each document by itself."""
    if name == "words":
        topics, X = words()
        return topics, Documents.of_counts(X), list(X)
    topics, arrays = numbers(name)
    return topics, Documents.of_rows(np.concatenate(arrays), [len(array) for array in arrays]), arrays


@compiled
def digammas(values, out):
    for i in range(len(values)):
        out[i] = digamma(values[i])


def test_digamma():
    x = np.concatenate([10 ** np.linspace(-12, 8, 2000), np.linspace(1.4, 1.5, 50)])
    out = np.empty_like(x)
    digammas(x, out)
    assert_allclose(out, special.digamma(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_inference(name):
    topics, documents, each = case(name)
    assert_allclose(topics.infer(documents), [infer(topics, one) for one in each], rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_inference_conserves_counts(name):
    topics, documents, _ = case(name)
    lengths = documents.totals(documents.weights)
    assert_allclose(topics.infer(documents).sum(axis=1), topics.alpha.sum() + lengths)


def test_an_empty_document_has_the_prior():
    topics, X = words()
    documents = Documents.of_counts(X[[5]])
    assert_allclose(topics.infer(documents), topics.alpha[None])
    assert_allclose(topics.log_bounds(documents), 0.0, atol=1e-12)
    assert_array_equal(topics.similarities(documents, np.ones((2, 4))), np.zeros((1, 2)))


@pytest.mark.parametrize("name", CASES)
def test_labels(name):
    topics, documents, each = case(name)
    found = np.split(topics.labels(documents), documents.borders[1:-1])
    for one, labels in zip(each, found, strict=True):
        q = likelihoods(topics, one)[0] * np.exp(special.digamma(infer(topics, one)))
        assert_array_equal(labels, q.argmax(axis=1))


@pytest.mark.parametrize("name", CASES)
def test_bounds_by_definition(name):
    """E[log p(items, z, proportions)] - E[log q]: assignments, then the divergence of the proportions."""
    topics, documents, each = case(name)
    alpha, found = topics.alpha, topics.log_bounds(documents)
    for one, bound in zip(each, found, strict=True):
        p, weights = likelihoods(topics, one)
        after = infer(topics, one)
        logs = special.digamma(after) - special.digamma(after.sum())
        q = p * np.exp(logs)
        q /= q.sum(axis=1, keepdims=True)
        expected = (weights[:, None] * (q * (np.log(p) + logs) + special.entr(q))).sum()
        divergence = special.gammaln(after.sum()) - special.gammaln(after).sum() + (after - alpha) @ logs
        divergence += special.gammaln(alpha).sum() - special.gammaln(alpha.sum())
        assert_allclose(bound, expected - divergence, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["words", "gaussian"])
def test_bounds_are_lower_bounds(name, seed):
    """Of log p(document) with two topics, by quadrature, and near it."""
    if name == "words":
        topics, X = words(n_topics=2, n_documents=15, seed=seed)
        documents, each = Documents.of_counts(X), list(X)
    else:
        topics, each = numbers(n_topics=2, seed=seed)
        documents = Documents.of_rows(np.concatenate(each), [len(array) for array in each])
    topics.alpha = np.array([1.2, 2.0])  # the density has no poles
    bounds, exact = topics.log_bounds(documents), []
    for one in each:
        p, weights = likelihoods(topics, one)
        log_p = lambda t, p=p, w=weights: w @ np.log(t * p[:, 0] + (1 - t) * p[:, 1])  # noqa: E731
        largest = max(log_p(t) for t in np.linspace(0.001, 0.999, 200))
        density = lambda t, f=log_p, top=largest: np.exp(f(t) - top) * beta.pdf(t, *topics.alpha)  # noqa: E731
        exact.append(largest + np.log(quad(density, 0, 1, limit=200)[0]))
    assert (bounds <= np.array(exact) + 1e-7).all()
    assert (bounds >= np.array(exact) - 5.0).all()


def completion(topics, seen, unseen):
    """log p(word) of the words of one half of documents, with the proportions of the other half held fixed."""
    frequencies = topics.family.pseudocounts + topics.sums
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    for first, second in zip(seen, unseen, strict=True):
        proportions = infer(topics, first)
        proportions /= proportions.sum()
        for word in np.flatnonzero(second):
            yield np.log(proportions @ frequencies[:, word])


def test_completions():
    topics, X = words()
    seen = np.random.default_rng(0).binomial(X.astype(int), 0.5).astype(float)
    found = topics.log_completions(Documents.of_counts(seen), Documents.of_counts(X - seen))
    assert_allclose(found, list(completion(topics, seen, X - seen)), rtol=1e-6)


def test_completions_of_numbers():
    topics, arrays = numbers()
    seen, unseen = [array[::2] for array in arrays], [array[1::2] for array in arrays]
    found = topics.log_completions(
        *(Documents.of_rows(np.concatenate(half), list(map(len, half))) for half in (seen, unseen))
    )
    expected = [
        np.log(likelihoods(topics, second)[0] @ (after / after.sum()))
        for second, after in zip(unseen, (infer(topics, first) for first in seen), strict=True)
    ]
    assert_allclose(found, np.concatenate(expected), rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_similarities(name):
    """Eq. 3.28, with p(item | topic) instead of its expected logarithm."""
    topics, documents, each = case(name)
    after = np.random.default_rng(1).gamma(1.0, 3.0, (7, len(topics)))
    found = topics.similarities(documents, after)
    for j, one in enumerate(each):
        p, weights = likelihoods(topics, one)
        for d in range(7):
            logs = special.digamma(after[d]) - special.digamma(after[d].sum())
            score = sum(n * max(np.log(row) + logs) for n, row in zip(weights, p, strict=True))
            assert_allclose(found[j, d], score, rtol=1e-8, atol=1e-9)


def test_a_document_is_most_similar_to_itself():
    """Documents of one topic each."""
    topics, _ = words(n_topics=3)
    topics.sums = np.kron(np.eye(3), np.full(10, 50.0))
    X = np.kron(np.eye(3), np.full(10, 4.0))
    documents = Documents.of_counts(X)
    assert_array_equal(topics.similarities(documents, topics.infer(documents)).argmax(axis=1), np.arange(3))


def test_items_that_no_topic_explains():
    """Far away all densities underflow; answers stay finite."""
    topics, _ = numbers()
    documents = Documents.of_rows(np.full((5, 2), 1e8), [5])
    assert np.isfinite(topics.infer(documents)).all()
    assert np.isfinite(topics.log_bounds(documents)).all()
    assert topics.labels(documents).shape == (5,)
