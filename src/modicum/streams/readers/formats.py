"""Formats of files: by the ending of the name, else by the first bytes."""

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import islice
from os.path import splitext
from typing import Any, NamedTuple
from zipfile import ZipFile

from modicum.exceptions import DataError
from modicum.streams.readers import images
from modicum.streams.readers.array_files import npy_file, npz_rows
from modicum.streams.readers.arrays import Arrays
from modicum.streams.readers.arrow_files import Parquet, arrow_file
from modicum.streams.readers.base import Reader, naming
from modicum.streams.readers.bytes_in import BOM, HEAD, ByteSource
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.csv_files import Csv
from modicum.streams.readers.dialect import TextOptions
from modicum.streams.readers.documents import Documents
from modicum.streams.readers.json_arrays import json_file, looks_like_json
from modicum.streams.readers.json_lines import JsonLines
from modicum.streams.readers.lines import Lines
from modicum.streams.readers.svmlight import Svmlight
from modicum.streams.readers.tables import TableFile, Tables

File = Any  # a Path or a Remote


class Format(NamedTuple):
    name: str
    read: Callable[[Sequence[File], str, Wanted], Reader]  # rows of all files, in order
    is_text: bool = False  # may be compressed, and an empty file has no rows
    open: Callable[[File, TextOptions], TableFile] | None = None  # one file of a table
    options: tuple[str, ...] = ()  # for text that it uses


def _tables(name: str, open_file: Callable[[File, TextOptions], TableFile], **more: Any) -> Format:
    def read(files: Sequence[File], source: str, wanted: Wanted) -> Tables:
        return Tables([open_file(file, wanted.text) for file in files], source, wanted)

    return Format(name, read, open=open_file, **more)


def _arrays(open_file: Callable[[File], Any]) -> Any:
    return lambda files, name, wanted: Arrays([open_file(file) for file in files], name, wanted, [*map(str, files)])


def _texts(name: str, open_source: Callable[..., TableFile], *options: str) -> Format:
    """The format of a table that is text; a file of it may also be a ByteSource."""

    def open_file(file: File, given: TextOptions) -> TableFile:
        source = file if isinstance(file, ByteSource) else ByteSource(file)
        return open_source(source, options=given) if options else open_source(source)

    return _tables(name, open_file, is_text=True, options=options)


def _documents(files: Sequence[File], name: str, options: TextOptions) -> Documents:
    return Documents(files, name, skip_bad_rows=options.skip_bad_rows)


IMAGES = Format(
    "images",
    lambda files, name, wanted: Tables([images.Images(files, name)], name, wanted),
    open=lambda file, options: images.Images([file], str(file)),
)
_PARQUET = _tables("Parquet", lambda file, options: Parquet(file))
_ARROW = _tables("Arrow", lambda file, options: arrow_file(file))
_NPY = Format("npy", _arrays(npy_file))
_NPZ = Format("npz", _arrays(npz_rows))
CSV = _texts("CSV", Csv, "delimiter", "header", "as_text")
TSV = _texts("TSV", partial(Csv, delimiter="\t"), "delimiter", "header", "as_text")
JSON_LINES = _texts("JSON lines", JsonLines, "as_text")
JSON = _texts("JSON", json_file, "as_text")
TEXT = _texts("text", Lines)
DOCUMENTS = Format(
    "text files",
    lambda files, name, wanted: Tables([_documents(files, name, wanted.text)], name, wanted),
    is_text=True,
    open=lambda file, options: _documents([file], str(file), options),
    options=("documents",),
)
_SVMLIGHT = Format("svmlight", Svmlight, is_text=True)

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")  # second endings of text formats
FORMATS = {
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": _ARROW,
    ".arrows": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".npy": _NPY,
    ".npz": _NPZ,
    ".csv": CSV,
    ".tsv": TSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".json": JSON,
    ".svm": _SVMLIGHT,
    ".svmlight": _SVMLIGHT,
    ".libsvm": _SVMLIGHT,
    ".txt": TEXT,
    **dict.fromkeys(images.ENDINGS, IMAGES),
}


@cache  # so that the same array of several files is one format
def array_of_npz(array: str) -> Format:
    """The format of .npz files of which one array is read."""
    return Format(f"npz, array {array}", _arrays(partial(npz_rows, array=array)))


def format_by_ending(name: str) -> Format | None:
    stem, ending = splitext(name.lower())
    if ending not in COMPRESSED:
        return FORMATS.get(ending)
    kind = FORMATS.get(splitext(stem)[1])
    return kind if kind and kind.is_text else None


def document_by_ending(name: str) -> Format | None:
    """The format of a file where texts are documents: also of names without a known ending."""
    kind = format_by_ending(name)
    return DOCUMENTS if kind in (None, TEXT) else kind


def unknown_format(file: File) -> DataError:
    return DataError(
        f"{file}: unknown format. The name must end in one of: {' '.join(FORMATS)} "
        f"(text formats also with {' '.join(COMPRESSED)})"
    )


_FIRST_BYTES = {
    b"PAR1": _PARQUET,
    b"ARROW1\0": _ARROW,
    b"\xff\xff\xff\xff": _ARROW,
    b"\x93NUMPY": _NPY,
    b"\x89PNG\r\n\x1a\n": IMAGES,
    b"\xff\xd8\xff": IMAGES,
    b"GIF8": IMAGES,
    b"II*\0": IMAGES,
    b"MM\0*": IMAGES,
}


def format_by_bytes(file: File) -> Format | None:
    """The format that the first bytes of a file suggest, if it can be told."""
    with naming(str(file)), file.open("rb") as raw:
        first = raw.read(16)
    for mark, kind in _FIRST_BYTES.items():
        if first.startswith(mark):
            return kind
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return IMAGES
    if first.startswith(b"PK\x03\x04"):
        with naming(str(file)), file.open("rb") as raw, ZipFile(raw) as archive:
            return _NPZ if any(name.endswith(".npy") for name in archive.namelist()) else None
    return _text_format(ByteSource(file).head)


_SVMLIGHT_LINE = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?(\s+(qid|\d+):\S+)+\s*(#.*)?")
_LINES = 20  # of a text that are looked at


def _text_format(head: bytes) -> Format | None:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head.removeprefix(BOM))  # the end may be cut
    except UnicodeDecodeError:
        return None
    if "\0" in text or not text.strip():
        return None
    if looks_like_json(head):
        return JSON
    lines = [line for line in text.splitlines()[: None if len(head) < HEAD else -1] if line.strip()][:_LINES]
    if lines and all(map(_SVMLIGHT_LINE.fullmatch, lines)):
        return _SVMLIGHT
    if _is_table(lines, "\t"):
        return TSV
    return CSV if any(_is_table(lines, delimiter) for delimiter in ",;|") else None


def _is_table(lines: list[str], delimiter: str) -> bool:
    """Whether these lines have the same number of cells, and more than one."""
    try:
        widths = {len(row) for row in islice(csv.reader(lines, delimiter=delimiter), _LINES)}
    except csv.Error:
        return False
    return len(lines) > 1 and len(widths) == 1 and widths != {1}
