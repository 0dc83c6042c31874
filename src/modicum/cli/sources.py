"""Opening a source, and what every command that reads one says about it."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Self, get_type_hints

import typer

from modicum.cli.printing import say
from modicum.exceptions import DataError
from modicum.streams import Paths, Stream, stream
from modicum.streams.readers.base import BadRows
from modicum.streams.readers.files import find_files_so_far
from modicum.streams.readers.formats import IMAGES, TEXT

MOST_NAMES = 20  # of columns in one line
SHOWN = 5  # files in one line
ARRAYS = ("npy", "npz", "svmlight")  # formats without names of columns

Sources = Sequence[str]  # one or more; a single text is one
Source = Annotated[
    list[str], typer.Argument(help="Files, folders, globs or URLs, or - for standard input.", show_default=False)
]
Columns = Annotated[
    str | None, typer.Option(help="Columns to learn from, such as a,b,c. Default: all that say something.")
]
ChunkSize = Annotated[int | None, typer.Option(help="Rows per chunk. Default: about 8 MiB of them.")]


@dataclass(frozen=True)
class Options:
    """Options that several commands share: the fields, with typer's annotations."""

    @classmethod
    def options(cls, *, without: tuple[str, ...] = ()) -> list[inspect.Parameter]:
        """The fields as parameters of a command."""
        types = get_type_hints(cls, include_extras=True)
        keyword = inspect.Parameter.KEYWORD_ONLY
        return [
            inspect.Parameter(name, keyword, default=getattr(cls, name), annotation=types[name])
            for name in cls.__dataclass_fields__
            if name not in without
        ]

    @classmethod
    def take_from(cls, given: dict[str, Any]) -> Self:
        """The options among those given, which are removed there."""
        return cls(**{name: given.pop(name) for name in cls.__dataclass_fields__ if name in given})


@dataclass(frozen=True)
class TextReading(Options):
    """How text files are read."""

    delimiter: Annotated[str | None, typer.Option(help="Between cells of text files: ; or tab. Default: detected.")] = (
        None
    )
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line has names. Default: detected.")
    ] = None
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows of text files that can't be read, and count them.")
    ] = False

    def text_options(self) -> dict[str, Any]:
        """Options of `stream` about text files."""
        return {name: getattr(self, name) for name in TextReading.__dataclass_fields__}


@dataclass(frozen=True)
class Reading(TextReading):
    """How a source is read."""

    columns: Columns = None
    target: Annotated[str | None, typer.Option(help="Column with the targets; for rim, cells may be blank.")] = None
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None
    chunk_size: ChunkSize = None
    passes: Annotated[int, typer.Option(help="How often to go through the source.")] = 1
    shuffle_buffer: Annotated[int, typer.Option(help="Shuffle rows within a buffer of this many.")] = 0

    def open(self, source: Sources, random_state: Any, **more: Any) -> Stream:
        """The rows of a source; `more` are other options of `stream`."""
        seed = 0 if random_state is None else random_state
        return stream(as_paths(source), random_state=seed, **self.as_dict() | more)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Reading.__dataclass_fields__}


def as_paths(source: Sources) -> Paths:
    """All sources as one."""
    return Paths(source) if isinstance(source, str) else Paths(*source)


def is_stdin(source: Sources) -> bool:
    return as_paths(source).sources == ("-",)


def is_table(source: Sources) -> bool:
    """Whether the columns of a source have names; assumed of standard input, and of a folder that is still empty."""
    if is_stdin(source):
        return True
    found = find_files_so_far(as_paths(source))
    return found is None or found.format.name.partition(",")[0] not in ARRAYS


def is_svmlight(source: Sources) -> bool:
    found = find_files_so_far(as_paths(source))
    return found is not None and found.format.name.startswith("svmlight")


def has_no_types(source: Sources) -> bool:
    """Whether types of columns are inferred: of CSV and JSON."""
    found = None if is_stdin(source) else find_files_so_far(as_paths(source))
    return found is not None and "as_text" in found.format.options


def documents_in(source: Sources) -> str:
    """What a document is where texts are: a file, if there are several text files, or a line."""
    if is_stdin(source):
        return "lines"
    found = find_files_so_far(as_paths(source))
    if found is None:  # none of a known format in the folder itself
        return "lines" if find_files_so_far(as_paths(source), "files") is None else "files"
    return "files" if found.format is TEXT and len(found.files) > 1 else "lines"


def is_pictures(source: Sources) -> bool:
    """Whether a source is a folder of pictures."""
    found = None if is_stdin(source) else find_files_so_far(as_paths(source))
    return found is not None and found.format.name == IMAGES.name


@contextmanager
def naming_source(rows: Stream, learner: Any, *, learned: bool = True) -> Iterator[None]:
    """While a learner reads rows its errors name the source; afterwards, what was not read is listed."""
    owners = [learner, *(step for _, step in getattr(learner, "steps", ()))]
    try:
        yield
    except MemoryError as error:
        raise DataError(f"{rows.name}: there is not enough memory to learn from it. {error}") from error
    except TypeError as error:
        if "Sparse data was passed" not in str(error):
            raise
        raise DataError(
            f"{rows.name}: {type(owners[-1]).__name__} takes no sparse rows, such as of texts and svmlight files. "
            "Choose other columns or another learner."
        ) from None
    except ValueError as error:
        if not str(error).startswith(tuple(type(owner).__name__ for owner in owners)):
            raise
        raise DataError(str(error) if rows.name in str(error) else f"{rows.name}: {error}") from error
    say_what_was_read(rows, learner, learned=learned)


def say_what_was_read(rows: Stream, learner: Any, *, learned: bool = True, bad_rows: BadRows | None = None) -> None:
    """Say what was assumed about the files and, if rows were learned, from what and what was ignored."""
    for note in rows.notes:
        say(note)
    if rows.skipped:
        say(f"skipped: {_some(rows.skipped, SHOWN)}")
    bad_rows = bad_rows or rows.bad_rows
    if bad_rows.count:
        first = "; ".join(f"{file}: data row {row:,}: {why}" for file, row, why in bad_rows.first)
        say(f"{bad_rows.count:,} bad rows left out, such as {first}")
    if getattr(getattr(learner, "traits", None), "tables", False):
        if learned:
            say(learner.summary_)
    elif rows.left_out:
        names = [f"{name} ({kind})" for name, kind in rows.left_out.items()]
        say(f"columns left out, not numeric: {_some(names, MOST_NAMES)}")


def _some(texts: Sequence[str], most: int) -> str:
    more = [f"{len(texts) - most:,} more"] if len(texts) > most else []
    return ", ".join([*texts[:most], *more])
