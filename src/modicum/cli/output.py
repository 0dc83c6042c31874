"""Tables out: Parquet, CSV, JSON lines, JSON or .npy by the file's ending; JSON lines, CSV or a table on stdout."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.cli.printing import Terminal, printable
from modicum.exceptions import DataError
from modicum.state.files import naming_output

Columns = Mapping[str, Any]
Write = Callable[[Columns], None]
MOST_TABLE_ROWS = 1000


@contextmanager
def writer(path: Path | None, *, csv: bool = False, table: bool = False) -> Iterator[Write]:
    """A function that takes tables (columns by name) one after another and writes them to one place.

    A file appears under its name only when it is whole.
    """
    if path is None:
        yield _to_stdout("csv" if csv else "table" if table else "jsonl")
        return
    check_output(path)
    temporary = path.with_name(f".{path.name}.tmp")
    with naming_output(path):
        try:
            with _FILES[path.suffix.lower()](temporary) as write:
                yield write
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def check_output(path: Path | None) -> None:
    """Before a long run: can a table be written there?"""
    if path is not None and path.suffix.lower() not in _FILES:
        raise DataError(f"can't write {path}: the name must end in {', '.join(_FILES)}.")
    if path is not None and path.suffix.lower() == ".parquet":
        require("pyarrow", "writing Parquet")
    check_folder(path)


def check_folder(path: Path | str | None) -> None:
    """Before a long run: can a file be written there?"""
    if path is None:
        return
    path = Path(path)
    if not path.parent.is_dir():
        raise DataError(f"can't write {path}: the folder {path.parent} does not exist.")
    if path.is_dir():
        raise DataError(f"can't write {path}: it is a folder. Give the name of a file.")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"can't write {path}: you may not write to the folder {path.parent}.")


def free_name(name: str, taken: Columns) -> str:
    """`name`, or a longer one if there is such a column."""
    return free_name(f"modicum_{name}", taken) if name in taken else name


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    pa, pq = require("pyarrow", "writing Parquet"), require("pyarrow.parquet", "writing Parquet")
    open_file: list[Any] = []

    def write(columns: Columns) -> None:
        table = pa.table(dict(columns))
        if not open_file:
            open_file.append(pq.ParquetWriter(path, table.schema))
        open_file[0].write_table(table)

    try:
        yield write
    finally:
        for file in open_file:
            file.close()


@contextmanager
def _text(path: Path, kind: str) -> Iterator[Write]:
    with open(path, "w", newline="", encoding="utf-8") as file:
        yield _TEXT[kind](file)


@contextmanager
def _json_array(path: Path) -> Iterator[Write]:
    """One array of objects, a line each."""
    with open(path, "w", encoding="utf-8") as file:
        between = iter("[")

        def write(columns: Columns) -> None:
            for row in _json_rows(columns):
                file.write(f"{next(between, ',')}\n{row}")

        yield write
        file.write(f"{next(between, '')}\n]\n")


@contextmanager
def _npy(path: Path) -> Iterator[Write]:
    """The numeric columns as one array."""
    arrays: list[np.ndarray] = []
    yield lambda columns: arrays.append(np.column_stack([np.asarray(c) for c in columns.values() if _is_numeric(c)]))
    with open(path, "wb") as file:
        np.save(file, np.concatenate(arrays) if arrays else np.empty((0, 0)))


def _is_numeric(column: Any) -> bool:
    return np.asarray(column).dtype.kind in "biuf"


def _csv_lines(file: Any) -> Write:
    import csv

    out = csv.writer(file)
    header: list[str] = []

    def write(columns: Columns) -> None:
        if not header:
            header.extend(columns)
            out.writerow(header)
        out.writerows(_rows(columns))

    return write


def _json_lines(file: Any) -> Write:
    def write(columns: Columns) -> None:
        for row in _json_rows(columns):
            file.write(f"{row}\n")

    return write


def _json_rows(columns: Columns) -> Iterator[str]:
    names = list(columns)
    for row in _rows(columns):
        yield json.dumps(dict(zip(names, row, strict=True)), default=str)


def _rich_table(file: Any) -> Write:
    def write(columns: Columns) -> None:
        from rich.console import Console
        from rich.table import Table

        table = Table(*map(printable, columns))
        for _, row in zip(range(MOST_TABLE_ROWS), _rows(columns), strict=False):
            table.add_row(*(f"{cell:.5g}" if isinstance(cell, float) else printable(str(cell)) for cell in row))
        Console(file=file, markup=False, emoji=False).print(table)

    return write


def _rows(columns: Columns) -> Iterable[tuple[Any, ...]]:
    return zip(*(_plain(column) for column in columns.values()), strict=True)


def _plain(column: Any) -> list[Any]:
    """Python values: numbers without numpy's types."""
    return column.to_pylist() if hasattr(column, "to_pylist") else np.asarray(column).tolist()


def _to_stdout(kind: str) -> Write:
    write = _TEXT[kind](Terminal(sys.stdout) if kind == "csv" and sys.stdout.isatty() else sys.stdout)

    def write_now(columns: Columns) -> None:
        write(columns)
        sys.stdout.flush()  # the next rows may be long in coming

    return write_now


_TEXT: dict[str, Callable[[Any], Write]] = {"csv": _csv_lines, "jsonl": _json_lines, "table": _rich_table}
_FILES: dict[str, Any] = {
    ".parquet": _parquet,
    ".csv": lambda path: _text(path, "csv"),
    ".jsonl": lambda path: _text(path, "jsonl"),
    ".json": _json_array,
    ".npy": _npy,
}
ENDINGS = tuple(_FILES)
