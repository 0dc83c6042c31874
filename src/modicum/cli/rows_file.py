"""Rows in a file that an option names, such as exemplars to start from."""

from pathlib import Path
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.pipeline import TableEncoder
from modicum.streams import stream
from modicum.streams.readers.base import join


class RowsFile:
    """The rows of a file, as numbers or prepared as those of a source."""

    def __init__(self, path: str | Path):
        self.path = str(path)

    def __len__(self) -> int:  # parameters that are rows have a length
        return sum(len(chunk) for chunk in stream(self.path, raw=True))

    def read(self) -> np.ndarray:
        """The numbers in the file."""
        return np.concatenate([chunk.X for chunk in stream(self.path)])

    def encoded(self, encoder: TableEncoder) -> Any:
        """The rows, prepared."""
        texts = [name for name, kind, _ in encoder.decisions_ if kind in ("category", "text", "image")]
        try:
            known = set(stream(self.path, raw=True).table_columns or ())
            rows = [chunk.X for chunk in stream(self.path, raw=True, as_text=[name for name in texts if name in known])]
            if not rows:
                raise DataError("there are no rows in it.")
            return encoder.transform(join(rows))
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from None

    def __repr__(self) -> str:
        return self.path
