"""CSV and JSON lines: formats without types, which are inferred from the first MiB and enforced afterwards."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import bad_cell, bad_row, join, naming, pick_from
from modicum.streams.readers.bytes_in import BOM, TEXT_BYTES, ByteSource, line_blocks, nonblank
from modicum.streams.readers.live import row_blocks
from modicum.streams.readers.tables import TableFile, is_numeric, stack

_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
JSON_DEPTH = 64  # of nested objects and lists; pyarrow would recurse until the stack overflows
JSON_CELLS = 1 << 26  # of a table inferred from the first MiB: half a GiB
_ARROW_CSV_ERROR = re.compile(r"(?:In CSV column #(\d+): )?.*?Row #(\d+): (.*)", re.DOTALL)


class TextFile(TableFile):
    """A file of CSV or JSON lines."""

    def __init__(self, source: ByteSource):
        super().__init__(source.name)
        self.rereadable, self.wait = source.rereadable, source.wait
        self.background = source.rereadable and source.wait is None
        self._source = source

    def read_as(self, field: Any, is_target: bool) -> Any:
        """Features are read as floats: integers in the first MiB may be fractions later. Targets keep their type."""
        import pyarrow as pa

        if is_target:
            looks_like_text = pa.types.is_temporal(field.type) or pa.types.is_null(field.type)
            return field.with_type(pa.string()) if looks_like_text else field
        return field.with_type(pa.float64()) if pa.types.is_integer(field.type) else field


class Csv(TextFile):
    """Separated values. A first line of numbers only is a data row; columns are then named 0, 1, ..."""

    label = "CSV"

    def __init__(self, source: ByteSource, delimiter: str = ","):
        super().__init__(source)
        self._delimiter = delimiter

    @cached_property
    def schema(self) -> Any:
        return self._sample().schema

    @cached_property
    def _first_line(self) -> list[str]:
        text = io.StringIO(self._source.text_head.decode("utf-8-sig", "surrogateescape"), newline="")
        try:
            line = next(filter(None, csv.reader(text, delimiter=self._delimiter)), None)
            "".join(line or ()).encode()
        except csv.Error as error:
            raise DataError(f"{self.name}: the first line can't be read as CSV: {error}.") from None
        except UnicodeEncodeError:
            raise DataError(f"{self.name}: the first line is not UTF-8 text. Save the file as UTF-8.") from None
        if line is None:
            raise DataError(f"{self.name}: the file is empty.")
        return line

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
            if pa.types.is_binary(cells.type):  # pyarrow's type for bytes that are not UTF-8
                row = next(i for i, cell in enumerate(cells) if not _is_text(cell.as_py()))
                return row, name, cells[row].as_py()
            if pa.types.is_string(cells.type):
                filled = pc.not_equal(cells, "").to_numpy()
                wrong = filled & ~pc.match_substring_regex(cells, _NUMBER).to_numpy()
                if 0 < 2 * wrong.sum() < filled.sum():
                    return int(wrong.argmax()), name, cells[wrong.argmax()].as_py()
        return None

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        types = {field.name: field.type for field in fields}
        return self._batches(True, include_columns=fields.names, column_types=types, strings_can_be_null=True)

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        """All cells as bytes, so that cells of other columns can't fail to parse."""
        import pyarrow as pa

        as_bytes = dict.fromkeys(self._names, pa.binary())
        return pick_from(self._batches(False, column_types=as_bytes, strings_can_be_null=True, null_values=[""]), rows)

    def assemble(self, batches: list[Any]) -> Any:
        table = stack(batches) if batches else self.schema.empty_table()
        for j, name in enumerate(table.column_names):
            if name in self.schema.names:
                table = table.set_column(j, name, _typed(table.column(j), self.schema.field(name).type))
        return table

    def _sample(self) -> Any:
        """The first rows with inferred types. Rows of wrong length are skipped here and reported while reading."""
        from pyarrow.csv import read_csv

        head = self._source.text_head
        wrong_length = (lambda row: "skip") if _is_text(head) else None  # pyarrow can't pass other rows to a function
        with self._errors():
            sample = read_csv(io.BytesIO(head), **self._options(len(head) + 1, wrong_length))
        if not sample.num_rows:
            raise DataError(f"{self.name}: no row below the header has its {len(self._names):,} columns.")
        return sample

    def _batches(self, live: bool, **convert: Any) -> Iterator[Any]:
        """Batches of the file; with `live`, rows that are still to come are waited for."""
        row = 0
        with self._source.open_live() if live else self._source.open() as file:
            for part in [file] if self._source.wait is None else self._parts(file):
                for batch in self._parsed(part, row, **convert):
                    row += batch.num_rows
                    yield batch

    def _parts(self, file: BinaryIO) -> Iterator[BinaryIO]:
        """The rows of a live file as they come, each time as a whole file with a header.

        One parser for all would read ahead in a thread of its own, and would hold back the last rows that came.
        """
        header = b""
        with naming(self.name):
            for rows in row_blocks(file, self._delimiter, TEXT_BYTES, self._source.complete):
                if rows.strip():
                    yield io.BytesIO(header + rows)
                    header = self._header_line

    @property
    def _header_line(self) -> bytes:
        line = io.StringIO()
        if self._has_header:
            csv.writer(line, delimiter=self._delimiter).writerow(self._names)
        return line.getvalue().encode()

    def _parsed(self, file: BinaryIO, row: int, **convert: Any) -> Iterator[Any]:
        """Batches of a file, or of a part of it that starts at `row`."""
        from pyarrow.csv import ConvertOptions, open_csv

        block_size = TEXT_BYTES if self._source.wait is None else 3 * TEXT_BYTES  # a part is parsed as one
        options = {**self._options(block_size), "convert_options": ConvertOptions(**convert)}
        with self._errors(row):
            quotes = _Quotes(file, self._delimiter)
            with open_csv(quotes, **options) as reader:
                yield from reader
            if quotes.open:
                raise DataError(f"{self.name}: a quote at the start of a cell is never closed.")

    def _options(self, block_size: int, wrong_length: Any = None) -> dict[str, Any]:
        from pyarrow.csv import ParseOptions, ReadOptions

        # Without threads pyarrow streams just as fast, and names the row of an error.
        names = None if self._has_header else self._names
        read = ReadOptions(column_names=names, block_size=block_size, use_threads=False)
        parse = ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=wrong_length)
        return {"read_options": read, "parse_options": parse}

    @contextmanager
    def _errors(self, first: int = 0) -> Iterator[None]:
        """Errors of pyarrow with our row numbers and column names: it counts the header, and numbers the columns.

        `first` is the row of the file at which its rows start.
        """
        import pyarrow as pa

        try:
            with naming(self.name):
                yield
        except DataError as error:
            if not isinstance(error.__cause__, pa.ArrowException):
                raise
            if "straddling" in str(error):
                raise DataError(f"{self.name}: a row is longer than 4 MiB. Is a quote never closed?") from None
            if not (found := _ARROW_CSV_ERROR.match(str(error.__cause__))):
                raise
            column, number, problem = found.groups()
            row = first + int(number) - 1 - self._has_header
            if column is None:
                raise bad_row(self.name, row, problem) from None
            problem += ". Correct it, or choose other columns with columns=."
            raise bad_cell(self.name, row, self._names[int(column)], problem) from None


class _Quotes:
    """A file that notes whether it ended inside quotes, which pyarrow does not report.

    Quotes inside an unquoted cell are text, so an odd number alone is not an error.
    """

    closed = False

    def __init__(self, file: BinaryIO, delimiter: str):
        self._file, self._before = file, {delimiter.encode(), b"\n", b"\r", b""}
        self._last = b""
        self._odd = self._opening = False

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if n := data.count(b'"'):
            last = data.rfind(b'"')
            self._odd ^= n % 2 == 1
            self._opening = (data[last - 1 : last] if last else self._last) in self._before
        self._last = data[-1:] or self._last
        return data

    @property
    def open(self) -> bool:
        return self._odd and self._opening


class JsonLines(TextFile):
    """One JSON object per line; blank lines are ignored."""

    label = "JSON lines"

    @cached_property
    def schema(self) -> Any:
        head = self._source.text_head
        if not head.removeprefix(BOM).strip():
            raise DataError(f"{self.name}: the file is empty.")
        return self._parse(head, 0).schema

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        row = 0
        for block in self._source.lines():
            table = self._parse(block, row, fields)
            row += table.num_rows
            yield from table.to_batches()

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        with self._source.open() as file:
            return pick_from(map(nonblank, line_blocks(file, complete=self._source.complete)), rows)

    def assemble(self, batches: list[Any]) -> Any:
        import pyarrow as pa

        table = self._parse(b"\n".join(join(batches)), 0) if batches else self.schema.empty_table()
        for field in self.schema:
            if field.name not in table.column_names:  # no row taken has this key
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table

    def _parse(self, lines: bytes, row: int, fields: Any = None) -> Any:
        """Lines that start at `row` of the file as a table with these fields, or all."""
        import pyarrow as pa
        from pyarrow.json import ParseOptions, ReadOptions, read_json

        lines = lines.removeprefix(BOM) if row == 0 else lines
        records = nonblank(lines)
        if not records:
            return pa.table({})
        if not _are_plain(records, lines):
            for i, line in enumerate(records, row):
                self._check_line(line, i)
        if fields is None:
            self._check_room(records)
        others = "infer" if fields is None else "ignore"
        parse = ParseOptions(explicit_schema=fields, unexpected_field_behavior=others)
        try:
            with naming(self.name):
                table = read_json(io.BytesIO(lines), ReadOptions(block_size=len(lines) + 1), parse)
        except DataError as error:
            raise self._error(records, row, fields, error) from None
        if table.num_rows != len(records):  # two objects in a line, say
            raise self._error(records, row, fields, f"{self.name}: expected one JSON object per line.")
        return table

    def _check_line(self, line: bytes, row: int) -> None:
        """Raise a DataError unless a line is one object, complete and not nested too deep for pyarrow."""
        line = line.strip()
        if not (line[0] == ord("{") and line[-1] == ord("}") and _is_text(line)):
            raise self._bad_line(line, row)
        if line.count(b"[") + line.count(b"{") > JSON_DEPTH and _depth(line) > JSON_DEPTH:
            raise bad_row(self.name, row, f"objects and lists are nested more than {JSON_DEPTH} deep.")

    def _check_room(self, lines: list[bytes]) -> None:
        """Raise a DataError if the table is too large: it has a cell for each object and each key of any object."""
        paths: dict[Any, int] = {}
        objects = 0
        for line in lines:
            with suppress(ValueError):  # pyarrow will report it
                objects += _count_objects(json.loads(line), 0, paths)
        if objects * len(paths) > JSON_CELLS:
            raise DataError(
                f"{self.name}: {objects:,} objects with {len(paths):,} different keys in the first MiB make a table of "
                f"more than {JSON_CELLS:,} cells. Use svmlight for sparse rows."
            )

    def _bad_line(self, line: bytes, row: int) -> DataError:
        if not _is_text(line):
            return bad_row(self.name, row, f"expected UTF-8 text; got {line[:60]!r}.")
        return bad_row(self.name, row, f"expected a JSON object; got {line[:60].decode(errors='replace')!r}.")

    def _error(self, lines: list[bytes], row: int, fields: Any, error: object) -> DataError:
        """The error about the line that pyarrow rejected, found again because pyarrow names no rows or values."""
        kinds = {field.name: _kind(field.type) for field in fields or ()}
        for i, line in enumerate(lines, row):
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                return self._bad_line(line, i)
            for name, value in record.items():
                kind = _KINDS.get(type(value), "")  # none for null, which every type allows
                expected = kinds.setdefault(name, kind) if fields is None else kinds.get(name)
                if kind and expected and kind != expected:
                    return bad_cell(self.name, i, name, f"{value!r} is {kind}; expected {expected}.")
        return DataError(f"{error} In data rows {row + 1:,} to {row + len(lines):,}.")


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def _kind(arrow_type: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(arrow_type):
        return _KINDS[bool]
    return _KINDS[float] if is_numeric(arrow_type) else _KINDS[str]


def _is_text(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _are_plain(records: list[bytes], lines: bytes) -> bool:
    """Whether all lines look like flat JSON objects, so that they need not be checked one by one."""
    brackets = lines.count(b"{") + lines.count(b"[")
    are_objects = all(line.startswith(b"{") and line.rstrip().endswith(b"}") for line in records)
    return are_objects and brackets < len(records) + JSON_DEPTH and _is_text(lines)


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')


def _depth(line: bytes) -> int:
    """Depth of nested brackets in a JSON text, without those in strings."""
    marks = np.frombuffer(_STRING.sub(b"", line), np.uint8)
    steps = np.isin(marks, [*b"[{"]).astype(np.int64) - np.isin(marks, [*b"]}"])
    return int(np.cumsum(steps).max(initial=0))


def _count_objects(value: Any, path: int, paths: dict[Any, int]) -> int:
    """The number of objects in a JSON value; `paths` collects a number for each distinct path of keys to a value."""
    if isinstance(value, list):
        inner = [_count_objects(item, path, paths) for item in value]
        return sum(inner)
    if not isinstance(value, dict):
        return 0
    steps = [(item, paths.setdefault((path, key), len(paths) + 1)) for key, item in value.items()]
    return 1 + sum(_count_objects(item, step, paths) for item, step in steps)


def _typed(cells: Any, inferred: Any) -> Any:
    """Cells of bytes as the inferred type, else as floats, else as text."""
    import pyarrow as pa

    try:
        text = cells.cast(pa.string())
    except pa.ArrowException:  # not UTF-8: shown with replacement characters
        return pa.array([None if cell is None else cell.decode(errors="replace") for cell in cells.to_pylist()])
    if pa.types.is_binary(inferred):  # because of a cell in another row
        return text
    for kind in (inferred, pa.float64()):
        with suppress(pa.ArrowException):
            return text.cast(kind)
    return text
