"""Sources of bytes for text formats: files, plain, compressed or growing, and standard input.

The first bytes tell how a file is compressed, whatever its name is.
"""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from modicum._optional import require
from modicum.exceptions import DataError
from modicum.streams.readers.base import naming
from modicum.streams.readers.live import GrowingFile, Pipe, Wait, is_live

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


def first_bytes(file: Any) -> bytes:
    """The first bytes of a file: a key of COMPRESSIONS if it is compressed.

    Byte by byte, as long as it may be compressed: a pipe is never asked for more than is needed to tell.
    """
    first = b""
    while any(len(first) < len(mark) and mark.startswith(first) for mark in COMPRESSIONS) and (byte := file.read(1)):
        first += byte
    return first


def decompressed(file: BinaryIO) -> BinaryIO:
    """The decompressed bytes of a file from where it is; the file itself if it is plain and can go back."""
    first = first_bytes(file)
    if first in COMPRESSIONS:
        return _decompress(first, file)
    if isinstance(file, io.BufferedIOBase) and file.seekable():  # some remote files only claim it
        file.seek(-len(first), io.SEEK_CUR)
        return file
    return _with_first(first, file)


def _with_first(first: bytes, file: Any) -> io.BufferedReader:
    """A file from which the first bytes were read already, whole again."""
    return io.BufferedReader(_Joined(io.BytesIO(first), file), TEXT_BYTES >> 4)


def _decompress(first: bytes, file: Any) -> BinaryIO:
    return COMPRESSIONS[first](_with_first(first, file))


class ByteSource:
    """A file whose first bytes can be inspected."""

    rereadable = True
    wait: Wait | None = None  # of a source that is read as its rows come
    complete = True  # whether its end is the end of a row

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
        check_text(head, self.name)
        if self._is_all(head):
            return head
        lines, end, _ = head.rpartition(b"\n" if b"\n" in head else b"\r")
        if not end:
            raise DataError(f"{self.name}: the first line is longer than 1 MiB.")
        return lines + end

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with naming(self.name), self._path.open("rb") as file:
            yield decompressed(file)

    def open_live(self) -> AbstractContextManager[BinaryIO]:
        """The file, which at its end waits for more if it is one that grows; `read1` returns what is there."""
        return self.open()

    def lines(self, *, live: bool) -> Iterator[bytes]:
        """Blocks of whole lines, some MiB each or as they come; with `live`, those still to come are waited for."""
        with self.open_live() if live else self.open() as file:
            yield from line_blocks(file, live=self.wait is not None, complete=self.complete)

    def _is_all(self, head: bytes) -> bool:
        """Whether the first bytes are all that will come."""
        return len(head) < HEAD


class Growing(ByteSource):
    """A plain file to which lines are appended; `open_live` waits for them.

    `is_enough` tells whether the first bytes hold a row and what comes before it.
    """

    wait: Wait
    complete = False

    def __init__(self, path: Path, is_enough: Callable[[bytes], bool]):
        super().__init__(path)
        self.wait, self._is_enough = Wait(), is_enough

    @property
    def head(self) -> bytes:
        """The first bytes, once they hold a row."""
        while True:
            with naming(self.name):
                with open(self._path, "rb") as file:
                    head = file.read(HEAD)
                if len(head) == HEAD or self._is_enough(head):
                    return head
                self.wait.pause()

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with naming(self.name), io.BufferedReader(GrowingFile(self._path, None)) as file:
            yield file

    @contextmanager
    def open_live(self) -> Iterator[BinaryIO]:
        with naming(self.name), io.BufferedReader(GrowingFile(self._path, self.wait)) as file:
            yield file

    def _is_all(self, head: bytes) -> bool:
        return False


class Stdin(ByteSource):
    """Standard input, which can be read once; bytes that were inspected are yielded again.

    A pipe is read as its rows come, unless it is compressed; a file that was redirected is read as other files are.
    """

    rereadable = False

    def __init__(self) -> None:
        self.name = "standard input"
        self._ended, self._first = False, b""
        with naming(self.name):
            self._file = self._pipe() if is_live(sys.stdin.buffer) else decompressed(sys.stdin.buffer)

    def _pipe(self) -> Any:
        """The pipe after its first bytes, or what it holds decompressed."""
        wait = Wait()
        pipe = Pipe(sys.stdin.buffer.fileno(), wait)
        self._first = first_bytes(pipe)
        if self._first in COMPRESSIONS:
            return _decompress(self._first, pipe)
        self.wait = wait
        return pipe

    @cached_property
    def head(self) -> bytes:
        with naming(self.name):
            if isinstance(self._file, Pipe):
                head, self._ended = self._file.first(HEAD, self._first)
                return head
            return self._file.read(HEAD)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with naming(self.name):
            yield io.BufferedReader(_Joined(io.BytesIO(self.head), self._file))

    def _is_all(self, head: bytes) -> bool:
        return self._ended or (self.wait is None and len(head) < HEAD)


class _Joined(io.RawIOBase):
    """Files one after the other; closing it leaves them open, because standard input must stay open."""

    def __init__(self, *files: Any):
        self._files = files

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return next((n for file in self._files if (n := file.readinto(buffer))), 0)


def line_blocks(file: BinaryIO, *, live: bool = False, complete: bool = True) -> Iterator[bytes]:
    """Whole lines, some MiB at a time or as they come. Unless `complete`, a last line without end is left out."""
    rest = b""
    read: Callable[[int], bytes] = file.read1 if live else file.read  # type: ignore[attr-defined]
    while data := read(TEXT_BYTES):
        refuse_nul(data)
        lines, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield lines
        if len(rest) > TEXT_BYTES:
            raise ValueError("a line is longer than 4 MiB.")
    if rest and complete:
        yield rest


def check_text(data: bytes, name: str) -> None:
    """Raise a DataError if the first bytes of a file are not those of a text."""
    for first, what in _NOT_TEXT.items():
        if data.startswith(first):
            raise DataError(f"{name}: this is {what}.")
    with naming(name):
        refuse_nul(data)


def refuse_nul(data: bytes) -> None:
    if b"\0" in data:
        raise ValueError("it contains NUL bytes, so it is not UTF-8 text.")


def nonblank(block: bytes) -> list[bytes]:
    """Lines of a block that are not blank."""
    return [line for line in block.splitlines() if line.strip()]
