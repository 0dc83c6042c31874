"""JSON files that are not JSON lines, presented as JSON lines.

An array of objects is the whole file, [{...}, {...}], or the only value of an object, {"rows": [{...}, {...}]}. It is
cut at the commas between its elements, a few MiB at a time, and never held whole. A small file may also be one object.
"""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import naming
from modicum.streams.readers.bytes_in import BOM, HEAD, TEXT_BYTES, ByteSource, refuse_nul
from modicum.streams.readers.dialect import DETECT, TextOptions
from modicum.streams.readers.json_lines import JsonLines

_ARRAY = re.compile(rb"\s*\[")
_ARRAY_OF_OBJECTS = re.compile(rb"\s*\[(?=\s*[{\]])")
_OBJECT_WITH_ARRAY = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[(?=\s*[{\]])')
_OBJECT_OVER_LINES = re.compile(rb"\s*\{\s*[\r\n]")
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # outside strings, where JSON allows line ends, they are blanks
_WAY_OUT = (
    "Expected an array of objects, an object whose only value is such an array, or one object per line, "
    "as written by: jq -c '.KEY[]' FILE > FILE.jsonl"
)


def json_file(source: ByteSource, options: TextOptions = DETECT) -> JsonLines:
    """The reader of a JSON file: an array of objects, an object that holds one, one object, or one per line."""
    head = source.head.removeprefix(BOM)
    if _ARRAY.match(head):
        return JsonLines(ArrayLines(source, _ARRAY), options)
    first, _, more = head.lstrip().partition(b"\n")
    is_line = _is_object(first)
    if _OBJECT_WITH_ARRAY.match(head) and not (is_line and (more.strip() or len(json.loads(first)) > 1)):
        return JsonLines(ArrayLines(source, _OBJECT_WITH_ARRAY), options)
    if not is_line and _OBJECT_OVER_LINES.match(head):
        if _is_object(head):
            return JsonLines(OneLine(source), options)
        raise DataError(f"{source.name}: an object over several lines. {_WAY_OUT}")
    return JsonLines(source, options)


def looks_like_json(head: bytes) -> bool:
    """Whether the first bytes of a text are those of a JSON object or an array of objects."""
    text = head.removeprefix(BOM).lstrip()
    return text.startswith(b"{") or _ARRAY_OF_OBJECTS.match(text) is not None


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


class OneLine(ByteSource):
    """A small file as a single line."""

    def __init__(self, source: ByteSource):
        self.name, self.rereadable = source.name, source.rereadable
        self._source = source

    @property
    def text_head(self) -> bytes:
        return self._source.head.translate(_ONE_LINE)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with self._source.open() as file:
            yield io.BytesIO(file.read(2 * HEAD).translate(_ONE_LINE))


class ArrayLines(ByteSource):
    """The elements of an array as lines; `opening` matches all up to its first bracket."""

    def __init__(self, source: ByteSource, opening: re.Pattern[bytes]):
        self.name, self.rereadable = source.name, source.rereadable
        self._source, self._opening = source, opening

    @property
    def text_head(self) -> bytes:
        """The elements that end within the first MiB."""
        head = self._source.head
        pieces = []
        with naming(self.name):
            refuse_nul(head)
            try:
                for piece in _lines(io.BytesIO(head), self._opening):
                    pieces.append(piece)
            except _CutOffError:
                if not pieces and len(head) >= HEAD:
                    raise ValueError("the first element of its JSON array is longer than 1 MiB.") from None
                if not pieces:
                    raise
        return b"".join(pieces)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with self._source.open() as file:
            yield io.BufferedReader(_Pieces(_lines(file, self._opening)))


class _CutOffError(ValueError):
    """The end of the file comes before the end of the array."""


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


def _lines(file: BinaryIO, opening: re.Pattern[bytes]) -> Iterator[bytes]:
    """The elements of an array, each on a line, some MiB at a time."""
    text = file.read(TEXT_BYTES).removeprefix(BOM)
    if not (start := opening.match(text)):
        raise ValueError(f"its beginning has changed. {_WAY_OUT}")
    text = text[start.end() :]
    n_rows = 0
    while True:
        refuse_nul(text)
        commas, end = _borders(text)
        n_rows += len(commas)
        if end is not None or len(commas):
            yield _on_lines(text[: commas[-1] + 1 if end is None else end], commas)
        if end is not None:
            break
        text = text[commas[-1] + 1 :] if len(commas) else text
        if len(text) > TEXT_BYTES:
            raise ValueError(f"data row {n_rows + 1:,}: an element of its JSON array is longer than 4 MiB.")
        if not (data := file.read(TEXT_BYTES)):
            raise _CutOffError(f"data row {n_rows + 1:,}: the file ends within its JSON array. Is it complete?")
        text += data
    closing = b"]" if opening is _ARRAY else b"]}"
    after = (text[end:] + file.read(HEAD)).translate(None, b" \t\r\n")
    if after == b"]" and closing != after:
        raise _CutOffError("the file ends before its JSON object does. Is it complete?")
    if after != closing:
        raise ValueError(f"more follows the JSON array: {after[1:40].decode(errors='replace')!r}. {_WAY_OUT}")


_STEP = np.zeros(256, np.int64)  # what a byte adds to the depth of nested brackets
_STEP[[*b"[{"]], _STEP[[*b"]}"]] = 1, -1
_IS_MARK = np.isin(np.arange(256), [*b"[]{},"])


def _borders(text: bytes) -> tuple[np.ndarray, int | None]:
    """Positions of the commas between elements of an array, and of what closes it; `text` starts in the array."""
    marks = np.frombuffer(text, np.uint8)
    quotes = marks == ord('"')
    if b"\\" in text:
        quotes[_escaped(marks)] = False
    inside = np.bitwise_xor.accumulate(quotes.view(np.uint8)).view(bool)  # a string
    at = np.flatnonzero(_IS_MARK[marks] & ~inside)
    found = marks[at]
    depth = np.cumsum(_STEP[found])
    closed = np.flatnonzero(depth < 0)
    end = int(at[closed[0]]) if len(closed) else None
    commas = at[(found == ord(",")) & (depth == 0)]
    return (commas if end is None else commas[commas < end]), end


def _escaped(marks: np.ndarray) -> np.ndarray:
    """Positions of bytes after an odd number of backslashes."""
    slashes = np.flatnonzero(marks == ord("\\"))
    first = np.flatnonzero(np.diff(slashes, prepend=-2) > 1)  # of each run of backslashes
    lengths = np.diff(first, append=len(slashes))
    after = (slashes[first] + lengths)[lengths % 2 == 1]
    return after[after < len(marks)]


def _on_lines(text: bytes, commas: np.ndarray) -> bytes:
    """The text with a line end in place of these commas, and no other except at its end."""
    line = bytearray(text.translate(_ONE_LINE))
    np.frombuffer(line, np.uint8)[commas] = ord("\n")
    return bytes(line) if line.endswith(b"\n") else bytes(line) + b"\n"
