"""CSV: cells separated by a delimiter; the first lines tell how the file is written."""

import codecs
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import BadRows, bad_cell, bad_row, naming, pick_from
from modicum.streams.readers.bytes_in import TEXT_BYTES, ByteSource, line_blocks
from modicum.streams.readers.columns import position
from modicum.streams.readers.dialect import (
    DETECT,
    MISSING_TEXT,
    MISSING_VALUE,
    NUMBER,
    Dialect,
    TextOptions,
    detect,
    single_spaces,
)
from modicum.streams.readers.live import row_blocks
from modicum.streams.readers.tables import stack
from modicum.streams.readers.text_files import SKIP, TextFile, is_text

STRAY = 0.1  # share of cells that may be skipped in a column of numbers
NOT_UTF8 = "\ufdd0"  # stands for bytes that are not UTF-8 where rows are skipped: no text may contain this code point
_ARROW_CSV_ERROR = re.compile(r"(?:In CSV column #(\d+): )?.*?Row #(\d+): (.*)", re.DOTALL)
_ARROW_CELL_ERROR = re.compile(r"CSV conversion error to (\w+).*?: invalid value ('.*')", re.DOTALL)
_ARROW_TYPES = {"double": "a number", "int64": "a whole number", "bool": "true or false", "date32": "a date"}


WrongLength = Callable[[int, Any], object]  # told the number of a row from 0, and pyarrow's account of it


class Csv(TextFile):
    """Separated values; `dialect.py` detects the delimiter and the header. Columns without a header are 0, 1, ..."""

    label = "CSV"

    def __init__(self, source: ByteSource, delimiter: str = ",", options: TextOptions = DETECT):
        super().__init__(source, options)
        self._usual_delimiter = delimiter

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written."""
        return detect(self._source.text_head, self.name, self._options, self._usual_delimiter)

    @property
    def notes(self) -> list[str]:
        return [*self.dialect.notes]

    @property
    def _names(self) -> tuple[str, ...]:
        return self.dialect.names

    def stray_text(self, columns: Iterable[str]) -> tuple[int, str, str | bytes] | None:
        import pyarrow as pa

        sample = self._sample()
        for name in columns:
            cells = sample.column(name)
            if pa.types.is_binary(cells.type):  # pyarrow's type for bytes that are not UTF-8
                row = next(i for i, cell in enumerate(cells) if not is_text(cell.as_py()))
                return row, name, cells[row].as_py()
            if pa.types.is_string(cells.type) and name not in self._options.as_text:
                wrong, n_filled = self._not_numbers(cells)
                if 0 < 2 * wrong.sum() < n_filled:
                    return int(wrong.argmax()), name, cells[wrong.argmax()].as_py()
        return None

    def _not_numbers(self, cells: Any) -> tuple[np.ndarray, int]:
        """Which cells are neither numbers nor missing, and the number of cells that are not missing."""
        import pyarrow.compute as pc

        filled = ~_is_in(cells, MISSING_VALUE).to_numpy()
        number = NUMBER[self.dialect.decimal_point]
        return filled & ~pc.match_substring_regex(cells, number).to_numpy(), int(filled.sum())

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        self.bad = BadRows(self.name)
        if absent := [name for name in fields.names if name not in self._names]:
            raise DataError(f"{self.name}: no column {absent[0]!r}, which the first file has. Leave this file out.")
        if self._options.skip_bad_rows:
            return (kept for kept, _ in self._kept(fields, fields.names, self.bad, live=True))
        return map(_with_gaps, self._batches({field.name: field.type for field in fields}, live=True))

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        """All cells as bytes, so that cells of other columns can't fail to parse."""
        import pyarrow as pa

        if self._options.skip_bad_rows:
            kept = self._kept(self._judged, self._names, BadRows(), live=False)
            return pick_from((cells for _, cells in kept), rows)
        return pick_from(self._batches(dict.fromkeys(self._names, pa.binary()), live=False), rows)

    def assemble(self, batches: list[Any]) -> Any:
        table = stack(batches) if batches else self.schema.empty_table()
        for j, name in enumerate(table.column_names):
            if name in self.schema.names:
                kind = self.schema.field(name).type
                table = table.set_column(j, name, _typed(table.column(j), kind, self.dialect.decimal_point))
        return table

    def _kept(self, fields: Any, names: Iterable[str], bad: BadRows, *, live: bool) -> Iterator[tuple[Any, Any]]:
        """Rows that can be read: their `fields` converted, and the cells of columns `names` as text."""
        import pyarrow as pa

        left_out: list[int] = []  # rows with a wrong number of cells after those yielded so far

        def skip(number: int, problem: Any) -> None:
            left_out.append(number)
            bad.add(number, f"expected {problem.expected_columns} cells, got {problem.actual_columns}")

        row = 0  # of the file
        for batch in self._batches(dict.fromkeys(names, pa.string()), skip, live=live):
            rows = _numbers(row, batch.num_rows, left_out)
            converted = [_convert(batch.column(f.name), f.type, self.dialect.decimal_point) for f in fields]
            good = ~np.any([wrong for _, wrong in converted], axis=0)
            wrong_rows = np.flatnonzero(~good)
            for i in wrong_rows[: BadRows.SHOWN]:
                field = next(f for f, (_, wrong) in zip(fields, converted, strict=True) if wrong[i])
                cell = batch.column(field.name)[i].as_py()
                bad.add(int(rows[i]), f"column {field.name!r}: {_wrong_type(cell, field.type)}")
            bad.count += len(wrong_rows[BadRows.SHOWN :])
            row = int(rows[-1]) + 1 if len(rows) else row
            table = pa.RecordBatch.from_arrays([cells for cells, _ in converted], schema=pa.schema(fields))
            yield (table, batch) if good.all() else (table.filter(pa.array(good)), batch.filter(pa.array(good)))

    def _sample(self) -> Any:
        """The first rows with inferred types. Rows of wrong length are skipped here and reported while reading."""
        import pyarrow as pa
        from pyarrow.csv import read_csv

        head = self._source.text_head[self.dialect.start :]
        head = single_spaces(head) if self.dialect.delimiter == " " else head
        head = _mended(head) if self._options.skip_bad_rows else head
        wrong_length = (lambda row: "skip") if is_text(head) else None  # pyarrow can't pass other rows to a function
        for name in self._options.as_text:
            position(name, self.name, len(self._names), self._names)  # a DataError if there is no such column
        types = dict.fromkeys(self._options.as_text, pa.string())
        options = self._csv_options(len(head) + 1, wrong_length, types, None, header=self.dialect.has_header)
        with self._errors(-int(self.dialect.has_header)):
            sample = read_csv(io.BytesIO(head), **options)
        if not sample.num_rows:
            raise DataError(f"{self.name}: no row below the header has its {len(self._names):,} columns.")
        sample = self._with_codes(sample, head, options)
        return self._with_stray_numbers(sample) if self._options.skip_bad_rows else sample

    def _with_codes(self, sample: Any, head: bytes, options: dict[str, Any]) -> Any:
        """A sample in which codes such as 01234, which have no value as numbers, are text."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow.csv import ConvertOptions, read_csv

        whole = [field.name for field in sample.schema if pa.types.is_integer(field.type)]
        if not whole:
            return sample
        as_text = ConvertOptions(include_columns=whole, column_types=dict.fromkeys(whole, pa.string()))
        cells = read_csv(io.BytesIO(head), **options | {"convert_options": as_text})
        for name in whole:
            if pc.any(pc.match_substring_regex(cells.column(name), r"^\s*0\d")).as_py():
                sample = sample.set_column(sample.column_names.index(name), name, cells.column(name))
        return sample

    def _with_stray_numbers(self, sample: Any) -> Any:
        """A sample in which a column of numbers may have a few cells of text: their rows will be skipped."""
        import pyarrow as pa

        for j, field in enumerate(sample.schema):
            cells = sample.column(j)
            if pa.types.is_string(field.type) and field.name not in self._options.as_text:
                wrong, n_filled = self._not_numbers(cells)
                if 0 < wrong.sum() <= STRAY * n_filled:
                    numbers, _ = _convert(cells.combine_chunks(), pa.float64(), self.dialect.decimal_point)
                    sample = sample.set_column(j, field.name, numbers)
        return sample

    def _batches(self, types: dict[str, Any], wrong_length: WrongLength | None = None, *, live: bool) -> Iterator[Any]:
        """Batches of these columns; with `live`, rows that are still to come are waited for.

        Rows of another length are passed to `wrong_length`, with their number in the file, and left out.
        """
        first, header, n_read = 0, self.dialect.has_header, 0  # of a part; rows so far

        def skip(row: Any) -> str:
            nonlocal n_read
            n_read += 1
            assert wrong_length is not None
            wrong_length(first + row.number - 1 - header, row)
            return "skip"

        with self._source.open_live() if live else self._source.open() as file:
            file.read(self.dialect.start)
            for part in [file] if self._source.wait is None else self._parts(file):
                options = self._csv_options(TEXT_BYTES, wrong_length and skip, types, [*types], header=header)
                for batch in self._parsed(part, options, first - header):
                    n_read += batch.num_rows
                    yield batch
                first, header = n_read, False

    def _parts(self, file: BinaryIO) -> Iterator[BinaryIO]:
        """The rows of a live file as they come.

        One parser for all would read ahead in a thread of its own, and would hold back the last rows that came.
        """
        marks, blank = (" \t", b" \t\r\n") if self.dialect.delimiter == " " else (self.dialect.delimiter, b"\r\n")
        with naming(self.name):
            for rows in row_blocks(file, marks, TEXT_BYTES, self._source.complete):
                if rows.strip(blank):  # pyarrow refuses to read nothing
                    yield io.BytesIO(rows)

    def _parsed(self, file: BinaryIO, options: dict[str, Any], first: int) -> Iterator[Any]:
        """Batches of a file, or of a part of it whose first line is row `first` of the file."""
        from pyarrow.csv import open_csv

        with self._errors(first):
            quotes = _Quotes(self._rewritten(file), self.dialect.delimiter)
            with open_csv(quotes, **options) as reader:
                yield from reader
            if quotes.open:
                raise DataError(f"{self.name}: a quote at the start of a cell is never closed.")

    def _rewritten(self, file: Any) -> Any:
        """The file as pyarrow can read it."""
        if self.dialect.delimiter == " ":
            file = _Rewritten(single_spaces(block) + b"\n" for block in line_blocks(file))
        return _Rewritten(_mended_blocks(file)) if self._options.skip_bad_rows else file

    def _csv_options(
        self, block_size: int, wrong_length: Any, types: dict[str, Any], columns: list[str] | None, *, header: bool
    ) -> dict[str, Any]:
        """Options of pyarrow for text that starts with a line of names, or not."""
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

        dialect = self.dialect
        # Without threads pyarrow streams just as fast, and names the row of an error.
        read = ReadOptions(block_size=block_size, use_threads=False)
        read.column_names, read.skip_rows_after_names = dialect.names, int(header)
        parse = ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=wrong_length)
        # Columns of text get no nulls here, as some words are missing values only among numbers: see `_with_gaps`.
        convert = ConvertOptions(column_types=types, include_columns=columns, null_values=MISSING_VALUE)
        convert.decimal_point = dialect.decimal_point
        return {"read_options": read, "parse_options": parse, "convert_options": convert}

    @contextmanager
    def _errors(self, first: int) -> Iterator[None]:
        """Errors of pyarrow with our row numbers and column names: it numbers both.

        `first` is the row of the file at which pyarrow starts, -1 for a header.
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
            row = first + int(number) - 1
            if column is None:
                raise bad_row(self.name, row, f"{problem[:200]}. {SKIP}.") from None
            name = self._names[int(column)]
            if "UTF8" in problem:
                raise bad_cell(self.name, row, name, f"not UTF-8 text. Save the file as UTF-8; {SKIP}.") from None
            if cell := _ARROW_CELL_ERROR.match(problem):
                problem = f"{cell[2]} is not {_ARROW_TYPES.get(cell[1], cell[1])}"
            problem += f". Correct it, or choose other columns with columns=; {SKIP}."
            raise bad_cell(self.name, row, name, problem) from None


def _numbers(row: int, n_rows: int, left_out: list[int]) -> np.ndarray:
    """Numbers in the file of its next rows, from `row` on; those left out are skipped, and forgotten once passed."""
    numbers = np.arange(row, row + n_rows)
    if left_out and n_rows:
        gaps = np.asarray(left_out)
        numbers += np.searchsorted(gaps - np.arange(len(gaps)), numbers, side="right")
        del left_out[: int(np.searchsorted(gaps, numbers[-1]))]
    return numbers


def _is_in(cells: Any, spellings: Iterable[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(cells, value_set=pa.array(spellings, cells.type))


def _with_gaps(batch: Any) -> Any:
    """A batch whose columns of text have nulls too."""
    import pyarrow as pa

    for j, field in enumerate(batch.schema):
        if pa.types.is_string(field.type):
            batch = batch.set_column(j, field, _text(batch.column(j)))
    return batch


def _text(cells: Any, missing: Iterable[str] = MISSING_TEXT) -> Any:
    """Text with nulls for missing values."""
    import pyarrow.compute as pc

    gaps = _is_in(cells, missing)
    return pc.if_else(gaps, None, cells) if pc.any(gaps).as_py() else cells


def _convert(cells: Any, kind: Any, point: str) -> tuple[Any, np.ndarray]:
    """Text as another type, and which cells do not have this type; these are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(kind):
        wrong = pc.match_substring(cells, NOT_UTF8).to_numpy(zero_copy_only=False)
        return _text(cells), wrong
    right = np.zeros(len(cells), bool)
    if point == "." or not pa.types.is_floating(kind):
        with suppress(pa.ArrowException):  # the usual case, and the fastest
            return _without_nan(cells.cast(kind)), right
    cells = _text(pc.utf8_trim_whitespace(cells), MISSING_VALUE)
    if pa.types.is_floating(kind):
        if point == ",":  # 1.5 is no number here: it might be one and a half, or fifteen hundred in thousands
            cells = pc.replace_substring(pc.replace_substring(cells, ".", "!"), ",", ".")
        likely = pc.match_substring_regex(cells, r"^[-+]?(\d|\.\d|inf|nan)", ignore_case=True)
        wrong = pc.invert(likely).fill_null(False).to_numpy(zero_copy_only=False)
        wrong |= _not_castable(pc.if_else(pa.array(wrong), None, cells), kind)
    else:
        wrong = _not_castable(cells, kind)
    return _without_nan(pc.if_else(pa.array(wrong), None, cells).cast(kind)), wrong


def _without_nan(cells: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(cells.type):
        return cells
    nan = pc.is_nan(cells)
    return pc.if_else(nan, None, cells) if pc.any(nan).as_py() else cells


def _not_castable(cells: Any, kind: Any) -> np.ndarray:
    """Which cells can't be cast, found by halving."""
    import pyarrow as pa

    try:
        cells.cast(kind)
    except pa.ArrowException:
        if len(cells) == 1:
            return np.ones(1, bool)
        half = len(cells) // 2
        return np.concatenate([_not_castable(part, kind) for part in (cells[:half], cells[half:])])
    return np.zeros(len(cells), bool)


def _wrong_type(cell: str, kind: Any) -> str:
    if NOT_UTF8 in cell:
        return "not UTF-8 text"
    word = re.split(r"\W", str(kind))[0]  # timestamp[s] is of the type timestamp
    return f"{cell[:60]!r} is not {_ARROW_TYPES.get(word, str(kind))}"


codecs.register_error("modicum.not_utf8", lambda error: (NOT_UTF8, error.end))  # type: ignore[attr-defined]


def _mended(data: bytes) -> bytes:
    """Valid UTF-8, with a mark in place of other bytes."""
    return data if is_text(data) else data.decode("utf-8", "modicum.not_utf8").encode()


def _mended_blocks(file: Any) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("modicum.not_utf8")
    while data := file.read(TEXT_BYTES):
        yield decoder.decode(data).encode()
    yield decoder.decode(b"", final=True).encode()


class _Rewritten:
    """A file of these blocks."""

    closed = False

    def __init__(self, blocks: Iterable[bytes]):
        self._blocks, self._rest = iter(blocks), b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (block := next(self._blocks, None)) is not None:
            self._rest += block
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


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


def _typed(cells: Any, inferred: Any, point: str) -> Any:
    """Cells of bytes or text as the inferred type, else as floats, else as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        text = cells.cast(pa.string())
    except pa.ArrowException:  # not UTF-8: shown with replacement characters
        return pa.array([None if cell is None else cell.decode(errors="replace") for cell in cells.to_pylist()])
    text = text.combine_chunks()
    if not (pa.types.is_binary(inferred) or pa.types.is_string(inferred)):  # bytes because of a cell in another row
        for kind in (inferred, pa.float64()):
            converted, wrong = _convert(text, kind, point)
            if not wrong.any():
                return converted
    return _text(pc.replace_substring(text, NOT_UTF8, "\ufffd"), [""])
