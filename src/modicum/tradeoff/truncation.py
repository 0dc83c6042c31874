"""The first rows of an array or a stream, and held-out rows (lucic2015, sections 3 and 6).

Rows of an array are shuffled. A stream is read from its beginning every time, in its own order and chunk by chunk, so
that memory stays bounded; whether a row is held out depends only on its id and a seed.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import _safe_indexing

from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.rows import n_rows
from modicum.streams import Chunk, Stream, stream
from modicum.streams.readers.base import join, pick

HEAD_ROWS = 10_000  # examined before any row is learned


class Labeled(NamedTuple):
    """Rows with targets and weights, if there are any: the arguments of `fit`."""

    X: Any
    y: Any
    sample_weight: Any

    def score(self, learner: Any) -> float:
        """The score of `learner` on these rows."""
        given = {name: values for name, values in self._asdict().items() if values is not None}
        return float(learner.score(**given))


class Truncation(NamedTuple):
    """How many rows were learned, whether these are all rows to learn from, and rows that were held out."""

    n_rows: int
    is_everything: bool
    held_out: Labeled


class Truncated(Protocol):
    """Rows of which the first ones can be learned."""

    n_rows: int | None  # all of them, including those held out, if known

    def head(self) -> Any:
        """The first rows to learn from."""

    def learn(self, learner: Learner, count: int, n_validation: int) -> Truncation:
        """Let `learner` learn the first `count` rows; the result has at most `n_validation` held-out rows."""


def truncated(X: Any, y: Any, sample_weight: Any, validation_fraction: float, rng: np.random.Generator) -> Truncated:
    """Rows of X of which a fraction is held out; X is anything that `modicum.stream` takes."""
    if hasattr(X, "shape") and not isinstance(X, Stream):
        return _ArrayRows(Labeled(X, y, sample_weight), validation_fraction, rng)
    return _StreamRows(stream(X, target=y, weight=sample_weight), validation_fraction, int(rng.integers(2**63)))


class _ArrayRows:
    def __init__(self, rows: Labeled, validation_fraction: float, rng: np.random.Generator):
        count = n_rows(rows.X)
        if count < 2:
            raise DataError(f"at least 2 rows are required, one to learn from and one to hold out; got {count}.")
        self._rows = rows
        self.n_rows: int | None = count
        self._held_out, self._rest = np.split(rng.permutation(count), [max(1, int(validation_fraction * count))])

    def head(self) -> Any:
        return self._take(self._rest[:HEAD_ROWS]).X

    def learn(self, learner: Learner, count: int, n_validation: int) -> Truncation:
        index = self._rest[:count]
        learner.fit(*self._take(index))
        return Truncation(len(index), len(index) == len(self._rest), self._take(self._held_out[:n_validation]))

    def _take(self, index: np.ndarray) -> Labeled:
        return Labeled(*(None if values is None else _safe_indexing(values, index) for values in self._rows))


class _StreamRows:
    def __init__(self, rows: Stream, validation_fraction: float, seed: int):
        if not rows.rereadable:
            raise DataError(
                f"{rows.description} can be read only once, and the search reads growing numbers of rows repeatedly. "
                "Write them to a file, or give an array."
            )
        self._stream, self._validation_fraction, self._seed = rows, validation_fraction, seed
        self.n_rows = rows.total
        self._kept: list[Labeled] = []  # held-out rows among the first `_kept_from` rows of the stream
        self._kept_from = 0

    def head(self) -> Any:
        for chunk in self._stream:
            return chunk.X[:HEAD_ROWS]
        raise DataError(f"there are no {self._stream.description}.")

    def learn(self, learner: Learner, count: int, n_validation: int) -> Truncation:
        learned = available = read = 0
        for chunk in self._stream:
            is_held_out = chosen(chunk.row_ids, self._validation_fraction, self._seed)
            if read == self._kept_from and self._n_kept() < n_validation:
                self._kept.append(_pick(chunk, np.flatnonzero(is_held_out)))
                self._kept_from += len(chunk)
            rest = np.flatnonzero(~is_held_out)
            learner.partial_fit(*_pick(chunk, rest[: count - learned]))
            learned, available, read = min(learned + len(rest), count), available + len(rest), read + len(chunk)
            if learned == count and self._n_kept() >= n_validation:
                break
        else:
            self.n_rows = read
        learner._column_names = self._stream.columns
        learner._finish()
        return Truncation(learned, read == self.n_rows and learned == available, self._first_kept(n_validation))

    def _first_kept(self, count: int) -> Labeled:
        if not self._n_kept():
            raise DataError(f"{self._stream.name}: no row was held out: there are too few rows.")
        columns = (join([getattr(kept, name) for kept in self._kept]) for name in Labeled._fields)
        return Labeled(*(pick(values, slice(count)) for values in columns))

    def _n_kept(self) -> int:
        return sum(n_rows(kept.X) for kept in self._kept)


def chosen(row_ids: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Whether rows belong to a random fraction of all: a function of the row id and the seed, in any chunk.

    The finalizer of the generator splitmix64 turns consecutive numbers into seemingly independent ones.
    """
    mixed = (row_ids.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) < fraction * 2.0**64


def _pick(chunk: Chunk, index: np.ndarray) -> Labeled:
    return Labeled(*(pick(values, index) for values in (chunk.X, chunk.y, chunk.sample_weight)))
