"""Rows of another reader, each block changed by a function."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from modicum.streams.readers.base import Block, Reader


class Mapped(Reader):
    """The rows of a reader as a function makes them, with these names of columns."""

    def __init__(self, reader: Reader, change: Callable[[Any], Any], columns: list[str] | None):
        vars(self).update({name: getattr(reader, name) for name in vars(reader) if not name.startswith("_")})
        self._reader, self._change = reader, change
        self.columns, self.width = columns, None if columns is None else len(columns)
        self.left_out = {}

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        for X, y, weight in self._reader.blocks(start, size):
            yield self._change(X), y, weight

    def take(self, rows: np.ndarray) -> Any:
        return self._reader.take(rows)


class WithoutTargets(Mapped):
    """The rows of a reader, without the targets that come with them."""

    def __init__(self, reader: Reader):
        super().__init__(reader, lambda X: X, reader.columns)
        self.width, self.left_out = reader.width, reader.left_out

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        for X, _, weight in self._reader.blocks(start, size):
            yield X, None, weight
