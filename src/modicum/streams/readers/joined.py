"""Rows of another reader, of which consecutive ones with the same value in a column become one."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import Block, Reader, join, pick, pick_from
from modicum.streams.readers.columns import position

LONGEST = 64 << 20  # bytes of the rows of a document


class Joined(Reader):
    """Documents: rows of a raw table with the same value in a column, as long as no other comes between.

    Texts that differ within a document are joined by line breaks. Of other columns, of the target and of the weight,
    the first value stays.
    """

    def __init__(self, reader: Reader, column: str):
        if not reader.is_raw:
            raise DataError(f"{reader.name}: only rows of tables can be joined to documents.")
        names = list(reader.table_columns or ())
        position(column, reader.name, len(names), names)
        vars(self).update({name: getattr(reader, name) for name in vars(reader) if not name.startswith("_")})
        self.n_rows = None  # how many documents there are is known at the end
        self._reader, self._column = reader, column

    @property
    def notes(self) -> list[str]:
        return self._reader.notes

    @property
    def bad_rows(self) -> Any:
        return self._reader.bad_rows

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        open_: list[Block] = []  # blocks of the document that may go on
        for block in self._reader.blocks(0, size):
            starts = self._starts([*open_, block])
            open_.append(block)
            if len(starts) > 1:
                rows = tuple(map(join, zip(*open_, strict=True)))
                yield self._documents(rows, starts)
                open_ = [tuple(pick(part, slice(int(starts[-1]), None)) for part in rows)]
            if sum(X.nbytes for X, _, _ in open_) > LONGEST:
                name = open_[0][0].column(self._column)[0].as_py()
                raise DataError(f"{self.name}: document {name!r} of column {self._column!r} is longer than 64 MiB.")
        if open_:
            rows = tuple(map(join, zip(*open_, strict=True)))
            yield self._documents(rows, np.append(self._starts([rows]), len(rows[0])))

    def take(self, rows: np.ndarray) -> Any:
        found, _ = pick_from((X for X, _, _ in self.blocks(0, 1024)), rows)
        return join(found) if found else pick(self._reader.take(np.arange(1)), slice(0, 0))

    def _starts(self, blocks: Sequence[Block]) -> np.ndarray:
        """The first row of each document in consecutive blocks."""
        values = [value for X, _, _ in blocks for value in X.column(self._column).to_pylist()]
        return np.array([i for i, value in enumerate(values) if i == 0 or value != values[i - 1]], np.int64)

    def _documents(self, rows: Any, starts: np.ndarray) -> Block:
        """The documents between these rows, the last of which is the end."""
        X, y, weight = (pick(part, slice(0, int(starts[-1]))) for part in rows)
        first = pick(X, starts[:-1])
        for j, field in enumerate(X.schema):
            if field.type in _text_types():
                texts = X.column(j).to_pylist()
                cells = [_joined(texts[a:b]) for a, b in pairwise(starts.tolist())]
                first = first.set_column(j, field, [cells])
        return first, pick(y, starts[:-1]), pick(weight, starts[:-1])


def _joined(texts: list[str | None]) -> str | None:
    """Texts of one document; the same text all the time is not repeated."""
    return texts[0] if len(set(texts)) == 1 else "\n".join(filter(None, texts))


def _text_types() -> tuple[Any, ...]:
    import pyarrow as pa

    return pa.string(), pa.large_string()
