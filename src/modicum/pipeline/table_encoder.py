"""Any table to numbers, decided by its first rows."""

import warnings
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from modicum.contract.learner import Traits
from modicum.exceptions import DataError, DataWarning, StateError
from modicum.pipeline.columns import KINDS, Column
from modicum.pipeline.columns.column import Counts, Settings
from modicum.pipeline.images import DESCRIPTORS
from modicum.pipeline.kinds import EMPTY, IGNORED, Suggestion, suggest
from modicum.pipeline.preparation import Preparation
from modicum.pipeline.tables import TakesTables
from modicum.rows import is_table, n_rows
from modicum.rules.invariants import Each, Is, Whole
from modicum.rules.params import NULL, Int, OneOf, Where
from modicum.streams.readers.tables import FILE, ROW

NAMES = Where(
    lambda value: isinstance(value, list | tuple) and all(isinstance(name, str) for name in value), "names of columns"
)
TYPES = Where(
    lambda value: isinstance(value, Mapping) and all(kind in (*KINDS, IGNORED) for kind in value.values()),
    f"a dict from columns to {', '.join(KINDS)} or {IGNORED}",
)
TEXT_WIDTH = 64  # columns of numbers for a text beside other columns
SHOWN = 6  # names in a sentence
_DECIDED = Where(lambda value: isinstance(value, dict) and all(isinstance(k, str) for k in value), "a dict")


class TableEncoder(TakesTables, Preparation):
    """Numbers from any table: strings, times, gaps, units and all.

    The first rows decide what is done with every column; then that stays fixed, so that early and late rows compare:

    - numbers are standardized, so that a few outliers do not set the scale;
    - booleans become 0 or 1;
    - categories become one column per value, with a place for new values; more than `max_categories` are hashed;
    - times become the time of day and the day of the week, as points of a circle, and the trend;
    - texts become hashed words and pairs of words, weighted by how rare they are;
    - pictures (paths of files) become colors and gradients;
    - missing values are filled in, with a column that flags them;
    - constant columns, unique strings and ids are left out.

    `decisions_` and `summary_` say what was decided. Columns are found by name in later tables; one that is missing or
    of another type is refused. A warning says so when later rows differ much from the first ones.

    Arrays of numbers are taken as they are, unless `scale` is "standard".

    Cost: O(cells) per chunk; `n_first` rows are held until they decide.

    Parameters
    ----------
    n_first : int, default=4096
        Rows that decide; fewer if they take more than 32 MiB.
    columns : list of str, default=None
        Columns to use. By default all.
    exclude : list of str, default=()
        Columns to leave out.
    types : dict, default=None
        Kinds of columns that are not to be decided by their values: number, boolean, category, time, text, image or
        ignore, by name.
    scale : {"auto", "standard", "none"}, default="auto"
        Whether numbers are standardized: those of tables but not of arrays, all, or none.
    missing : {"impute", "drop", "error"}, default="impute"
        What happens to rows with missing values: they are filled in, left out when a pipeline learns, or refused.
    max_categories : int, default=32
        Most values of a category with a column each.
    text_width : int, default=None
        Columns for each text. By default 65,536 in a sparse matrix if all columns are texts, otherwise 64.
    features : str, default="descriptors"
        What describes pictures: "descriptors", or `use_features(function)` for a function from pictures to an array.

    Attributes
    ----------
    decisions_ : list of (column, kind, what is done)
    summary_ : str
        A sentence: "learned from 6 numbers, 1 category; ignored: order_id (unique strings)".
    n_features_out_ : int
        Columns of the result.

    Examples
    --------
    >>> from modicum.pipeline import TableEncoder
    >>> rows = [{"price": i % 7 + 0.5, "color": "red" if i % 3 else "blue", "code": f"x{i}"} for i in range(60)]
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.summary_
    'learned from 1 number, 1 category; ignored: code (unique strings)'
    >>> encoder.transform(rows).shape
    (60, 4)

    References
    ----------
    weinberger2009 (hashed features), tukey1962 (means of values brought to a border). Departure: beyond 6 standard
    deviations, numbers grow like a logarithm.
    """

    traits = Traits(chunk_exact=True, merge="approximate", weights=True, tables=True)
    _constraints = {
        "n_first": [Int(1)],
        "columns": [NULL, NAMES],
        "exclude": [NAMES],
        "types": [NULL, TYPES],
        "scale": [OneOf("auto", "standard", "none")],
        "missing": [OneOf("impute", "drop", "error")],
        "max_categories": [Int(2)],
        "text_width": [NULL, Int(1)],
        "features": [Where(lambda value: isinstance(value, str), "a string")],
    }
    _invariants = {
        "_columns": [NULL, Each(Is(Column))],
        "_ignored": [NULL, _DECIDED],
        "_notes": [NULL, _DECIDED],
        "_reserved": _DECIDED,
        "_n_first": Whole(),
    }
    _columns: Any  # a list of columns that are used; None before the first rows have decided
    _ignored: Any  # why each of the others was left out, by name
    _notes: Any  # what else is worth saying about a column, by name

    def __init__(
        self,
        n_first: int = 4096,
        *,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        scale: str = "auto",
        missing: str = "impute",
        max_categories: int = 32,
        text_width: int | None = None,
        features: str = DESCRIPTORS,
    ):
        self.n_first = n_first
        self.columns = columns
        self.exclude = exclude
        self.types = types
        self.scale = scale
        self.missing = missing
        self.max_categories = max_categories
        self.text_width = text_width
        self.features = features

    # ---- what was decided ------------------------------------------------------------------------

    @property
    def decisions_(self) -> list[tuple[str, str, str]]:
        its = self._ready()
        used = [
            (column.name, column.kind, "; ".join(filter(None, [column.describe(), its._notes.get(column.name)])))
            for column in its._columns
        ]
        return used + [(name, IGNORED, reason) for name, reason in its._ignored.items()]

    @property
    def summary_(self) -> str:
        its = self._ready()
        kinds: dict[str, int] = {}
        for column in its._columns:
            kinds[column.kind] = kinds.get(column.kind, 0) + 1
        used = [f"{count:,} {kind if count == 1 else KINDS[kind].plural}" for kind, count in kinds.items()]
        as_they_are = " as they are" if kinds.keys() == {"number"} and not its._columns[0].standardize else ""
        ignored = [f"{name} ({reason})" for name, reason in its._ignored.items()]
        more = [f"{len(ignored) - SHOWN:,} more"] if len(ignored) > SHOWN else []
        said = f"; ignored: {', '.join(ignored[:SHOWN] + more)}" if ignored else ""
        notes = "".join(f"; {name}: {note}" for name, note in list(its._notes.items())[:SHOWN])
        gaps = [column.name for column in its._columns if column.has_flag]
        filled = f"; filled in gaps of {', '.join(gaps[:SHOWN])}" if gaps else ""
        return f"learned from {', '.join(used)}{as_they_are}{filled}{said}{notes}"

    @property
    def n_features_out_(self) -> int:
        return sum(column.width for column in self._ready()._columns)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the result."""
        self._check_fitted()
        return np.array([name for column in self._ready()._columns for name in column.names], object)

    def complete(self, X: Any) -> np.ndarray:
        """Whether each row has no missing value in the columns that are used."""
        X = self._check_input(X)
        its = self._ready()
        gaps = np.zeros(n_rows(X), bool)
        for column, values in its._parsed(X):
            gaps |= column.missing(values)
        return ~gaps

    # ---- deciding --------------------------------------------------------------------------------

    def _reserve(self, names: Mapping[str, str]) -> None:
        self._reserved = dict(names)

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._check_rows(X, reset=reset)
        if reset:
            self._n_first = 0
            self.__dict__.setdefault("_reserved", {})
            self.__dict__.update(_columns=None, _ignored=None, _notes=None)
            self._check_names(rows)
        elif self._waiting is None:
            self._check_there([name for name, _, _ in self._cells(rows)])
        return rows

    def _check_names(self, rows: Any) -> None:
        """Raise a `DataError` if a column that was chosen is not there."""
        there = [name for name, _, _ in self._cells(rows) if name not in (FILE, ROW)]
        for name in (*(self.columns or ()), *self.exclude, *(self.types or ())):
            if name not in there:
                from modicum.streams.readers.columns import position

                position(name, type(self).__name__, len(there), there)

    def _check_there(self, names: Sequence[str]) -> None:
        """Raise a `DataError` if a column that is used is missing."""
        there = set(names)
        for column in self._columns or ():
            if column.name not in there:
                raise DataError(
                    f"{type(self).__name__}: no column {column.name!r}, which was learned from. There are: "
                    f"{', '.join(name for name in names[:20] if name not in (FILE, ROW))}."
                )

    def _decide(self, X: Any) -> None:
        self._n_first = n_rows(X)
        columns: list[Column] = []
        ignored, notes = {}, {}
        chosen = {name: self._suggestion(name, cells, metadata) for name, cells, metadata in self._cells(X)}
        settings = self._settings([suggestion.kind for suggestion in chosen.values()])
        for name, cells, _ in self._cells(X):
            kind, reason = chosen[name]
            if kind == IGNORED:
                ignored[name] = reason
                continue
            try:
                columns.append(KINDS[kind].decide(name, cells, settings))
            except ValueError as error:
                raise DataError(f"{type(self).__name__}: column {name!r} can't be read as a {kind}: {error}.") from None
            if reason:
                notes[name] = reason
        ignored = {name: reason for name, reason in ignored.items() if name not in (FILE, ROW)}
        if not columns:
            why = ", ".join(f"{name} ({reason})" for name, reason in list(ignored.items())[:20])
            raise DataError(
                f"{type(self).__name__}: no column is left to learn from: {why}. Choose a kind for one, such as "
                "--types name=category."
            )
        self._columns, self._ignored, self._notes = columns, ignored, notes

    def _settings(self, kinds: Sequence[str]) -> Settings:
        used = {kind for kind in kinds if kind != IGNORED}
        width = self.text_width if self.text_width or used == {"text"} else TEXT_WIDTH
        standardize = self.scale == "standard" or (self.scale == "auto" and self._kind == "table")
        return Settings(standardize, self.max_categories, width, self.features)

    def _suggestion(self, name: str, cells: Any, metadata: Any) -> Suggestion:
        if name in (FILE, ROW):
            return Suggestion(IGNORED, "where the row is from")
        if name in self._reserved:
            return Suggestion(IGNORED, self._reserved[name])
        if name in self.exclude:
            return Suggestion(IGNORED, "excluded")
        if self.columns is not None and name not in self.columns:
            return Suggestion(IGNORED, "not chosen")
        if name in (self.types or {}):
            kind = (self.types or {})[name]
            return Suggestion(kind, "as told" if kind == IGNORED else "")
        found = suggest(name, cells, metadata)
        if found.kind == IGNORED and self.columns is not None and found.reason not in (EMPTY, "constant"):
            return _insisted(cells, found)
        return found

    def _cells(self, X: Any) -> Iterable[tuple[str, Any, Any]]:
        """Name, cells and metadata of every column."""
        if self._kind == "dense":
            names = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else _positions(X)
            return [(name, X[:, j], None) for j, name in enumerate(names)]
        return [(field.name, X.column(field.name), field.metadata) for field in X.schema]

    # ---- encoding --------------------------------------------------------------------------------

    def _parsed(self, X: Any) -> Iterable[tuple[Column, Any]]:
        """Every column that is used, with its values."""
        cells_of = {name: cells for name, cells, _ in self._cells(X)} if self._kind == "dense" else None
        for column in self._columns or ():
            cells = cells_of[column.name] if cells_of else X.column(column.name)
            try:
                yield column, column.parse(cells)
            except ValueError as error:
                where = _place(X, _first_wrong(column, cells))
                raise DataError(
                    f"{type(self).__name__}: {where}column {column.name!r} is a {column.kind}, but {error}. Convert "
                    "it, or leave it out."
                ) from None

    def _counted(self, X: Any, counts: list[Counts]) -> Iterable[tuple[Column, Any]]:
        """The same as `_parsed`; what `_watch_counts` adds up is put into `counts` on the way."""
        for column, values in self._parsed(X):
            counts.append(column.count(values))
            yield column, values

    def _encode(self, X: Any) -> Any:
        return self._encode_parsed(X, self._parsed(X))

    def _encode_and_count(self, X: Any) -> tuple[Any, list[Counts]]:
        """The numbers of checked rows, and what `_watch_counts` adds up: cells are parsed once for both."""
        counts: list[Counts] = []
        parsed = self._counted(X, counts)
        Z = self._encode_parsed(X, parsed)
        deque(parsed, 0)  # numbers as they are were not looked at
        return Z, counts

    def _encode_parsed(self, X: Any, parsed: Iterable[tuple[Column, Any]]) -> Any:
        if self._kind == "dense" and len(self._columns) == X.shape[1] and not self._columns[0].standardize:
            return X
        if any(column.sparse for column in self._columns):
            return sparse.hstack([self._part(*pair, X) for pair in parsed], format="csr", dtype=np.float32)
        # Numbers as they are keep their digits; standardized ones do not need them.
        dtype = X.dtype if self._kind == "dense" else np.float64 if self.scale == "none" else np.float32
        out = np.zeros((n_rows(X), self.n_features_out_), dtype)
        first = 0
        for column, values in parsed:
            self._put(column, values, out[:, first : first + column.width], X)
            first += column.width
        return out

    def _put(self, column: Column, values: Any, out: np.ndarray, X: Any) -> None:
        gone = column.missing(values) if self.missing == "error" or column.has_flag else None
        if self.missing == "error" and gone is not None and gone.any():
            raise _gap(X, int(gone.argmax()), column.name, type(self).__name__)
        try:
            column.encode(values, out[:, : column.width - column.has_flag])
        except ValueError as error:
            way_out = " --missing drop leaves such rows out." if column.kind == "image" else ""
            raise DataError(f"{type(self).__name__}: column {column.name!r}: {error}{way_out}") from None
        if column.has_flag:
            out[:, -1] = gone

    def _part(self, column: Column, values: Any, X: Any) -> Any:
        """One column of a sparse result."""
        if column.sparse:
            return column.encode_sparse(values)  # type: ignore[attr-defined]
        out = np.zeros((n_rows(X), column.width), np.float32)
        self._put(column, values, out, X)
        return sparse.csr_matrix(out)

    def inverse_transform(self, Z: Any) -> dict[str, np.ndarray]:
        """Columns in their own units, by name, of rows of numbers such as centers of clusters.

        Of a category the value with the largest number, of a boolean the share of true, of a time the trend. Texts and
        pictures can't be recovered and are left out.
        """
        self._check_fitted()
        Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
        found: dict[str, np.ndarray] = {}
        first = 0
        for column in self._ready()._columns:
            own = column.decode(Z[:, first : first + column.width - column.has_flag].astype(np.float64))
            found |= {} if own is None else {column.name: own}
            first += column.width
        return found

    # ---- later rows ------------------------------------------------------------------------------

    def _watch(self, X: Any) -> None:
        self._watch_counts([column.count(values) for column, values in self._parsed(X)])

    def _watch_counts(self, counts: list[Counts]) -> None:
        for column, own in zip(self._columns, counts, strict=True):
            column.watch(own)
            if not column.was_told and (change := column.change):
                column.was_told = True
                warnings.warn(
                    f"{column.name}: {change}. The preparation stays as the first {self._n_first:,} rows decided; "
                    "shuffle the rows, or learn anew if the change is there to stay.",
                    DataWarning,
                    stacklevel=2,
                )

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if self._kind == "table" and self._is_fitted() and self._waiting is None:
            for column, values in self._parsed(X):
                if self.missing == "error" and (gone := column.missing(values)).any():
                    raise _gap(X, int(gone.argmax()), column.name, type(self).__name__)

    # ---- contract --------------------------------------------------------------------------------

    def _decided(self) -> Any:
        return [{"class": type(column).__name__, **column.fixed()} for column in self._columns]

    def _merge_decided(self, other: "TableEncoder") -> None:
        theirs = {column.name: column for column in other._columns or ()}
        for column in self._columns or ():
            there = theirs.get(column.name)
            if type(there) is not type(column):
                kind = "left out" if there is None else f"a {there.kind}"
                raise StateError(
                    f"{type(self).__name__}.merge: column {column.name!r} is a {column.kind} here and {kind} there."
                )
        for column in self._columns or ():
            column.add_counts(theirs[column.name])


def _positions(X: Any) -> list[str]:
    return [f"x{j}" for j in range(X.shape[1])]


def _insisted(cells: Any, found: Suggestion) -> Suggestion:
    """The kind of a column that the user chose although it looks like one to leave out."""
    from modicum.pipeline.columns.cells import as_floats

    try:
        as_floats(cells)
    except ValueError:
        return found if "cells" in found.reason else Suggestion("category")
    return Suggestion("number")


def _gap(X: Any, row: int, name: str, owner: str) -> DataError:
    """The error about a missing value, which names file and row if they are known."""
    where = _place(X, row) or f"row {row}, "
    return DataError(f"{owner}: {where}column {name!r}: missing value. Fill it in, or take --missing impute or drop.")


def _place(X: Any, row: int) -> str:
    """The file and the row of a table of a stream."""
    if not is_table(X) or FILE not in X.column_names or ROW not in X.column_names:
        return ""
    return f"{X.column(FILE)[row].as_py()}: data row {X.column(ROW)[row].as_py():,}, "


def _first_wrong(column: Column, cells: Any) -> int:
    """The first cell that can't be parsed."""

    def fails(count: int) -> bool:
        try:
            column.parse(cells[:count])
        except ValueError:
            return True
        return False

    return bisect_left(range(1, len(cells) + 1), True, key=fails)
