"""Tables: data frames, lists of dicts and of strings, as Arrow tables; and learners that take them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.rows import is_sparse, is_table
from modicum.streams.readers.frames import arrow_table
from modicum.streams.readers.lines import IS_TEXT
from modicum.streams.readers.tables import FILE, ROW, WHOLE

_ARROW = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
TEXT_COLUMN = "text"  # of rows that are strings


class TakesTables(Learner):
    """Rows that may be tables: data frames, Arrow tables, lists of dicts or of strings. Columns are found by name."""

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        table = as_table(X)
        if not reset and (table is None) == (self._kind == "table"):
            now, before = ("an array", "a table") if table is None else ("a table", "an array")
            raise DataError(f"{type(self).__name__}: these rows are {now}; earlier rows were {before}.")
        if table is None:
            return super()._check_rows(X, reset=reset)
        if not table.num_columns:
            raise DataError(f"{type(self).__name__}: the table has no columns.")
        if reset:
            self._kind, self._dtype = "table", "object"
            self.feature_names_in_ = np.array([name for name in table.column_names if name not in (FILE, ROW)], object)
            self.n_features_in_ = len(self.feature_names_in_)
        return table


def as_table(X: Any) -> Any:
    """An Arrow table of a data frame, a list of dicts or a list of strings; None for arrays of numbers."""
    if is_sparse(X) or (isinstance(X, np.ndarray) and not _is_strings(X)):
        return None
    if is_table(X):
        return _one_table(X)
    if any(hasattr(X, name) for name in _ARROW):
        pa = require("pyarrow", "tables")
        frame = X if hasattr(X, _ARROW[0]) else arrow_table(X)
        try:
            return _one_table(pa.RecordBatchReader.from_stream(frame).read_all())
        except (pa.ArrowException, NotImplementedError) as error:  # such as numbers and texts in one column
            why = "; ".join(map(str, error.args))
            raise DataError(f"a column of the data frame has not one type: {why}. Convert it with astype.") from None
    if _is_strings(X):
        pa = require("pyarrow", "texts")
        field = pa.field(TEXT_COLUMN, pa.string(), metadata=IS_TEXT)
        return pa.table([[None if x is None else str(x) for x in X]], schema=pa.schema([field]))
    if isinstance(X, list) and X and all(isinstance(row, Mapping) for row in X):
        pa = require("pyarrow", "rows as dicts")
        names = dict.fromkeys(str(name) for row in X for name in row)
        try:
            return pa.table({name: [row.get(name) for row in X] for name in names})
        except (pa.ArrowException, TypeError) as error:
            raise DataError(f"rows as dicts must have values of one type under each key: {error}") from None
    return None


def as_written(rows: Any) -> Any:
    """Rows of a table with whole numbers that were read as floats as integers again; other rows as they are."""
    if not is_table(rows):
        return rows
    import pyarrow as pa

    for j, field in enumerate(rows.schema):
        if (field.metadata or {}) == WHOLE:
            with suppress(pa.ArrowException):  # there are fractions after all
                rows = rows.set_column(j, field.name, rows.column(j).cast(pa.int64()))
    return rows


def filled(rows: Any, decoded: Mapping[str, np.ndarray], where: np.ndarray) -> Any:
    """Rows of a table or an array with decoded values in some, of which nothing else is known."""
    if not is_table(rows):
        values = np.column_stack(list(decoded.values()))
        return np.where(where[:, None], values, rows).astype(rows.dtype) if values.shape == rows.shape else rows
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = pa.array(where)
    for name, values in decoded.items():
        j = rows.column_names.index(name)
        with suppress(pa.ArrowException):
            new = pa.array(values).cast(rows.schema.field(j).type, safe=False)
            rows = rows.set_column(j, rows.schema.field(j), pc.if_else(mask, new, rows.column(j)))
    return rows


def _one_table(table: Any) -> Any:
    import pyarrow as pa

    if not isinstance(table, pa.Table):
        table = pa.Table.from_batches([table])
    names = table.column_names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{names.count(twice)} columns are named {twice!r}. Give them different names.")
    for j, field in enumerate(table.schema):
        if _has_views(field.type):
            chunks = [_without_views(chunk) for chunk in table.column(j).chunks]
            table = table.set_column(j, field.name, pa.chunked_array(chunks, None if chunks else pa.large_string()))
    return table


def _has_views(kind: Any) -> bool:
    import pyarrow as pa

    return getattr(kind, "value_type", kind) in (pa.string_view(), pa.binary_view())


def _without_views(cells: Any) -> Any:
    """Texts as polars has them, of which pyarrow can't take some."""
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        return pa.DictionaryArray.from_arrays(cells.indices, _without_views(cells.dictionary))
    if pa.types.is_nested(cells.type):
        return pa.array(cells.to_pylist())
    return cells.cast(pa.large_string() if cells.type == pa.string_view() else pa.large_binary())


def _is_strings(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and (X.dtype.kind in "US" or (X.dtype == object and len(X) > 0 and isinstance(X[0], str)))
    return isinstance(X, list) and len(X) > 0 and all(x is None or isinstance(x, str) for x in X)
