"""`as_answers(source)` reads answers of workers from files, tables, mappings and lists."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from modicum.crowd.answers import Answers
from modicum.crowd.cells import Cells, as_cells
from modicum.crowd.column_map import ROLES, ColumnMap, guess, listed
from modicum.crowd.names import codes_of
from modicum.exceptions import DataError
from modicum.streams import Paths, Stream, stream
from modicum.streams.readers.base import join
from modicum.streams.readers.files import find_files
from modicum.streams.readers.formats import CSV, TSV
from modicum.streams.readers.paths import as_paths

_ARROW = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")


def as_answers(source: Any, columns: Mapping[str, str | int] | str | None = None, **reading: Any) -> Answers:
    """Answers of workers from almost anything.

    A row says that a worker, in a task, put an item in a group. A task shows some items to workers, who sort them; what
    one worker said to one task is an answer. `Answers.notes` lists what was ignored or assumed.

    Names are whole numbers or texts. Blanks around texts are removed. All cells of CSV files are texts, so that the
    item 007 is not the item 7; those of standard input are numbers if they look like it.

    Without a column of workers, each task is the answer of an unknown worker of its own. Without a column of tasks,
    each worker must have answered one. Rows without an item or a group are ignored: the worker left the item out.

    Parameters
    ----------
    source : object
        One of these: paths of files (CSV, Parquet, JSON lines and others that `modicum.stream` reads), one or a list; a
        Stream made with `raw=True`; a data frame or Arrow table; a mapping of columns; a list of mappings; an array or
        a list of rows (worker, task, item, group); or Answers, which are returned unchanged.
    columns : dict of str, or str, default=None
        The columns of the source that have the "worker", "task", "item" and "group", where they are named otherwise;
        of arrays, their positions. "worker=WorkerId,task=HITId" is short for {"worker": "WorkerId", "task": "HITId"}.
        A `*` stands for a part that names of both items and groups have, and makes an item of each: with
        "item=Input.image*,group=Answer.group*", a row with Input.image1, Answer.group1, Input.image2, ... is an answer.
        Result files of Mechanical Turk have that form.
    **reading
        Options of `modicum.stream` for files, such as `delimiter`.

    Returns
    -------
    Answers

    Examples
    --------
    >>> from modicum.crowd.reading import as_answers
    >>> rows = [("ann", 1, "cat.png", "pets"), ("ann", 1, "dog.png", "pets"), ("ann", 1, "car.png", "things")]
    >>> as_answers(rows).pairs().label
    array([-1., -1.,  1.])
    """
    if isinstance(source, Answers):
        return source
    wanted = ColumnMap(columns)
    tables = list(_tables(source, wanted, reading))
    if not any(table.n_rows for table in tables):
        raise DataError(f"{tables[0].name if tables else 'the source'}: there are no answers in it.")
    return _united([_long(table, wanted) for table in tables if table.n_rows])


@dataclass(frozen=True)
class _Table:
    """Columns by name, of one length."""

    name: str  # of the source, in messages
    columns: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    places: tuple[Any, Any] | None = None  # columns of files and of row numbers in them

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items() if hasattr(column, "__len__")}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
            raise DataError(f"{self.name}: columns must have one length; got {found}.")

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def cells(self, column: str) -> Cells:
        return as_cells(self.columns[column], f"{self.name}: column {column!r}")

    def place(self, row: int) -> str:
        """The name of a row, which no other row has, also of other files."""
        if self.places is None:
            return f"row {row + 1}"
        file, number = self.places
        return f"{file[row]} row {number[row]}"


@dataclass(frozen=True)
class _Rows:
    """The four columns of a table, one row per item that was put in a group."""

    name: str
    columns: dict[str, Cells]
    notes: list[str]
    n_blank: int


def _tables(source: Any, wanted: ColumnMap, reading: dict[str, Any]) -> Iterator[_Table]:
    """The tables of a source, several only of files."""
    if isinstance(source, str | PathLike | Paths):
        yield from _file_tables(as_paths(source), wanted, reading)
    elif isinstance(source, Stream):
        yield _stream_table(source, wanted)
    elif isinstance(source, Mapping):
        yield _Table("the mapping", {str(name): column for name, column in source.items()})
    elif any(hasattr(source, name) for name in _ARROW):
        yield _stream_table(stream(source, raw=True), wanted)
    elif isinstance(source, np.ndarray):
        yield _array_table(source, "the array", wanted)
    elif hasattr(source, "__iter__") and not isinstance(source, bytes) and not hasattr(source, "tocsr"):
        yield from _listed_tables(list(source), wanted, reading)
    else:
        raise DataError(
            f"as_answers: can't read answers from {type(source).__name__}. Give the path of a file, a data frame, a "
            "mapping of columns, or a list of rows (worker, task, item, group)."
        )


def _listed_tables(rows: list[Any], wanted: ColumnMap, reading: dict[str, Any]) -> Iterator[_Table]:
    """The tables of a list of paths, of mappings or of rows."""
    if not rows:
        return
    if all(isinstance(row, str | PathLike) for row in rows):
        yield from _file_tables(Paths(*rows), wanted, reading)
    elif all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        yield _Table("the list", {str(name): [row.get(name) for row in rows] for name in names})
    elif all(isinstance(row, Sequence | np.ndarray) and not isinstance(row, str | bytes) for row in rows):
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise DataError(f"as_answers: rows must have one length; got rows of {min(widths)} and of {max(widths)}.")
        yield _positional(list(zip(*rows, strict=True)), "the list", wanted)
    else:
        kinds = ", ".join(sorted({type(row).__name__ for row in rows}))
        raise DataError(f"as_answers: a list must hold rows (worker, task, item, group), or mappings; got {kinds}.")


def _array_table(rows: np.ndarray, name: str, wanted: ColumnMap) -> _Table:
    if rows.dtype.names is not None:
        return _Table(name, {column: rows[column] for column in rows.dtype.names})
    if rows.ndim != 2:
        raise DataError(f"as_answers: an array must have rows (worker, task, item, group); got the shape {rows.shape}.")
    return _positional(list(rows.T), name, wanted)


def _positional(columns: list[Any], name: str, wanted: ColumnMap) -> _Table:
    """A table of columns without names: the four in their order, or positions if these are mapped."""
    if wanted.is_given:
        return _Table(name, {str(j): column for j, column in enumerate(columns)})
    if len(columns) != len(ROLES):
        raise DataError(
            f"as_answers: rows must be (worker, task, item, group); got {len(columns)} columns. "
            'Say where they are, as in columns={"task": 0, "item": 1, "group": 2}.'
        )
    return _Table(name, dict(zip(ROLES, columns, strict=True)))


def _file_tables(paths: Paths, wanted: ColumnMap, reading: dict[str, Any]) -> Iterator[_Table]:
    found = None if paths.sources == ("-",) else find_files(paths)
    if found is None or found.format not in (CSV, TSV):
        yield _stream_table(stream(paths, raw=True, **reading), wanted)
        return
    skipped = [f"skipped: {', '.join(found.skipped)}"] if found.skipped else []
    for file in map(str, found.files):  # one by one, as files of several batches differ in columns that do not matter
        names = stream(file, raw=True, **reading).table_columns
        table = _stream_table(stream(file, raw=True, as_text=names or (), **reading), wanted)
        yield replace(table, notes=[*skipped, *table.notes])


def _stream_table(rows: Stream, wanted: ColumnMap) -> _Table:
    """All rows of a stream."""
    chunks = [chunk.X for chunk in rows]
    notes = [*rows.notes, *_bad_rows(rows)]
    if not chunks:
        return _Table(rows.name, {}, notes)
    table = join(chunks)
    if isinstance(table, np.ndarray) and rows.columns is None:
        return replace(_array_table(table, rows.name, wanted), notes=notes)
    if not rows.is_raw or not hasattr(table, "schema"):
        raise DataError(f"{rows.name}: answers are read from tables, and by a stream made with raw=True.")
    columns = {name: table.column(name) for name in rows.table_columns or ()}
    return _Table(rows.name, columns, notes, (table.column("_file"), table.column("_row")))


def _bad_rows(rows: Stream) -> Iterator[str]:
    if rows.bad_rows.count:
        file, row, why = rows.bad_rows.first[0]
        yield f"{rows.bad_rows.count:,} bad rows left out, the first is {file}: data row {row:,}: {why}"


def _long(table: _Table, wanted: ColumnMap) -> _Rows:
    """A table with one row per item that was put in a group."""
    notes = list(table.notes)
    if wanted.is_wide:
        items, groups, alone = wanted.partners(table.names, table.name)
        notes += [f"{table.name}: columns without a partner are ignored: {listed(alone)}"] if alone else []
    else:
        items, groups = ([str(wanted.column(role, table.names, table.name))] for role in ("item", "group"))
    columns = {
        role: Cells.beside([table.cells(name) for name in names])
        for role, names in (("item", items), ("group", groups))
    }
    for role in ("worker", "task"):
        name = wanted.column(role, table.names, table.name)
        if name is not None:
            columns[role] = table.cells(name).repeated(len(items))
        elif wanted.is_wide:
            places = [table.place(row) for row in range(table.n_rows)]
            columns[role] = Cells(places, np.arange(len(places))).repeated(len(items))
        if name is None:
            notes.append(_assumed(role, table, wanted))
    kept = ~(columns["item"].are_blank() | columns["group"].are_blank())
    columns = {role: cells.take(kept) for role, cells in columns.items()}
    _refuse_blanks(table, columns, np.flatnonzero(kept) // len(items))
    return _Rows(table.name, _completed(table, columns), notes, int((~kept).sum()))


def _assumed(role: str, table: _Table, wanted: ColumnMap) -> str:
    """What is assumed in place of a column that is not there."""
    if wanted.is_wide:
        assumed = "each row is taken for the answer of an unknown worker" if role == "worker" else "each row is a task"
    else:
        assumed = f"each {'task' if role == 'worker' else 'worker'} is taken to have one answer"
        assumed += ", of an unknown worker" if role == "worker" else ""
    likely = guess(role, table.names)
    hint = f". If it is {likely!r}, map it: columns='{role}={likely}'" if likely else ""
    return f"{table.name}: no column {role!r}, so {assumed}{hint}"


def _refuse_blanks(table: _Table, columns: dict[str, Cells], rows: np.ndarray) -> None:
    for role in ("worker", "task"):
        if role in columns and (blank := columns[role].are_blank()).any():
            first = int(rows[np.flatnonzero(blank)[0]])
            raise DataError(
                f"{table.name}: {_count(int(blank.sum()), 'row')} without a {role}, as {table.place(first)}."
            )


def _completed(table: _Table, columns: dict[str, Cells]) -> dict[str, Cells]:
    """All four columns: unknown workers are named after tasks, and only tasks after workers."""
    if "worker" not in columns and "task" not in columns:
        raise DataError(
            f"{table.name}: no column of workers and none of tasks, so all rows would be one answer. "
            f"It has: {listed(table.names)}. Map one of both, as in columns='worker=...'."
        )
    if "worker" not in columns:
        tasks = columns["task"]
        return columns | {"worker": Cells([f"task {name}" for name in tasks.values], tasks.codes)}
    if "task" not in columns:
        _check_single(table, columns)
        return columns | {"task": columns["worker"]}
    return columns


def _check_single(table: _Table, columns: dict[str, Cells]) -> None:
    """A `DataError` if a worker has an item twice, and so answered more than one task."""
    worker, item = columns["worker"].names(), columns["item"].names()
    workers, code = codes_of(worker)
    both = codes_of(code + len(workers) * codes_of(item)[1].astype(np.int64))[1]
    twice = np.flatnonzero(np.bincount(both)[both] > 1)
    if len(twice):
        raise DataError(
            f"{table.name}: the worker {worker[twice[0]]} has the item {item[twice[0]]} more than once, so there is "
            "more than one task. Map the column of tasks, as in columns='task=...'."
        )


def _united(tables: list[_Rows]) -> Answers:
    """The answers in all tables."""
    columns = {role: Cells.after([table.columns[role] for table in tables]) for role in ROLES}
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    if not len(columns["item"]):
        raise DataError(f"{tables[0].name}: there are no answers in it: no row has both an item and a group.")
    if n_blank := sum(table.n_blank for table in tables):
        notes.append(f"{_count(n_blank, 'row')} without an item or a group, ignored")
    worker, task, item, group = (columns[role].names() for role in ROLES)
    answers = Answers(worker, task, item, group, tuple(notes))
    n_single = int((np.bincount(answers.numbers()) == 1).sum())
    single = f"{_count(n_single, 'answer')} with one item, which gives no pairs"
    return replace(answers, notes=(*notes, single)) if n_single else answers


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
