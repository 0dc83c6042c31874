"""JSON lines: an object per line."""

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.base import BadRows, bad_cell, bad_row, join, naming, pick_from
from modicum.streams.readers.bytes_in import BOM, ByteSource, nonblank
from modicum.streams.readers.dialect import (
    DETECT,
    TextOptions,
)
from modicum.streams.readers.tables import is_numeric
from modicum.streams.readers.text_files import SKIP, TextFile, is_text

JSON_DEPTH = 64  # of nested objects and lists; pyarrow would recurse until the stack overflows
JSON_CELLS = 1 << 26  # of a table inferred from the first MiB: half a GiB


class JsonLines(TextFile):
    """One JSON object per line; blank lines are ignored."""

    label = "JSON lines"

    def __init__(self, source: ByteSource, options: TextOptions = DETECT):
        super().__init__(source, options)

    def batches(self, fields: Any, start: int, size: int) -> Iterator[Any]:
        self.bad = BadRows(self.name)
        for table, _ in self._kept(fields, self.bad, live=True):
            yield from table.to_batches()

    def gather(self, rows: np.ndarray) -> tuple[list[Any], int]:
        if self._options.skip_bad_rows:
            import pyarrow as pa

            kept = self._kept(pa.schema(self._judged), BadRows(), live=False)
            return pick_from((lines for _, lines in kept), rows)
        return pick_from(map(nonblank, self._source.lines(live=False)), rows)

    def assemble(self, batches: list[Any]) -> Any:
        import pyarrow as pa

        table = self._parse(b"\n".join(join(batches)), 0) if batches else self.schema.empty_table()
        for field in self.schema:
            if field.name not in table.column_names:  # no row taken has this key
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table

    def _sample(self) -> Any:
        head = self._source.text_head.removeprefix(BOM)
        if not (records := nonblank(head)):
            raise DataError(f"{self.name}: the file is empty.")
        if not self._options.skip_bad_rows:
            return self._parse(head, 0)
        table, kept = self._readable(records, _usual_kinds(records))
        if not kept:
            raise DataError(f"{self.name}: no line of the first MiB is a JSON object.")
        return table

    def _kept(self, fields: Any, bad: BadRows, *, live: bool) -> Iterator[tuple[Any, list[bytes]]]:
        """Tables with these fields, and the lines they are made of, without those that are skipped."""
        row = 0  # of the file
        kinds = {field.name: _kind(field.type) for field in fields}
        for block in self._source.lines(live=live):
            lines = block.removeprefix(BOM) if row == 0 else block
            records = nonblank(lines)
            kept = [*range(len(records))]
            try:
                table = self._parse(lines, row, fields)
            except DataError:
                if not self._options.skip_bad_rows:
                    raise
                table, kept = self._readable(records, kinds, fields)
                for i in sorted({*range(len(records))} - {*kept}):
                    column, problem = _problem(records[i], kinds) or (None, "a value does not match its column")
                    bad.add(row + i, problem if column is None else f"column {column!r}: {problem}")
            row += len(records)
            yield table, [records[i] for i in kept]

    def _readable(self, records: list[bytes], kinds: dict[str, str], fields: Any = None) -> tuple[Any, list[int]]:
        """A table of the lines that can be read, and their positions."""
        import pyarrow as pa

        tables, kept = [], []
        parts = [[i for i, line in enumerate(records) if _problem(line, kinds) is None]]
        while parts:
            rows = parts.pop()
            try:
                tables.append(self._parse(b"\n".join(records[i] for i in rows), 0, fields))
                kept += rows
            except DataError:  # about a value that only pyarrow rejects: find it by halving
                half = len(rows) // 2
                parts += [rows[half:], rows[:half]] if half else []
        tables = [table for table in tables if len(table)] or [pa.table({})]
        return pa.concat_tables(tables, promote_options="permissive"), kept

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
                if problem := _malformed(line):
                    raise bad_row(self.name, i, problem + f" {SKIP}.")
        as_text = pa.schema([(name, pa.string()) for name in sorted(self._options.as_text)])
        if fields is None:
            self._check_room(records)
        others = "infer" if fields is None else "ignore"
        parse = ParseOptions(explicit_schema=as_text if fields is None else fields, unexpected_field_behavior=others)
        try:
            with naming(self.name):
                table = read_json(io.BytesIO(lines), ReadOptions(block_size=len(lines) + 1), parse)
        except DataError as error:
            raise self._error(records, row, fields, error) from None
        if table.num_rows != len(records):  # two objects in a line, say
            raise self._error(records, row, fields, f"{self.name}: expected one JSON object per line.")
        return table

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

    def _error(self, lines: list[bytes], row: int, fields: Any, error: object) -> DataError:
        """The error about the line that pyarrow rejected, found again because pyarrow names no rows or values."""
        kinds = _usual_kinds(lines) if fields is None else {field.name: _kind(field.type) for field in fields}
        for i, line in enumerate(lines, row):
            if found := _problem(line, kinds):
                column, problem = found
                problem += f" {SKIP}."
                return bad_row(self.name, i, problem) if column is None else bad_cell(self.name, i, column, problem)
        return DataError(f"{error} In data rows {row + 1:,} to {row + len(lines):,}.")


def _malformed(line: bytes) -> str | None:
    """What is wrong with a line that is not one object, complete and not nested too deep for pyarrow."""
    line = line.strip()
    if not is_text(line):
        return f"expected UTF-8 text; got {line[:60]!r}."
    if not (line[:1] == b"{" and line[-1:] == b"}"):
        return f"expected a JSON object; got {line[:60].decode(errors='replace')!r}."
    if line.count(b"[") + line.count(b"{") > JSON_DEPTH and _depth(line) > JSON_DEPTH:
        return f"objects and lists are nested more than {JSON_DEPTH} deep."
    return None


def _problem(line: bytes, kinds: dict[str, str]) -> tuple[str | None, str] | None:
    """The column (None for the whole line) and what is wrong with it, if values should be of these kinds."""
    if malformed := _malformed(line):
        return None, malformed
    record = _record(line)
    if record is None:
        return None, f"expected a JSON object; got {line[:60].decode(errors='replace')!r}."
    for name, value in record.items():
        kind, expected = _KINDS.get(type(value), ""), kinds.get(name)  # no kind for null, which every type allows
        if kind and expected and kind != expected:
            return name, f"{value!r} is {kind}; expected {expected}."
    return None


def _record(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        record = json.loads(line)
        return record if isinstance(record, dict) else None
    return None


def _usual_kinds(lines: list[bytes]) -> dict[str, str]:
    """The most common kind of the values of each key."""
    counts: dict[str, Counter[str]] = {}
    for line in lines:
        for name, value in (_record(line) or {}).items():
            counts.setdefault(name, Counter())[_KINDS.get(type(value), "")] += 1
    return {name: max(kinds, key=lambda kind: (kind != "", kinds[kind])) for name, kinds in counts.items()}


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def _kind(arrow_type: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(arrow_type):
        return _KINDS[bool]
    if pa.types.is_list(arrow_type):
        return _KINDS[list]
    if pa.types.is_struct(arrow_type):
        return _KINDS[dict]
    return _KINDS[float] if is_numeric(arrow_type) else _KINDS[str]


def _are_plain(records: list[bytes], lines: bytes) -> bool:
    """Whether all lines look like flat JSON objects, so that they need not be checked one by one."""
    brackets = lines.count(b"{") + lines.count(b"[")
    are_objects = all(line.startswith(b"{") and line.rstrip().endswith(b"}") for line in records)
    return are_objects and brackets < len(records) + JSON_DEPTH and is_text(lines)


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
