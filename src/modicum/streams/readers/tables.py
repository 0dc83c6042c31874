"""Tables: everything that pyarrow reads as record batches.

`Tables` chooses the columns and converts batches to arrays. Each format has a `TableFile` that yields batches: Parquet
and Arrow in `arrow_files`, CSV in `csv_files`, JSON lines in `json_lines`, data frames in `frames`.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.exceptions import DataError
from modicum.streams.readers.base import (
    MISSING,
    NO_TARGET,
    BadRows,
    Block,
    Reader,
    bad_cell,
    float_type,
    naming,
    offsets_of,
    refuse_gaps,
)
from modicum.streams.readers.columns import Wanted, choose
from modicum.streams.readers.live import Wait


class TableFile:
    """One file (or data frame) of a table."""

    label: str  # of the format, for messages
    schema: Any  # all columns; a text format infers them from the beginning of the file
    n_rows: int | None = None
    row_bytes: float | None = None  # of all columns, if it is not to be guessed from their types
    cuts: list[int] | None = None  # first rows of what is stored apart within the file, and the number of rows
    rereadable = True
    background = True
    reading: Any = None  # the fields that `Tables` reads; rows that don't match them may be skipped
    wait: Wait | None = None  # of a file that is read as its rows come
    bad: BadRows | None = None  # rows that the last pass left out

    @property
    def notes(self) -> list[str]:
        """What was assumed about the file, each one sentence."""
        return []

    def __init__(self, name: str):
        self.name = name
        require("pyarrow", f"reading {self.label}")

    def read_as(self, field: Any, is_target: bool) -> Any:
        """The field with the type to read it with."""
        return field

    def stray_text(self, columns: Iterable[str]) -> tuple[int, str, str | bytes] | None:
        """Row, column and text of the first cell that is not a number in a column of mostly numbers.

        Bytes if the cell is not valid text.
        """
        return None

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        """Batches with these fields from row `start` on (0 where `n_rows` is None), of about `size` rows."""
        raise NotImplementedError

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        """Batches with all columns of these rows (ascending), and the number of rows read to find them."""
        raise NotImplementedError

    def assemble(self, batches: list[Any]) -> Any:
        """One table of the batches that `gather` found in this and similar files."""
        return stack(batches) if batches else self.schema.empty_table()


TEXT_CELL = 24  # bytes of a cell of text, for a first guess at the size of rows
FILE, ROW = "_file", "_row"  # columns of raw tables: where a row comes from; data rows are counted from 1


class Tables(Reader):
    """Rows of one table, or of several tables with the same columns stacked vertically.

    Rows are arrays of the numeric columns. Raw rows are Arrow tables of all columns, with missing values as they are,
    and with the file and the row number of each.
    """

    columns: list[str]
    table_columns: list[str]

    def __init__(self, files: Sequence[TableFile], name: str, wanted: Wanted):
        import pyarrow as pa

        first = files[0]
        self.name = name
        self.rereadable, self.background, self.wait = first.rereadable, first.background, first.wait
        self.table_columns = names = list(first.schema.names)
        self.is_raw = self._raw = wanted.raw
        self._unlabelled = wanted.unlabelled
        if wanted.raw and len(own := [place for place in (FILE, ROW) if place in names]) == 1:
            raise DataError(f"{name}: a column is named {own[0]!r}, which is for the places of rows. Rename it.")
        usable = range(len(names)) if wanted.raw else _numeric_columns(first.schema)
        choice = choose(wanted, name, len(names), names, usable)
        self.columns, self.width = [names[j] for j in choice.features], len(choice.features)
        self._target, self._weight = (None if j is None else names[j] for j in (choice.target, choice.weight))
        self._first, self._files = first, files
        self.target, self.weight = self._target, self._weight
        self._check_columns(asked=wanted.columns is not None)
        if wanted.columns is None:
            used = {*self.columns, self._target, self._weight}
            self.left_out = {field.name: str(field.type) for field in first.schema if field.name not in used}

        chosen = dict.fromkeys([*choice.features, choice.target, choice.weight])  # no column is read twice
        if wanted.raw:
            chosen = dict.fromkeys(range(len(names)))
        fields = [first.schema.field(j) for j in chosen if j is not None]
        self._schema = pa.schema([first.read_as(field, field.name == self._target) for field in fields])
        if wanted.raw:
            known = [file.schema for file in files if file.n_rows is not None]
            shared = [_shared(field, known) for field in self._schema]
            self._schema = pa.schema([_noted(field, first.schema.field(field.name).type) for field in shared])
        self._set_files(files)

    def _set_files(self, files: Sequence[TableFile]) -> None:
        """Read these files; `_schema` is set."""
        self._files, self._n_begun, self.n_files = files, 0, len(files)
        self._offsets = offsets_of(file.n_rows or 0 for file in files)
        self.n_rows = None if any(file.n_rows is None for file in files) else self._offsets[-1]
        for file in files:
            file.reading = self._schema
        if self._raw:
            guess = sum(_cell_bytes(field.type) for field in self._schema)
            self.row_bytes = max((file.row_bytes or guess for file in files), default=guess)
            return
        schemas = [self._schema] + [file.schema for file in files if file.n_rows is not None]
        self._dtype = float_type(_numpy_type(s.field(column).type) for s in schemas for column in self.columns)
        self.row_bytes = len(self.columns) * np.dtype(self._dtype).itemsize

    def of(self, files: Sequence[TableFile]) -> "Tables":
        """A reader of other files, with the columns and types of this one."""
        other = copy(self)
        other._files = files
        other._check_columns(asked=True)
        other._set_files(files)
        return other

    def of_file(self, index: int) -> "Tables":
        return self.of([self._files[index]])

    @property
    def cuts(self) -> list[int] | None:
        if self.n_rows is None:
            return None
        own = [file.cuts or [0, file.n_rows or 0] for file in self._files]
        return sorted({first + cut for first, cuts in zip(self._offsets, own, strict=False) for cut in cuts})

    @property
    def notes(self) -> list[str]:
        notes = [note for file in self._files[: max(self._n_begun, 1)] for note in file.notes]
        return notes + self._raw_notes() if self._raw else notes

    def _raw_notes(self) -> list[str]:
        """What is not learned from, though it looks as if it were."""
        places = [name for name in (FILE, ROW) if name in self.table_columns]
        known = [file.schema.names for file in self._files if file.n_rows is not None]
        extra = dict.fromkeys(name for names in known for name in names if name not in self.table_columns)
        taken = "is taken for the place of rows, and not learned from: rename it otherwise"
        notes = [f"column {name} of {self.name} {taken}" for name in places]
        if extra:
            notes.append(f"columns that the first file of {self.name} lacks are left out: {', '.join(extra)}")
        return notes

    @property
    def bad_rows(self) -> BadRows:
        found = BadRows()
        for file in self._files:
            if file.bad is not None:
                found.add_all(file.bad)
        return found

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        return self.blocks_until(start, None, size)

    def blocks_until(self, start: int, end: int | None, size: int) -> Iterator[Block]:
        as_block = self._table if self._raw else self._arrays
        for i, (file, first) in enumerate(zip(self._files, self._offsets, strict=False), 1):
            self._n_begun = max(self._n_begun, i)
            row = max(start - first, 0)
            if file.n_rows is not None and row >= file.n_rows:
                continue
            with naming(file.name):
                for batch in file.batches(self._schema, row, size):
                    if end is not None and first + row + batch.num_rows >= end:
                        yield as_block(batch.slice(0, end - first - row), file.name, row)
                        return
                    for offset in range(0, batch.num_rows, size):  # a data frame may be one huge batch
                        yield as_block(batch.slice(offset, size), file.name, row + offset)
                    row += batch.num_rows
            if file.n_rows not in (None, row):
                raise DataError(f"{file.name}: it should have {file.n_rows:,} rows, but {row:,} were read.")

    def take(self, rows: np.ndarray) -> Any:
        batches: list[Any] = []
        for file in self._files:
            with naming(file.name):
                found, n_rows = file.gather(rows)
            batches += self._cast_batches(found, file.name) if self._raw and file.n_rows is not None else found
            rows = rows[rows >= n_rows] - n_rows
            if not len(rows):
                break
        return self._files[0].assemble(batches)

    def _cast_batches(self, batches: list[Any], file: str) -> list[Any]:
        """Batches with the columns and types of the first file."""
        import pyarrow as pa

        tables = [_cast(pa.Table.from_batches([batch]), self._schema, file) for batch in batches]
        return [batch for table in tables for batch in table.to_batches()]

    def _arrays(self, batch: Any, file: str, row: int) -> Block:
        X = np.empty((batch.num_rows, len(self.columns)), self._dtype)
        for j, name in enumerate(self.columns):
            X[:, j] = _values(batch, name, file, row)
        return X, *self._targets_of(batch, file, row)

    def _targets_of(self, batch: Any, file: str, row: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Targets and weights of a batch."""
        y = weight = None
        if self._target is not None:
            whole = not self._unlabelled
            y = _values(batch, self._target, file, row, NO_TARGET) if whole else _with_gaps(batch.column(self._target))
        if self._weight is not None:
            weight = _values(batch, self._weight, file, row).astype(np.float64)
        return y, weight

    def _table(self, batch: Any, file: str, row: int) -> Block:
        """A batch as a raw table, with columns for the places of its rows."""
        import pyarrow as pa

        y, weight = self._targets_of(batch, file, row)
        table = _cast(pa.Table.from_batches([batch]), self._schema, file)
        if FILE not in table.column_names:
            here = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(table), np.int32)), pa.array([file]))
            table = table.append_column(FILE, here)
        if ROW not in table.column_names:
            table = table.append_column(ROW, pa.array(np.arange(row + 1, row + 1 + len(table))))
        return table, y, weight

    def _check_columns(self, asked: bool) -> None:
        """Raise a DataError unless every file whose schema is known has the columns, as numbers if not raw."""
        for file in self._files:
            if file is self._first or file.n_rows is not None:
                _check_there(file, [*self.columns, self._target])
                _check_numbers(file, [] if self._raw else self.columns)
                _check_numbers(file, [self._weight])
        if asked or self._raw:
            return
        used = {*self.columns, self._target, self._weight}
        # Text columns are left out silently, but not if a single misspelt cell makes a column text.
        _refuse_stray_text(self._files[0], [name for name in self.table_columns if name not in used])
        if not self.columns:
            types = ", ".join(f"{field.name} ({field.type})" for field in self._files[0].schema)
            raise DataError(f"{self.name}: no column for X is numeric: {types}. Convert text to numbers first.")


def _numeric_columns(schema: Any) -> list[int]:
    """Positions of the numeric columns; those that pandas stored as the index of a frame are excluded."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [j for j, field in enumerate(schema) if is_numeric(field.type) and field.name not in index]


def _check_there(file: TableFile, columns: Sequence[str | None]) -> None:
    there = set(file.schema.names)
    for name in columns:
        if name is not None and name not in there:
            raise DataError(f"{file.name}: no column {name!r}, which the first file has. Leave this file out.")


def _check_numbers(file: TableFile, columns: Sequence[str | None]) -> None:
    _check_there(file, columns)
    for name in columns:
        if name is None:
            continue
        if not is_numeric(kind := file.schema.field(name).type):
            _refuse_stray_text(file, [name])
            raise DataError(
                f"{file.name}: column {name!r} is {kind}, not a number. Leave it out of columns=, "
                "or convert it to numbers first; take() returns columns of any type."
            )


def _refuse_stray_text(file: TableFile, columns: list[str]) -> None:
    if cell := file.stray_text(columns):
        row, column, text = cell
        what = "UTF-8 text" if isinstance(text, bytes) else "a number, but most cells are"
        save = " Or save the file as UTF-8." if isinstance(text, bytes) else ""
        problem = f"{text!r} is not {what}. Correct it, or choose other columns with columns=.{save}"
        raise bad_cell(file.name, row, column, problem)


def is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def _shared(field: Any, schemas: Iterable[Any]) -> Any:
    """A field with a type for the cells of all files, if there is one: floats for integers and floats."""
    import pyarrow as pa

    fields = [schema.field(field.name) for schema in schemas if field.name in schema.names]
    try:
        same = pa.unify_schemas([pa.schema([each]) for each in (field, *fields)], promote_options="permissive")
    except pa.ArrowException:
        return field
    return field.with_type(same.field(0).type)


WHOLE = {b"modicum": b"whole"}  # metadata of a column of whole numbers that is read as floats


def _noted(field: Any, inferred: Any) -> Any:
    """A field with a note if whole numbers are read as floats, so that they can be written as they were."""
    import pyarrow as pa

    is_whole = pa.types.is_integer(inferred) and pa.types.is_floating(field.type)
    return field.with_metadata(WHOLE) if is_whole else field


def _cell_bytes(kind: Any) -> float:
    """Bytes of a cell, about."""
    import pyarrow as pa

    return kind.bit_width / 8 if pa.types.is_primitive(kind) else TEXT_CELL


def _cast(table: Any, schema: Any, file: str) -> Any:
    """A table with the types of the first file, where this one has others."""
    import pyarrow as pa

    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            try:
                cast = column.cast(field.type)
            except pa.ArrowException as error:
                raise DataError(
                    f"{file}: column {field.name!r} is {column.type}, but {field.type} in the first file, and can't be "
                    f"converted: {error}. Leave the file out, or convert the column in all files."
                ) from None
            table = table.set_column(table.column_names.index(field.name), field, cast)
    return table.select(schema.names).cast(schema)  # with the metadata of fields


def _numpy_type(kind: Any) -> Any:
    dtype = kind.to_pandas_dtype()
    return np.float64 if dtype is np.object_ else dtype  # decimals


def _values(batch: Any, name: str, file: str, row: int, missing: str = MISSING) -> np.ndarray:
    """A column of a batch that starts at `row` of `file`; a DataError for missing values."""
    import pyarrow as pa

    column = batch.column(name)
    if column.null_count:
        raise bad_cell(file, row + column.is_null().index(True).as_py(), name, missing)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    refuse_gaps(values[:, None], file, row, [name], missing)
    return values


def _with_gaps(column: Any) -> np.ndarray:
    """A column whose missing values are NaN, or "" among texts."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    return np.array(["" if value is None else value for value in values]) if values.dtype.kind == "O" else values


def stack(batches: list[Any]) -> Any:
    """One table of batches whose columns may differ; missing columns are filled with nulls."""
    import pyarrow as pa

    try:
        return pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(f"the files can't be read as one table: {error}") from None
