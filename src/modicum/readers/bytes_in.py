"""Where the bytes of text formats come from: files, plain or gzipped, and standard input."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from modicum.exceptions import DataError

HEAD = 1 << 20  # bytes from which column types are inferred
BLOCK = 1 << 22  # bytes of lines parsed at a time


class ByteSource:
    """A file whose first bytes can be looked at."""

    rereadable = True

    def __init__(self, path: Path):
        self.name = str(path)

    @property
    def head(self) -> bytes:
        """Not kept: a folder may have thousands of files."""
        with self.open() as file:
            return file.read(HEAD)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        try:
            with gzip.open(self.name) if self.name.lower().endswith(".gz") else open(self.name, "rb") as file:
                yield file  # type: ignore[misc]
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.name}: {error}") from None


class Stdin(ByteSource):
    """Standard input: what was looked at comes again when it is read, once."""

    rereadable = False

    def __init__(self) -> None:
        self.name = "standard input"

    @cached_property
    def head(self) -> bytes:
        return sys.stdin.buffer.read(HEAD)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        yield io.BufferedReader(_Joined(io.BytesIO(self.head), sys.stdin.buffer))


class _Joined(io.RawIOBase):
    """Files one after the other; closing it leaves them open, as standard input isn't ours to close."""

    def __init__(self, *files: Any):
        self._files = files

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return next((n for file in self._files if (n := file.readinto(buffer))), 0)


def line_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, some MiB at a time."""
    rest = b""
    while data := file.read(BLOCK):
        lines, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield lines
    if rest:
        yield rest


def nonblank(block: bytes) -> list[bytes]:
    return [line for line in block.splitlines() if line.strip()]
