"""CSV and JSON lines: formats that carry no types, so these are inferred from the first MiB and then held to."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.readers.base import bad_cell, bad_row, join, pick_from
from modicum.readers.bytes_in import BLOCK, HEAD, ByteSource, line_blocks, nonblank
from modicum.readers.tables import TableFile, is_numeric, stack

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_ARROW_CSV_ERROR = re.compile(r"(?:In CSV column #(\d+): )?.*?Row #(\d+): (.*)", re.DOTALL)


class TextFile(TableFile):
    """What CSV and JSON lines share."""

    def __init__(self, source: ByteSource):
        super().__init__(source.name)
        self.rereadable = self.background = source.rereadable
        self._source = source

    def read_as(self, field: Any, is_target: bool) -> Any:
        """Whole numbers in the first MiB don't promise whole numbers after it, but labels stay what they are."""
        import pyarrow as pa

        if is_target:
            looks_like_text = pa.types.is_temporal(field.type) or pa.types.is_null(field.type)
            return field.with_type(pa.string()) if looks_like_text else field
        return field.with_type(pa.float64()) if pa.types.is_integer(field.type) else field

    @property
    def _head(self) -> bytes:
        """The first lines; the last one is left out if it may be cut."""
        head = self._source.head
        return head.rpartition(b"\n")[0] + b"\n" if len(head) == HEAD and b"\n" in head else head


class Csv(TextFile):
    """Separated values. A first line of nothing but numbers is a row; the columns are then named 0, 1, ..."""

    label = "CSV"

    def __init__(self, source: ByteSource, delimiter: str = ","):
        super().__init__(source)
        self._delimiter = delimiter

    @cached_property
    def schema(self) -> Any:
        return self._sample().schema

    @cached_property
    def _first_line(self) -> list[str]:
        text = io.StringIO(self._head.decode("utf-8-sig", "replace"))
        for line in csv.reader(text, delimiter=self._delimiter):
            if line:
                return line
        raise DataError(f"{self.name}: the file is empty.")

    @cached_property
    def _has_header(self) -> bool:
        return not all(re.match(_NUMBER, cell) for cell in self._first_line)

    @property
    def _names(self) -> list[str]:
        return self._first_line if self._has_header else [str(j) for j in range(len(self._first_line))]

    def stray_text(self, columns: Iterable[str]) -> tuple[int, str, str] | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        sample = self._sample()
        for name in columns:
            cells = sample.column(name)
            if pa.types.is_string(cells.type):
                filled = pc.not_equal(cells, "").to_numpy()
                wrong = filled & ~pc.match_substring_regex(cells, _NUMBER).to_numpy()
                if 0 < 2 * wrong.sum() < filled.sum():
                    return int(wrong.argmax()), name, cells[wrong.argmax()].as_py()
        return None

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        types = {field.name: field.type for field in fields}
        return self._batches(include_columns=fields.names, column_types=types, strings_can_be_null=True)

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        """All cells as text: a cell that was not chosen must not stop anyone by its type."""
        import pyarrow as pa

        as_text = dict.fromkeys(self._names, pa.string())
        return pick_from(self._batches(column_types=as_text, strings_can_be_null=True, null_values=[""]), rows)

    def assemble(self, pieces: list[Any]) -> Any:
        table = stack(pieces) if pieces else self.schema.empty_table()
        for j, name in enumerate(table.column_names):
            if name in self.schema.names:
                table = table.set_column(j, name, _typed(table.column(j), self.schema.field(name).type))
        return table

    def _sample(self) -> Any:
        """The first rows with inferred types. Rows of a wrong length wait for the reading proper to report them."""
        from pyarrow.csv import read_csv

        head = self._head
        with self._errors():
            return read_csv(io.BytesIO(head), **self._options(len(head) + 1, lambda row: "skip"))

    def _batches(self, **convert: Any) -> Iterator[Any]:
        from pyarrow.csv import ConvertOptions, open_csv

        options = {**self._options(BLOCK), "convert_options": ConvertOptions(**convert)}
        with self._errors(), self._source.open() as file, open_csv(file, **options) as reader:
            yield from reader

    def _options(self, block_size: int, wrong_length: Any = None) -> dict[str, Any]:
        from pyarrow.csv import ParseOptions, ReadOptions

        # Without threads pyarrow is as fast in streaming, and names the row of an error.
        names = None if self._has_header else self._names
        read = ReadOptions(column_names=names, block_size=block_size, use_threads=False)
        parse = ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=wrong_length)
        return {"read_options": read, "parse_options": parse}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """pyarrow counts the header as row 1 and names columns by number; readers of the file don't."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowException as error:
            if not (found := _ARROW_CSV_ERROR.match(str(error))):
                raise DataError(f"{self.name}: {error}") from None
            column, number, problem = found.groups()
            row = int(number) - 1 - self._has_header
            if column is None:
                raise bad_row(self.name, row, problem) from None
            problem += ". Correct it, or choose other columns with columns=."
            raise bad_cell(self.name, row, self._names[int(column)], problem) from None


class JsonLines(TextFile):
    """One JSON object per line; blank lines don't count."""

    label = "JSON lines"

    @cached_property
    def schema(self) -> Any:
        head = self._head
        if not head.strip():
            raise DataError(f"{self.name}: the file is empty.")
        return self._parse(head, 0).schema

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        row = 0
        with self._source.open() as file:
            for block in line_blocks(file):
                table = self._parse(block, row, fields)
                row += table.num_rows
                yield from table.to_batches()

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        with self._source.open() as file:
            return pick_from(map(nonblank, line_blocks(file)), rows)

    def assemble(self, pieces: list[Any]) -> Any:
        import pyarrow as pa

        table = self._parse(b"\n".join(join(pieces)), 0) if pieces else self.schema.empty_table()
        for field in self.schema:
            if field.name not in table.column_names:  # no row taken has this key
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table

    def _parse(self, lines: bytes, row: int, fields: Any = None) -> Any:
        """Lines that begin at `row` of the file as a table with these fields, or all."""
        import pyarrow as pa
        from pyarrow.json import ParseOptions, ReadOptions, read_json

        if not lines.strip():
            return pa.table({})
        others = "infer" if fields is None else "ignore"
        parse = ParseOptions(explicit_schema=fields, unexpected_field_behavior=others)
        try:
            return read_json(io.BytesIO(lines), ReadOptions(block_size=len(lines) + 1), parse)
        except pa.ArrowException as error:
            raise self._error(nonblank(lines), row, fields, error) from None

    def _error(self, lines: list[bytes], row: int, fields: Any, error: Exception) -> DataError:
        """The line pyarrow stumbled over, looked for again because pyarrow names columns but no rows or values."""
        kinds = {field.name: _kind(field.type) for field in fields or ()}
        for i, line in enumerate(lines, row):
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                return bad_row(self.name, i, f"expected a JSON object; got {line[:60].decode(errors='replace')!r}.")
            for name, value in record.items():
                kind = _KINDS.get(type(value), "")  # none for null, which fits everywhere
                expected = kinds.setdefault(name, kind) if fields is None else kinds.get(name)
                if kind and expected and kind != expected:
                    return bad_cell(self.name, i, name, f"{value!r} is {kind}; expected {expected}.")
        return DataError(f"{self.name}: data rows {row + 1:,} to {row + len(lines):,}: {error}")


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def _kind(arrow_type: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(arrow_type):
        return _KINDS[bool]
    return _KINDS[float] if is_numeric(arrow_type) else _KINDS[str]


def _typed(cells: Any, inferred: Any) -> Any:
    """Text cells as the inferred type, else as decimal numbers, else as they are."""
    import pyarrow as pa

    for kind in (inferred, pa.float64()):
        with suppress(pa.ArrowException):
            return cells.cast(kind)
    return cells
