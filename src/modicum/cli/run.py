"""Learning a source, with a progress bar, checkpoints, a clean stop on Ctrl-C and a report."""

import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from sklearn.base import is_classifier

from modicum.cli.output import check_folder
from modicum.cli.picks import check_report, parse_shape
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.sources import Reading, naming_source
from modicum.contract.checkpoint import Checkpoint, parse_seconds
from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.streams import Stream

INTERRUPTED = 130  # the shell's exit code for a program ended by Ctrl-C


class _Stopped(Exception):
    """Ctrl-C was noted, and a chunk is done: the learner is whole and can be saved."""


@dataclass(frozen=True)
class Run:
    """A finished run."""

    learner: Any
    rows: Stream
    seconds: float


@dataclass(frozen=True)
class Job(Reading):
    """A source to learn: how it is read, where progress is saved, and what the report shows."""

    checkpoint: Annotated[Path | None, typer.Option(help="File to save progress to and resume from.")] = None
    every: Annotated[str, typer.Option(help="How often to save the checkpoint: 30s, 0.5s, 5m.")] = "30s"
    report: Annotated[Path | None, typer.Option(help="Write a report, one HTML page, to this file.")] = None
    image: Annotated[str | None, typer.Option(help="Rows are images of this shape, such as 28x28 or 32x32x3.")] = None
    text: Annotated[str | None, typer.Option(help="Column with a text to show for each row in the report.")] = None

    def learn(self, learner: Learner, source: str, *, save: Path | None) -> Run:
        """Learn all of a source, and save the learner; with a checkpoint, resume an earlier run that was stopped."""
        learner._check_params()
        for path in (save, self.report, self.checkpoint):
            check_folder(path)
        learner, checkpoint, start, finished = self._resume(learner, source)
        rows = self.open(source, getattr(learner, "random_state", None), start=start)
        check_target(learner, rows, self.target)
        check_report(learner, rows, self.image, self.text)
        began = time.perf_counter()
        if not finished:
            _learn(learner, rows, checkpoint)
        if save is not None:
            learner.save(save)
        return Run(learner, rows, time.perf_counter() - began)

    def _resume(self, learner: Learner, source: str) -> tuple[Learner, Checkpoint | None, int, bool]:
        """(learner, checkpoint, position, finished) of an earlier start of this run, or as given."""
        if self.checkpoint is None:
            return learner, None, 0, False
        if source == "-":
            raise DataError("a checkpoint can't bring back rows of standard input: write them to a file first.")
        run = _identity(learner, source, self.as_dict())
        checkpoint = Checkpoint(self.checkpoint, every=parse_seconds(self.every), run=run)
        found = checkpoint.resume()
        if found is None:
            return learner, checkpoint, 0, False
        learner, position, finished = found
        say(f"{self.checkpoint} is finished" if finished else f"resuming at row {position:,} from {self.checkpoint}")
        return learner, checkpoint, position, finished

    def write_report(self, run: Run, rows: Any = None) -> None:
        """Write the report, if one is asked for; `rows` are all columns of the picks."""
        if self.report is None:
            return
        from modicum.plot.report import write_report

        write_report(
            self.report,
            run.learner,
            command=command_line(),
            source=run.rows.description,
            seconds=run.seconds,
            picks=rows,
            image=parse_shape(self.image),
            text=self.text,
        )
        say(f"report in {self.report}")


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["modicum", *sys.argv[1:]])


def check_target(learner: Learner, rows: Stream, target: str | None) -> None:
    """Who learns from targets must be told their column, if the source is a table."""
    if target is None and rows.table_columns is not None and learner.__sklearn_tags__().target_tags.required:
        what = "labels" if is_classifier(learner) else "targets"
        columns = ", ".join(rows.table_columns)
        raise DataError(f"{type(learner).__name__} needs --target, the column with the {what}. There are: {columns}.")


def _learn(learner: Learner, rows: Stream, checkpoint: Checkpoint | None) -> None:
    with Progress(rows) as progress, _interrupts() as interrupted:

        def on_chunk(learner: Learner) -> None:
            progress.show(learner, rows.position)
            if checkpoint is not None:
                checkpoint.write_if_due(learner, rows.position)
            if interrupted():
                raise _Stopped

        try:
            with naming_source(rows, learner):
                learner.learn(rows, on_chunk)
        except _Stopped:
            if checkpoint is not None:
                checkpoint.write(learner, rows.position)
                say(f"stopped at row {rows.position:,}; the same command resumes from {checkpoint.path}")
            else:
                say(f"stopped at row {rows.position:,}; nothing was saved (--checkpoint FILE would)")
            raise typer.Exit(INTERRUPTED) from None
    if checkpoint is not None:
        checkpoint.write(learner, rows.position, finished=True)


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
