"""Sources whose rows are still to come: pipes, and files and folders that grow.

Rows are read as they come, in the thread of the caller: a signal interrupts the wait, and nothing is left waiting when
the reading ends.
"""

import io
import os
import re
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from modicum.exceptions import DataError

POLL = 0.5  # seconds between two looks at a file or folder that grows, and between two calls of `Wait.idle`
SILENCE = 0.005  # seconds after which a writer is taken to have paused
PATIENCE = 0.05  # seconds for which what a fast writer sends is gathered
HEAD_LINES, HEAD_SILENCE, HEAD_SECONDS = 100, 0.2, 1.0  # enough to infer types from: lines and then silence, or a time
ARROW = b"\xff\xff\xff\xff"  # an Arrow stream starts with this, and the size of its schema


class Stopped(BaseException):
    """`Wait.stop` was called: no more rows are wanted."""


class Wait:
    """The wait for input. `stop` ends it; `idle`, if set, is called now and then meanwhile, never during a chunk."""

    def __init__(self) -> None:
        self.idle: Callable[[], object] | None = None
        self.poked = threading.Event()  # ends a pause early
        self._waiting = self._stopped = False

    def stop(self) -> None:
        """End this wait, or else the next one, by a `Stopped`. To be called in the thread that reads, by a signal."""
        self._stopped = True
        if self._waiting:
            raise Stopped

    def pause(self) -> None:
        """Wait until it is time to look again."""
        self._interruptible(lambda: self.poked.wait(POLL))

    def until_readable(self, descriptor: int) -> None:
        """Wait until a descriptor has bytes or has ended."""
        while not self._interruptible(lambda: is_readable(descriptor, None if self.idle is None else POLL)):
            pass

    def _interruptible(self, wait: Callable[[], bool]) -> bool:
        self._waiting = True
        try:
            if self._stopped:
                raise Stopped
            done = wait()
        finally:
            self._waiting = False
        if not done and self.idle is not None:
            self.idle()
        return done


def is_readable(descriptor: int, seconds: float | None) -> bool:
    """Whether a descriptor has bytes or has ended, at the latest after so many seconds; None waits for it."""
    return bool(select.select([descriptor], [], [], seconds)[0])


class Pipe(io.RawIOBase):
    """A pipe; a read returns what has come, and waits only while there is nothing."""

    def __init__(self, descriptor: int, wait: Wait):
        self._descriptor, self._wait = descriptor, wait

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what is there; what a fast writer is just sending is waited for, but not for long."""
        view, n = memoryview(buffer).cast("B"), 0
        self._wait.until_readable(self._descriptor)
        end = time.monotonic() + PATIENCE
        while data := os.read(self._descriptor, len(view) - n):
            view[n : n + len(data)] = data
            n += len(data)
            if n == len(view) or time.monotonic() > end or not is_readable(self._descriptor, SILENCE):
                break
        return n

    def first(self, most: int, head: bytes = b"") -> tuple[bytes, bool]:
        """The first bytes, enough to infer column types from, and whether they are all; `head` was read already."""
        began = time.monotonic() if head else 0.0
        while len(head) < most:
            if is_enough(head):
                rest = began + HEAD_SECONDS - time.monotonic()
                quiet = min(rest, HEAD_SILENCE) if head.count(b"\n") >= HEAD_LINES else rest
                if not is_readable(self._descriptor, max(quiet, 0)):
                    break
            self._wait.until_readable(self._descriptor)
            data = os.read(self._descriptor, most - len(head))
            if not data:
                return head, True
            began = began or time.monotonic()
            head += data
        return head, False


class GrowingFile(io.FileIO):
    """A file to which lines are appended; at its end a read waits for more, or with `wait=None` ends."""

    def __init__(self, path: Path, wait: Wait | None):
        super().__init__(path)
        self._path, self._wait = path, wait

    def readinto(self, buffer: Any) -> int:
        while not (n := super().readinto(buffer)) and self._wait is not None:
            check_size(self._path, self.tell(), os.stat(self._path).st_size, grows=True)
            self._wait.pause()
        return n or 0


def check_size(path: Path | str, before: int, now: int, *, grows: bool) -> None:
    """Raise a DataError if a file is smaller than what was read of it or, unless it `grows`, larger."""
    if now < before or (now > before and not grows):
        raise DataError(f"{path}: {before:,} bytes of it were read, but now it has {now:,}: it was changed meanwhile.")


def is_live(file: Any) -> bool:
    """Whether a file is a pipe, a socket or a terminal that can be waited for: select of Windows can't."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError):  # an object in memory
        return False
    return sys.platform != "win32" and not stat.S_ISREG(mode)


_JSON_ARRAY = re.compile(rb"\[\s*([{\]]|\Z)")
_BEFORE_ROWS = re.compile(rb"\s*(#|\Z|\"?sep=.\"?[ \t,;\r]*\Z)", re.IGNORECASE)  # a comment, a blank line


def is_enough(head: bytes) -> bool:
    """Whether bytes hold a row and what comes before it: a line of names, or the schema of an Arrow stream.

    Of a JSON array only all is enough, as it has no lines that could be told apart.
    """
    if head.startswith(ARROW):
        return len(head) >= 8 + int.from_bytes(head[4:8], "little")
    text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    if _JSON_ARRAY.match(text):
        return False
    lines = text.split(b"\n")[:-1]
    if text.startswith(b"{"):
        return any(line.startswith(b"{") and line.rstrip().endswith(b"}") for line in lines)
    return sum(not _BEFORE_ROWS.match(line) for line in lines) > 1


def has_line(head: bytes) -> bool:
    """Whether bytes hold a line that is not blank."""
    return bool(head.rpartition(b"\n")[0].strip(b"\xef\xbb\xbf \r\n\t"))


_QUOTED = rb'(?:(?<=[\r\n%s])|\A)"(?:[^"]+|"")*("|\Z)'  # a quoted cell, whole or not


def whole_rows(text: bytes, delimiter: str) -> int:
    """Length of the rows of a CSV text that are complete: up to the last end of line outside quotes."""
    end = text.rfind(b"\n") + 1
    if b'"' in text:
        cells = re.finditer(_QUOTED % re.escape(delimiter.encode()), text)
        for first, last in reversed([cell.span() for cell in cells if b"\n" in cell.group()]):
            if first < end <= last:
                end = text.rfind(b"\n", 0, first) + 1
    return end


def row_blocks(file: BinaryIO, delimiter: str, size: int, complete: bool) -> Iterator[bytes]:
    """Whole rows of CSV as they come. Unless the file is `complete`, a last row without end is left out.

    `delimiter` may be several characters, any of which delimits cells.
    """
    rest = b""
    while data := file.read1(size):  # type: ignore[attr-defined]
        text = rest + data
        end = whole_rows(text, delimiter)
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > size:
            raise ValueError("a row is longer than 4 MiB. Is a quote never closed?")
    if rest and complete:
        yield rest
