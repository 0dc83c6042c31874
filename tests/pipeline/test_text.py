"""Hashed text against a slow twin, in several languages, and saved."""

import math
from collections import Counter
from itertools import pairwise
from pydoc_data.topics import topics

import numpy as np
import pytest
from scipy import sparse

from modicum.exceptions import StateError
from modicum.pipeline import text, words
from modicum.pipeline.text import HashedText
from modicum.pipeline.words import folded
from modicum.rules.invariants import check_invariants
from modicum.state.files import from_bytes, to_bytes

SENTENCES = [line.strip() for page in topics.values() for line in page.split(". ") if 5 < len(line.split()) < 40]


def cosine(coder, a, b):
    A, B = coder.encode([a]), coder.encode([b])
    return float((A @ B.T).toarray()[0, 0])


def twin(line, documents, known):
    """Squared weights of words and pairs of a plain English line, by their names instead of columns."""

    def features(words):
        return Counter(words) + Counter(pairwise(words))

    counts, n = features(line.split()), len(documents)
    weights = {}
    for feature, count in counts.items():
        found = sum(feature in features(other.split()) for other in documents) if known else 0
        idf = 1 + math.log((1 + n) / (1 + found)) if known else 1.0
        weights[feature] = ((1 + math.log(count)) * idf) ** 2 * (0.2 if isinstance(feature, tuple) else 1)
    lowered = dict(weights)
    for _ in range(8 if len(line.split()) >= 8 else 0):
        total = sum(lowered.values())
        lowered = {f: min(w, total / 8 * (0.2 if isinstance(f, tuple) else 1)) for f, w in weights.items()}
    return {f: w / sum(lowered.values()) for f, w in lowered.items()}


@pytest.mark.parametrize("known", [False, True])
def test_equals_the_definition(known):
    lines = ["the cat and the dog", "one two three four five six seven eight the", "the the the"]
    coder = HashedText(width=2**22)  # no collisions here
    coder = coder.learn(lines) if known else coder
    for row, line in zip(coder.encode(lines), lines, strict=True):
        np.testing.assert_allclose(np.sort(row.data**2), np.sort(list(twin(line, lines, known).values())), rtol=1e-5)


def test_rows_are_sparse_and_of_length_1():
    X = HashedText().learn(SENTENCES).encode(SENTENCES)
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.has_canonical_format
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, atol=1e-5)


def test_texts_without_words_are_empty_rows():
    X = HashedText().encode([None, "", " ...\n", "word", "\0"])
    assert np.diff(X.indptr).tolist() == [0, 0, 0, 1, 0]
    assert HashedText().encode([]).shape == (0, 65_536)
    assert HashedText().encode_dense([]).shape == (0, 64)
    assert not HashedText().encode_dense([None]).any()


@pytest.mark.parametrize("learned", [False, True])
def test_near_identical_sentences_are_alike(learned):
    coder = HashedText().learn(SENTENCES) if learned else HashedText()
    rng = np.random.default_rng(0)
    long = [line for line in SENTENCES if len(line.split()) >= 8 and line.isascii() and "_" not in line]
    long = [" ".join(word for word in line.split() if word.isalpha()) for line in long]
    long = [line for line in long if len(set(line.lower().split())) >= 8][:300]
    for line in long:
        words = line.split()
        words[rng.integers(len(words))] = "zebra"
        assert cosine(coder, line, " ".join(words)) > 0.8
        assert cosine(coder, line, f"«{line.upper()}»!?") > 0.999


def test_other_sentences_are_not_alike():
    coder = HashedText().learn(SENTENCES)
    X = coder.encode(SENTENCES[:200])
    assert np.median((X @ X.T).toarray()) < 0.1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Crème brûlée", "creme BRULEE"),
        ("".join(chr(ord(c) + 0xFEE0) for c in "FULLwidth"), "fullwidth"),
        ("state-of-the-art", "state of the art"),
        ("naïve", "naive"),
        ("e\u0301t\u00e9", "\u00e9te\u0301"),
    ],
)
def test_case_accents_and_punctuation_do_not_count(a, b):
    assert cosine(HashedText(), a, b) == pytest.approx(1)


@pytest.mark.parametrize(
    ("a", "b", "other"),
    [
        ("我今天去北京看朋友", "我昨天去北京看朋友", "股票市场下跌了很多"),
        ("東京タワーへ行きました", "東京タワーへ行きます", "猫が好きです"),
        ("ฉันไปกรุงเทพวันนี้", "ฉันไปกรุงเทพเมื่อวาน", "หมากินข้าว"),
    ],
)
def test_languages_without_spaces(a, b, other):
    assert cosine(HashedText(), a, b) > 0.5 > cosine(HashedText(), a, other)
    assert HashedText().encode([a]).nnz > len(a)


def test_signs_that_belong_to_letters_stay():
    assert folded("が") == "が"
    assert HashedText().encode(["हिन्दी"]).nnz == 1


def test_any_batches_are_the_same(monkeypatch):
    some = [*SENTENCES[:50], None, "北京", ""]
    coder = HashedText().learn(some)
    X = coder.encode(some)
    monkeypatch.setattr(words, "AT_ONCE", 3)
    monkeypatch.setattr(words, "LETTERS_AT_ONCE", 200)
    assert (HashedText().learn(some)._table() == coder._table()).all()
    assert abs(coder.encode(some) - X).max() < 1e-6


def test_only_first_documents_are_counted(monkeypatch):
    monkeypatch.setattr(text, "MOST_COUNTED", 10)
    coder = HashedText().learn(SENTENCES[:7])
    coder.learn(SENTENCES[7:40]).learn(SENTENCES[40:60])
    assert coder.n_counted == 10
    assert (coder._table() == HashedText().learn(SENTENCES[:10])._table()).all()


def test_dense_columns_keep_inner_products():
    coder = HashedText().learn(SENTENCES)
    some = SENTENCES[:150]
    X, Z = coder.encode(some), coder.encode_dense(some, width=256)
    assert Z.dtype == np.float32
    error = Z @ Z.T - (X @ X.T).toarray()
    assert abs(error.mean()) < 0.02
    assert error.std() < 2 / np.sqrt(256)
    assert coder.encode_dense(some).shape == (150, 64)
    assert coder.encode_dense(some[:2], width=3).shape == (2, 3)


def test_saved_exactly():
    coder = HashedText(width=5000).learn(SENTENCES[:100])
    again = from_bytes(to_bytes({"coder": coder}))["coder"]
    check_invariants(again, {})
    assert abs(again.encode(SENTENCES[:20]) - coder.encode(SENTENCES[:20])).nnz == 0


def test_undeclared_attributes_in_a_file_are_refused():
    coder = HashedText(width=10)
    coder.encode = 3
    with pytest.raises((StateError, ValueError), match="encode"):
        from_bytes(to_bytes({"coder": coder}))
