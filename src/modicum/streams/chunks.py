"""What happens to the rows between a reader and the user: cut, drop, shuffle, read ahead. Each is a generator."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from modicum.streams.readers.base import join, pick

SHUFFLE_ROWS = 1_024  # fewest rows that enter the shuffle buffer together


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive (or, after shuffling, any) rows of a stream.

    Attributes
    ----------
    X : ndarray of shape (rows, columns), CSR matrix, or list of objects
        float32 if that holds every chosen column exactly, else float64.
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


def cut(chunks: Iterator[Chunk], size: int) -> Iterator[Chunk]:
    """The same rows in chunks of `size`; only the last may be shorter. Copies only rows of chunks that are joined."""
    held: list[Chunk] = []
    missing = size
    for chunk in chunks:
        begin = 0
        while len(chunk) - begin >= missing:
            yield _join([*held, _pick(chunk, slice(begin, begin + missing))])
            begin += missing
            held, missing = [], size
        if begin < len(chunk):
            held.append(_pick(chunk, slice(begin, None)))
            missing -= len(chunk) - begin
    if held:
        yield _join(held)


def drop(chunks: Iterator[Chunk], n: int) -> Generator[Chunk, None, int]:
    """The chunks without their first `n` rows; returns how many are still to be dropped at the end."""
    for chunk in chunks:
        if n < len(chunk):
            yield _pick(chunk, slice(n, None)) if n else chunk
        n = max(n - len(chunk), 0)
    return n


def shuffled(chunks: Iterator[Chunk], n: int, rng: np.random.Generator) -> Iterator[Chunk]:
    """The same rows in random order: each row that comes takes a random place in a buffer of `n`, who sat there leaves.

    Many rows come at once, but the order is that of rows coming one by one.
    """
    buffer: list[Chunk] = []
    for chunk in cut(chunks, max(n // 4, SHUFFLE_ROWS)):  # copying the buffer is paid by many rows
        pool = _join([*buffer, chunk])
        if len(pool) > n:
            leave, stay = _seats(rng.integers(n, size=len(pool) - n), n)
            yield _pick(pool, leave)
            pool = _pick(pool, stay)
        buffer = [pool]
    for pool in buffer:
        yield _pick(pool, rng.permutation(len(pool)))


def _seats(draws: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows n, n+1, ... take the seats drawn, one by one, from rows 0 to n-1: who leaves each time, who sits at last."""
    order = np.argsort(draws, kind="stable")  # groups the draws of each seat, first draw first
    again = draws[order[1:]] == draws[order[:-1]]
    leave = draws.copy()
    leave[order[1:][again]] = n + order[:-1][again]  # the one who drew this seat before
    stay = np.arange(n)
    stay[draws] = np.arange(n, n + len(draws))  # of equal seats numpy keeps the last
    return leave, stay


def read_ahead(chunks: Generator[Chunk, None, Any]) -> Generator[Chunk, None, None]:
    """The same chunks, the next one being read in a thread while the caller works on this one.

    The thread ends with the iteration, also one that is broken off.
    """
    with closing(chunks), ThreadPoolExecutor(1, "modicum-stream") as thread:
        ahead = thread.submit(next, chunks, None)
        while (chunk := ahead.result()) is not None:
            ahead = thread.submit(next, chunks, None)
            yield chunk


def _pick(chunk: Chunk, index: Any) -> Chunk:
    if isinstance(index, slice) and index.indices(len(chunk)) == (0, len(chunk), 1):
        return chunk  # a slice of a sparse matrix would be a copy
    return Chunk(*(pick(getattr(chunk, field.name), index) for field in fields(Chunk)))


def _join(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    return Chunk(*(join([getattr(chunk, field.name) for chunk in chunks]) for field in fields(Chunk)))
