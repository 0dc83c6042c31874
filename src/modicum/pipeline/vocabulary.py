"""Vocabularies: which column of a matrix of counts counts which word.

`count` counts the words of texts. `grow` does the same for texts that are learned from, and takes in what is new in
them: text by text, so that the result does not depend on how they are divided into chunks.
"""

import copy
from abc import abstractmethod
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from modicum.pipeline.words import END, batches, is_word, tokens_of
from modicum.rules.invariants import TEXT, Array, Each, Scope, Violation, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part

ENTRY = 128  # bytes of a word in a dict, about
CANDIDATES = 2  # words without a column that are watched, per column
BYTES_OF_WORD = (1 + CANDIDATES) * ENTRY  # that a column takes at most, with the words that are watched for it


class Reading(NamedTuple):
    """The words of some texts, each by its place in `words`, and the text that it is from."""

    n_texts: int
    words: list[str]
    word: np.ndarray
    row: np.ndarray

    def per_text(self) -> tuple[np.ndarray, np.ndarray]:
        """Words and rows without repetitions within a text, in the order in which they occur."""
        first = np.unique(self.row * len(self.words) + self.word, return_index=True)[1]
        first.sort()
        return self.word[first], self.row[first]


def read(texts: Sequence[str | None], left_out: Container[str] = ()) -> Reading:
    """The words of texts without those that are left out."""
    tokens = tokens_of(texts)
    places = dict.fromkeys(tokens, -1)
    words = [token for token in places if is_word(token) and token not in left_out]
    places.update(zip(words, range(len(words)), strict=True))
    places[END] = -2
    place = np.fromiter(map(places.__getitem__, tokens), np.int64, len(tokens))
    row = np.cumsum(place == -2)
    return Reading(len(texts), words, place[place >= 0], row[place >= 0])


def frequencies(texts: Sequence[str | None]) -> tuple[Counter[str], Counter[str]]:
    """How often each word occurs in texts, and in how many of them."""
    occurrences: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    for some in batches(texts):
        found = read(some)
        for counter, places in ((occurrences, found.word), (documents, found.per_text()[0])):
            times = np.bincount(places, minlength=len(found.words))
            counter.update(dict(zip(found.words, times.tolist(), strict=True)))
    return occurrences, documents


class _Numbered:
    """The rule for dicts from words to whole numbers; `in_order` means 0, 1, 2 and so on."""

    def __init__(self, low: int = 0, most: Any = None, *, in_order: bool = False):
        self.low, self.most, self.in_order = low, most, in_order

    def check(self, value: Any, scope: Scope) -> None:
        if not isinstance(value, dict) or not all(isinstance(word, str) for word in value):
            raise Violation("a dict of words")
        Whole(0, self.most).check(len(value), scope)
        for place, number in enumerate(value.values()):
            Whole(place if self.in_order else self.low, place if self.in_order else None).check(number, scope)


class Vocabulary(Part):
    """The columns of words, and how many words and texts were learned from."""

    _invariants = {
        "n_columns": Whole(1, 2**31 - 1),
        "left_out": _Numbered(),
        "n_words": Whole(),
        "n_outside": Whole(0, "n_words"),
        "n_empty": Whole(),
    }

    def __init__(self, n_columns: int, left_out: dict[str, int]):
        self.n_columns = n_columns
        self.left_out = left_out  # words that are not counted, and how many of the first texts have each
        self.n_words = 0  # read so far, with repetitions
        self.n_outside = 0  # of these, that have no column
        self.n_empty = 0  # texts without words that have a column

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The words of all columns."""

    @abstractmethod
    def _columns_of(self, words: Iterable[str]) -> np.ndarray:
        """The columns of words; -1 for words without one."""

    @abstractmethod
    def _take_in(self, found: Reading) -> np.ndarray:
        """Take in words, and return the column of each."""

    def close(self) -> None:
        """Give no word a column any more."""

    @abstractmethod
    def agrees_with(self, other: Self) -> bool:
        """Whether no column counts different words here and there."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take in what another vocabulary has learned; the columns here stay."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held, about."""

    @property
    @abstractmethod
    def most_bytes(self) -> int:
        """Bytes that are ever held, about."""

    def count(self, texts: Sequence[str | None]) -> Any:
        """The words of texts as a CSR matrix of counts; changes nothing."""
        found = [read(some, self.left_out) for some in batches(texts)]
        return self._stack([self._matrix(some, self._columns_of(some.words)[some.word]) for some in found])

    def grow(self, texts: Sequence[str | None]) -> Any:
        """The counts of texts that are learned from."""
        return self._stack([self._learn(read(some, self.left_out)) for some in batches(texts)])

    def tally(self, texts: Sequence[str | None]) -> None:
        """Count words and texts, but take in no word: the texts have decided already."""
        for some in batches(texts):
            found = read(some, self.left_out)
            self._tally(self._columns_of(found.words)[found.word], found)

    def copied(self) -> Self:
        """A copy that can grow while this one stays as it is."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list | np.ndarray):
                setattr(other, name, value.copy())
        return other

    def _learn(self, found: Reading) -> Any:
        columns = self._take_in(found)
        self._tally(columns, found)
        return self._matrix(found, columns)

    def _tally(self, columns: np.ndarray, found: Reading) -> None:
        inside = columns >= 0
        self.n_words += len(columns)
        self.n_outside += int(np.count_nonzero(~inside))
        self.n_empty += found.n_texts - len(np.unique(found.row[inside]))

    def _matrix(self, found: Reading, columns: np.ndarray) -> Any:
        inside = columns >= 0
        row, column = found.row[inside], columns[inside]
        shape = (found.n_texts, self.n_columns)
        counts = sparse.csr_matrix((np.ones(len(row), np.float32), (row, column)), shape=shape)
        counts.sum_duplicates()
        return counts

    def _stack(self, parts: list[Any]) -> Any:
        return sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, self.n_columns), dtype=np.float32)

    def _add_tallies(self, other: Self) -> None:
        self.n_words += other.n_words
        self.n_outside += other.n_outside
        self.n_empty += other.n_empty


class LearnedVocabulary(Vocabulary):
    """The most frequent words of the first texts and, while columns are free, later words that become as frequent.

    Words without a column are watched in bounded memory, by the counters of Misra and Gries (1982): when a new word
    finds no room, all counters are lowered by one, and those at 0 make room. So a word is never counted more often
    than it has occurred, and one that is frequent enough is never missed.
    """

    _invariants = {
        "columns": _Numbered(most="n_columns", in_order=True),
        "candidates": _Numbered(1, lambda its: CANDIDATES * its["n_columns"]),
        "needed": Whole(1),
        "is_open": TRUTH,
    }

    def __init__(self, n_columns: int, left_out: dict[str, int], words: Iterable[str], needed: int):
        super().__init__(n_columns, left_out)
        self.columns = {word: column for column, word in enumerate(words)}
        self.candidates: dict[str, int] = {}  # texts that have each
        self.needed = needed  # texts in which a later word must occur to get a column
        self.is_open = True  # whether later words get columns

    @property
    def names(self) -> list[str]:
        return [*self.columns, *(f"#{column}" for column in range(len(self.columns), self.n_columns))]

    @property
    def nbytes(self) -> int:
        return ENTRY * (len(self.columns) + len(self.candidates) + len(self.left_out))

    @property
    def most_bytes(self) -> int:
        return BYTES_OF_WORD * self.n_columns + ENTRY * len(self.left_out) if self._has_room() else self.nbytes

    def _columns_of(self, words: Iterable[str]) -> np.ndarray:
        return np.array([self.columns.get(word, -1) for word in words], np.int64)

    def _take_in(self, found: Reading) -> np.ndarray:
        columns = self._columns_of(found.words)
        if not self._has_room():
            return columns[found.word]
        since = np.where(columns >= 0, 0, found.n_texts)  # the text from which on each word has its column
        word, row = found.per_text()
        late = columns[word] < 0
        for place, text in zip(word[late].tolist(), row[late].tolist(), strict=True):
            if columns[place] < 0 and self._watch(found.words[place]):
                columns[place], since[place] = self.columns[found.words[place]], text
        return np.where(found.row >= since[found.word], columns[found.word], -1)

    def _watch(self, word: str) -> bool:
        """Count a text that has a word without a column; whether the word gets one now."""
        count = self.candidates.get(word, 0) + 1
        if not self._has_room():
            return False
        if count >= self.needed:
            self._add(word)
            return True
        if count > 1 or self._has_space():
            self.candidates[word] = count
        else:
            self.candidates = {other: n - 1 for other, n in self.candidates.items() if n > 1}
        return False

    def _add(self, word: str) -> None:
        """Give a word the next column."""
        self.candidates.pop(word, None)
        self.columns[word] = len(self.columns)
        if not self._has_room():
            self.candidates = {}

    def _has_room(self) -> bool:
        return self.is_open and len(self.columns) < self.n_columns

    def _has_space(self) -> bool:
        return len(self.candidates) < CANDIDATES * self.n_columns

    def close(self) -> None:
        """Give no word a column any more."""
        self.is_open, self.candidates = False, {}

    def agrees_with(self, other: Self) -> bool:
        shared = min(len(self.columns), len(other.columns))
        same = list(self.columns)[:shared] == list(other.columns)[:shared]
        return same and self.n_columns == other.n_columns and self.left_out.keys() == other.left_out.keys()

    def merge(self, other: Self) -> None:
        self._add_tallies(other)
        for word in other.columns:
            if self._has_room() and word not in self.columns and word not in self.left_out:
                self._add(word)
        for word, count in other.candidates.items():
            if self._has_room() and word not in self.columns and (word in self.candidates or self._has_space()):
                self.candidates[word] = self.candidates.get(word, 0) + count


class HashedVocabulary(Vocabulary):
    """A column for every word, by a hash; several words share one, named after the word that most texts have."""

    _invariants = {
        "main": Each(TEXT, "n_columns"),
        "votes": Array("int64", "n_columns", low=0),
    }

    def __init__(self, n_columns: int, left_out: dict[str, int]):
        super().__init__(n_columns, left_out)
        self.main = [""] * n_columns  # the word of each column that has most votes, if one has more than half of them
        self.votes = np.zeros(n_columns, np.int64)  # by which it leads (Boyer and Moore)

    @property
    def names(self) -> list[str]:
        return [word or f"#{column}" for column, word in enumerate(self.main)]

    @property
    def nbytes(self) -> int:
        return self.votes.nbytes + ENTRY * (sum(map(bool, self.main)) + len(self.left_out))

    @property
    def most_bytes(self) -> int:
        return self.votes.nbytes + ENTRY * (self.n_columns + len(self.left_out))

    def _columns_of(self, words: Iterable[str]) -> np.ndarray:
        from sklearn.utils import murmurhash3_32

        return np.array([murmurhash3_32(word, positive=True) % self.n_columns for word in words], np.int64)

    def _take_in(self, found: Reading) -> np.ndarray:
        columns = self._columns_of(found.words)
        votes, main = self.votes.tolist(), self.main
        pairs = list(zip(found.words, columns.tolist(), strict=True))
        for place in found.per_text()[0].tolist():
            word, column = pairs[place]
            if main[column] == word:
                votes[column] += 1
            elif votes[column]:
                votes[column] -= 1
            else:
                main[column], votes[column] = word, 1
        self.votes = np.array(votes, np.int64)
        return columns[found.word]

    def agrees_with(self, other: Self) -> bool:
        return self.n_columns == other.n_columns and self.left_out.keys() == other.left_out.keys()

    def merge(self, other: Self) -> None:
        self._add_tallies(other)
        for column, (word, votes) in enumerate(zip(other.main, other.votes.tolist(), strict=True)):
            if self.main[column] == word:
                self.votes[column] += votes
            elif votes > self.votes[column]:
                self.main[column], self.votes[column] = word, votes - self.votes[column]
            else:
                self.votes[column] -= votes
