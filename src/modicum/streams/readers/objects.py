"""Lists of any Python objects: strings, tuples, graphs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from modicum.streams.readers.base import Block, Reader
from modicum.streams.readers.columns import Wanted

OBJECT_BYTES = 8 * 1024  # a nominal size that gives chunks of 1,024: work on Python objects is slow


class Objects(Reader):
    """Slices of a list of objects."""

    name = "a list of objects"

    def __init__(self, objects: list[Any], wanted: Wanted):
        wanted.refuse(self.name, "objects have no columns. Give target and weight as arrays.")
        self._objects = objects
        self.n_rows = len(objects)
        self.row_bytes = OBJECT_BYTES

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        for row in range(start, len(self._objects), size):
            yield self._objects[row : row + size], None, None

    def take(self, rows: np.ndarray) -> list[Any]:
        return [self._objects[row] for row in rows]
