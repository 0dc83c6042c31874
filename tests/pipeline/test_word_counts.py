"""Counts of words against scikit-learn's, chunk by chunk, in bounded memory, saved, merged and in pipelines."""

from pydoc_data.topics import topics

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

import modicum
from modicum.exceptions import DataError, StateError
from modicum.pipeline import WordCounts, make_pipeline, vocabulary
from modicum.pipeline.function_words import FUNCTION_WORDS, languages_of
from modicum.pipeline.vocabulary import HashedVocabulary, LearnedVocabulary
from modicum.state.files import from_bytes, to_bytes

PAGES = [paragraph for page in topics.values() for paragraph in page.split("\n\n") if len(paragraph) > 40]
GERMAN = "Der Hund und die Katze sind in dem Haus, und das ist nicht gut für den Garten der Leute."
WORD = r"[a-z0-9]*[a-z][a-z0-9]*"  # what CountVectorizer is to count: words of ASCII texts that are no numbers


def twin(texts, **more):
    return CountVectorizer(token_pattern=rf"\b(?=\w\w)(?!\w{{33}}){WORD}\b", **more).fit(texts)


def ascii_pages(n=400):
    return [page.encode("ascii", "ignore").decode().replace("_", " ") for page in PAGES[:n]]


def state(counter):
    return to_bytes({"words": counter._vocabulary, "texts": counter._texts})


def learned(texts, size, **params):
    counter = WordCounts(**params)
    for first in range(0, len(texts), size):
        counter.partial_fit(texts[first : first + size])
    counter._end_of_stream()
    return counter


class TestCounting:
    def test_as_scikit_learn_counts(self):
        texts = ascii_pages()
        ours = WordCounts(100_000, min_documents=1, max_share=1.0, stop_words="none").fit(texts)
        theirs = twin(texts)
        names = list(theirs.get_feature_names_out())
        assert sorted(ours.words_) == names
        columns = np.argsort(ours.words_)
        counts = ours.transform(texts)
        assert counts.format == "csr"
        assert counts.dtype == np.float32
        assert counts.has_canonical_format
        assert (counts[:, columns] != theirs.transform(texts)).nnz == 0
        assert counts[:, len(names) :].nnz == 0

    def test_the_most_frequent_words_that_are_not_too_frequent(self):
        texts = ascii_pages()
        ours = WordCounts(50, max_share=0.2, stop_words="none").fit(texts)
        theirs = twin(texts, max_df=0.2, min_df=2)
        documents = np.asarray((theirs.transform(texts) > 0).sum(0)).ravel()
        ranked = sorted(zip(-documents, theirs.get_feature_names_out(), strict=True))
        assert ours.words_ == [word for _, word in ranked[:50]]
        assert set(ours.left_out_) == set(twin(texts).get_feature_names_out()) - set(
            twin(texts, max_df=0.2).get_feature_names_out()
        )

    def test_numbers_single_letters_and_codes_are_no_words(self):
        counter = WordCounts(20, stop_words="none").fit(["a 12 1984 mp3 x " + "q" * 33 + " don't é"])
        assert counter.words_ == ["don", "mp3"]

    def test_case_accents_and_scripts(self):
        counter = WordCounts(20, stop_words="none").fit(["Café CAFE cafe", "猫と犬", "кошка Кошка"])
        assert counter.words_ == ["cafe", "кошка", "と", "犬", "猫"]
        assert counter.transform(["cafè кошка КОШКА 猫"]).sum() == 4

    def test_texts_without_words_are_empty_rows(self):
        counter = WordCounts(20, stop_words="none").fit(["red house", None, "", "1 2 3", "red"])
        assert counter.transform(["", None, "42", "blue", "red\0house"]).sum(axis=1).A1.tolist() == [0, 0, 0, 0, 2]
        assert "3 documents without a word that has one" in counter.summary_

    def test_any_batches_are_the_same(self, monkeypatch):
        from modicum.pipeline import words

        whole = learned(PAGES[:200], 200, n_words=300, n_first=50)
        counts = whole.transform(PAGES[:200])
        monkeypatch.setattr(words, "AT_ONCE", 3)
        monkeypatch.setattr(words, "LETTERS_AT_ONCE", 1000)
        pieces = learned(PAGES[:200], 200, n_words=300, n_first=50)
        assert state(whole) == state(pieces)
        assert (counts != pieces.transform(PAGES[:200])).nnz == 0


class TestTables:
    TABLE = {"title": [f"The title number {i} of many" for i in range(30)], "n": range(30), "kind": ["a", "b"] * 15}

    def test_columns_of_text_are_counted_together(self):
        table = pa.table(self.TABLE | {"body": [f"Body of document x{i} is here" for i in range(30)]})
        counter = WordCounts(200, max_share=1.0, min_documents=1, stop_words="none").fit(table)
        assert {"title", "body"} <= set(counter.words_)
        assert "words of title, body, in 200 columns" in counter.summary_
        chosen = WordCounts(200, columns=["body"], max_share=1.0, stop_words="none").fit(table)
        assert "title" not in chosen.words_
        assert "body" in chosen.words_

    def test_a_single_column_of_strings_is_text(self):
        assert "red" in WordCounts(9, max_share=1).fit(pa.table({"color": ["red", "blue"] * 20, "n": range(40)})).words_

    @pytest.mark.parametrize(
        ("table", "params", "message"),
        [
            ({"a": [[1], [2]]}, {}, "no column is text, nor counts; name them with columns. There are: a"),
            ({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20}, {}, "not clear which columns are texts"),
            ({"a": ["x", "y"]}, {"columns": ["z"]}, "no column 'z'"),
            ({"a": [1, 2], "b": ["x", "y"]}, {"columns": ["a", "b"]}, "not clear which columns are texts"),
            ({"a": [1, None, 2]}, {}, "row 1, column 'a': missing value"),
        ],
    )
    def test_other_tables_are_refused(self, table, params, message):
        with pytest.raises(DataError, match=message):
            WordCounts(**params).fit(pa.table(table)).transform(pa.table(table))

    def test_later_tables_must_have_the_columns(self):
        counter = WordCounts(max_share=1.0).fit(pa.table(self.TABLE))
        with pytest.raises(DataError, match="no column 'title'"):
            counter.partial_fit(pa.table({"name": ["x"]}))
        with pytest.raises(DataError, match="not text"):
            counter.partial_fit(pa.table({"title": [3]}))
        assert counter.partial_fit(pa.table({"title": ["a title"]})).n_seen_ == 31

    def test_counts_are_taken_as_they_are(self):
        X = sparse.random(30, 7, 0.3, format="csr", random_state=0)
        assert (WordCounts().fit(X).transform(X) != X).nnz == 0
        assert WordCounts().fit(X.toarray()).n_features_out_ == 7
        table = pa.table({"cat": [1, 0, 2], "dog": [0.0, 3.0, 1.0]})
        counter = WordCounts().fit(table)
        assert counter.transform(table).tolist() == [[1, 0], [0, 3], [2, 1]]
        assert counter.get_feature_names_out().tolist() == ["cat", "dog"]
        with pytest.raises(DataError, match="column 'dog' is string, not numbers"):
            counter.transform(pa.table({"cat": [1], "dog": ["x"]}))


class TestLeftOut:
    def test_function_words_of_the_language_that_is_recognized(self):
        english = WordCounts(100).fit(PAGES[:200])
        assert not {"the", "and", "is"} & set(english.words_)
        assert "function words (English)" in english.summary_
        german = WordCounts(100).fit([GERMAN] * 3)
        assert german.words_ == ["garten", "gut", "haus", "hund", "katze", "leute"]

    def test_words_of_other_languages_stay(self):
        occurrences = vocabulary.frequencies([*PAGES, "to die in a war"] * 2)[0]
        assert languages_of(occurrences) == ["English"]
        assert languages_of(occurrences | vocabulary.frequencies([GERMAN] * 10_000)[0]) == ["English", "German"]
        assert languages_of({}) == []

    def test_lists_are_as_the_tokenizer_gives_words(self):
        from modicum.pipeline.words import tokens_of

        for words in FUNCTION_WORDS.values():
            assert all(tokens_of([word]) == [word, "\0"] for word in words)

    def test_a_list_of_ones_own(self):
        counter = WordCounts(9, stop_words=["Rothaus", "don't"]).fit(["red rothaus don house"])
        assert counter.words_ == ["house", "red"]
        assert "2 words as told" in counter.summary_

    def test_words_of_all_documents_if_there_are_no_others(self):
        assert WordCounts(4).fit(["connection lost"] * 30 + ["connection"] * 20).words_ == ["connection", "lost"]

    @pytest.mark.parametrize("kind", ["learned", "hashed"])
    @pytest.mark.parametrize("texts", [["the the of", "of the", "the"], ["1 2 3", ""]])
    def test_nothing_is_left(self, texts, kind):
        with pytest.raises(DataError, match=rf"the first {len(texts)} documents have no words to count\."):
            WordCounts(vocabulary=kind).fit(texts)

    @pytest.mark.parametrize("wrong", ["english", [1], 3])
    def test_other_values_are_refused(self, wrong):
        with pytest.raises(ValueError, match="stop_words must be"):
            WordCounts(stop_words=wrong).fit(["a text"])


@pytest.mark.parametrize("kind", ["learned", "hashed"])
class TestStreams:
    def test_chunks_do_not_matter(self, kind):
        params = {"n_words": 400, "n_first": 100, "vocabulary": kind}
        states = {state(learned(PAGES[:500], size, **params)) for size in (1, 7, 100, 500)}
        assert len(states) == 1

    def test_a_saved_counter_goes_on(self, kind, tmp_path):
        counter = learned(PAGES[:300], 100, n_words=400, n_first=100, vocabulary=kind)
        counter.save(tmp_path / "words.mcm")
        loaded = modicum.load(tmp_path / "words.mcm")
        for each in (counter, loaded):
            each.partial_fit(PAGES[300:500])
        assert state(counter) == state(loaded)
        assert (counter.transform(PAGES) != loaded.transform(PAGES)).nnz == 0

    def test_memory_is_bounded(self, kind):
        rng = np.random.default_rng(0)
        counter = WordCounts(50, n_first=20, vocabulary=kind).fit(PAGES[:20])
        most = counter._most_bytes()
        for _ in range(20):
            counter.partial_fit([f"word{a} thing{b}" for a, b in rng.integers(0, 10**9, (200, 2))])
            assert counter.nbytes_ <= most

    def test_merging_adds_up(self, kind):
        first = learned(PAGES[:200], 100, n_words=400, n_first=100, vocabulary=kind)
        words = list(first.words_)
        other = learned(PAGES[200:500], 100, n_words=400, n_first=100, vocabulary=kind)
        n_words = first._vocabulary.n_words + other._vocabulary.n_words
        first.merge(other)
        assert first._vocabulary.n_words == n_words
        if kind == "learned":
            assert first.words_[: len(words)] == words  # a column keeps its word

    @pytest.mark.parametrize("form", ["columns", "votes", "left_out", "n_outside", "kind"])
    def test_forged_states_are_refused(self, kind, form):
        counter = learned(PAGES[:200], 100, n_words=400, n_first=100, vocabulary=kind)
        words = counter._vocabulary
        if form == "columns" and kind == "learned":
            words.columns[next(iter(words.columns))] = 7
        elif form == "votes" and kind == "hashed":
            words.votes = words.votes[:-1]
        elif form == "left_out":
            words.left_out = {"the": "many"}
        elif form == "n_outside":
            words.n_outside = words.n_words + 1
        else:
            counter._vocabulary = {"learned": HashedVocabulary(400, {}), "hashed": LearnedVocabulary(400, {}, [], 1)}[
                kind
            ]
        with pytest.raises(StateError):
            modicum.contract.loading.from_content(from_bytes(to_bytes(counter._content())), "forged")


class TestNewWords:
    FIRST = ["red green blue"] * 10 + ["red green"] * 10 + ["yellow"] * 20

    def counter(self, n_words=8, n_first=40):
        return WordCounts(n_words, max_share=1.0, stop_words="none", n_first=n_first).fit(self.FIRST)

    def test_they_get_free_columns_and_keep_them(self):
        counter = self.counter()
        assert counter.words_ == ["green", "red", "yellow", "blue"]
        counter.partial_fit(["purple", "red"])
        assert "purple" not in counter.words_  # one document is less than min_documents
        counter.partial_fit(["purple rain", "purple"])
        assert counter.words_ == ["green", "red", "yellow", "blue", "purple"]
        counter.partial_fit(
            [f"{word} {word}" for word in ["abcde", "fghij", "klmno", "pqrst", "uvwxy"] for _ in range(9)]
        )
        assert counter.words_ == ["green", "red", "yellow", "blue", "purple", "abcde", "fghij", "klmno"]
        assert list(counter.get_feature_names_out()) == counter.words_

    def test_a_quarter_of_the_columns_is_left_to_them(self):
        texts = [f"{chr(97 + i % 26) * 3} {chr(97 + i % 25) * 4}" for i in range(200)]
        full = WordCounts(8, stop_words="none").fit(texts)
        assert len(full.words_) == 8  # there were no more documents
        left = WordCounts(8, stop_words="none", n_first=200).fit(texts)
        assert len(left.words_) == 6
        assert left._vocabulary.needed == 8  # as many documents as the rarest word has

    def test_the_document_that_brings_a_column_is_counted(self):
        counter = self.counter()
        Z, grown = counter._encode_and_count(
            counter._check_rows(["purple", "purple purple", "red purple"], reset=False)
        )
        assert Z.toarray()[:, 4].tolist() == [0, 2, 1]
        assert counter.words_ == ["green", "red", "yellow", "blue"]  # nothing has changed yet
        counter._watch_counts(grown)
        assert counter.words_[4] == "purple"

    def test_watched_words_are_counted_as_misra_and_gries_do(self):
        words = LearnedVocabulary(2, {}, ["known"], needed=3)
        words.grow(["aa", "bb", "cc", "dd", "aa"])
        assert words.candidates == {"aa": 2, "bb": 1, "cc": 1, "dd": 1}
        words.grow(["ee"])
        assert words.candidates == {"aa": 1}
        words.grow(["aa", "aa"])
        assert words.columns == {"known": 0, "aa": 1}
        assert not words.candidates

    def test_frequent_words_are_never_missed(self):
        rng = np.random.default_rng(0)
        words = LearnedVocabulary(20, {}, ["known"], needed=50)
        words.grow([f"new x{a}y x{b}y x{c}y" for a, b, c in rng.integers(0, 10**9, (500, 3))])
        assert "new" in words.columns

    def test_a_hashed_column_is_named_after_its_most_frequent_word(self):
        words = HashedVocabulary(1, {})
        words.grow(["rare", "common", "common", "other", "common", "common common"])
        assert words.names == ["common"]
        assert words.count(["common rare zzz"]).toarray().tolist() == [[3.0]]
        assert HashedVocabulary(2, {}).names == ["#0", "#1"]


class TestPipelines:
    def pipeline(self, n_words=60, **params):
        return make_pipeline(WordCounts(n_words, n_first=50, **params), modicum.Reservoir(20, random_state=0))

    def test_words_are_the_names_of_the_columns(self):
        pipeline = self.pipeline().fit(PAGES[:200])
        assert pipeline.learner_.column_names_ == list(pipeline._fitted[0].get_feature_names_out())
        assert "words of text, in 60 columns" in pipeline.summary_

    def test_chunks_do_not_matter(self):
        whole, pieces = self.pipeline(), self.pipeline()
        whole.partial_fit(PAGES[:50]).partial_fit(PAGES[50:300])
        for first in range(0, 300, 10):
            pieces.partial_fit(PAGES[first : first + 10])
        assert state(whole._fitted[0]) == state(pieces._fitted[0])
        assert len(whole._fitted[0].words_) == 60

    def test_a_refused_chunk_changes_no_words(self):
        pipeline = self.pipeline().fit(PAGES[:100])
        before = state(pipeline._fitted[0])
        with pytest.raises(ValueError):
            pipeline.partial_fit(PAGES[100:200], sample_weight=np.full(100, -1.0))
        assert state(pipeline._fitted[0]) == before

    def test_branches_keep_their_words_and_merge(self):
        pipeline = self.pipeline(1000).fit(PAGES[:100])
        shard = pipeline.branch().fit(PAGES[100:300])
        assert shard._fitted[0].words_ == pipeline._fitted[0].words_
        pipeline.partial_fit(PAGES[300:500])
        assert len(pipeline._fitted[0].words_) > len(shard._fitted[0].words_)
        assert pipeline.merge(shard).n_seen_ == 500

    def test_other_words_are_not_merged(self):
        first, second = self.pipeline().fit(PAGES[:100]), self.pipeline().fit(PAGES[100:200])
        with pytest.raises(StateError, match="preparations differ"):
            first.merge(second)

    def test_hashed_words_merge_if_the_same_are_left_out(self):
        params = {"vocabulary": "hashed", "stop_words": ["the"], "max_share": 1.0}
        first, second = self.pipeline(**params).fit(PAGES[:100]), self.pipeline(**params).fit(PAGES[100:200])
        assert first.merge(second).n_seen_ == 200

    def test_a_budget_holds_while_words_are_found(self):
        learner = modicum.Reservoir("64 KiB", random_state=0)
        pipeline = make_pipeline(WordCounts(30, n_first=50, stop_words="none"), learner, keep_records=False)
        for first in range(0, 500, 50):
            pipeline.partial_fit(PAGES[first : first + 50])
            assert pipeline.nbytes_ <= 64 * 1024
        with pytest.raises(ValueError, match="budget"):
            make_pipeline(WordCounts(5000), modicum.Reservoir("64 KiB")).fit(PAGES[:100])
