"""Sources of bytes for text formats: files, plain or compressed, and standard input.

The first bytes tell how a file is compressed, whatever its name is.
"""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any, BinaryIO

from modicum._optional import require
from modicum.exceptions import DataError
from modicum.streams.readers.base import naming

HEAD = 1 << 20  # bytes from which column types are inferred; the first line must end within them
TEXT_BYTES = 1 << 22  # of text parsed at a time; no line may be longer
BOM = b"\xef\xbb\xbf"  # written by some programs at the start of UTF-8 files

_NOT_TEXT = {  # first bytes of files that are not text
    b"PK\x03\x04": "a zip file",
    b"PAR1\x15": "a Parquet file",
    b"ARROW1\0": "an Arrow file",
    b"\x93NUMPY": "a .npy file",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8",
}


def _opener(module: str) -> Callable[[Any], Any]:
    """The function `open` of a module, imported when needed: not every build of Python has all of them."""
    return lambda file: import_module(module).open(file)


def _zstandard(file: BinaryIO) -> Any:
    pa: Any = require("pyarrow", "reading .zst files")
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


COMPRESSIONS: dict[bytes, Callable[[Any], Any]] = {  # the first bytes of compressed files, and what opens them
    b"\x1f\x8b\x08": _opener("gzip"),
    **{b"BZh%d1AY&SY" % level: _opener("bz2") for level in range(1, 10)},
    b"\xfd7zXZ\0": _opener("lzma"),
    b"\x28\xb5\x2f\xfd": _zstandard,
}


def decompressed(file: BinaryIO) -> BinaryIO:
    """The decompressed bytes of a file from where it is; the file itself if it is plain and can go back."""
    first = b""
    # Byte by byte, as long as it may be compressed: a pipe is never asked for more than is needed to tell.
    while any(len(first) < len(mark) and mark.startswith(first) for mark in COMPRESSIONS) and (byte := file.read(1)):
        first += byte
    open_it = COMPRESSIONS.get(first)
    if open_it is None and isinstance(file, io.BufferedIOBase) and file.seekable():  # some remote files only claim it
        file.seek(-len(first), io.SEEK_CUR)
        return file
    whole = io.BufferedReader(_Joined(io.BytesIO(first), file), TEXT_BYTES >> 4)
    return whole if open_it is None else open_it(whole)


class ByteSource:
    """A file whose first bytes can be inspected."""

    rereadable = True

    def __init__(self, path: Any):  # a Path or a Remote
        self.name = str(path)
        self._path = path

    @property
    def head(self) -> bytes:
        """The first bytes; not cached, as a folder may have thousands of files."""
        with self.open() as file:
            return file.read(HEAD)

    @property
    def text_head(self) -> bytes:
        """The first lines of a text; the last one is left out if it may be incomplete."""
        head = self.head
        for first, what in _NOT_TEXT.items():
            if head.startswith(first):
                raise DataError(f"{self.name}: this is {what}.")
        with naming(self.name):
            refuse_nul(head)
        if len(head) < HEAD:
            return head
        lines, end, _ = head.rpartition(b"\n" if b"\n" in head else b"\r")
        if not end:
            raise DataError(f"{self.name}: the first line is longer than 1 MiB.")
        return lines + end

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with naming(self.name), self._path.open("rb") as file:
            yield decompressed(file)


class Stdin(ByteSource):
    """Standard input, which can be read once; bytes that were inspected are yielded again."""

    rereadable = False

    def __init__(self) -> None:
        self.name = "standard input"

    @cached_property
    def _file(self) -> BinaryIO:
        return decompressed(sys.stdin.buffer)

    @cached_property
    def head(self) -> bytes:
        with naming(self.name):
            return self._file.read(HEAD)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with naming(self.name):
            yield io.BufferedReader(_Joined(io.BytesIO(self.head), self._file))


class _Joined(io.RawIOBase):
    """Files one after the other; closing it leaves them open, because standard input must stay open."""

    def __init__(self, *files: Any):
        self._files = files

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return next((n for file in self._files if (n := file.readinto(buffer))), 0)


def line_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, some MiB at a time."""
    rest = b""
    while data := file.read(TEXT_BYTES):
        refuse_nul(data)
        lines, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield lines
        if len(rest) > TEXT_BYTES:
            raise ValueError("a line is longer than 4 MiB.")
    if rest:
        yield rest


def refuse_nul(data: bytes) -> None:
    if b"\0" in data:
        raise ValueError("it contains NUL bytes, so it is not UTF-8 text.")


def nonblank(block: bytes) -> list[bytes]:
    """Lines of a block that are not blank."""
    return [line for line in block.splitlines() if line.strip()]
