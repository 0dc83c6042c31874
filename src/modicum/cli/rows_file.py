"""Rows in a file that an option names, such as exemplars to start from."""

from pathlib import Path
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.cli.sources import is_table
from modicum.exceptions import DataError
from modicum.pipeline import TableEncoder
from modicum.pipeline.kinds import IGNORED
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
        try:
            return encoder.transform(self._rows_for(encoder))
        except DataError as error:
            told = str(error).removeprefix(f"{type(encoder).__name__}: ").removeprefix(f"{self.path}: ")
            raise DataError(f"{self.path}: {told}") from None

    def _rows_for(self, encoder: TableEncoder) -> Any:
        """The rows as a preparation takes them."""
        if encoder._kind == "dense":
            return self.read()
        if not is_table(self.path):
            return self._named(encoder)
        known = stream(self.path, raw=True).table_columns or ()
        texts = [name for name, kind, _ in encoder.decisions_ if kind in ("category", "text", "image")]
        rows = [chunk.X for chunk in stream(self.path, raw=True, as_text=[name for name in texts if name in known])]
        if not rows:
            raise DataError("there are no rows in it.")
        return join(rows)

    def _named(self, encoder: TableEncoder) -> Any:
        """An array as a table of the columns that are learned from, which must be numbers."""
        X = self.read()
        used = {name: kind for name, kind, _ in encoder.decisions_ if kind != IGNORED}
        if X.shape[1] != len(used) or set(used.values()) != {"number"}:
            wanted = ", ".join(f"{name} ({kind})" for name, kind in used.items())
            raise DataError(
                f"an array of {X.shape[1]} columns can't stand for {wanted}. Give a table with these columns."
            )
        return require("pyarrow", "tables").table({name: X[:, j] for j, name in enumerate(used)})

    def __repr__(self) -> str:
        return self.path
