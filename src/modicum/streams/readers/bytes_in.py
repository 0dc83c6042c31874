"""Sources of bytes for text formats: files, plain or gzipped or growing, and standard input."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from modicum.exceptions import DataError
from modicum.streams.readers.base import naming
from modicum.streams.readers.live import GrowingFile, Pipe, Wait, is_enough, is_live

HEAD = 1 << 20  # bytes from which column types are inferred; the first line must end within them
TEXT_BYTES = 1 << 22  # of text parsed at a time; no line may be longer
BOM = b"\xef\xbb\xbf"  # written by some programs at the start of UTF-8 files

_NOT_TEXT = {  # first bytes of files that are not text
    b"PK\x03\x04": "a zip file",
    b"\x1f\x8b": "a gzip file, whose name must end in .gz",
    b"PAR1\x15": "a Parquet file",
    b"ARROW1\0": "an Arrow file",
    b"\x93NUMPY": "a .npy file",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8",
}


class ByteSource:
    """A file whose first bytes can be inspected."""

    rereadable = True
    wait: Wait | None = None  # of a source that is read as its rows come
    complete = True  # whether its end is the end of a row

    def __init__(self, path: Path):
        self.name = str(path)

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
        if self._is_all(head):
            return head
        lines, end, _ = head.rpartition(b"\n" if b"\n" in head else b"\r")
        if not end:
            raise DataError(f"{self.name}: the first line is longer than 1 MiB.")
        return lines + end

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        open_file: Any = gzip.open if self.name.lower().endswith(".gz") else open
        with naming(self.name), open_file(self.name, "rb") as file:
            yield file

    def open_live(self) -> AbstractContextManager[BinaryIO]:
        """The file, which at its end waits for more if it is one that grows; `read1` returns what is there."""
        return self.open()

    def lines(self) -> Iterator[bytes]:
        """Blocks of whole lines, some MiB each or as they come."""
        with self.open_live() as file:
            yield from line_blocks(file, live=self.wait is not None, complete=self.complete)

    def _is_all(self, head: bytes) -> bool:
        """Whether the first bytes are all that will come."""
        return len(head) < HEAD


class Growing(ByteSource):
    """A plain file to which lines are appended; `open_live` waits for them."""

    wait: Wait
    complete = False

    def __init__(self, path: Path):
        super().__init__(path)
        self._path, self.wait = path, Wait()

    @property
    def head(self) -> bytes:
        """The first bytes, once they hold a row."""
        while True:
            with naming(self.name):
                with open(self._path, "rb") as file:
                    head = file.read(HEAD)
                if len(head) == HEAD or is_enough(head):
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

    A pipe is read as its rows come; a file that was redirected is read as other files are.
    """

    rereadable = False

    def __init__(self) -> None:
        self.name = "standard input"
        self._file: Any = sys.stdin.buffer
        self._ended = False
        if is_live(self._file):
            self.wait = Wait()
            self._file = Pipe(self._file.fileno(), self.wait)

    @cached_property
    def head(self) -> bytes:
        if isinstance(self._file, Pipe):
            head, self._ended = self._file.first(HEAD)
            return head
        return self._file.read(HEAD)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
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


def refuse_nul(data: bytes) -> None:
    if b"\0" in data:
        raise ValueError("it contains NUL bytes, so it is not UTF-8 text.")


def nonblank(block: bytes) -> list[bytes]:
    """Lines of a block that are not blank."""
    return [line for line in block.splitlines() if line.strip()]
