"""Folders of images: their paths as a table. The images themselves are opened by whoever encodes the column."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import pick
from modicum.streams.readers.tables import TableFile

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
IS_IMAGE = {b"modicum": b"image"}  # metadata of a field that holds paths of images


class Images(TableFile):
    """Paths of images as a table with one column, `path`, marked as a column of images."""

    label = "folders of images"
    background = False  # the list of paths is in memory already

    def __init__(self, paths: Sequence[Any], name: str):
        super().__init__(name)
        import pyarrow as pa

        self.n_rows = len(paths)
        self.schema = pa.schema([pa.field("path", pa.string(), metadata=IS_IMAGE)])
        self._batch = pa.record_batch([pa.array(map(as_text, paths), pa.string())], schema=self.schema)

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        for row in range(start, len(self._batch), size):
            yield self._batch.slice(row, size).select(fields.names)

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        return [pick(self._batch, rows[rows < len(self._batch)])], len(self._batch)


def as_text(path: Any) -> str:
    """A path as a text that Arrow takes."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{text!r}: the name of this file is not UTF-8 text. Rename it.") from None
    return text
