"""Text files of which each is one document."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import BadRows
from modicum.streams.readers.bytes_in import BOM, ByteSource, check_text
from modicum.streams.readers.images import as_text
from modicum.streams.readers.lines import COLUMN, IS_TEXT
from modicum.streams.readers.tables import TableFile

BYTES_AT_ONCE = 8 << 20  # of documents that are read together
LONGEST = 64 << 20  # bytes of a document
SAMPLED = 100  # files whose sizes give that of a row


class Documents(TableFile):
    """Text files as a table with the columns `path` and `text`, a row for each file.

    Files that are not UTF-8 are read as Windows-1252, in which most old texts in European languages are written.
    """

    label = "text files"

    def __init__(self, files: Sequence[Any], name: str, *, skip_bad_rows: bool = False):
        super().__init__(name)
        import pyarrow as pa

        self.n_rows = len(files)
        self.schema = pa.schema([("path", pa.string()), pa.field(COLUMN, pa.string(), metadata=IS_TEXT)])
        self.bad = BadRows(name)
        self.row_bytes = float(np.mean([_size(file) for file in files[:: -(-len(files) // SAMPLED)]]))
        self._files, self._skip = files, skip_bad_rows
        self._others: set[int] = set()  # rows that are not UTF-8

    @property
    def notes(self) -> list[str]:
        if not self._others:
            return []
        count, first = len(self._others), self._files[min(self._others)]
        return [f"{count:,} of {self.n_rows:,} files of {self.name} are not UTF-8, and read as Windows-1252: {first}"]

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        self.bad = BadRows(self.name)
        return (batch.select(fields.names) for batch in self._batches(range(start, len(self._files)), size))

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        there = rows[rows < len(self._files)].tolist()
        return list(self._batches(there, max(len(there), 1))), len(self._files)

    def _batches(self, rows: Iterable[int], size: int) -> Iterator[Any]:
        """Files in batches of at most `size` rows, and not many bytes."""
        import pyarrow as pa

        paths: list[str] = []
        texts: list[str | None] = []
        room = BYTES_AT_ONCE
        for row in rows:
            paths.append(as_text(self._files[row]))
            texts.append(self._text(row))
            room -= len(texts[-1] or "")
            if len(texts) >= size or room < 0:
                yield pa.record_batch([paths, texts], schema=self.schema)
                paths, texts, room = [], [], BYTES_AT_ONCE
        if texts:
            yield pa.record_batch([paths, texts], schema=self.schema)

    def _text(self, row: int) -> str | None:
        """The text of a file; None for one that is no text, if such are to be left out."""
        try:
            data = _content(self._files[row])
        except DataError as error:
            if not self._skip:
                raise DataError(f"{error} Leave such files out with skip_bad_rows=.") from None
            assert self.bad is not None
            self.bad.add(row, str(error))
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._others.add(row)
            return data.decode("cp1252", errors="replace")


def _content(file: Any) -> bytes:
    """The bytes of a file of text."""
    source = ByteSource(file)
    with source.open() as opened:
        data = opened.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise DataError(f"{file}: longer than 64 MiB, which is much for one document. Read it line by line instead.")
    check_text(data, source.name)
    return data.removeprefix(BOM)


def _size(file: Any) -> int:
    return file.stat().st_size if hasattr(file, "stat") else file.size
