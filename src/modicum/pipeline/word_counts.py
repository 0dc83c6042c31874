"""Texts as rows of word counts, for topic models."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modicum.contract.learner import Traits
from modicum.exceptions import DataError
from modicum.pipeline.columns.cells import as_floats, as_strings, has_text, is_number
from modicum.pipeline.function_words import FUNCTION_WORDS, languages_of
from modicum.pipeline.kinds import suggest
from modicum.pipeline.preparation import WAITING_BYTES, Preparation
from modicum.pipeline.tables import TakesTables
from modicum.pipeline.vocabulary import HashedVocabulary, LearnedVocabulary, Vocabulary, frequencies
from modicum.pipeline.words import END, tokens_of
from modicum.rows import n_rows
from modicum.rules.invariants import TEXT, Each, Is, Violation, Whole
from modicum.rules.params import NULL, Int, Number, OneOf, Where
from modicum.streams.readers.columns import position
from modicum.streams.readers.tables import FILE, ROW

NAMES = Where(
    lambda value: isinstance(value, list | tuple) and all(isinstance(name, str) for name in value), "names of columns"
)
WORDS = Where(
    lambda value: isinstance(value, list | tuple) and all(isinstance(word, str) for word in value), "a list of words"
)
LATER = 0.25  # share of the columns that the first documents leave to later words
FEW = 20  # documents below which it says nothing in how many of them a word occurs
SHOWN = 5  # words in a sentence
KINDS = {"learned": LearnedVocabulary, "hashed": HashedVocabulary}


class WordCounts(TakesTables, Preparation):
    """Counts of words: a row of a CSR matrix for every text, a column for every word.

    Case, accents and punctuation do not count; in scripts without spaces, such as Chinese, every character is a word.
    Numbers and single letters are not counted, nor are words that most of the first documents have, or function words
    such as "the", of the languages that are recognized there.

    A learned vocabulary has the words that most of the first documents have. It stays open: a quarter of the columns is
    left to later words (all that are free, if the words of the first documents are fewer), which get one when they have
    occurred in as many documents as the rarest of the first ones. A column never changes its word. A pipeline that is
    given a fitted WordCounts, or a `branch`, takes the words as they are, so that shards can be merged.

    A hashed vocabulary has a column for every word, by its hash, which several words share. A column is named after the
    word that is most frequent there.

    Of a table, the columns of text are counted together. Arrays and sparse matrices, and the numbers of a table without
    text, are taken as they are: as counts.

    Cost: about 0.1 s per MB of text. Words are held in a bounded number, documents only until the first `n_first` have
    decided.

    Parameters
    ----------
    n_words : int, default=5000
        Columns.
    columns : list of str, default=None
        Columns of a table to count words in. By default those of text.
    vocabulary : {"learned", "hashed"}, default="learned"
        Whether words have columns of their own.
    min_documents : int, default=2
        Documents in which a word of a learned vocabulary must occur. It does not apply to fewer than 20 documents.
    max_share : float, default=0.5
        Words in a larger share of the first documents are left out, unless there are fewer than 20 documents, or no
        other words.
    stop_words : "auto", "none" or list of str, default="auto"
        Words that are left out: function words of the languages of the first documents (English, German, French,
        Spanish, Italian, Portuguese or Dutch), none, or those of a list.
    n_first : int, default=4096
        Documents that decide; fewer if they take more than 32 MiB.

    Attributes
    ----------
    words_ : list of str
        The words that have a column, in the order of the columns; of a hashed vocabulary the most frequent of each.
    left_out_ : list of str
        Words that are not counted, those of most documents first.
    summary_ : str
        What was counted and what was left out.
    n_features_out_ : int
        Columns of the result.

    Examples
    --------
    >>> from modicum.pipeline import WordCounts
    >>> texts = ["The cat sat on the mat.", "A dog and a cat!", "Dogs, cats: 12 mats"]
    >>> counter = WordCounts(n_words=8, stop_words=["the", "on", "and"]).fit(texts)
    >>> counter.words_
    ['cat', 'cats', 'dog', 'dogs', 'mat', 'mats', 'sat']
    >>> counter.transform(["cat, cat, DOG"]).toarray()[0].tolist()
    [2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]

    References
    ----------
    weinberger2009 (hashed features).
    """

    traits = Traits(chunk_exact=True, merge="approximate", sparse=True, tables=True)
    _constraints = {
        "n_words": [Int(1)],
        "columns": [NULL, NAMES],
        "vocabulary": [OneOf("learned", "hashed")],
        "min_documents": [Int(1)],
        "max_share": [Number(0.0, 1.0)],
        "stop_words": [OneOf("auto", "none"), WORDS],
        "n_first": [Int(1)],
    }
    _invariants = {
        "_vocabulary": [NULL, Is(LearnedVocabulary, HashedVocabulary, n_columns="n_words")],
        "_texts": Each(TEXT),
        "_numbers": Each(TEXT),
        "_languages": Each(Where(lambda value: value in FUNCTION_WORDS, "a language")),
        "_reserved": Where(lambda value: isinstance(value, dict), "a dict"),
        "_n_first": Whole(),
    }
    _vocabulary: Vocabulary | None  # None before the first rows have decided, and for rows that are counts already
    _texts: list[str]  # columns of text
    _numbers: list[str]  # columns of counts, if there is no text
    _languages: list[str]  # whose function words are left out

    def __init__(
        self,
        n_words: int = 5000,
        *,
        columns: Sequence[str] | None = None,
        vocabulary: str = "learned",
        min_documents: int = 2,
        max_share: float = 0.5,
        stop_words: str | Sequence[str] = "auto",
        n_first: int = 4096,
    ):
        self.n_words = n_words
        self.columns = columns
        self.vocabulary = vocabulary
        self.min_documents = min_documents
        self.max_share = max_share
        self.stop_words = stop_words
        self.n_first = n_first

    # ---- what was decided ------------------------------------------------------------------------

    @property
    def words_(self) -> list[str]:
        words = self._ready()._vocabulary
        return [] if words is None else [name for name in words.names if not name.startswith("#")]

    @property
    def left_out_(self) -> list[str]:
        words = self._ready()._vocabulary
        return [] if words is None else sorted(words.left_out, key=words.left_out.__getitem__, reverse=True)

    @property
    def n_features_out_(self) -> int:
        return len(self.get_feature_names_out())

    @property
    def summary_(self) -> str:
        its = self._ready()
        words = its._vocabulary
        if words is None:
            return "learned from counts as they are"
        texts = ", ".join(its._texts)
        said = [f"learned from {_count(len(self.words_), 'word')} of {texts}, in {self.n_words:,} columns"]
        if self.vocabulary == "hashed":
            said = [f"learned from words of {texts}, hashed into {self.n_words:,} columns"]
        if words.n_outside:
            said.append(f"{words.n_outside / words.n_words:.1%} of all words have no column")
        if words.n_empty:
            said.append(f"{_count(words.n_empty, 'document')} without a word that has one")
        if words.left_out:
            said.append(f"left out: {its._reasons()}")
        return "; ".join(said)

    def _reasons(self) -> str:
        """Why words are left out, with examples."""
        told = [] if isinstance(self.stop_words, str) else [f"{_count(len(self.stop_words), 'word')} as told"]
        functional = [f"function words ({', '.join(self._languages)})"] if self._languages else []
        unwanted = set(self._unwanted())
        common = [word for word in self.left_out_ if word not in unwanted]
        if not common:
            return ", ".join(functional + told)
        such_as = f"such as {', '.join(common[:SHOWN])}" if len(common) > SHOWN else ", ".join(common)
        share = f"{_count(len(common), 'word')} in more than {self.max_share:.0%} of documents ({such_as})"
        return ", ".join([*functional, *told, share])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The words of all columns; "#7" for a column without one."""
        self._check_fitted()
        its = self._ready()
        if its._vocabulary is not None:
            return np.array(its._vocabulary.names, object)
        given = its._numbers or getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return np.array(given, object)

    # ---- deciding --------------------------------------------------------------------------------

    def _reserve(self, names: Mapping[str, str]) -> None:
        self._reserved = dict(names)

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._check_rows(X, reset=reset)
        if reset:
            self.__dict__.setdefault("_reserved", {})
            self.__dict__.update(_vocabulary=None, _texts=[], _numbers=[], _languages=[], _n_first=0)
        if self._kind == "table":
            self._check_columns(rows)
        return rows

    def _check_columns(self, rows: Any) -> None:
        """Raise a `DataError` unless the columns that are used are there and of the right type."""
        there = [name for name in rows.column_names if name not in (FILE, ROW)]
        for name in [*self._texts, *self._numbers] or self.columns or ():
            if name not in there:
                position(name, type(self).__name__, len(there), there)
            cells = rows.column(name)
            is_right = has_text(cells) if name in self._texts else name not in self._numbers or is_number(cells.type)
            if not is_right and cells.null_count < len(rows):
                kind = "text" if name in self._texts else "numbers"
                raise DataError(f"{type(self).__name__}: column {name!r} is {cells.type}, not {kind}. Convert it.")

    def _decide(self, X: Any) -> None:
        self._n_first = n_rows(X)
        if self._kind != "table":
            return
        self._choose(X)
        if not self._texts:
            return
        texts = self._texts_of(X)
        occurrences, documents = frequencies(texts)
        self._languages = languages_of(occurrences) if self.stop_words == "auto" else []
        least = self.min_documents if self._n_first >= FEW else 1
        left_out = self._left_out(documents, least)
        if self.vocabulary == "hashed":
            self._vocabulary = HashedVocabulary(self.n_words, left_out)
            self._vocabulary.grow(texts)
            return
        there_may_be_more = self._n_first >= self.n_first or X.nbytes > WAITING_BYTES
        ranked = sorted((-count, word) for word, count in documents.items() if count >= least and word not in left_out)
        kept = ranked[: self.n_words - int(LATER * self.n_words) * there_may_be_more]
        needed = -kept[-1][0] if len(kept) < len(ranked) else least
        self._vocabulary = LearnedVocabulary(self.n_words, left_out, [word for _, word in kept], needed)
        self._vocabulary.tally(texts)

    def _left_out(self, documents: Mapping[str, int], least: int) -> dict[str, int]:
        """Words that are not counted; those of most documents are, if there are no others."""
        unwanted = {word: documents[word] for word in self._unwanted()}
        most = self.max_share * self._n_first if self._n_first >= FEW else self._n_first
        too_common = {word: count for word, count in documents.items() if count > most}
        frequent = {word for word, count in documents.items() if count >= least}
        for left_out in (too_common | unwanted, unwanted):
            if not frequent <= left_out.keys():
                return left_out
        raise DataError(
            f"{type(self).__name__}: the first {self._n_first:,} documents have no words to count. Change "
            "min_documents or stop_words, or check whether these are texts."
        )

    def _choose(self, X: Any) -> None:
        """Choose the columns whose words are counted or, without any text, those that are counts already."""
        names = self.columns or [name for name in X.column_names if name not in (FILE, ROW, *self._reserved)]
        texts = [name for name in names if has_text(X.column(name))]
        numbers = [name for name in names if is_number(X.column(name).type)]
        if self.columns is None:
            kinds = {name: suggest(name, X.column(name), X.schema.field(name).metadata).kind for name in names}
            texts = [name for name in texts if kinds[name] == "text"] or texts
            numbers = [name for name in numbers if kinds[name] == "number"]
            is_clear = len(texts) < 2 or kinds[texts[0]] == "text"
        else:
            is_clear = len(texts) in (0, len(names))
        if not is_clear or not (texts or numbers):
            problem = "it is not clear which columns are texts" if texts else "no column is text, nor counts"
            raise DataError(f"{type(self).__name__}: {problem}; name them with columns. There are: {', '.join(names)}.")
        self._texts, self._numbers = texts, [] if texts else numbers

    def _unwanted(self) -> list[str]:
        """Words that are left out whatever their frequency."""
        if isinstance(self.stop_words, str):
            return sorted(word for language in self._languages for word in FUNCTION_WORDS[language])
        return [word for word in tokens_of(self.stop_words) if word != END]

    # ---- encoding --------------------------------------------------------------------------------

    def _texts_of(self, X: Any) -> list[str | None]:
        """The text of every row."""
        columns = [as_strings(X.column(name)).to_pylist() for name in self._texts]
        return (
            columns[0] if len(columns) == 1 else [" ".join(filter(None, texts)) for texts in zip(*columns, strict=True)]
        )

    def _numbers_of(self, X: Any) -> np.ndarray:
        """The numbers of every row."""
        counts = np.column_stack([as_floats(X.column(name)) for name in self._numbers])
        if np.isnan(counts).any():
            row, column = map(int, np.argwhere(np.isnan(counts))[0])
            raise DataError(f"{type(self).__name__}: row {row}, column {self._numbers[column]!r}: missing value.")
        return counts

    def _encode(self, X: Any) -> Any:
        if self._vocabulary is None:
            return self._numbers_of(X) if self._kind == "table" else X
        return self._vocabulary.count(self._texts_of(X))

    def _encode_and_count(self, X: Any) -> tuple[Any, Any]:
        if self._vocabulary is None:
            return self._encode(X), None
        grown = self._vocabulary.copied()
        return grown.grow(self._texts_of(X)), grown

    def _watch(self, X: Any) -> None:
        if self._vocabulary is not None:
            self._watch_counts(self._encode_and_count(X)[1])

    def _watch_counts(self, counts: Any) -> None:
        self._vocabulary = counts

    def _stay(self) -> None:
        if self._vocabulary is not None:
            self._vocabulary.close()

    # ---- contract --------------------------------------------------------------------------------

    def _decided(self) -> Any:
        return [self._texts, self._numbers, None if self._vocabulary is None else self._vocabulary.names]

    def has_same_form_as(self, other: Preparation) -> bool:
        """Whether two preparations count the same words in the same columns, as far as both have words there."""
        if not isinstance(other, WordCounts) or self.vocabulary != other.vocabulary:
            return False
        ours, theirs = self._ready(), other._ready()
        if ours._vocabulary is None or theirs._vocabulary is None:
            return ours._vocabulary is theirs._vocabulary and ours._numbers == theirs._numbers
        return ours._texts == theirs._texts and ours._vocabulary.agrees_with(theirs._vocabulary)

    def _merge_decided(self, other: "WordCounts") -> None:
        if self._vocabulary is not None and other._vocabulary is not None:
            self._vocabulary.merge(other._vocabulary)

    def _most_bytes(self) -> int:
        words = self._vocabulary
        return self.nbytes_ if words is None else self.nbytes_ - words.nbytes + words.most_bytes

    def _check_state(self) -> None:
        super()._check_state()
        words = vars(self).get("_vocabulary")
        if words is not None and type(words) is not KINDS[self.vocabulary]:
            raise Violation(f"{self.vocabulary}, as its vocabulary is")


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
