"""Learning a stream with a progress bar, checkpoints and a clean stop on Ctrl-C."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from sklearn.base import is_classifier

from modicum.cli.picks import check_report
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.sources import reading
from modicum.contract.checkpoint import Checkpoint, parse_seconds
from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.streams import Stream, stream

INTERRUPTED = 130  # the shell's exit code for a program ended by Ctrl-C


@dataclass(frozen=True)
class Run:
    """A finished run."""

    learner: Learner
    stream: Stream
    seconds: float


class _Stopped(Exception):
    """Ctrl-C was noted, and a chunk is done: the learner is whole and can be saved."""


def learn(
    learner: Learner,
    source: str,
    *,
    checkpoint: Path | None,
    every: str,
    image: str | None = None,
    text: str | None = None,
    **options: Any,
) -> Run:
    """Learn all of a source; with a checkpoint, go on where an earlier start of the same run was stopped.

    `image` and `text` are for the report, and checked before the run.
    """
    learner._check_params()
    place = None
    start, finished = 0, False
    if checkpoint is not None:
        if source == "-":
            raise DataError("a checkpoint can't bring back rows of standard input: write them to a file first.")
        place = Checkpoint(checkpoint, every=parse_seconds(every), run=_identity(learner, source, options))
        found = place.resume()
        if found is not None:
            learner, start, finished = found
            say(f"resuming at row {start:,} from {checkpoint}" if not finished else f"{checkpoint} is finished")
    seed = getattr(learner, "random_state", None)
    rows = stream(source, start=start, random_state=0 if seed is None else seed, **options)
    check_target(learner, rows, options.get("target"))
    check_report(learner, rows, image, text)
    began = time.perf_counter()
    if not finished:
        _learn(learner, rows, place)
    return Run(learner, rows, time.perf_counter() - began)


def check_target(learner: Learner, rows: Stream, target: str | None) -> None:
    """Who learns from targets must be told their column, if the source is a table."""
    if target is None and rows.table_columns is not None and learner.__sklearn_tags__().target_tags.required:
        what = "labels" if is_classifier(learner) else "targets"
        columns = ", ".join(rows.table_columns)
        raise DataError(f"{type(learner).__name__} needs --target, the column with the {what}. There are: {columns}.")


def _learn(learner: Learner, rows: Stream, place: Checkpoint | None) -> None:
    with Progress(rows) as progress, _interrupts() as interrupted:

        def on_chunk(learner: Learner) -> None:
            progress.show(learner, rows.position)
            if place is not None:
                place.write_if_due(learner, rows.position)
            if interrupted():
                raise _Stopped

        try:
            with reading(rows, learner):
                learner.learn(rows, on_chunk)
        except _Stopped:
            if place is not None:
                place.write(learner, rows.position)
                say(f"stopped at row {rows.position:,}; the same command goes on from {place.path}")
            else:
                say(f"stopped at row {rows.position:,}; nothing was saved (--checkpoint FILE would)")
            raise typer.Exit(INTERRUPTED) from None
    if place is not None:
        place.write(learner, rows.position, finished=True)


@contextmanager
def _interrupts() -> Iterator[Any]:
    """Ctrl-C is noted and acted on between chunks, when the learner is whole; a second one ends at once."""
    seen = []

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.getsignal(signal.SIGINT)
    with suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, before)


def _identity(learner: Learner, source: str, options: dict[str, Any]) -> dict[str, Any]:
    """What must agree for a checkpoint to be of the same run."""
    params = {name: repr(value) for name, value in learner.get_params(deep=False).items()}
    return {"learner": type(learner).__name__, "source": source, **params, **options}
