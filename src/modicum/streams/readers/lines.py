"""Plain text: one text per line."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import bad_row, naming, pick_from
from modicum.streams.readers.bytes_in import BOM, ByteSource, nonblank
from modicum.streams.readers.tables import TableFile

COLUMN = "text"
IS_TEXT = {b"modicum": b"text"}  # metadata of the column


class Lines(TableFile):
    """A text file as a table with one column, `text`; blank lines are no rows."""

    label = "text"

    def __init__(self, source: ByteSource):
        super().__init__(source.name)
        self.rereadable, self.wait = source.rereadable, source.wait
        self.background = source.rereadable and source.wait is None
        self._source = source

    @cached_property
    def schema(self) -> Any:
        import pyarrow as pa

        if not self._source.text_head.removeprefix(BOM).strip():
            raise DataError(f"{self.name}: the file is empty.")
        return pa.schema([pa.field(COLUMN, pa.string(), metadata=IS_TEXT)])

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        return (batch.select(fields.names) for batch in self._batches(live=True))

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        return pick_from(self._batches(live=False), rows)

    def _batches(self, *, live: bool) -> Iterator[Any]:
        import pyarrow as pa

        row = 0
        with naming(self.name):
            for i, block in enumerate(self._source.lines(live=live)):
                lines = nonblank(block if i else block.removeprefix(BOM))
                yield pa.record_batch([self._texts(lines, row)], [COLUMN])
                row += len(lines)

    def _texts(self, lines: list[bytes], row: int) -> Any:
        """Lines that start at `row` of the file as an array of strings."""
        import pyarrow as pa

        texts = pa.array(lines, pa.binary())
        try:
            return texts.cast(pa.string())
        except pa.ArrowInvalid:
            for i, line in enumerate(lines, row):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    raise bad_row(self.name, i, f"expected UTF-8 text; got {line[:60]!r}.") from None
            raise
