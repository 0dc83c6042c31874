"""The edit distance against dynamic programming, and in a learner."""

import sys

import numpy as np
import pytest

from modicum import ExemplarClustering, load
from modicum.exceptions import DataError, MissingExtraError
from modicum.kernels import EditDistance, as_dissimilarity

pytest.importorskip("rapidfuzz")

WORDS = ["", "a", "kitten", "sitting", "Kitten", "flaw", "lawn", "naïve", "naive", "北京市", "北京", "🙂🙃", "x" * 300]


def levenshtein(a, b):
    """The least number of characters to insert, drop or change."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
    return row[-1]


def twin(a, b):
    return levenshtein(a, b) / (max(len(a), len(b)) or 1)


def test_equals_dynamic_programming():
    rng = np.random.default_rng(0)
    made = ["".join(rng.choice(list("abé中 "), size=size)) for size in rng.integers(0, 90, size=40)]
    words = WORDS + made
    expected = [[twin(a, b) for b in words] for a in words]
    np.testing.assert_allclose(as_dissimilarity("edit-distance")(words, words), expected, atol=1e-12)


def test_no_words():
    assert EditDistance()([], ["a"]).shape == (0, 1)


def test_a_learner_chooses_and_is_saved_by_name(tmp_path):
    words = [f"{name}-{i:02}" for name in ("apple", "banana", "cucumber") for i in range(30)]
    model = ExemplarClustering(3, dissimilarity="edit-distance", random_state=0).fit(words)
    assert {word.split("-")[0] for word in model.exemplars_} == {"apple", "banana", "cucumber"}
    model.save(tmp_path / "words.mcm")
    again = load(tmp_path / "words.mcm")
    np.testing.assert_array_equal(again.predict(words), model.predict(words))
    assert again.partial_fit(["pear"]).to_bytes() == model.partial_fit(["pear"]).to_bytes()


def test_equals_the_same_function_in_a_learner():
    words = [f"{'ab' * (i % 7)}{i}" for i in range(120)]
    named, own = (ExemplarClustering(4, dissimilarity=d, random_state=0).fit(words) for d in ("edit-distance", twin))
    assert named.exemplars_ == own.exemplars_


@pytest.mark.parametrize("rows", [np.ones((5, 2)), ["a", None], ["abc", b"d"]])
def test_other_rows_are_refused(rows):
    with pytest.raises(DataError, match="compares strings"):
        ExemplarClustering(2, dissimilarity="edit-distance").fit(rows)


def test_a_refused_chunk_changes_nothing():
    model = ExemplarClustering(2, dissimilarity="edit-distance", random_state=0).fit(["one", "two", "three"])
    before = model.to_bytes()
    with pytest.raises(DataError, match="got 3"):
        model.partial_fit(["four", 3])
    assert model.to_bytes() == before


def test_strings_need_a_dissimilarity_of_strings():
    with pytest.raises(ValueError, match="float"):
        ExemplarClustering(2).fit(["one", "two"])
    with pytest.raises(ValueError, match="dissimilarity must be"):
        ExemplarClustering(2, dissimilarity="edit").fit(["one", "two"])


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz.process", None)
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises(MissingExtraError, match=r"modicum\[text\]"):
        as_dissimilarity("edit-distance")(["a"], ["b"])
