"""The first rows of an array or a stream, and rows held out to judge by (lucic2015, sections 3 and 6).

Rows of an array are put into random order. A stream is read from its beginning every time, in its own order and chunk
by chunk, so that memory stays bounded; whether a row is held out depends on nothing but its number and a seed.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import _safe_indexing

from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.rows import n_rows
from modicum.streams import Chunk, Stream, stream
from modicum.streams.readers.base import join, pick

HEAD = 10_000  # rows to look at before any is learned


class Labeled(NamedTuple):
    """Rows with their targets and weights, where there are some: the arguments of `fit`."""

    X: Any
    y: Any
    sample_weight: Any

    def score(self, learner: Any) -> float:
        """How well `learner` does on them."""
        given = {name: part for name, part in self._asdict().items() if part is not None}
        return float(learner.score(**given))


class Truncation(NamedTuple):
    """What was learned: so many rows, all that there are or not; and the rows that were held out."""

    rows: int
    is_everything: bool
    held_out: Labeled


class Truncated(Protocol):
    """Rows that can be learned up to a number."""

    n_rows: int | None  # all of them, those held out included, as far as it is known

    def head(self) -> Any:
        """The first rows to learn from."""

    def learn(self, learner: Learner, rows: int, held_out: int) -> Truncation:
        """Let `learner` learn the first `rows` rows; give `held_out` others, or as many as there are."""


def truncated(X: Any, y: Any, sample_weight: Any, validation: float, rng: np.random.Generator) -> Truncated:
    """Rows of X of which the part `validation` is held out; X is anything that `modicum.stream` takes."""
    if hasattr(X, "shape") and not isinstance(X, Stream):
        return _ArrayRows(Labeled(X, y, sample_weight), validation, rng)
    return _StreamRows(stream(X, target=y, weight=sample_weight), validation, int(rng.integers(2**63)))


class _ArrayRows:
    def __init__(self, rows: Labeled, validation: float, rng: np.random.Generator):
        count = n_rows(rows.X)
        if count < 2:
            raise DataError(f"rows to learn from and rows to judge by are required; there is {count} in all.")
        self._rows = rows
        self.n_rows: int | None = count
        self._held_out, self._rest = np.split(rng.permutation(count), [max(1, int(validation * count))])

    def head(self) -> Any:
        return self._take(self._rest[:HEAD]).X

    def learn(self, learner: Learner, rows: int, held_out: int) -> Truncation:
        index = self._rest[:rows]
        learner.fit(*self._take(index))
        return Truncation(len(index), len(index) == len(self._rest), self._take(self._held_out[:held_out]))

    def _take(self, index: np.ndarray) -> Labeled:
        return Labeled(*(None if part is None else _safe_indexing(part, index) for part in self._rows))


class _StreamRows:
    def __init__(self, rows: Stream, validation: float, seed: int):
        if not rows.rereadable:
            raise DataError(
                f"{rows.description} can be read only once, and growing parts of them are read again and again. "
                "Write them to a file, or give an array."
            )
        self._stream, self._validation, self._seed = rows, validation, seed
        self.n_rows = rows.total
        self._kept: list[Labeled] = []  # rows held out: those of the first `_kept_from` rows of the stream
        self._kept_from = 0

    def head(self) -> Any:
        for chunk in self._stream:
            return chunk.X[:HEAD]
        raise DataError(f"there are no {self._stream.description}.")

    def learn(self, learner: Learner, rows: int, held_out: int) -> Truncation:
        learned = offered = read = 0
        for chunk in self._stream:
            is_held_out = chosen(chunk.row_ids, self._validation, self._seed)
            if read == self._kept_from and self._n_kept() < held_out:
                self._kept.append(_pick(chunk, np.flatnonzero(is_held_out)))
                self._kept_from += len(chunk)
            rest = np.flatnonzero(~is_held_out)
            learner.partial_fit(*_pick(chunk, rest[: rows - learned]))
            learned, offered, read = min(learned + len(rest), rows), offered + len(rest), read + len(chunk)
            if learned == rows and self._n_kept() >= held_out:
                break
        else:
            self.n_rows = read
        learner._column_names = self._stream.columns
        learner._finish()
        return Truncation(learned, read == self.n_rows and learned == offered, self._first_kept(held_out))

    def _first_kept(self, count: int) -> Labeled:
        if not self._n_kept():
            raise DataError(f"none of {self._stream.description} was held out to judge by: there are too few.")
        parts = (join([getattr(kept, name) for kept in self._kept]) for name in Labeled._fields)
        return Labeled(*(pick(part, slice(count)) for part in parts))

    def _n_kept(self) -> int:
        return sum(n_rows(kept.X) for kept in self._kept)


def chosen(row_ids: np.ndarray, part: float, seed: int) -> np.ndarray:
    """Whether rows belong to a random `part` of all: the same answer for the same number and seed, in any chunk.

    The finalizer of the generator splitmix64 turns numbers in a row into what looks like independent ones.
    """
    mixed = (row_ids.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) < part * 2.0**64


def _pick(chunk: Chunk, index: np.ndarray) -> Labeled:
    return Labeled(*(pick(part, index) for part in (chunk.X, chunk.y, chunk.sample_weight)))
