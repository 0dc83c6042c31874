"""Opening a source, and what every command that reads one says about it."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Self, get_type_hints

import typer

from modicum.cli.printing import say
from modicum.exceptions import DataError
from modicum.streams import Stream, stream

MOST_NAMES = 20  # of columns in one line

Source = Annotated[str, typer.Argument(help="A file, folder, glob or - for standard input.", show_default=False)]
Columns = Annotated[str | None, typer.Option(help="Columns to learn from, such as a,b,c. Default: all numeric ones.")]
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
class Reading(Options):
    """How a source is read."""

    columns: Columns = None
    target: Annotated[str | None, typer.Option(help="Column with the targets.")] = None
    weight: Annotated[str | None, typer.Option(help="Column with the weights of rows.")] = None
    chunk_size: ChunkSize = None
    passes: Annotated[int, typer.Option(help="How often to go through the source.")] = 1
    shuffle_buffer: Annotated[int, typer.Option(help="Shuffle rows within a buffer of this many.")] = 0

    def open(self, source: str, random_state: Any, **more: Any) -> Stream:
        """The rows of a source; `more` are other options of `stream`."""
        seed = 0 if random_state is None else random_state
        return stream(source, random_state=seed, **more, **self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Reading.__dataclass_fields__}


@contextmanager
def naming_source(rows: Stream, learner: Any) -> Iterator[None]:
    """While a learner reads rows its errors name the source; afterwards, the columns it did not read are listed."""
    try:
        yield
    except MemoryError as error:
        raise DataError(f"{rows.name}: there is not enough memory to learn from it. {error}") from error
    except ValueError as error:
        if not str(error).startswith(type(learner).__name__):
            raise
        raise DataError(f"{rows.name}: {error}") from error
    if rows.left_out:
        names = [f"{name} ({kind})" for name, kind in rows.left_out.items()]
        more = [] if len(names) <= MOST_NAMES else [f"{len(names) - MOST_NAMES:,} more"]
        say(f"columns left out, not numeric: {', '.join(names[:MOST_NAMES] + more)}")
