"""The interface of readers, and operations on every kind of rows.

Rows are a 2-D array, a CSR matrix or a list of objects; `take` may also return an Arrow table.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from modicum.exceptions import DataError, ModicumError
from modicum.streams.readers.live import Wait

MOST_COLUMNS = 1 << 24  # of a sparse source, in which a few bytes can name any column

Block = tuple[Any, np.ndarray | None, np.ndarray | None]  # X, y, sample_weight


class BadRows:
    """Rows that the last pass left out.

    Attributes
    ----------
    count : int
    first : list of (str, int, str)
        The first five: file, number of the data row in it, counted from 1, and what is wrong with it.
    """

    SHOWN = 5

    def __init__(self, file: str = "") -> None:
        self.count = 0
        self.first: list[tuple[str, int, str]] = []
        self._file = file

    def add(self, row: int, reason: str) -> None:
        """Count a row of the file, numbered from 0 here."""
        self.count += 1
        insort(self.first, (self._file, row + 1, reason))
        del self.first[self.SHOWN :]

    def add_many(self, rows: np.ndarray, reason: str) -> None:
        """Count rows of the file, numbered from 0 here, that come after all others."""
        self.count += len(rows)
        self.first += [(self._file, int(row) + 1, reason) for row in rows[: self.SHOWN - len(self.first)]]

    def add_all(self, other: "BadRows") -> None:
        """Count the rows of a later file."""
        self.count += other.count
        self.first = [*self.first, *other.first][: self.SHOWN]

    def __repr__(self) -> str:
        return f"<BadRows: {self.count:,}>"


class Reader:
    """The rows of one source, block by block.

    A reader does not deal with chunks, passes or shuffling: it yields consecutive blocks of any length, and
    `modicum.stream` cuts them to size.
    """

    name: str  # of the source, as the user gave it
    n_rows: int | None = None
    width: int | None = None  # number of features
    columns: list[str] | None = None  # names of the features
    table_columns: list[str] | None = None  # names of all columns of the source
    is_raw = False  # whether rows are Arrow tables
    target: str | None = None  # name of the column of targets
    weight: str | None = None  # name of the column of weights
    left_out: dict[str, str] = {}  # columns that are not features because of their type, with that type
    skipped: list[str] = []  # files of a folder or glob that are not read, each with the reason in parentheses
    row_bytes: float | None = None  # of a row of X, if known without reading
    rereadable = True
    background = False  # whether a thread should read ahead, because reading waits for a disk
    wait: Wait | None = None  # of a source that is read as its rows come
    files: list[str] | None = None  # paths in the order in which they are read; None if some are not local
    n_files = 1  # that `of_file` knows

    @property
    def notes(self) -> list[str]:
        """What was assumed about the files of text that were read so far, each one sentence."""
        return []

    @property
    def bad_rows(self) -> BadRows:
        """Rows that the last pass left out."""
        return BadRows()

    @property
    def live(self) -> bool:
        """Whether rows are passed on as they come, rather than waited for to fill a chunk."""
        return self.wait is not None

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Blocks from row `start` on, of about `size` rows. `start` is 0 where `n_rows` is None."""
        raise NotImplementedError

    def blocks_until(self, start: int, end: int, size: int) -> Iterator[Block]:
        """Blocks from row `start` up to `end`; what comes after them is not looked at."""
        left = end - start
        for X, y, weight in self.blocks(start, size):
            n = min(count(X), left)
            yield pick(X, slice(n)), pick(y, slice(n)), pick(weight, slice(n))
            left -= n
            if not left:
                return

    @property
    def cuts(self) -> list[int] | None:
        """First rows of what is stored apart, files and row groups, and the number of all rows, if it is known."""
        return None if self.n_rows is None else [0, self.n_rows]

    def of_file(self, index: int) -> "Reader":
        """The reader of one of the files, with the columns and types of all."""
        return self

    def take(self, rows: np.ndarray) -> Any:
        """These rows (ascending, distinct) with all columns of the source; rows beyond its end are left out."""
        raise NotImplementedError


def count(rows: Any) -> int:
    """Number of rows; a sparse matrix has no len()."""
    return len(rows) if isinstance(rows, list) else rows.shape[0]


def pick(rows: Any, index: np.ndarray | slice) -> Any:
    """`rows[index]` for any kind of rows; None stays None."""
    if rows is None:
        return None
    if isinstance(rows, list):
        return rows[index] if isinstance(index, slice) else [rows[i] for i in index]
    if isinstance(rows, np.ndarray) and not isinstance(index, slice):
        return rows.take(index, axis=0)  # four times as fast as rows[index]
    return _pick_arrow(rows, index) if hasattr(rows, "schema") else rows[index]


def _pick_arrow(table: Any, index: Any) -> Any:
    """Rows of a table; string views (from polars) are cast to strings first, as pyarrow can't index them."""
    import pyarrow as pa

    if isinstance(index, slice):
        first, end, _ = index.indices(table.num_rows)
        return table.slice(first, max(end - first, 0))

    schema = pa.schema([field.with_type(_without_views(field.type)) for field in table.schema])
    return (table if schema == table.schema else table.cast(schema)).take(index)


def _without_views(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.large_list(_without_views(kind.value_type))
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)


def join(blocks: Sequence[Any]) -> Any:
    """Blocks of rows as one. A single block is returned without a copy."""
    first = blocks[0]
    if first is None or len(blocks) == 1:
        return first
    if isinstance(first, list):
        return [row for block in blocks for row in block]
    if hasattr(first, "tocsr"):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    if hasattr(first, "schema"):
        import pyarrow as pa

        return pa.concat_tables(blocks)
    return np.concatenate(blocks)


def pick_from(blocks: Iterable[Any], rows: np.ndarray) -> tuple[list[Any], int]:
    """The given rows (ascending) of consecutive blocks, and the number of rows read to find them."""
    found: list[Any] = []
    n_read = 0
    for block in blocks:
        first, n_read = n_read, n_read + count(block)
        here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, n_read)]
        if len(here):
            found.append(pick(block, here - first))
        if not len(rows) or n_read > rows[-1]:
            break
    return found, n_read


def split_rows(rows: np.ndarray, offsets: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Ascending rows of a sequence of arrays, files or batches that start at `offsets`: (its index, rows within it).

    The last offset is the number of all rows.
    """
    for index, (first, end) in enumerate(pairwise(offsets)):
        here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)]
        if len(here):
            yield index, here - first


def offsets_of(lengths: Iterable[int]) -> list[int]:
    """The first row of each item of these lengths, and the number of all rows: [3, 2] becomes [0, 3, 5]."""
    return list(accumulate(lengths, initial=0))


def float_type(dtypes: Iterable[Any]) -> type[np.floating]:
    """float32 if it represents every value of these types exactly, else float64."""
    return np.float32 if np.result_type(np.float32, *dtypes) == np.float32 else np.float64


def as_array(values: Any) -> Any:
    """An array or tensor as a numpy array; sparse matrices and lists are returned unchanged."""
    if isinstance(values, np.ndarray | list) or hasattr(values, "tocsr"):
        return values
    if hasattr(values, "detach"):  # torch: detach from the graph, copy from the GPU
        values = values.detach().cpu()
    return values.numpy() if hasattr(values, "numpy") else np.asarray(values)


def as_floats(X: Any, name: str) -> Any:
    """X as float32 or float64, copied only if it is neither."""
    if X.dtype.kind not in "biufO":
        raise DataError(f"{name}: columns must be numbers; got {X.dtype}.")
    try:
        return X.astype(float_type([X.dtype]) if X.dtype != object else np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: columns must be numbers; {error}.") from None


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Turn any error inside into a DataError that names the file.

    Libraries raise errors of many kinds for damaged files, from KeyError to zlib.error.
    """
    try:
        yield
    except ModicumError:
        raise
    except MemoryError as error:
        raise DataError(f"{file}: it needs more memory than is available. {error}") from error
    except Exception as error:
        raise DataError(f"{file}: {error or f'the file is damaged ({type(error).__name__})'}") from error


def bad_row(file: str, row: int, problem: str) -> DataError:
    """The error for a row, counted from 0 here and from 1 in the message. A header is not a data row."""
    return DataError(f"{file}: data row {row + 1:,}: {problem}")


def bad_cell(file: str, row: int, column: Any, problem: str) -> DataError:
    return DataError(f"{file}: data row {row + 1:,}, column {column!r}: {problem}")


_WAY_OUT = "Fill in or drop such rows, or leave the column out with columns=."
MISSING = f"missing value. {_WAY_OUT}"
NO_TARGET = 'missing target. Fill in such rows, or leave them out with unlabelled="drop".'


def refuse_gaps(X: Any, file: str, row: int, columns: Sequence[Any], missing: str = MISSING) -> None:
    """A DataError about the first NaN or infinity of a block, dense or CSR, that starts at `row` of `file`."""
    values = X.data if hasattr(X, "tocsr") else X
    if values.dtype.kind != "f" or (finite := np.isfinite(values)).all():
        return
    first = int(finite.argmin())
    if hasattr(X, "tocsr"):
        i, j = int(np.searchsorted(X.indptr, first, side="right")) - 1, X.indices[first]
    else:
        i, j = divmod(first, X.shape[1])
    value = values.flat[first]
    problem = missing if np.isnan(value) else f"{value} is not a finite number. {_WAY_OUT}"
    raise bad_cell(file, row + i, columns[int(j)], problem)
