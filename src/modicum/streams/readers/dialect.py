"""How a CSV file is written: delimiter, decimal point, header and comments, detected from its first lines."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from modicum.exceptions import DataError
from modicum.streams.readers.bytes_in import BOM

DELIMITERS = ",;\t|"
LINES = 100  # from which the delimiter and the header are detected
SHOWN = 4  # cells of a line in a note

# Spellings of a missing value in every column: those of pyarrow.
MISSING_TEXT = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)
# Spellings that are missing values among numbers, times and truth values, but words in a column of text.
MISSING_VALUE = (
    *MISSING_TEXT,
    *("?", "-", "--", "none", "None", "NONE", "nil", "n.a.", "N.A."),
    *("unknown", "Unknown", "missing", "Missing"),
)

_NUMBER = r"^\s*[-+]?(\d+{0}?\d*|{0}\d+)([eE][-+]?\d+)?\s*$"
NUMBER = {point: _NUMBER.replace("{0}", re.escape(point)) for point in ".,"}  # by decimal point
_TIME = re.compile(r"\s*(\d{4}-\d\d?-\d\d?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{1,2}:\d\d)([T :.\d].*)?$")
_TRUTH = re.compile(r"\s*(true|false|yes|no)\s*$", re.IGNORECASE)
_SEP = re.compile(rb'"?sep=([^"\r\n])"?[ \t,;]*(?:\r\n|\r|\n)', re.IGNORECASE)  # for Excel
_COMMENT = re.compile(rb"[ \t]*(#[^\r\n]*)?(?:\r\n|\r|\n)")  # or a blank line
_WORDS = {"tab": "\t", r"\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}

_FORMATS = {  # to which an option applies
    "delimiter": "CSV",
    "header": "CSV",
    "as_text": "CSV and JSON",
    "documents": "text",
}


@dataclass(frozen=True)
class TextOptions:
    """What is known about a text file. None means that it is detected.

    `skip_bad_rows` leaves out rows with a wrong number of cells, or with a cell that does not match the type of its
    column. Columns in `as_text` are read as text, whatever their cells look like. `documents` tells what a row of a
    plain text is: a line or a whole file.
    """

    delimiter: str | None = None
    header: bool | None = None
    skip_bad_rows: bool = False
    as_text: frozenset[str] = frozenset()
    documents: str | None = None

    def __post_init__(self) -> None:
        mark = _WORDS.get(self.delimiter or "", self.delimiter)
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise DataError(f"stream: delimiter must be one ASCII character, or tab or space; got {self.delimiter!r}.")
        if self.documents not in (None, "lines", "files"):
            raise DataError(f'stream: documents must be "lines" or "files"; got {self.documents!r}.')
        object.__setattr__(self, "delimiter", mark)
        object.__setattr__(self, "as_text", frozenset(self.as_text))

    def refuse(self, name: str, kind: str, used: Collection[str] = ()) -> None:
        """Raise a DataError if an option was given that does not apply to this kind of source.

        `used` are those that do. Where no row can be bad, none is skipped, so `skip_bad_rows` is always allowed.
        """
        for option, formats in _FORMATS.items():
            value = getattr(self, option)
            if option not in used and value not in (None, frozenset(), "lines"):
                shown = ",".join(sorted(value)) if option == "as_text" else value
                raise DataError(f"{name}: {option}={shown!r} is an option for {formats}, but this is {kind}.")


DETECT = TextOptions()


@dataclass(frozen=True)
class Dialect:
    """How one file is written."""

    delimiter: str  # a space stands for any number of spaces and tabs
    start: int = 0  # bytes before the first row: a byte order mark, comments
    decimal_point: str = "."
    has_header: bool = True
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed, each one sentence


def detect(head: bytes, file: str, options: TextOptions, usual: str = ",") -> Dialect:
    """The dialect of a file that starts with these bytes.

    `usual` is the delimiter where the lines don't tell, and the one that a .tsv file has if its lines allow it.
    """
    start, comments, declared = _preamble(head)
    delimiter = options.delimiter or declared or _delimiter(head[start:], usual)
    if comments and (named := _commented_header(head, comments[-1], start, delimiter)):
        start = named
        comments.pop()
    rows = _first_rows(head[start:], delimiter, file)
    point = _decimal_point(rows, delimiter)
    header, note = _is_header(rows, point, file)
    if options.header is not None:
        header, note = options.header, ""
    names, renamed = _names(rows[0], file) if header else (tuple(map(str, range(len(rows[0])))), "")
    skipped = f"{len(comments)} comment lines at the start of {file} are left out" if comments else ""
    commas = f"numbers of {file} are read with a decimal comma" if point == "," else ""
    return Dialect(delimiter, start, point, header, names, tuple(filter(None, (skipped, commas, note, renamed))))


def single_spaces(data: bytes) -> bytes:
    """Lines with each run of spaces and tabs outside quotes as one space, and none at their ends."""
    data = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", data)
    if b'"' not in data:
        return re.sub(rb"[ \t]+", b" ", data)
    return re.sub(rb'"[^"]*"|([ \t]+)', lambda found: b" " if found[1] else found[0], data)


def _preamble(head: bytes) -> tuple[int, list[int], str | None]:
    """Where the first row starts, where comments before it start, and the delimiter that a line for Excel declares."""
    first = len(BOM) if head.startswith(BOM) else 0
    declared = None
    if found := _SEP.match(head, first):
        first, declared = found.end(), found[1].decode("latin1")
    start = first
    comments = []
    while found := _COMMENT.match(head, start):
        comments += [found.start(1)] if found[1] else []
        start = found.end()
    if start == len(head):  # nothing but comments: then they are rows
        return first, [], declared
    return start, comments, declared


def _commented_header(head: bytes, comment: int, start: int, delimiter: str) -> int | None:
    """Where the names start in a comment such as `#a,b`, if the next line is a row with as many cells."""
    line = head[comment:start].lstrip(b"# \t")
    begin = start - len(line)
    rows = [*islice(_rows(head[begin:], delimiter), 2)]
    if not line.strip() or len(rows) < 2 or not 2 <= len(rows[0]) == len(rows[1]):
        return None
    names, cells = ([_kind(cell, ".") for cell in row] for row in rows)
    return begin if set(names) == {"text"} and "number" in cells else None


def _rows(data: bytes, delimiter: str) -> Iterator[list[str]]:
    """Rows that are not blank; bytes that are not UTF-8 become surrogates."""
    data = single_spaces(data) if delimiter == " " else data
    text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    return filter(None, csv.reader(text, delimiter=delimiter))


def _first_rows(data: bytes, delimiter: str, file: str) -> list[list[str]]:
    """The first rows, at least one."""
    lines = _rows(data, delimiter)
    try:
        first = next(lines, None)
        "".join(first or ()).encode()
    except csv.Error as error:
        raise DataError(f"{file}: the first line can't be read as CSV: {error}.") from None
    except UnicodeEncodeError:
        raise DataError(f"{file}: the first line is not UTF-8 text. Save the file as UTF-8.") from None
    if first is None:
        raise DataError(f"{file}: the file is empty.")
    return [first, *_readable(lines)]


def _readable(lines: Iterator[list[str]]) -> list[list[str]]:
    """Some rows, up to the first that Python can't read, about which pyarrow has the last word."""
    rows = []
    with suppress(csv.Error):
        for row in islice(lines, LINES):
            rows.append(row)  # one by one, to keep those before an error
    return rows


def _delimiter(data: bytes, usual: str) -> str:
    """The delimiter that splits most lines into the same number of cells, at least two."""
    split = {mark: _readable(_rows(data, mark)) for mark in DELIMITERS}
    fitting = [mark for mark, rows in split.items() if rows and len(rows[0]) > 1 and _most_common_width(rows)[0] > 1]
    if usual != "," and usual in fitting:
        return usual
    if fitting:
        return fitting[0] if len(fitting) == 1 else max(fitting, key=lambda mark: _score(split[mark], mark))
    rows = _readable(_rows(data, " "))
    width = len(rows[0]) if rows else 0
    if width > 1 and {*map(len, rows)} == {width} and any(_are_numbers(cells) for cells in zip(*rows[1:], strict=True)):
        return " "
    name, *cells = data.split()[:LINES] or [b""]
    # A single column of numbers such as 1,5: its name has no comma.
    return ";" if cells and b"," not in name and all(re.match(rb"-?\d+,\d+$", cell) for cell in cells) else usual


def _are_numbers(cells: Iterable[str]) -> bool:
    return {"number"} == {_kind(cell, ".") for cell in cells} - {""}


def _most_common_width(rows: list[list[str]]) -> tuple[int, int]:
    """The number of cells that most rows have, and the number of these rows."""
    return Counter(map(len, rows)).most_common(1)[0]


def _score(rows: list[list[str]], mark: str) -> tuple[bool, float, float, int]:
    """How well a delimiter fits; larger is better."""
    width, n = _most_common_width(rows)
    point = _decimal_point(rows, mark)
    kinds = Counter(_kind(cell, point) for row in rows for cell in row)
    return len(rows[0]) == width, n / len(rows), kinds["number"] / kinds.total(), width


def _decimal_point(rows: list[list[str]], delimiter: str) -> str:
    """A comma if more cells look like 1,5 than like 1.5."""
    if delimiter == ",":
        return "."
    found = Counter(match[1] for row in rows for cell in row if (match := re.match(r"\s*[-+]?\d+([,.])\d+\s*$", cell)))
    return "," if found[","] > found["."] else "."


def _kind(cell: str, point: str) -> str:
    """What a cell looks like: number, time, truth or text; "" if it is missing."""
    if cell.strip() in MISSING_VALUE:
        return ""
    if re.match(NUMBER[point], cell):
        return "number"
    return "time" if _TIME.match(cell) else "truth" if _TRUTH.match(cell) else "text"


def _is_header(rows: Sequence[Sequence[str]], point: str, file: str) -> tuple[bool, str]:
    """Whether the first row holds names, and a note if that is in doubt."""
    first, *below = rows
    kinds = [_kind(cell, point) for cell in first]
    if all(first) and set(kinds) - {""} == {"number"}:
        return False, ""
    columns = [*zip(*(row for row in below if len(row) == len(first)), strict=True)]
    pairs = zip(kinds, columns, strict=bool(columns))
    if not columns or any(kind and _usual_kind(cells, point, kind) != kind for kind, cells in pairs):
        return True, ""
    again = [cell in cells for cell, cells, kind in zip(first, columns, kinds, strict=True) if kind == "text"]
    shown = ", ".join(cell[:20] for cell in first[:SHOWN]) + ", ..." * (len(first) > SHOWN)
    doubt = f"the first line of {file} looks like data ({shown})"
    if set(kinds) <= {"text", ""}:
        return True, f"{doubt}; --no-header reads it as such" if again and all(again) else ""
    if [*first] == ["", *map(str, range(len(first) - 1))]:  # as pandas writes an array
        return True, ""
    # Names may be years, but not dates or fractions, and no value of the column.
    fractions = any(not cell.strip().isdigit() for cell, kind in zip(first, kinds, strict=True) if kind == "number")
    if fractions or "time" in kinds or any(again):
        return False, f"{doubt} and is read as such; --header reads it as names"
    return True, f"{doubt}; --no-header reads it as such"


def _usual_kind(cells: Iterable[str], point: str, default: str) -> str:
    """What most cells look like, except missing ones."""
    kinds = Counter(_kind(cell, point) for cell in cells)
    del kinds[""]
    return kinds.most_common(1)[0][0] if kinds else default


def _names(cells: Sequence[str], file: str) -> tuple[tuple[str, ...], str]:
    """Distinct names of columns, and a note about those that were changed."""
    given = [cell.strip() for cell in cells]
    taken, seen = set(given), Counter[str]()
    names, made = [], []
    for j, name in enumerate(given):
        seen[name] += 1
        if name and seen[name] == 1:
            names.append(name)
            continue
        number = seen[name] if name else j + 1
        while (new := f"{name or 'column'}_{number}") in taken:
            number += 1
        seen[name] = max(seen[name], number) if name else 0  # so that many equal names take no longer
        taken.add(new)
        names.append(new)
        made.append(new)
    shown = ", ".join(made[:SHOWN]) + ", ..." * (len(made) > SHOWN)
    return tuple(names), f"columns of {file} without a name, or with that of another, are named {shown}" if made else ""
