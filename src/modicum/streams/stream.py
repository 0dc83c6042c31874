"""`stream(source)` reads rows from almost anything, a bounded number at a time.

A reader (see `modicum.streams.readers`) yields blocks of rows as its source stores them. They pass through these steps:

    number the rows -> shuffle (if asked) -> cut into chunks -> drop what `start` skips -> read ahead (files)
    -> drop rows without a target (if asked)

Chunk i of a pass always starts at row i * chunk_size, however the source is divided into files and row groups.
"""

import operator
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from copy import copy
from itertools import chain
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.chunks import Chunk, cut, drop, pick_rows, read_ahead, shuffled
from modicum.streams.readers import open_reader
from modicum.streams.readers.base import BadRows, Reader, count, pick
from modicum.streams.readers.columns import Key, Wanted, as_keys, as_values, as_weights, is_given
from modicum.streams.readers.dialect import TextOptions
from modicum.streams.readers.joined import Joined
from modicum.streams.readers.mapped import Mapped, WithoutTargets
from modicum.streams.readers.objects import OBJECT_BYTES
from modicum.streams.readers.part import Part

CHUNK_BYTES = 8 << 20  # large enough to make the overhead per chunk negligible, small enough to stay in cache
DROP = "drop"  # rows without a target
SPREAD_BLOCKS = 32  # places of a source that `spread` looks at
CHUNK_ROWS = 1_024, 65_536  # fewest and most rows of a chunk whose size is not given


def stream(
    source: Any,
    *,
    chunk_size: int | None = None,
    columns: Sequence[str | int] | str | None = None,
    target: Any = None,
    weight: Any = None,
    unlabelled: bool | str = False,
    passes: int = 1,
    shuffle_buffer: int = 0,
    start: int = 0,
    raw: bool = False,
    random_state: int | np.random.Generator | None = None,
    follow: bool = False,
    files: Sequence[str] | None = None,
    first_row: int = 0,
    delimiter: str | None = None,
    header: bool | None = None,
    skip_bad_rows: bool = False,
    as_text: Sequence[str] | str = (),
    documents: str | None = None,
) -> "Stream":
    """Read rows from almost anything, in chunks and bounded memory.

    Sources:

    - arrays, sparse matrices (converted to CSR once) and anything else two-dimensional that can be sliced by rows;
    - data frames of pandas, polars, pyarrow and others, through Arrow;
    - files: Parquet, Arrow and Feather, CSV and TSV, JSON lines, JSON (an array of objects), svmlight, text (one per
      line, or per file with `documents="files"`), .npy (read in blocks) and .npz (`file.npz:name` if it has several
      arrays; the array is loaded whole); text formats may be compressed with gzip, bzip2, xz or Zstandard, told by the
      first bytes;
    - a folder or a glob: its files in sorted order, all of one format; stray files are skipped; subfolders are ignored,
      except in folders of images, which become a table with the column `path`, and of documents;
    - `Paths(...)`: several files, folders, globs or URLs as one source;
    - URLs such as s3://bucket/x.parquet, through fsspec (`modicum[cloud]`);
    - `-`, standard input: CSV, JSON lines, a JSON array or an Arrow stream, also compressed, told by the first bytes;
    - a list of objects, of rows of numbers, or of chunks; any iterable or iterator of chunks, each X, (X, y) or
      (X, y, weight). A torch DataLoader is such an iterable;
    - another Stream, which is returned unchanged.

    Every chunk but the last of a pass has `chunk_size` rows, less those that `unlabelled="drop"` leaves out. Chunks
    of arrays in memory are views. Files are read by a thread that is one chunk ahead. A pipe and a source that is
    followed are read as their rows come: a chunk has what is there, at most `chunk_size` rows.

    Without `columns`, X has all numeric columns except target and weight; columns of other types are left out
    (`Stream.take` returns them). Column types of CSV and JSON lines are inferred from the first MiB. A cell of a
    chosen column that is missing or does not match its type is a DataError that names file, row and column; data
    rows of a file are counted from 1, without the header.

    The label of svmlight files is y. They are scanned once beforehand for the number of columns;
    `columns=range(n)` sets the width of rows to n, for example for a test set.

    Parameters
    ----------
    source : object
        See above.
    chunk_size : int, default=None
        Rows per chunk. By default about 8 MiB, but 1,024 to 65,536 rows.
    columns : list of str or int, or str, default=None
        Names or positions of the features; "a,b" is short for ["a", "b"]. Other columns are not read.
    target, weight : str, int or array, default=None
        Columns of targets and of sample weights: a name, a position, or a 1-D array with one value per row.
    unlabelled : bool or "drop", default=False
        Whether targets of tables and arrays may be missing: they come as NaN, or of texts as "". By default that is a
        DataError. "drop" leaves such rows out, and counts them in `Stream.bad_rows`; truth values come as 0 and 1.
    passes : int, default=1
        How many times to read the source.
    shuffle_buffer : int, default=0
        Draw rows at random from a buffer of this many rows. Takes the memory of about three such buffers.
    start : int, default=0
        Rows to skip, counted over all passes: the `position` at which to resume. Row groups of Parquet, batches of
        Arrow files and rows of arrays are skipped without reading. Other sources, and all with a shuffle buffer,
        are read again from the first row of the pass.
    raw : bool, default=False
        Rows of tables as Arrow tables with all their columns, for a `modicum.pipeline`: text, times and missing values
        as they are, and the columns `_file` and `_row` (data rows counted from 1). Arrays are not affected.
    random_state : int, Generator or None, default=None
        Seed of the shuffle buffer. Resuming repeats the same order only for an int.
    follow : bool, default=False
        Go on at the end of the source: wait for lines that are appended to a local file (CSV, TSV, JSON lines or
        text), or for new files in folders and globs, which are read once they have stopped growing, with the columns
        and types of the first file. Ends only when stopped.
    files : list of str, default=None
        Files of a folder or glob to read first, in this order: `Stream.files` of an earlier run. New ones follow.
    first_row : int, default=0
        The row number of the first row, for a source that continues another one.
    delimiter : str, default=None
        What separates the cells of CSV: one character, or "tab" or "space". By default it is detected in each file,
        as are the decimal point and comments at the start; `Stream.notes` says what was assumed.
    header : bool, default=None
        Whether the first line of CSV holds the names of columns. By default it is detected in each file.
    skip_bad_rows : bool, default=False
        Leave out rows of CSV and JSON that have a wrong number of cells or a cell that does not match its column,
        rather than raise a DataError; documents that are no text become missing values. `Stream.bad_rows` counts them.
        Other formats have no such rows.
    as_text : list of str, or str, default=()
        Columns of CSV and JSON to read as text, whatever their cells look like; "a,b" is short for ["a", "b"].

    documents : {"lines", "files"}, default=None
        What a row of plain text is: a line, which is the default, or a whole file. With "files", a folder is read with
        its subfolders, files of any name are texts unless their ending is that of another format, and the columns are
        `path` and `text`. With "lines", standard input is text unless it is JSON or Arrow.

    Returns
    -------
    Stream

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.streams import stream
    >>> rows = stream(np.arange(20.0).reshape(10, 2), chunk_size=4)
    >>> [chunk.X.shape for chunk in rows]
    [(4, 2), (4, 2), (2, 2)]
    >>> resumed = stream(np.arange(20.0).reshape(10, 2), chunk_size=4, start=8)
    >>> next(iter(resumed)).row_ids
    array([8, 9])
    """
    if isinstance(source, Stream):
        return _as_it_is(**locals())
    keys, arrays = _split_keys({"target": target, "weight": weight})
    text = TextOptions(delimiter, header, skip_bad_rows, _names(as_text), documents)
    return Stream(
        open_reader(
            source,
            Wanted(as_keys(columns), **keys, unlabelled=_may_lack(unlabelled), raw=raw, text=text),
            follow=follow,
            files=files or (),
        ),
        arrays,
        chunk_size=None if chunk_size is None else _integer("chunk_size", chunk_size, 1),
        passes=_integer("passes", passes, 1),
        shuffle_buffer=_integer("shuffle_buffer", shuffle_buffer, 0),
        start=_integer("start", start, 0),
        seed=_seed(random_state),
        first_row=_integer("first_row", first_row, 0),
        drops_unlabelled=unlabelled == DROP,
    )


class Stream:
    """An iterable of `Chunk`s, created by `stream`.

    Each `iter()` starts again at `start`; a source that can be read only once (standard input, an iterator) can be
    iterated once.

    Attributes
    ----------
    position : int
        Rows yielded so far, over all passes and including those skipped by `start`: where to resume.
    n_rows : int or None
        Rows of one pass, if known without reading the source.
    total : int or None
        Rows of all passes.
    columns : list of str or None
        Names of the columns of X, if the source has names.
    table_columns : list of str or None
        Names of all columns of the source, of any type.
    is_raw : bool
        Whether rows are Arrow tables.
    target, weight : str or None
        Names of the columns of targets and weights, if the source has names.
    left_out : dict of str to str
        Columns that are not in X because they are not numeric, and their types; empty if `columns` was given.
    skipped : list of str
        Files of a folder that were not read, with the reason.
    notes : list of str
        What was assumed about files of text that were opened so far, such as a decimal comma.
    bad_rows : BadRows
        What the last pass left out because of `skip_bad_rows`, or for want of a target: `count`, and `first`, a list of
        (file, row, reason).
    name : str
        Name of the source in messages.
    width : int or None
        Number of columns of X, if known without reading the source.
    chunk_size : int or None
        Rows per chunk; None before the first chunk of an iterable.
    description : str
        For example "200,000 rows x 16 columns of flights/*.parquet".
    rereadable : bool
        Whether the source can be read more than once.
    live : bool
        Whether rows are read as they come: from a pipe, or from a source that is followed.
    on_idle : callable or None
        Called now and then while a live stream waits for rows.
    files : list of str or None
        Files in the order in which they are read; None if some are not local.
    first_row : int
        The number of the first row.
    cuts : list of int or None
        First rows of files and row groups, and the number of all rows: where to cut the source into parts. None if the
        number of rows is not known.
    n_files : int
        How many files `of_file` knows.
    """

    def __init__(
        self,
        reader: Reader,
        arrays: dict[str, np.ndarray],
        *,
        chunk_size: int | None,
        passes: int,
        shuffle_buffer: int,
        start: int,
        seed: int,
        first_row: int = 0,
        drops_unlabelled: bool = False,
    ):
        self._reader, self._arrays = reader, arrays
        self._passes, self._shuffle_buffer, self._start, self._seed = passes, shuffle_buffer, start, seed
        self._drops_unlabelled, self._dropped = drops_unlabelled, BadRows()
        self._spent = False
        self.position = start
        self.first_row = first_row
        self.chunk_size = chunk_size
        if chunk_size is None and reader.row_bytes is not None:
            self.chunk_size = _chunk_rows(reader.row_bytes)
        self._check()

    n_rows = property(lambda self: self._reader.n_rows)
    columns = property(lambda self: self._reader.columns)
    table_columns = property(lambda self: self._reader.table_columns)
    is_raw = property(lambda self: self._reader.is_raw)
    target = property(lambda self: self._reader.target)
    weight = property(lambda self: self._reader.weight)
    left_out = property(lambda self: self._reader.left_out)
    skipped = property(lambda self: self._reader.skipped)
    notes = property(lambda self: self._reader.notes)
    name = property(lambda self: self._reader.name)
    width = property(lambda self: self._reader.width)
    rereadable = property(lambda self: self._reader.rereadable)
    live = property(lambda self: self._reader.live)
    files = property(lambda self: self._reader.files)
    n_files = property(lambda self: self._reader.n_files)
    cuts = property(lambda self: self._reader.cuts)

    @property
    def bad_rows(self) -> BadRows:
        found = BadRows()
        for some in (self._reader.bad_rows, self._dropped):
            found.add_all(some)
        return found

    @property
    def on_idle(self) -> Callable[[], object] | None:
        return None if self._reader.wait is None else self._reader.wait.idle

    @on_idle.setter
    def on_idle(self, function: Callable[[], object] | None) -> None:
        if self._reader.wait is not None:
            self._reader.wait.idle = function

    def stop(self) -> None:
        """End the wait for rows, now or when it begins, by a `Stopped`; to be called by a handler of signals."""
        if self._reader.wait is not None:
            self._reader.wait.stop()

    @property
    def total(self) -> int | None:
        return None if self.n_rows is None else self.n_rows * self._passes

    @property
    def description(self) -> str:
        sizes = [(self.n_rows, "row"), (self._reader.width, "column")]
        known = " x ".join(f"{n:,} {what}{'s' * (n != 1)}" for n, what in sizes if n is not None)
        passes = f", {self._passes} passes" if self._passes > 1 else ""
        return f"{known or 'rows'} of {self._reader.name}{passes}"

    def __repr__(self) -> str:
        return f"<Stream: {self.description}>"

    def __iter__(self) -> Iterator[Chunk]:
        if self._spent:
            raise DataError(f"{self._reader.name} can be read only once, and has been read. Create a new stream.")
        self._spent = not self.rereadable
        self.position = self._start
        chunks = self._chunks()
        return self._counted(read_ahead(chunks) if self._reader.background else chunks)

    def take(self, row_ids: Any) -> Any:
        """The given rows of the source, in the given order, with all columns of any type.

        Reads the source again as far as needed; Parquet row groups without these rows are skipped.

        Parameters
        ----------
        row_ids : array of int
            Row numbers from 0, as in `Chunk.row_ids`; a row may be repeated.

        Returns
        -------
        pyarrow Table (tables), ndarray or CSR matrix (arrays, svmlight) or list (objects)
        """
        name = self._reader.name
        if not self.rereadable:
            raise DataError(f"{name} can be read only once, so its rows can't be taken.")
        rows, order = np.unique(np.asarray(row_ids, dtype=np.int64) - self.first_row, return_inverse=True)
        if len(rows) and rows[0] < 0:
            raise DataError(f"{name}: row numbers start at {self.first_row:,}; got {rows[0] + self.first_row:,}.")
        found = self._reader.take(rows)
        if count(found) < len(rows):
            length = "" if self.n_rows is None else f"; it has {self.n_rows:,}"
            raise DataError(f"{name}: no row {rows[count(found)]:,} (counted from 0){length}.")
        return pick(found, order)

    def spread(self, n: int) -> Any:
        """About `n` rows from all over the source; None if its length is not known, or if it can be read only once.

        Reads a few blocks of consecutive rows, evenly spaced: a look at sorted rows that the first rows do not give.
        Of several tables whose lengths are not known, such as CSV files, it reads the first rows.
        """
        if self.rereadable and self.n_rows is None and self.table_columns is not None and self.n_files > 1:
            return self._first_rows(n)
        if not self.rereadable or not self.n_rows:
            return None
        size = -(-n // SPREAD_BLOCKS)
        middles = (np.arange(SPREAD_BLOCKS) + 0.5) / SPREAD_BLOCKS * self.n_rows
        starts = np.maximum(middles - size / 2, 0).astype(np.int64)
        ids = np.unique(starts[:, None] + np.arange(size)) if self.n_rows > n else np.arange(self.n_rows)
        return self.take(ids[ids < self.n_rows] + self.first_row)

    def _first_rows(self, n: int) -> Any:
        """About `n` rows, the first ones of several tables."""
        import pyarrow as pa

        places = np.unique(np.linspace(0, self.n_files - 1, SPREAD_BLOCKS).astype(int))
        tables = [self._reader.of_file(at).take(np.arange(-(-n // len(places)))) for at in places]
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException:  # whoever reads on is told which cell has another type than its column
            return tables[0]

    def part(self, first: int, end: int) -> "Stream":
        """The rows from `first` up to `end`, counted from 0, as a stream that numbers them as this one does."""
        if self.n_rows is None or not 0 <= first <= end <= self.n_rows:
            known = "a number of rows that is not known" if self.n_rows is None else f"{self.n_rows:,} rows"
            raise DataError(f"{self._reader.name}: no rows {first:,} to {end:,} among {known}.")
        other = copy(self)
        other._reader = Part(self._reader, first, end)
        other._arrays = {name: values[first:end] for name, values in self._arrays.items()}
        other._start = other.position = 0
        other.first_row = self.first_row + first
        return other

    def of_file(self, index: int) -> "Stream":
        """The rows of one of the `n_files` files, with the columns and types of all, numbered from 0."""
        other = copy(self)
        other._reader = self._reader.of_file(index)
        other._start = other.position = other.first_row = 0
        return other

    def mapped(self, change: Callable[[Any], Any], columns: list[str] | None = None) -> "Stream":
        """The same stream with rows as `change(X)` makes them, block by block; `columns` are their names."""
        other = copy(self)
        other._reader = Mapped(self._reader, change, columns)
        return other

    def without_targets(self) -> "Stream":
        """The same stream without the labels that svmlight files have."""
        other = copy(self)
        other._reader = WithoutTargets(self._reader)
        return other

    def joined(self, column: str) -> "Stream":
        """A stream of documents: consecutive rows of a raw table with the same value in a column become one row.

        Texts that differ within a document are joined; of other columns, the first value stays. Rows are numbered anew.
        """
        other = copy(self)
        other._reader = Joined(self._reader, column)
        return other

    def _check(self) -> None:
        name = self._reader.name
        if self._passes > 1 and not self.rereadable:
            raise DataError(
                f"{name} can be read only once; passes={self._passes} needs a source that can be read again."
            )
        if self._passes > 1 and self.live:
            raise DataError(f"{name} is followed and has no end; passes={self._passes} needs one.")
        if self.total is not None and self._start > self.total:
            raise self._beyond(self.total)
        for option, values in self._arrays.items():
            if self.n_rows is None:
                raise DataError(f"{name}: {option} can be an array only if the number of rows is known in advance.")
            if values.shape != (self.n_rows,):
                raise DataError(f"{name}: {option} has shape {values.shape}; expected ({self.n_rows},).")

    def _beyond(self, total: int) -> DataError:
        return DataError(f"{self._reader.name}: start={self._start:,} exceeds its {total:,} rows.")

    def _counted(self, chunks: Generator[Chunk, None, Any]) -> Iterator[Chunk]:
        self._dropped = BadRows(self._reader.name)
        with closing(chunks):
            for chunk in chunks:
                self.position += len(chunk)
                kept = self._with_targets(chunk) if self._drops_unlabelled else chunk
                if len(kept):
                    yield kept

    def _with_targets(self, chunk: Chunk) -> Chunk:
        """The rows of a chunk that have a target."""
        if chunk.y is None or (given := is_given(chunk.y)).all():
            return chunk
        self._dropped.add_many(chunk.row_ids[~given] - self.first_row, "no target")
        return pick_rows(chunk, np.flatnonzero(given))

    def _chunks(self) -> Generator[Chunk, None, None]:
        first_pass, skip = divmod(self._start, self.n_rows) if self.n_rows else (0, self._start)
        # A shuffled pass is replayed from its first row, as is a source of unknown length.
        step = None if self.n_rows is None or self._shuffle_buffer else self.chunk_size
        for index in range(first_pass, self._passes):
            row = skip - skip % step if step else 0
            skip = yield from drop(self._one_pass(index, row), skip - row)
        if skip:
            raise self._beyond(self._start - skip)

    def _one_pass(self, index: int, row: int) -> Iterator[Chunk]:
        """Chunks of one pass from `row` on."""
        blocks = self._numbered(row)
        if self.chunk_size is None:  # the width of an iterable is not known before its first block
            first = next(blocks, None)
            if first is None:
                return
            self.chunk_size = _chunk_rows(_row_bytes(first.X))
            blocks = chain([first], blocks)
        if self._shuffle_buffer:
            rng = np.random.default_rng([self._seed, index])
            blocks = shuffled(blocks, self._shuffle_buffer, rng, live=self.live)
        yield from cut(blocks, self.chunk_size, live=self.live)

    def _numbered(self, row: int) -> Iterator[Chunk]:
        """Blocks of the reader from `row` on as chunks of any length; y and weight may have been given as arrays."""
        for X, y, weight in self._reader.blocks(row, self.chunk_size or CHUNK_ROWS[0]):
            end = row + count(X)
            y = self._arrays["target"][row:end] if "target" in self._arrays else y
            weight = self._arrays["weight"][row:end] if "weight" in self._arrays else weight
            yield Chunk(X, y, weight, np.arange(row, end) + self.first_row)
            row = end


def _may_lack(unlabelled: Any) -> bool:
    """Whether targets may be missing."""
    if isinstance(unlabelled, bool) or unlabelled == DROP:
        return bool(unlabelled)
    raise ValueError(f"stream: unlabelled must be True, False or {DROP!r}; got {unlabelled!r}.")


def _chunk_rows(row_bytes: float) -> int:
    fewest, most = CHUNK_ROWS
    return min(max(int(CHUNK_BYTES / max(row_bytes, 1)), fewest), most)


def _row_bytes(X: Any) -> float:
    if isinstance(X, list):
        return OBJECT_BYTES
    values = X.data if hasattr(X, "tocsr") else X
    return values.nbytes / max(count(X), 1)


def _split_keys(options: dict[str, Any]) -> tuple[dict[str, Key | None], dict[str, np.ndarray]]:
    """Options that name a column, and options that are arrays of values."""
    keys: dict[str, Key | None] = {}
    arrays = {}
    for name, value in options.items():
        if isinstance(value, bool):
            raise DataError(f"stream: {name} must be the name or position of a column, or an array; got {value}.")
        if value is None or isinstance(value, str):
            keys[name] = value
        elif isinstance(value, int | np.integer):
            keys[name] = int(value)
        else:
            arrays[name] = as_weights(value, "stream") if name == "weight" else as_values(value)
    return keys, arrays


def _names(columns: Sequence[str] | str) -> frozenset[str]:
    keys = as_keys(columns) if len(columns) else []
    if wrong := [key for key in keys or () if not isinstance(key, str)]:
        raise DataError(f"stream: as_text must be names of columns; got {wrong[0]!r}.")
    return frozenset(map(str, keys or ()))


def _integer(name: str, value: Any, least: int) -> int:
    try:
        if (number := operator.index(value)) >= least:
            return number
    except TypeError:
        pass
    raise ValueError(f"stream: {name} must be an int of at least {least}; got {value!r}.")


def _seed(random_state: Any) -> int:
    """The number that seeds the generators of all passes."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return _integer("random_state", random_state, 0)


def _as_it_is(source: Stream, **options: Any) -> Stream:
    """The given stream. Its options were set when it was created, so others are refused rather than ignored."""
    defaults = stream.__kwdefaults__ or {}
    # Types first: an array would compare element by element.
    given = [
        name for name, value in options.items() if type(value) is not type(defaults[name]) or value != defaults[name]
    ]
    if given:
        raise DataError(f"stream: the source is a Stream already; set {', '.join(given)} where it is created.")
    return source
