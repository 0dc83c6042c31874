"""Text as rows of numbers: hashed TF-IDF of words and pairs of words, in a fixed number of columns."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from modicum.pipeline.words import END, batches, tokens_of
from modicum.rules.invariants import Array, Whole
from modicum.state.part import Part

MOST_COUNTED = 10_000  # documents whose words are counted; more would change the weights little
PAIR_SQUARE = 0.2  # the weight of a pair of words, squared, in that of a word: pairs only refine
LONG = 8  # words from which on a text has none that makes more than 1/LONG of its square length
ROUNDS = 8  # of the iteration that limits such words
SPREAD = 4  # dense columns to which a sparse one contributes


class HashedText(Part):
    """Texts as sparse rows of length 1, by words and pairs of adjacent words; cosines tell how alike texts are.

    Case, accents and punctuation do not count. In scripts without spaces, such as Chinese, every character is a word.
    A word or pair falls into one of `width` columns, with a sign, both given by a hash. Its weight is
    (1 + ln occurrences) * idf, idf = 1 + ln((1 + n) / (1 + documents with that column)), where n documents were
    counted by `learn`; without any, idf = 1. The squares of pairs are multiplied by 0.2. In a text of 8 words or more,
    no word makes more than 1/8 of the squared length, so that one changed word leaves a cosine above 0.8.

    Parameters
    ----------
    width : int, default=65_536
        Columns. With fewer, more words share one.

    Examples
    --------
    >>> coder = HashedText().learn(["a red house", "a blue house"])
    >>> X = coder.encode(["A red house!", "a red house", "", None])
    >>> X.shape, round(float((X[0] @ X[1].T).toarray()[0, 0]), 6), X[2:].nnz
    ((4, 65536), 1.0, 0)
    >>> coder.encode_dense(["a red house"], width=16).shape
    (1, 16)
    """

    _invariants = {
        "width": Whole(1, 2**31 - 1),
        "n_counted": Whole(0, MOST_COUNTED),
        "columns": Array("int32", "n_columns", low=0, below="width"),
        "frequencies": Array(("u",), "n_columns", low=1, high="n_counted"),
    }

    def __init__(self, width: int = 65_536):
        self.width = width
        self.n_counted = 0
        self.columns = np.empty(0, np.int32)  # those that have occurred: at first they are few
        self.frequencies = np.empty(0, np.uint16)  # documents that have each of them

    def learn(self, texts: Sequence[str | None]) -> "HashedText":
        """Count in how many documents words occur; after the first 10,000 documents, weights stay as they are."""
        table = self._table()
        for some in batches(texts[: MOST_COUNTED - self.n_counted]):
            table += np.bincount(self._counts(some)[0].indices, minlength=self.width)
            self.n_counted += len(some)
        self.columns = np.flatnonzero(table).astype(np.int32)
        self.frequencies = table[self.columns].astype(np.uint16)
        return self

    def _table(self) -> np.ndarray:
        """Documents that have each of all columns."""
        table = np.zeros(self.width, np.int64)
        table[self.columns] = self.frequencies
        return table

    def encode(self, texts: Sequence[str | None]) -> Any:
        """Texts as a CSR matrix of float32 with rows of length 1; a text without words is an empty row."""
        table = self._table()
        rows = [self._encode(some, table) for some in batches(texts)]
        return sparse.vstack(rows, format="csr") if rows else sparse.csr_matrix((0, self.width), dtype=np.float32)

    def encode_dense(self, texts: Sequence[str | None], width: int = 64) -> np.ndarray:
        """Texts in a few dense columns: signed sums of the sparse ones.

        Inner products, and so squared lengths, are in expectation those of `encode`, with a standard deviation of
        about 1 / sqrt(width).
        """
        table, projection = self._table(), _projection(self.width, width)
        rows = [(self._encode(some, table) @ projection).toarray() for some in batches(texts)]
        return np.concatenate(rows) if rows else np.empty((0, width), np.float32)

    def _encode(self, texts: Sequence[str | None], table: np.ndarray) -> Any:
        counts, is_pair, n_words = self._counts(texts)
        idf = 1 + np.log((1 + self.n_counted) / (1.0 + table[counts.indices]))
        share = np.where(is_pair, PAIR_SQUARE, 1.0)
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        squares = _limited(((1 + np.log(np.abs(counts.data))) * idf) ** 2 * share, share, row, n_words)
        total = np.bincount(row, squares, minlength=counts.shape[0])
        counts.data = (np.sign(counts.data) * np.sqrt(squares / total[row])).astype(np.float32)
        return counts

    def _counts(self, texts: Sequence[str | None]) -> tuple[Any, np.ndarray, np.ndarray]:
        """Signed occurrences of words and pairs per text, whether each entry is a pair, and words per text."""
        hashes, row = _words(texts)
        adjacent = row[1:] == row[:-1]
        pairs = _mixed(hashes[:-1] * np.uint64(3) + hashes[1:])[adjacent]
        keys = np.concatenate([hashes, pairs])
        rows = np.concatenate([row, row[1:][adjacent]])
        columns = (keys % np.uint64(self.width)).astype(np.int64)
        order = np.argsort(rows * self.width + columns, kind="stable")  # words come before pairs of the same column
        place = (rows * self.width + columns)[order]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        sign = np.where(keys[order][first] >> np.uint64(63), -1.0, 1.0)  # of colliding entries, that of the first
        n_times = np.diff(first, append=len(place))
        ends = np.searchsorted(place[first], np.arange(len(texts) + 1) * self.width)
        shape = (len(texts), self.width)
        counts = sparse.csr_matrix((sign * n_times, columns[order][first], ends), shape=shape)
        return counts, order[first] >= len(hashes), np.bincount(row, minlength=len(texts))


def _words(texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of all words, and the text of each."""
    from sklearn.utils import murmurhash3_32

    tokens = tokens_of(texts)
    codes = {token: murmurhash3_32(token, positive=True) for token in set(tokens)}
    code = np.fromiter(map(codes.__getitem__, tokens), np.uint64, len(tokens))
    is_end = np.fromiter(map(END.__eq__, tokens), bool, len(tokens))
    return _mixed(code[~is_end]), np.cumsum(is_end)[~is_end]


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Integers whose every bit depends on every bit of the keys (the finalizer of splitmix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _limited(squares: np.ndarray, share: np.ndarray, row: np.ndarray, n_words: np.ndarray) -> np.ndarray:
    """Squared weights, lowered so that in long texts none is more than its share of 1/LONG of their sum."""
    limit = np.where(n_words >= LONG, 1 / LONG, np.inf)[row] * share
    lowered = squares
    for _ in range(ROUNDS):
        total = np.bincount(row, lowered, minlength=len(n_words))
        lowered = np.minimum(squares, limit * total[row])
    return lowered


@lru_cache(maxsize=4)
def _projection(n_columns: int, width: int) -> Any:
    """A sparse matrix that adds each column, with signs, to SPREAD (or fewer) of `width` columns."""
    spread = min(SPREAD, width)
    keys = _mixed(np.arange(1, n_columns * spread + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    step, place = width // spread, np.tile(np.arange(spread), n_columns)  # each in a block of columns of its own
    columns = place * step + (keys % np.uint64(step)).astype(np.int64)
    values = np.where(keys >> np.uint64(63), -1.0, 1.0).astype(np.float32) / np.float32(np.sqrt(spread))
    return sparse.csr_matrix((values, columns, np.arange(n_columns + 1) * spread), shape=(n_columns, width))
