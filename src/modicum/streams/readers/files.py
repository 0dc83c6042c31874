"""Paths: files, folders, globs, URLs, or `-` for standard input; which files they name, and of which format."""

import glob
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from modicum.exceptions import DataError, DataWarning
from modicum.streams.readers.arrow_files import ArrowStream
from modicum.streams.readers.base import Reader, naming
from modicum.streams.readers.bytes_in import Stdin
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.csv_files import Csv
from modicum.streams.readers.dialect import TextOptions
from modicum.streams.readers.formats import (
    IMAGES,
    JSON,
    TEXT,
    File,
    Format,
    array_of_npz,
    document_by_ending,
    format_by_bytes,
    format_by_ending,
    unknown_format,
)
from modicum.streams.readers.json_arrays import json_file, looks_like_json
from modicum.streams.readers.lines import Lines
from modicum.streams.readers.live import ARROW
from modicum.streams.readers.paths import Paths
from modicum.streams.readers.remote import is_url, remote_files, remote_tree
from modicum.streams.readers.tables import TableFile, Tables

FEW = 0.1  # a share of files of other formats that is skipped rather than refused
_NOTES = {"readme", "license", "licence", "copying", "changelog", "citation", "notes", "manifest"}  # beside data


class Found(NamedTuple):
    """The files of a source, all of one format, and others that it has, each with a reason."""

    format: Format
    files: Sequence[File]
    skipped: Sequence[str] = ()


class NothingThereError(DataError):
    """A folder or glob has no file of a known format."""


def path_reader(source: str | os.PathLike[str], wanted: Wanted, files: Sequence[str] = ()) -> Reader:
    return paths_reader(Paths(source), wanted, files)


def paths_reader(paths: Paths, wanted: Wanted, files: Sequence[str] = ()) -> Reader:
    """The reader for paths; all their files must have one format. `files` of them are read first."""
    if paths.sources == ("-",):
        if wanted.text.documents == "files":
            raise DataError("standard input: documents='files' needs files, such as those of a folder.")
        return Tables([_stdin_table(wanted.text)], "standard input", wanted)
    found = find_files(paths, wanted.text.documents)
    wanted.text.refuse(paths.name, found.format.name, found.format.options)
    in_turn = in_order(found.files, files)
    reader = found.format.read(in_turn, paths.name, wanted)
    reader.skipped = list(found.skipped)
    if all(isinstance(file, Path) for file in in_turn):
        reader.files = [str(file) for file in in_turn]
    return reader


def in_order(files: Sequence[File], first: Sequence[str]) -> list[File]:
    """The files, those named in `first` before the others and in that order; a DataError if one is missing."""
    by_name = {str(file): file for file in files}
    if missing := set(first) - set(by_name):
        raise DataError(f"{min(missing)}: no such file, but it was read before.")
    return [by_name.pop(name) for name in first] + list(by_name.values())


def find_files(paths: Paths, documents: str | None = None) -> Found:
    """All files that the paths name, in order, each once; `documents` tells what a row of a plain text is."""
    found = _combined(paths, [_find(name, documents) for name in paths.sources])
    files = list(_distinct(found.files).values())
    if len(files) < len(found.files):
        _warn_of_repeated(found.files)
    return found._replace(files=files)


def find_files_so_far(paths: Paths, documents: str | None = None) -> Found | None:
    """The files that the paths name now, None if there are none; folders and globs may be without any yet."""
    found = []
    for name in paths.sources:
        with suppress(NothingThereError):
            found.append(_find(name, documents))
    if not found:
        return None
    together = _combined(paths, found)
    return together._replace(files=list(_distinct(together.files).values()))


def _combined(paths: Paths, found: list[Found]) -> Found:
    first = found[0]
    for other in found:
        if other.format != first.format:
            raise two_formats(paths.name, first, other)
    files = [file for part in found for file in part.files]
    return Found(first.format, files, list(dict.fromkeys(entry for part in found for entry in part.skipped)))


def local_name(name: str) -> str:
    """A name without file://; URLs of other files stay as they are."""
    if not name.startswith("file://"):
        return name
    name = name.removeprefix("file://")
    return name if os.path.exists(name) else unquote(name)  # %20 is a blank


def is_one_file(name: str) -> bool:
    """Whether a local name stands for one file, rather than a folder or a glob."""
    return not os.path.isdir(name) and (os.path.exists(name) or not glob.has_magic(name))


def _find(name: str, documents: str | None) -> Found:
    """The files of one source."""
    name = local_name(name)
    if is_url(name):
        return _find_remote(name, documents)
    if (named := re.fullmatch(r"(.+\.npz):(.+)", name)) and not os.path.exists(name):  # one array of several
        return Found(array_of_npz(named[2]), [_existing(named[1])])
    if os.path.isdir(name):
        return _sorted_out(name, _files_of_folder(name, documents), documents, is_folder=True)
    if is_one_file(name):
        return _named(_existing(name), documents)
    matches = sorted(glob.glob(name, recursive=True))
    files = [Path(path) for path in matches if os.path.isfile(path)]
    if matches and not files:
        raise DataError(f"{name}: only folders match. To read their files: {name.rstrip('/')}/*")
    return _sorted_out(name, files, documents, is_folder=False)


def _find_remote(url: str, documents: str | None) -> Found:
    files, kind = remote_files(url)
    if kind == "file":
        return _named(files[0], documents)
    if kind == "folder":
        files = _with_subfolders(files, lambda: remote_tree(url), documents)
    return _sorted_out(url, files, documents, is_folder=kind == "folder")


_BY_ENDING = {None: format_by_ending, "lines": format_by_ending, "files": document_by_ending}


def _named(file: File, documents: str | None) -> Found:
    """A file that was named itself: its first bytes decide if its name does not."""
    kind = _BY_ENDING[documents](file.name) or format_by_bytes(file)
    if kind is None:
        raise unknown_format(file)
    return Found(kind, [file])


def _existing(name: str) -> Path:
    if not os.path.exists(name):
        raise DataError(f"{name}: no such file.")
    if not os.path.isfile(name):
        raise DataError(
            f"{name}: a pipe or a device, not a file. Redirect it to standard input, and give - as the source."
        )
    return Path(name)


def _files_of_folder(name: str, documents: str | None) -> list[Path]:
    with naming(name):  # it may not be ours to read
        direct = [path for path in sorted(Path(name).iterdir()) if path.is_file()]
    walk = os.walk(name)
    return _with_subfolders(
        direct,
        lambda: sorted(Path(folder, file) for folder, below, files in walk if _enter(below) for file in files),
        documents,
    )


def _with_subfolders(direct: list[File], find_all: Callable[[], list[File]], documents: str | None) -> list[File]:
    """The files of a folder, and if each is a document or most are images, those of its subfolders too."""
    if documents == "files":
        return find_all()
    data = [file for file in direct if format_by_ending(file.name) and not _stray(file)]
    if data and not _are_images(data):
        return direct
    files = find_all()
    return files if _are_images([file for file in files if not _stray(file)]) else direct


def _enter(folders: list[str]) -> bool:
    """Keep os.walk out of hidden folders."""
    folders[:] = [folder for folder in folders if folder[0] not in "._"]
    return True


def _are_images(files: Sequence[File]) -> bool:
    """Whether most files are images."""
    return 2 * sum(format_by_ending(file.name) is IMAGES for file in files) > len(files)


def _stray(file: File) -> str:
    """Why a file of a folder is no data, judged by its name; empty if it may be."""
    if file.name[0] in "._":  # other programs write files such as _SUCCESS or .crc beside the data
        return "hidden"
    is_note = file.name.partition(".")[0].lower() in _NOTES and format_by_ending(file.name) in (JSON, TEXT)
    return "notes" if is_note else ""


def _sorted_out(name: str, files: Sequence[File], documents: str | None, is_folder: bool) -> Found:
    """The files of the format that decides, and the others as skipped."""
    reasons = {file: _stray(file) if is_folder else "" for file in files}
    kinds = {file: _BY_ENDING[documents](file.name) for file in files if not reasons[file]}
    if not any(kinds.values()):  # such as part-00000
        kinds = {file: format_by_bytes(file) for file in kinds}
    kind = _deciding(name, kinds)
    if kind is None:
        raise _nothing(name, files, is_folder)
    for file, own in kinds.items():
        if own is not kind:
            reasons[file] = own.name if own else "unknown format"
        elif kind.is_text and _is_empty(file):
            reasons[file] = "empty"
    kept = [file for file in files if not reasons[file]] or [file for file in files if reasons[file] == "empty"][:1]
    skipped = [f"{_short(file, name, is_folder)} ({reason})" for file, reason in reasons.items() if reason]
    return Found(kind, kept, skipped)


def _deciding(name: str, kinds: dict[File, Format | None]) -> Format | None:
    """The format to read; None if no file has a known one."""
    known = {file: kind for file, kind in kinds.items() if kind is not None}
    pictures = [file for file, kind in known.items() if kind is IMAGES]
    if 2 * len(pictures) > len(kinds) or len(pictures) == len(known):
        return IMAGES if pictures else None
    groups: dict[Format, list[File]] = {}
    for file, kind in known.items():
        if kind is not IMAGES:  # a few pictures beside a table
            groups.setdefault(kind, []).append(file)
    (first, most), *others = sorted(groups.items(), key=lambda group: -len(group[1]))
    n_others = sum(len(files) for _, files in others)
    if others and n_others >= FEW * (len(most) + n_others):
        raise two_formats(name, Found(first, most), Found(*others[0]))
    return first


def _nothing(name: str, files: Sequence[File], is_folder: bool) -> DataError:
    """The error for a folder or glob without data."""
    if unknown := [file for file in files if not (is_folder and _stray(file))]:
        return NothingThereError(*unknown_format(unknown[0]).args)
    if is_folder:
        return NothingThereError(f"{name}: the folder has no files. To include subfolders: {name}/**/*.parquet")
    return NothingThereError(f"{name}: no file matches.")


def two_formats(name: str, *found: Found) -> DataError:
    files = " and ".join(f"{part.files[0]} ({part.format.name})" for part in found)
    return DataError(f"{name}: all files must have the same format; got {files}. Give a glob such as *.csv.")


def _is_empty(file: File) -> bool:
    return (file.stat().st_size if isinstance(file, Path) else file.size) == 0


def _short(file: File, name: str, is_folder: bool) -> str:
    return os.path.relpath(file, name) if is_folder and isinstance(file, Path) else file.name


def _distinct(files: Iterable[File]) -> dict[str, File]:
    """The files without repetitions."""
    found: dict[str, File] = {}
    for file in files:
        found.setdefault(os.path.abspath(file) if isinstance(file, Path) else str(file), file)
    return found


def _warn_of_repeated(files: Sequence[File]) -> None:
    first = set(map(id, _distinct(files).values()))
    repeated = [file for file in files if id(file) not in first]
    more = f" (and {len(repeated) - 1:,} more)" if len(repeated) > 1 else ""
    warnings.warn(f"{repeated[0]}{more} is named more than once, and read once.", DataWarning, stacklevel=6)


def _stdin_table(options: TextOptions) -> TableFile:
    source = Stdin()
    if source.head.startswith(ARROW):
        options.refuse(source.name, "an Arrow stream")
        return ArrowStream(source)
    if looks_like_json(source.head):
        options.refuse(source.name, "JSON", JSON.options)
        return json_file(source, options)
    if options.documents == "lines":
        options.refuse(source.name, "text")
        return Lines(source)
    return Csv(source, options=options)
