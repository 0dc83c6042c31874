"""svmlight (libsvm) files: one row per line, `label column:value column:value ... # comment`, columns ascending."""

import io
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import MOST_COLUMNS, Block, Reader, bad_row, join, pick_from, refuse_gaps
from modicum.streams.readers.bytes_in import ByteSource, line_blocks, nonblank
from modicum.streams.readers.columns import Choice, Key, Wanted, split


class Svmlight(Reader):
    """Rows of svmlight files as CSR matrices; the label is y.

    The files are scanned once beforehand for the number of rows and columns and for the base of the column
    numbers: 0 if one of them is 0, else 1. `columns=range(n)` sets the width to n.
    """

    background = True

    def __init__(self, paths: Sequence[Path], name: str, wanted: Wanted):
        Wanted(None, wanted.target, wanted.weight).refuse(name, "an svmlight file has only its label, which is y.")
        self.name = name
        self._sources = [ByteSource(path) for path in paths]
        scans = [_scan(source) for source in self._sources]
        self.n_rows = sum(scan.n_rows for scan in scans)
        self._zero_based = any(scan.first == 0 for scan in scans)
        self._n_columns = max(scan.last for scan in scans) + self._zero_based
        asked = None if wanted.columns is None else _positions(wanted.columns, name)
        self._features: Sequence[int] = range(self._n_columns) if asked is None else asked
        self.width = len(self._features)
        self.row_bytes = 12 * sum(scan.n_values for scan in scans) / max(self.n_rows, 1)  # a value and its column

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        width = max(self._n_columns, max(self._features, default=0) + 1)
        choice = Choice(self._features, None, None)
        for X, y in self._parsed(width):
            if start < len(y):
                yield split(X[start:], choice, self.name)[0], y[start:], None
            start = max(start - len(y), 0)

    def take(self, rows: np.ndarray) -> Any:
        found, _ = pick_from((X for X, _ in self._parsed(self._n_columns)), rows)
        return join(found) if found else next(self._parsed(self._n_columns))[0][:0]

    def _parsed(self, width: int) -> Iterator[tuple[Any, np.ndarray]]:
        for source in self._sources:
            row = 0
            with source.open() as file:
                for lines in line_blocks(file):
                    X, y = self._parse(lines, width, source.name, row)
                    row += len(y)
                    yield X, y

    def _parse(self, lines: bytes, width: int, file: str, row: int) -> tuple[Any, np.ndarray]:
        """Rows of `lines`, which start at `row` of `file`."""
        from scipy.sparse import csr_matrix
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(io.BytesIO(lines), n_features=width, zero_based=self._zero_based)
        except (ValueError, OverflowError) as error:
            raise self._error(nonblank(lines), width, file, row, error) from None
        refuse_gaps(y[:, None], file, row, ["label"])
        refuse_gaps(X, file, row, range(width))
        return csr_matrix((X.data, X.indices, X.indptr), X.shape), y  # rebuilt, so that column numbers have 32 bits

    def _error(self, lines: list[bytes], width: int, file: str, row: int, error: Exception) -> DataError:
        """The error about the first bad line, found by parsing the lines again one by one."""
        if len(lines) == 1:
            return bad_row(file, row, str(error))
        for line in lines:
            row += len(self._parse(line, width, file, row)[1])
        return DataError(f"{file}: {error}")


class _Extent(NamedTuple):
    """Size of a file."""

    n_rows: int
    n_values: int
    first: int  # smallest column number
    last: int  # largest


def _scan(source: ByteSource) -> _Extent:
    n_rows, n_values, first, last = 0, 0, 1, 0
    source.text_head  # noqa: B018  raises if it is not text
    with source.open() as file:
        for line in chain.from_iterable(map(bytes.splitlines, line_blocks(file))):
            label, *values = line.partition(b"#")[0].split() or [b""]
            n_rows += bool(label)
            values = values[1:] if values and values[0].startswith(b"qid:") else values
            if values:  # in ascending order, so the first and last are enough
                n_values += len(values)
                first = min(first, _column(values[0], source.name, n_rows - 1))
                last = max(last, _column(values[-1], source.name, n_rows - 1))
    return _Extent(n_rows, n_values, first, last)


def _column(value: bytes, file: str, row: int) -> int:
    column, colon, _ = value.partition(b":")
    if not (colon and column.isdigit()):
        raise bad_row(file, row, f"expected column:value; got {value.decode(errors='replace')!r}.")
    if len(column) > 20 or int(column) > MOST_COLUMNS:
        raise bad_row(file, row, f"column numbers may be at most {MOST_COLUMNS:,}; got {column[:20].decode()}.")
    return int(column)


def _positions(columns: list[Key], name: str) -> list[int]:
    """Column positions; they may exceed the columns that occur in the files."""
    for key in columns:
        if not str(key).isdigit():
            raise DataError(f"{name}: columns of an svmlight file are positions from 0; got {key!r}.")
    return [int(key) for key in columns]
