"""Following a source that grows: a file to which lines are appended, or a folder or glob in which files appear."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import Block, Reader
from modicum.streams.readers.bytes_in import Growing
from modicum.streams.readers.columns import Key, Wanted
from modicum.streams.readers.files import format_of, in_order, path_reader, paths_of
from modicum.streams.readers.live import Wait, check_size
from modicum.streams.readers.tables import TableFile, Tables
from modicum.streams.readers.text_files import Csv, JsonLines

_GROWING: dict[str, Callable[[Growing], TableFile]] = {  # by the name of the format
    "CSV": Csv,
    "TSV": partial(Csv, delimiter="\t"),
    "JSON lines": JsonLines,
}


def following_reader(source: Any, wanted: Wanted, files: Sequence[str] = ()) -> Reader:
    """The reader of a source that goes on at its end; `files` of it are read first."""
    if not isinstance(source, str | os.PathLike):
        raise DataError(f"stream: follow=True needs a file or a folder; got {type(source).__name__}.")
    name = os.fspath(source)
    if name == "-":
        return path_reader(name, wanted)  # a pipe is read as its rows come anyway
    if os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name)):
        return GrowingFolder(name, wanted, files)
    path = in_order(paths_of(name), files)[0]
    kind = format_of([path], name).name
    if kind not in _GROWING or path.suffix == ".gz":
        raise DataError(
            f"{name}: only CSV, TSV and JSON lines that are not compressed can grow. "
            "Write new files to a folder, and follow the folder."
        )
    reader = Tables([_GROWING[kind](Growing(path))], name, wanted)
    reader.files = [str(path)]
    return reader


class GrowingFolder(Reader):
    """The files of a folder or glob in sorted order, then those that appear, in the order in which they do.

    A file is read once its size is the same at two looks. Files must not change afterwards.
    """

    wait: Wait
    files: list[str]

    def __init__(self, name: str, wanted: Wanted, files: Sequence[str]):
        self.name, self._wanted = name, wanted
        self.wait = Wait()
        self.files = [str(path) for path in in_order(self._paths(), files)[: len(files)]]
        self._sizes = {file: os.stat(file).st_size for file in self.files}  # of all files, at the last look
        while not (self.files or self._look()):
            self.wait.pause()
        first = self._open(self.files[:1])
        self.width, self.columns, self.row_bytes = first.width, first.columns, first.row_bytes
        self.table_columns, self.left_out = first.table_columns, first.left_out
        if wanted.columns is None:  # of the first file, as for a folder that does not grow
            columns: list[Key] = [*(first.columns or range(first.width or 0))]
            self._wanted = Wanted(columns, wanted.target, wanted.weight)

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        n_read = 0
        while True:
            while n_read < len(self.files):
                yield from self._open(self.files[n_read : n_read + 1]).blocks(0, size)
                n_read += 1
            if not self._look():
                self.wait.pause()

    def take(self, rows: np.ndarray) -> Any:
        return self._open(self.files).take(rows)

    def _open(self, files: list[str]) -> Reader:
        paths = [Path(file) for file in files]
        return format_of(paths, self.name).read(paths, self.name, self._wanted)

    def _look(self) -> bool:
        """Add files that are complete now; whether there were any."""
        sizes = {str(path): path.stat().st_size for path in self._paths()}
        for file in self.files:
            check_size(file, self._sizes[file], sizes.get(file, 0), grows=False)
        new = [file for file in sizes if file not in self.files and sizes[file] == self._sizes.get(file)]
        if new:
            format_of([Path(file) for file in [*self.files, *new]], self.name)  # raises if they differ
        self.files += new
        self._sizes = sizes
        return bool(new)

    def _paths(self) -> list[Path]:
        """The files that are there, sorted; there may be none yet."""
        try:
            return paths_of(self.name)
        except DataError:
            return []
