"""What every command that reads a source says about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from modicum.cli.printing import say
from modicum.exceptions import DataError
from modicum.streams import Stream

MOST_NAMES = 20  # of columns in one line


@contextmanager
def reading(rows: Stream, learner: Any) -> Iterator[None]:
    """While a learner reads rows its errors name the source; then the columns that it did not read are told."""
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
