"""What every reader offers, and the operations that work on every kind of rows.

Rows are a 2-D array, a CSR matrix or a list of objects; `take` also gives Arrow tables.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from modicum.exceptions import DataError, ModicumError

MOST_COLUMNS = 1 << 24  # of a sparse source, whose few bytes may name any column

Block = tuple[Any, np.ndarray | None, np.ndarray | None]  # X, y, sample_weight


class Reader:
    """The rows of one source, block by block.

    A reader knows nothing of chunks, passes or shuffling: it gives consecutive blocks of any length, and
    `modicum.stream` cuts them to size.
    """

    name: str  # what the user calls the source
    n_rows: int | None = None
    width: int | None = None  # number of features
    columns: list[str] | None = None  # names of the features
    table_columns: list[str] | None = None  # names of all columns of the source
    left_out: dict[str, str] = {}  # columns that are no features because of their type, and that type
    row_bytes: float | None = None  # of a row of X, as far as it can be known without reading
    rereadable = True
    background = False  # reading waits for a disk, so a thread may do it ahead of time

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Blocks from row `start` on, of about `size` rows. `start` is 0 where `n_rows` is None."""
        raise NotImplementedError

    def take(self, rows: np.ndarray) -> Any:
        """These rows (ascending, no row twice) with all columns of the source; rows beyond its end are left out."""
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
    """pyarrow can't take rows of the string views polars gives; they become plain strings first."""
    import pyarrow as pa

    schema = pa.schema([field.with_type(_without_views(field.type)) for field in table.schema])
    return (table if schema == table.schema else table.cast(schema)).take(index)


def _without_views(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.large_list(_without_views(kind.value_type))
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)


def join(parts: Sequence[Any]) -> Any:
    """The parts one below the other. A single part is given back as it is, not copied."""
    first = parts[0]
    if first is None or len(parts) == 1:
        return first
    if isinstance(first, list):
        return [row for part in parts for row in part]
    if hasattr(first, "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)


def pick_from(blocks: Iterable[Any], rows: np.ndarray) -> tuple[list[Any], int]:
    """The given rows (ascending) of consecutive blocks, and the number of rows read to find them."""
    found: list[Any] = []
    begin = 0
    for block in blocks:
        end = begin + count(block)
        here = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
        if len(here):
            found.append(pick(block, here - begin))
        begin = end
        if not len(rows) or begin > rows[-1]:
            break
    return found, begin


def by_part(rows: np.ndarray, offsets: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Split ascending rows over parts that begin at `offsets` (the last offset is the end): part, rows within it."""
    for part, (begin, end) in enumerate(pairwise(offsets)):
        here = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
        if len(here):
            yield part, here - begin


def offsets_of(lengths: Iterable[int]) -> list[int]:
    """Where each part begins, and the end of the last: [3, 2] becomes [0, 3, 5]."""
    return list(accumulate(lengths, initial=0))


def float_type(dtypes: Iterable[Any]) -> type[np.floating]:
    """float32 if it holds every value of these types exactly, else float64."""
    return np.float32 if np.result_type(np.float32, *dtypes) == np.float32 else np.float64


def as_array(values: Any) -> Any:
    """numpy's view of an array or tensor; sparse matrices and lists pass as they are."""
    if isinstance(values, np.ndarray | list) or hasattr(values, "tocsr"):
        return values
    if hasattr(values, "detach"):  # torch: off the graph and off the GPU
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
    """Whatever goes wrong with the bytes of a file, as a DataError that names it.

    Libraries meet damaged files with errors of many kinds, from KeyError to zlib.error.
    """
    try:
        yield
    except ModicumError:
        raise
    except MemoryError as error:
        raise DataError(f"{file}: it asks for more memory than there is. {error}") from error
    except Exception as error:
        raise DataError(f"{file}: {error or f'the file is damaged ({type(error).__name__})'}") from error


def bad_row(file: str, row: int, problem: str) -> DataError:
    """The error for a row, which we count from 0 and people from 1. A header is no data row."""
    return DataError(f"{file}: data row {row + 1:,}: {problem}")


def bad_cell(file: str, row: int, column: Any, problem: str) -> DataError:
    return DataError(f"{file}: data row {row + 1:,}, column {column!r}: {problem}")


_WAY_OUT = "Fill in or drop such rows, or leave the column out with columns=."
MISSING = f"missing value. {_WAY_OUT}"


def refuse_gaps(X: Any, file: str, row: int, columns: Sequence[Any]) -> None:
    """Name the first NaN or infinity of a block, dense or CSR, that begins at `row` of `file`."""
    values = X.data if hasattr(X, "tocsr") else X
    if values.dtype.kind != "f" or (finite := np.isfinite(values)).all():
        return
    first = int(finite.argmin())
    if hasattr(X, "tocsr"):
        i, j = int(np.searchsorted(X.indptr, first, side="right")) - 1, X.indices[first]
    else:
        i, j = divmod(first, X.shape[1])
    value = values.flat[first]
    problem = MISSING if np.isnan(value) else f"{value} is not a finite number. {_WAY_OUT}"
    raise bad_cell(file, row + i, columns[int(j)], problem)
