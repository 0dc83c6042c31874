"""Paths: a file, a folder, a glob or `-` for standard input. The ending of a name determines the format."""

import glob
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from modicum.exceptions import DataError
from modicum.streams.readers.array_files import NpyFile, npz_rows
from modicum.streams.readers.arrays import Arrays
from modicum.streams.readers.arrow_files import ArrowStream, Parquet, arrow_file
from modicum.streams.readers.base import Reader
from modicum.streams.readers.bytes_in import BOM, ByteSource, Stdin
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.svmlight import Svmlight
from modicum.streams.readers.tables import TableFile, Tables
from modicum.streams.readers.text_files import Csv, JsonLines


class Format(NamedTuple):
    name: str
    read: Callable[[Sequence[Path], str, Wanted], Reader]  # rows of all files, in order


def _tables(open_file: Callable[[Path], TableFile]) -> Any:
    return lambda paths, name, wanted: Tables([open_file(path) for path in paths], name, wanted)


def _arrays(open_file: Callable[[Path], Any]) -> Any:
    return lambda paths, name, wanted: Arrays([open_file(path) for path in paths], name, wanted, [*map(str, paths)])


_PARQUET = Format("Parquet", _tables(Parquet))
_ARROW = Format("Arrow", _tables(arrow_file))
_CSV = Format("CSV", _tables(lambda path: Csv(ByteSource(path))))
_TSV = Format("TSV", _tables(lambda path: Csv(ByteSource(path), "\t")))
_JSON = Format("JSON lines", _tables(lambda path: JsonLines(ByteSource(path))))
_SVMLIGHT = Format("svmlight", Svmlight)

FORMATS = {
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": _ARROW,
    ".arrows": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".npy": Format("npy", _arrays(NpyFile)),
    ".npz": Format("npz", _arrays(npz_rows)),
    **{
        ending + gz: kind
        for gz in ("", ".gz")
        for ending, kind in {
            ".csv": _CSV,
            ".tsv": _TSV,
            ".jsonl": _JSON,
            ".ndjson": _JSON,
            ".svm": _SVMLIGHT,
            ".svmlight": _SVMLIGHT,
            ".libsvm": _SVMLIGHT,
        }.items()
    },
}


def path_reader(source: str | os.PathLike[str], wanted: Wanted, files: Sequence[str] = ()) -> Reader:
    """The reader for a path; all files of a folder or glob must have one format. `files` of it are read first."""
    name = os.fspath(source)
    if name == "-":
        return Tables([_stdin_table()], "standard input", wanted)
    if named := re.fullmatch(r"(.+\.npz):(.+)", name):  # one array of several
        path, array = named.groups()
        return _arrays(partial(npz_rows, array=array))([_existing(path)], name, wanted)
    paths = in_order(paths_of(name), files)
    reader = format_of(paths, name).read(paths, name, wanted)
    reader.files = [str(path) for path in paths]
    return reader


def in_order(paths: Sequence[Path], first: Sequence[str]) -> list[Path]:
    """The paths, those named in `first` before the others and in that order; a DataError if one is missing."""
    if missing := set(first) - {str(path) for path in paths}:
        raise DataError(f"{min(missing)}: no such file, but it was read before.")
    return [Path(name) for name in first] + [path for path in paths if str(path) not in set(first)]


def format_of(paths: Sequence[Path], name: str) -> Format:
    """The format that all files have."""
    formats = {_format(path): path for path in paths}
    if len(formats) > 1:
        files = " and ".join(f"{path} ({kind.name})" for kind, path in list(formats.items())[:2])
        raise DataError(f"{name}: all files must have the same format; got {files}. Give a glob such as *.csv.")
    return next(iter(formats))


def paths_of(name: str) -> list[Path]:
    """The files that a name matches, sorted."""
    if os.path.isdir(name):
        # Other programs write files such as _SUCCESS or .crc beside the data.
        found = [path for path in sorted(Path(name).iterdir()) if path.name[0] not in "._" and path.is_file()]
        if not found:
            raise DataError(f"{name}: the folder has no files. To include subfolders: {name}/**/*.parquet")
        return found
    if os.path.exists(name) or not glob.has_magic(name):
        return [_existing(name)]
    if found := [Path(path) for path in sorted(glob.glob(name, recursive=True)) if os.path.isfile(path)]:
        return found
    raise DataError(f"{name}: no file matches.")


def _existing(name: str) -> Path:
    if not os.path.exists(name):
        raise DataError(f"{name}: no such file.")
    if not os.path.isfile(name):
        raise DataError(
            f"{name}: a pipe or a device, not a file. Redirect it to standard input, and give - as the source."
        )
    return Path(name)


def _format(path: Path) -> Format:
    name = path.name.lower()
    for ending, kind in FORMATS.items():
        if name.endswith(ending):
            return kind
    raise DataError(f"{path}: unknown format. The name must end in one of: {' '.join(FORMATS)}")


def _stdin_table() -> TableFile:
    source = Stdin()
    if source.head.startswith(b"\xff\xff\xff\xff"):  # an Arrow stream
        return ArrowStream(source)
    return JsonLines(source) if source.head.removeprefix(BOM).lstrip().startswith(b"{") else Csv(source)
