"""Following a source that grows: a file to which lines are appended, or folders and globs in which files appear."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import BadRows, Block, Reader
from modicum.streams.readers.bytes_in import COMPRESSIONS, ByteSource, Growing, first_bytes
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.files import (
    Found,
    find_files,
    find_files_so_far,
    in_order,
    is_one_file,
    local_name,
    paths_reader,
    two_formats,
)
from modicum.streams.readers.formats import CSV, JSON, JSON_LINES, TEXT, TSV, Format
from modicum.streams.readers.live import Wait, check_size, has_line, is_enough
from modicum.streams.readers.paths import Paths, as_paths
from modicum.streams.readers.remote import is_url
from modicum.streams.readers.tables import Tables

# Formats of files that can grow, by name, and what tells whether their first bytes hold a row.
_GROWING: dict[str, Callable[[bytes], bool]] = {
    CSV.name: is_enough,
    TSV.name: is_enough,
    JSON_LINES.name: is_enough,
    TEXT.name: has_line,
}


def following_reader(source: Any, wanted: Wanted, files: Sequence[str] = ()) -> Reader:
    """The reader of a source that goes on at its end; `files` of it are read first."""
    if not isinstance(source, str | os.PathLike | Paths):
        raise DataError(f"stream: follow=True needs a file or a folder; got {type(source).__name__}.")
    paths = as_paths(source)
    if paths.sources == ("-",):
        return paths_reader(paths, wanted)  # a pipe is read as its rows come anyway
    names = [local_name(name) for name in paths.sources]
    if remote := [name for name in names if is_url(name)]:
        raise DataError(f"{remote[0]}: only local files can be followed, not those behind a URL.")
    return (
        _growing_file(paths, wanted, files) if [*map(is_one_file, names)] == [True] else Folders(paths, wanted, files)
    )


def _growing_file(paths: Paths, wanted: Wanted, files: Sequence[str]) -> Reader:
    found = find_files(paths, wanted.text.documents)
    path = in_order(found.files, files)[0]
    kind = _of_lines(found.format, path)
    with path.open("rb") as file:
        is_compressed = first_bytes(file) in COMPRESSIONS
    if kind.name not in _GROWING or is_compressed:
        raise DataError(
            f"{paths.name}: only CSV, TSV, JSON lines and text that are not compressed can grow. "
            "Write new files to a folder, and follow the folder."
        )
    wanted.text.refuse(paths.name, kind.name, kind.options)
    assert kind.open is not None
    reader = Tables([kind.open(Growing(path, _GROWING[kind.name]), wanted.text)], paths.name, wanted)
    reader.files = [str(path)]
    return reader


def _of_lines(kind: Format, path: Path) -> Format:
    """The format of a file; JSON lines may have any name."""
    return JSON_LINES if kind is JSON and is_enough(ByteSource(path).head) else kind


class Folders(Reader):
    """The files of folders and globs in sorted order, then those that appear, in the order in which they do.

    A file is read once its size is the same at two looks. Files must not change afterwards. All are read with the
    columns and types of the first.
    """

    wait: Wait
    files: list[str]

    def __init__(self, paths: Paths, wanted: Wanted, files: Sequence[str]):
        self.name, self._paths, self._wanted = paths.name, paths, wanted
        self.wait = Wait()
        self._kind: Format | None = None  # of the files read
        self._first: Reader | None = None
        found = find_files_so_far(paths, wanted.text.documents)
        self.files = [str(file) for file in in_order(found.files if found else [], files)[: len(files)]]
        self._sizes = {file: _size(file) for file in self.files}  # of all files, at the last look
        if found and self.files:
            self._accept(found)
        while not (self.files or self._look()):
            self.wait.pause()
        self._begin()

    def _begin(self) -> None:
        """Open the first file, which decides about the columns."""
        self._first = self._now = first = self._read(self.files[:1])
        self._notes, self._bad = [*first.notes], BadRows()  # of files before the present one
        self.width, self.columns, self.row_bytes = first.width, first.columns, first.row_bytes
        self.table_columns, self.left_out = first.table_columns, first.left_out
        self.target, self.weight = first.target, first.weight
        if self._wanted.columns is None:
            columns: Any = first.columns or (None if first.width is None else list(range(first.width)))
            self._wanted = replace(self._wanted, columns=columns)

    @property
    def notes(self) -> list[str]:
        return list(dict.fromkeys([*self._notes, *self._now.notes]))

    @property
    def bad_rows(self) -> BadRows:
        found = BadRows()
        found.add_all(self._bad)
        found.add_all(self._now.bad_rows)
        return found

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        self._bad = BadRows()
        n_read = 0
        while True:
            while n_read < len(self.files):
                self._now = self._read(self.files[n_read : n_read + 1])
                yield from self._now.blocks(0, size)
                self._notes, self._bad = self.notes, self.bad_rows
                n_read += 1
                self._now = Reader()
            if not self._look():
                self.wait.pause()

    def take(self, rows: np.ndarray) -> Any:
        assert self._kind is not None
        return self._kind.read([Path(file) for file in self.files], self.name, self._wanted).take(rows)

    def _read(self, files: Sequence[str]) -> Reader:
        """The reader of some of the files."""
        kind, paths = self._kind, [Path(file) for file in files]
        assert kind is not None
        if kind.open is None:
            return kind.read(paths, self.name, self._wanted)
        tables = [kind.open(path, self._wanted.text) for path in paths]
        return self._first.of(tables) if isinstance(self._first, Tables) else Tables(tables, self.name, self._wanted)

    def _look(self) -> bool:
        """Add files that are complete now; whether there were any."""
        found = find_files_so_far(self._paths, self._wanted.text.documents)
        for file in self.files:
            check_size(file, self._sizes[file], _size(file), grows=False)
        if found is None:
            return False
        sizes = {str(file): _size(file) for file in found.files}
        known = set(self.files)
        new = [file for file in sizes if file not in known and 0 < sizes[file] == self._sizes.get(file)]
        if new:
            self._accept(found)
        self.files += new
        self._sizes = {file: self._sizes[file] for file in known} | sizes
        return bool(new)

    def _accept(self, found: Found) -> None:
        """Raise a DataError unless files have the format of those that were read."""
        self._kind = self._kind or found.format
        if found.format != self._kind:
            raise two_formats(self.name, Found(self._kind, self.files), found)
        self._wanted.text.refuse(self.name, found.format.name, found.format.options)
        self.skipped = list(found.skipped)


def _size(file: str | os.PathLike[str]) -> int:
    """The size of a file, 0 if it is gone."""
    with suppress(FileNotFoundError):
        return os.stat(file).st_size
    return 0
