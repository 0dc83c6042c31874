"""Parquet files, and both kinds of Arrow files (with an index at the end, or a plain sequence of batches)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from modicum.streams.readers.base import naming, offsets_of, pick, pick_from, split_rows
from modicum.streams.readers.bytes_in import ByteSource
from modicum.streams.readers.remote import Remote
from modicum.streams.readers.tables import TableFile

BUFFER = 1 << 20  # bytes of a Parquet column read at a time, so that no row group is held whole


class Parquet(TableFile):
    """A Parquet file; row groups before `start` or without rows to take are not read."""

    label = "Parquet"

    def __init__(self, path: Path | Remote):
        super().__init__(str(path))
        self._path = path
        with naming(self.name), self._open() as file:
            self.schema = file.schema_arrow
            groups = range(file.num_row_groups)
            lengths = [file.metadata.row_group(i).num_rows for i in groups]
            if min(lengths, default=0) < 0:
                raise ValueError(f"a row group of {min(lengths):,} rows.")
        self._offsets = self.cuts = offsets_of(lengths)
        self.n_rows = self._offsets[-1]

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        group = bisect_right(self._offsets, start) - 1
        groups = range(group, len(self._offsets) - 1)
        with naming(self.name), self._open() as file:
            batches = file.iter_batches(size, row_groups=groups, columns=fields.names)
            yield from drop_rows(checked(batches), start - self._offsets[group])

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        found = []
        with naming(self.name), self._open() as file:
            for group, here in split_rows(rows, self._offsets):
                found += pick_from(checked(file.iter_batches(row_groups=[group])), here)[0]
        return found, self._offsets[-1]

    @contextmanager
    def _open(self) -> Iterator[Any]:
        from pyarrow.parquet import ParquetFile

        options = {"pre_buffer": False, "memory_map": False, "buffer_size": BUFFER, "page_checksum_verification": True}
        with _source(self._path) as source, ParquetFile(source, **options) as file:
            yield file


class ArrowFile(TableFile):
    """An Arrow file with an index of its batches, also called Feather."""

    label = "Arrow files"

    def __init__(self, path: Path | Remote):
        super().__init__(str(path))
        self._path = path
        with naming(self.name), self._open() as reader:
            self.schema = reader.schema
        self.n_rows, self.cuts = self._offsets[-1], self._offsets

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        batch = bisect_right(self._offsets, start) - 1
        with naming(self.name), self._open(fields.names) as reader:
            batches = (reader.get_batch(i) for i in range(batch, len(self._offsets) - 1))
            yield from drop_rows(checked(batches), start - self._offsets[batch])

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        with naming(self.name), self._open() as reader:
            wanted = list(split_rows(rows, self._offsets))
            batches = checked(reader.get_batch(i) for i, _ in wanted)
            found = [pick(batch, here) for batch, (_, here) in zip(batches, wanted, strict=True)]
        return found, self._offsets[-1]

    @cached_property
    def _offsets(self) -> list[int]:
        # The index has no row counts; reading one column of each batch is the cheapest way to get them.
        with naming(self.name), self._open(self.schema.names[:1]) as reader:
            return offsets_of(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))

    @contextmanager
    def _open(self, columns: Iterable[str] = ()) -> Iterator[Any]:
        import pyarrow as pa

        with _source(self._path) as source:
            file = pa.OSFile(source) if isinstance(source, str) else pa.PythonFile(source, mode="r")
            with file:
                yield pa.ipc.open_file(file, options=_only(self, columns))


class ArrowStream(TableFile):
    """A sequence of Arrow batches of unknown length, in a file or on standard input."""

    label = "Arrow streams"

    def __init__(self, source: ByteSource):
        super().__init__(source.name)
        self.rereadable, self.wait = source.rereadable, source.wait
        self.background = source.rereadable and source.wait is None
        self._source = source
        with naming(self.name):
            import pyarrow as pa

            self.schema = pa.ipc.read_schema(pa.py_buffer(source.head))

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        return self._batches(fields.names)

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        return pick_from(self._batches(), rows)

    def _batches(self, columns: Iterable[str] = ()) -> Iterator[Any]:
        import pyarrow as pa

        with naming(self.name), self._source.open() as file:
            yield from checked(pa.ipc.open_stream(file, options=_only(self, columns)))
            if file.read(1):
                raise ValueError("the Arrow stream ends before the file does.")


@contextmanager
def _source(path: Path | Remote) -> Iterator[Any]:
    """What pyarrow opens: the name of a local file, which it reads faster itself, or an open remote file."""
    if isinstance(path, Path):
        yield str(path)
    else:
        with path.open() as file:
            yield file


def arrow_file(path: Path | Remote) -> TableFile:
    """The reader of an Arrow file; both kinds use the same endings, and differ in the first bytes."""
    source = ByteSource(path)
    return ArrowFile(path) if source.head.startswith(b"ARROW1") else ArrowStream(source)


def checked(batches: Iterable[Any]) -> Iterator[Any]:
    """The same batches, validated: wrong offsets in a damaged file would make pyarrow read out of bounds."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


def drop_rows(batches: Iterable[Any], n: int) -> Iterator[Any]:
    """The batches without the first `n` rows."""
    for batch in batches:
        if n < batch.num_rows:
            yield batch.slice(n)
        n = max(n - batch.num_rows, 0)


def _only(file: TableFile, columns: Iterable[str]) -> Any:
    """Options to read these columns, or all if there are none."""
    from pyarrow.ipc import IpcReadOptions

    return IpcReadOptions(included_fields=[file.schema.get_field_index(column) for column in columns])
