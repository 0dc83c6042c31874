"""Figures and pages of topic models show topics, documents and the stream."""

import numpy as np
import pytest

from modicum import MemoryBoundedTopicModel, stream
from modicum.pipeline import WordCounts, make_pipeline
from modicum.plot import topic_words, topics_over_stream
from modicum.plot.style import as_svg


@pytest.fixture(scope="module")
def numbers():
    """Three clusters in thirty documents, in several rounds."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    X = np.concatenate([centers[rng.choice(rng.choice(3, 2), 20)] for _ in range(30)]) + rng.normal(size=(600, 2))
    return MemoryBoundedTopicModel(budget=400, epoch=150).fit(stream(X, target=np.repeat(np.arange(30), 20)))


@pytest.fixture(scope="module")
def words():
    """Two topics with six words each."""
    rng = np.random.default_rng(0)
    X = rng.poisson(np.repeat([[4.0, 0.1], [0.1, 4.0]], 6, axis=1)[np.arange(60) % 2])
    return MemoryBoundedTopicModel("multinomial", random_state=0).fit(X)


class TestFigures:
    def test_bars_are_frequencies(self, words):
        figure = topic_words(words, n_topics=2)
        largest = words.weights_.argmax()
        axes = figure.axes[0]
        assert axes.get_title(loc="left").startswith(f"topic {largest}:")
        assert [text.get_text() for text in axes.get_yticklabels()] == words.topics_[largest]
        widths = [bar.get_width() for bar in axes.patches]
        order = [int(word.removeprefix("word ")) for word in words.topics_[largest]]
        np.testing.assert_allclose(widths, words.components_[largest, order])
        assert sum(axes.axison for axes in figure.axes) == min(2, words.n_topics_)

    def test_words_of_any_kind(self):
        texts = ["$math$ a_b <b>bold</b> 漢字 " + "long" * 7, "other words of texts"] * 15
        model = make_pipeline(WordCounts(20), MemoryBoundedTopicModel("multinomial", random_state=0)).fit(texts)
        assert "字" in as_svg(topic_words(model.learner_), "words")

    def test_topics_and_seconds(self, numbers):
        first, second = topics_over_stream(numbers).axes
        np.testing.assert_array_equal(first.lines[0].get_ydata(), numbers.history_["topics"])
        np.testing.assert_array_equal(second.lines[0].get_ydata(), numbers.history_["seconds"])


class TestPage:
    def test_words(self, words, text_of):
        said = text_of(words, documents={0: "the first <document>"})
        assert f"{words.n_topics_} topics found in 60 documents, of which 60 are held" in said
        for topic in words.topics_:
            assert ", ".join(topic) in said
        ids, _ = words.nearest_documents(3)
        assert all(("the first &lt;document&gt;" if i == 0 else f"row {i}") in said for i in ids.ravel())

    def test_numbers_over_the_stream(self, numbers, text_of):
        said = text_of(numbers)
        assert "3 topics found in 30 documents" in said
        assert len(numbers.history_["n_seen"]) > 1
        for caption in ("the time of each round", "Free energy.", "Clumps of items", "Groups of documents"):
            assert caption in said

    def test_of_many_topics_the_largest_are_listed(self, text_of, monkeypatch, words):
        monkeypatch.setattr("modicum.plot.pages.topics.MOST_TOPICS", 1)
        said = text_of(words)
        assert f"{words.n_topics_ - 1} smaller topic" in said
        assert ", ".join(words.topics_[words.weights_.argmin()]) not in said


def test_nearest_documents_have_the_largest_shares(words):
    ids, shares = words.nearest_documents(4)
    held, after = words._snapshot().held
    expected = after / after.sum(axis=1, keepdims=True)
    for k in range(words.n_topics_):
        np.testing.assert_allclose(shares[k], np.sort(expected[:, k])[::-1][:4])
        assert all(expected[held == i, k] == share for i, share in zip(ids[k], shares[k], strict=True))
    assert words.nearest_documents(1000)[0].shape == (words.n_topics_, len(held))
