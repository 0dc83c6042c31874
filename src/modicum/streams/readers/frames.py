"""Data frames and Arrow objects, through the Arrow PyCapsule interface; pandas and polars are never imported."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.arrow_files import drop_rows
from modicum.streams.readers.base import pick_from
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.tables import TableFile, Tables


class Frame(TableFile):
    """A data frame of pandas, polars, pyarrow, DuckDB, ..."""

    label = "data frames"
    background = False  # it is in memory already

    def __init__(self, frame: Any):
        super().__init__(f"a {type(frame).__name__}")
        self._frame = frame if hasattr(frame, "__arrow_c_stream__") else arrow_table(frame)
        self.rereadable = not hasattr(frame, "__next__")  # a RecordBatchReader can be read only once
        self.n_rows = len(frame) if hasattr(frame, "__len__") else None
        self.schema = self._reader().schema

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        return drop_rows((batch.select(fields.names) for batch in self._reader()), start)

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        return pick_from(self._reader(), rows)

    def _reader(self) -> Any:
        import pyarrow as pa

        if isinstance(self._frame, pa.RecordBatchReader):
            return self._frame
        try:
            return pa.RecordBatchReader.from_stream(self._frame)
        except pa.ArrowInvalid as error:  # a single column
            raise DataError(f"{self.name} is not a table with columns: {error}") from None


def frame_reader(source: Any, wanted: Wanted) -> Tables:
    frame = Frame(source)
    return Tables([frame], frame.name, wanted)


def arrow_table(frame: Any) -> Any:
    """An Arrow table of an object that does not offer PyCapsule streams."""
    import pyarrow as pa

    if hasattr(frame, "__arrow_c_array__"):
        return pa.table(frame)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(frame)
