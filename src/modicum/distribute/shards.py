"""What a source is cut into: pieces of files, or partitions of a dask collection, dealt to shards in turn."""

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams import Paths, Stream, stream
from modicum.streams.readers.paths import as_paths

PIECES = 32  # of a shard, at most, if it reads row groups: enough to mix sorted rows, and long enough to read ahead
APART = 40  # bits: rows of pieces whose place in the source is not known are numbered from multiples of 2**APART on


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a source; or all rows of one of its files, or of the source, numbered apart from others."""

    rows: tuple[int, int] | None = None
    file: int | None = None
    apart: int = 0

    def of(self, source: Stream) -> Stream:
        if self.rows is not None:
            return source.part(*self.rows)
        found = copy(source) if self.file is None else source.of_file(self.file)
        found.first_row = self.apart << APART
        return found


@dataclass(frozen=True)
class Files:
    """Rows that workers read: paths or a URL, and how to read them."""

    paths: tuple[str, ...]
    reading: dict[str, Any] = field(hash=False)
    job: str = field(repr=False)  # files may change between jobs, and new ones may appear

    def open(self) -> Stream:
        return _opened(self)


@lru_cache(maxsize=8)
def _opened(files: Files) -> Stream:
    """A stream, opened once for a job in each process: of Parquet, that reads the index of every file."""
    return stream(Paths(*files.paths), **files.reading)


@dataclass(frozen=True)
class Found:
    """What workers see of a source before anything is learned."""

    pieces: tuple[Piece, ...]
    n_rows: int | None
    name: str


def find_pieces(files: Files, n_shards: int) -> Found:
    """The pieces of a source, as many as shards or more if possible: runs of row groups, files or even parts."""
    rows = files.open()
    if rows.cuts is not None:
        step = -(-len(rows.cuts) // (PIECES * n_shards))
        spans = [span for span in pairwise([*rows.cuts[:-1:step], rows.cuts[-1]]) if span[0] < span[1]]
        pieces = tuple(Piece(rows=span) for span in split_spans(spans, n_shards))
    elif rows.n_files > 1:
        pieces = tuple(Piece(file=index, apart=index) for index in range(rows.n_files))
    else:
        pieces = (Piece(),)
    return Found(pieces, rows.total, rows.name)


def split_spans(spans: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int]]:
    """Spans of rows, cut evenly if there are fewer than `least`.

    >>> split_spans([(0, 10), (10, 20)], 4)
    [(0, 5), (5, 10), (10, 15), (15, 20)]
    """
    times = -(-least // max(len(spans), 1))
    cuts = [np.unique(np.linspace(first, end, times + 1).astype(int)).tolist() for first, end in spans]
    return [span for own in cuts for span in pairwise(own)]


def deal(pieces: Sequence[Any], n_shards: int) -> list[list[Any]]:
    """Pieces dealt to shards in turn, so that shards of sorted files are alike.

    >>> deal("abcde", 2)
    [['a', 'c', 'e'], ['b', 'd']]
    """
    return [list(pieces[at::n_shards]) for at in range(min(n_shards, len(pieces)))]


def as_files(source: Any, reading: dict[str, Any], job: str) -> Files | None:
    """A path, or several, as files; None if the source is none. Workers may have another current folder."""
    try:
        paths = as_paths(source)
    except DataError:
        return None
    if paths.sources == ("-",):
        raise DataError("distribute: standard input can't be read by workers. Write it to a file first.")
    return Files(tuple(path if "://" in path else os.path.abspath(path) for path in paths.sources), reading, job)


def as_descriptions(source: Any, reading: dict[str, Any], job: str) -> list[Files] | None:
    """A list of paths or of options of `stream`, each a shard; None if the source is none."""
    if not isinstance(source, list | tuple) or not source:
        return None
    found = []
    for each in source:
        options = dict(each) if isinstance(each, dict) else {"source": each}
        if "source" not in options:
            raise DataError(f"distribute: a description of a stream has at least 'source'; got {sorted(options)}.")
        files = as_files(options.pop("source"), reading | options, job)
        if files is None:
            return None
        found.append(files)
    return found


def together(described: Sequence[Files]) -> Files:
    """All files as one source, if they are read in one way; else the first ones."""
    first = described[0]
    alike = [files for files in described if files.reading == first.reading]
    return Files(tuple(path for files in alike for path in files.paths), first.reading, first.job)
