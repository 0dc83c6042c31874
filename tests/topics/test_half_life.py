"""Topics of words that forget: counts are those of the law, and topics that are over lose their weight."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from modicum import MemoryBoundedTopicModel
from modicum.topics.held import HeldDocuments
from modicum.topics.limits import Limits

H, WORDS = 60, 40


def documents(words, n, seed=0, length=30):
    """Documents of one of two topics each, of ten words from `words` on."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, WORDS))
    for row, first in zip(X, rng.choice(words, n), strict=True):
        np.add.at(row, rng.integers(first, first + 10, length), 1)
    return csr_matrix(X)


def model(**given):
    return MemoryBoundedTopicModel("multinomial", budget=120, random_state=0, **given)


def learned(X, chunk=50, **given):
    topics = model(**given)
    for first in range(0, X.shape[0], chunk):
        topics.partial_fit(X[first : first + chunk])
    topics._end_of_stream()
    return topics


@pytest.mark.parametrize("chunk", [7, 500])
def test_words_of_topics_are_those_of_the_law(chunk):
    X = documents([0, 10], 500)
    found = learned(X, chunk, half_life=H)._engine.sums.sum(axis=1)
    weights = np.exp2(-np.arange(500)[::-1] / H)
    np.testing.assert_allclose(found, X.T @ weights, rtol=1e-3)


def test_topics_that_are_over_lose_their_weight():
    X = csr_matrix(np.concatenate([documents([0, 10], 500).toarray(), documents([20, 30], 500, seed=1).toarray()]))
    recent, plain = learned(X, half_life=H), learned(X)
    for topics, share in ((recent, 2.0 ** (-500 / H)), (plain, 0.5)):
        old = topics.components_[:, :20].sum(axis=1)
        assert topics.weights_ @ old == pytest.approx(share, abs=0.03)
    assert recent.n_topics_ <= plain.n_topics_


def test_documents_keep_their_own_proportions():
    """A faded document has fewer words in the topics, and none the less the same proportions."""
    X = documents([0, 10], 200)
    topics = learned(X, half_life=5)
    ids, proportions = topics._snapshot().held
    assert proportions.sum(axis=1).min() > 25
    assert len(ids) > 50


def test_old_documents_are_a_sample_by_weight():
    """Two old documents of weights 1 and 1/4, of which one is held: the first four times as often."""
    held = []
    for seed in range(2000):
        documents = HeldDocuments(1, fade=True)
        documents.add(csr_matrix(np.ones((9, 1), np.float32)), np.arange(9), np.random.default_rng(seed).random(9))
        documents.weights[:2], documents.n_learned = (1.0, 0.25), 9
        slots, n_reservoir = documents.surviving(Limits(9, 1))  # a window of 7
        held.append(slots[0])
        assert n_reservoir == 1
    share = np.mean(np.array(held) == 0)
    assert abs(share - 0.8) < 5 * np.sqrt(0.16 / 2000)


def test_clumps_do_not_forget():
    with pytest.raises(ValueError, match="half_life is for"):
        MemoryBoundedTopicModel(half_life=9).partial_fit(np.ones((4, 2)))


def test_of_a_very_short_half_life_answers_are_numbers():
    X = documents([0, 10, 20], 400)
    topics = learned(X, half_life=1)
    assert np.isfinite(topics.transform(X[:5])).all()
    topics.to_bytes()
