"""Steps between a reader and the user: cut, drop, shuffle, read ahead, delay. Each is a generator of chunks."""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from modicum.streams.readers.base import join, pick

SHUFFLE_ROWS = 1_024  # the fewest rows that enter the shuffle buffer together


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of a stream: consecutive ones, or any if the stream is shuffled.

    Attributes
    ----------
    X : ndarray of shape (rows, columns), CSR matrix, or list of objects
        float32 if it represents every chosen column exactly, else float64.
    y : ndarray of shape (rows,) or None
    sample_weight : ndarray of shape (rows,) or None
    row_ids : ndarray of shape (rows,)
        Row numbers in the source, from 0 in each pass.
    """

    X: Any
    y: np.ndarray | None
    sample_weight: np.ndarray | None
    row_ids: np.ndarray

    def __len__(self) -> int:
        return len(self.row_ids)


def cut(chunks: Iterator[Chunk], size: int, *, live: bool = False) -> Iterator[Chunk]:
    """The same rows in chunks of `size`; only the last may be shorter. Rows are copied only where chunks are joined.

    With `live`, chunks are only split, never joined: the next rows may be long in coming.
    """
    held: list[Chunk] = []
    missing = size
    for chunk in chunks:
        first = 0
        while len(chunk) - first >= missing:
            yield _join([*held, pick_rows(chunk, slice(first, first + missing))])
            first += missing
            held, missing = [], size
        if first < len(chunk):
            held.append(pick_rows(chunk, slice(first, None)))
            missing -= len(chunk) - first
        if held and live:
            yield _join(held)
            held, missing = [], size
    if held:
        yield _join(held)


def drop(chunks: Iterator[Chunk], n: int) -> Generator[Chunk, None, int]:
    """The chunks without their first `n` rows; returns how many rows remain to be dropped after the last chunk."""
    for chunk in chunks:
        if n < len(chunk):
            yield pick_rows(chunk, slice(n, None)) if n else chunk
        n = max(n - len(chunk), 0)
    return n


def shuffled(chunks: Iterator[Chunk], n: int, rng: np.random.Generator, *, live: bool = False) -> Iterator[Chunk]:
    """The same rows in random order: each row replaces a random row in a buffer of `n`, which is then emitted.

    Rows are processed many at a time; the order is the same as one by one.
    """
    buffer: list[Chunk] = []
    for chunk in cut(chunks, max(n // 4, SHUFFLE_ROWS), live=live):  # many rows share the cost of copying the buffer
        pool = _join([*buffer, chunk])
        if len(pool) > n:
            emitted, kept = _replace_in_order(rng.integers(n, size=len(pool) - n), n)
            yield pick_rows(pool, emitted)
            pool = pick_rows(pool, kept)
        buffer = [pool]
    for pool in buffer:
        yield pick_rows(pool, rng.permutation(len(pool)))


def _replace_in_order(draws: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows emitted, in order, and rows kept when rows n, n+1, ... one by one replace those in the slots `draws`.

    Slot i holds row i at first.
    """
    order = np.argsort(draws, kind="stable")  # groups the draws of each slot, first draw first
    again = draws[order[1:]] == draws[order[:-1]]
    emitted = draws.copy()
    emitted[order[1:][again]] = n + order[:-1][again]  # the row that was put into this slot before
    kept = np.arange(n)
    kept[draws] = np.arange(n, n + len(draws))  # of equal slots numpy keeps the last
    return emitted, kept


def read_ahead(chunks: Generator[Chunk, None, Any]) -> Generator[Chunk, None, None]:
    """The same chunks; a thread reads the next one while the caller works on this one.

    The thread ends with the iteration, even if it is abandoned.
    """
    with closing(chunks), ThreadPoolExecutor(1, "modicum-stream") as thread:
        ahead = thread.submit(next, chunks, None)
        while (chunk := ahead.result()) is not None:
            ahead = thread.submit(next, chunks, None)
            yield chunk


def delayed(chunks: Iterable[Chunk], lag: int) -> Iterator[tuple[Chunk | None, Chunk | None]]:
    """Each chunk beside the rows that are `lag` rows old after it; then what is left, beside None."""
    held: list[Chunk] = []
    for chunk in chunks:
        held.append(chunk)
        known = max(0, sum(map(len, held)) - lag)
        if known:
            waiting = _join(held)
            held = [pick_rows(waiting, slice(known, None))] if known < len(waiting) else []
            yield chunk, pick_rows(waiting, slice(0, known))
        else:
            yield chunk, None
    if held:
        yield None, _join(held)


def pick_rows(chunk: Chunk, index: Any) -> Chunk:
    """Some rows of a chunk."""
    if isinstance(index, slice) and index.indices(len(chunk)) == (0, len(chunk), 1):
        return chunk  # a slice of a sparse matrix would be a copy
    return Chunk(*(pick(getattr(chunk, field.name), index) for field in fields(Chunk)))


def _join(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    return Chunk(*(join([getattr(chunk, field.name) for chunk in chunks]) for field in fields(Chunk)))
