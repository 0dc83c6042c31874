"""Text files: formats without types, which are inferred from the first MiB and enforced afterwards."""

from functools import cached_property
from typing import Any

from modicum.streams.readers.base import BadRows
from modicum.streams.readers.bytes_in import ByteSource
from modicum.streams.readers.dialect import (
    TextOptions,
)
from modicum.streams.readers.tables import TableFile

LARGE = 1 << 53  # larger integers are not exact as floats
SKIP = "--skip-bad-rows leaves such rows out"


class TextFile(TableFile):
    """A file of CSV or JSON lines.

    With `skip_bad_rows`, rows that can't be read are left out in every pass, and positions count the other rows. A
    row is judged by the columns that are read, which `reading` names: other columns may hold anything.
    """

    def __init__(self, source: ByteSource, options: TextOptions):
        super().__init__(source.name)
        self.rereadable, self.wait = source.rereadable, source.wait
        self.background = source.rereadable and source.wait is None
        self.bad = BadRows(self.name)
        self._source, self._options = source, options

    @cached_property
    def schema(self) -> Any:
        import pyarrow as pa

        sample = self._sample()
        columns = zip(sample.schema, sample.columns, strict=True)
        self._large = {field.name for field, cells in columns if _is_large(cells)}
        # A column without any value may have text later.
        texts = {field.name for field in sample.schema if pa.types.is_null(field.type)} | self._options.as_text
        return pa.schema([f.with_type(pa.string()) if f.name in texts else f for f in sample.schema])

    def read_as(self, field: Any, is_target: bool) -> Any:
        """Features are read as floats: integers in the first MiB may be fractions later. Targets keep their type.

        So do large integers, which floats would round.
        """
        import pyarrow as pa

        kind = field.type
        if pa.types.is_binary(kind) or pa.types.is_null(kind) or (is_target and pa.types.is_temporal(kind)):
            return field.with_type(pa.string())
        if is_target or not pa.types.is_integer(kind) or field.name in self._large:
            return field
        return field.with_type(pa.float64())

    def _sample(self) -> Any:
        """The rows in the first MiB, with inferred types."""
        raise NotImplementedError

    @property
    def _judged(self) -> Any:
        """The fields by which rows are skipped."""
        return [self.read_as(field, False) for field in self.schema] if self.reading is None else self.reading


def _is_large(cells: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(cells.type) or cells.null_count == len(cells):
        return False
    ends = pc.min_max(cells).as_py()
    return max(-ends["min"], ends["max"]) > LARGE


def is_text(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
