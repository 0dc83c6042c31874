"""Some consecutive rows of another reader."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from modicum.streams.readers.base import BadRows, Block, Reader


class Part(Reader):
    """The rows of a reader from `first` up to `end`, numbered from 0. What is before and after them is not read."""

    def __init__(self, reader: Reader, first: int, end: int):
        vars(self).update({name: getattr(reader, name) for name in vars(reader) if not name.startswith("_")})
        self._reader, self._first, self._n = reader, first, end - first
        self.n_rows = self._n

    @property
    def notes(self) -> list[str]:
        return self._reader.notes

    @property
    def bad_rows(self) -> BadRows:
        return self._reader.bad_rows

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        if start == self._n:
            return iter(())
        size = -(-self._n // -(-self._n // size))  # blocks of one size: the last one hardly reaches beyond the end
        return self._reader.blocks_until(self._first + start, self._first + self._n, size)

    def take(self, rows: np.ndarray) -> Any:
        return self._reader.take(rows[rows < self._n] + self._first)
