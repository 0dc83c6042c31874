"""Learning a source: a progress bar, checkpoints, output that is renewed, a clean stop by a signal, and a report."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from sklearn.base import is_classifier

from modicum.cli.output import check_folder
from modicum.cli.picks import check_report, parse_shape
from modicum.cli.preparing import Preparing
from modicum.cli.printing import say
from modicum.cli.progress import ClusterProgress, Progress
from modicum.cli.sources import Sources, as_paths, is_stdin, naming_source, say_what_was_read
from modicum.contract.checkpoint import Checkpoint, parse_seconds
from modicum.contract.learner import Learner
from modicum.exceptions import DataError, StateError
from modicum.pipeline import final_learner
from modicum.streams import Stream
from modicum.streams.readers.live import Stopped

LOCAL = "local"  # --dask without an address
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what asks a program to end


@dataclass(frozen=True)
class Run:
    """A run: finished, stopped, or going on."""

    learner: Any
    rows: Stream
    seconds: float
    goes_on: bool = False


Renew = Callable[[Run], object]  # writes what a command writes in the end


@dataclass(frozen=True)
class _Place:
    """Where a run starts: at its beginning, or where a checkpoint says."""

    learner: Learner
    checkpoint: Checkpoint | None = None
    start: int = 0
    first_row: int = 0
    resumed: bool = False
    finished: bool = False
    has_grown: bool = False


@dataclass(frozen=True)
class Job(Preparing):
    """A source to learn: how it is read, where progress is saved, and what the report shows."""

    follow: Annotated[bool, typer.Option("--follow", help="At the end of the source, wait for more rows.")] = False
    checkpoint: Annotated[Path | None, typer.Option(help="File to save progress to and resume from.")] = None
    every: Annotated[
        str, typer.Option(help="How often to save the checkpoint and, of a source without end, all output: 30s, 5m.")
    ] = "30s"
    report: Annotated[Path | None, typer.Option(help="Write a report, one HTML page, to this file.")] = None
    text: Annotated[str | None, typer.Option(help="Column with a text to show for each row in the report.")] = None
    dask: Annotated[
        str | None,
        typer.Option(
            help="Learn on a Dask cluster: on all cores of this machine, or on the one at ADDRESS. Progress is then "
            "saved in a folder.",
            metavar="[ADDRESS]",
        ),
    ] = None
    shards: Annotated[
        int | None, typer.Option(help="[--dask] Parts that are learned side by side. Default: one per thread.")
    ] = None

    @property
    def checkpoint_file(self) -> Path | None:
        """The checkpoint, if it is a file: on a cluster it is a folder."""
        return None if self.dask else self.checkpoint

    def learn(
        self,
        learner: Learner,
        source: Sources,
        *,
        save: Path | None,
        output: Path | None = None,
        renew: Renew | None = None,
    ) -> Run:
        """Learn all of a source, and save the learner; with a checkpoint, resume an earlier run that was stopped.

        A learner that has learned before goes on. `renew` writes what the command writes, to `output` or elsewhere:
        it is called at intervals if the source has no end, and if a signal stops the run.
        """
        learner._check_params()
        for path in (save, self.report, self.checkpoint_file):
            check_folder(path)
        learner = self.pipeline(learner, source)
        if self.dask is not None:
            return self._learn_on_cluster(self.dask, learner, source, save)
        if self.shards is not None:
            raise ValueError("--shards is for --dask.")
        place = self._resume(learner, source)
        rows = self._rows(source, place)
        check_target(place.learner, rows, self.target)
        check_report(place.learner, rows, self.image, self.text)
        keeper = _Keeper(place, rows, parse_seconds(self.every), save, renew)
        if not self._is_finished(place, rows):
            places = [path for path in (output, save, self.report) if path is not None]
            _learn(place.learner, rows, keeper, places)
        if save is not None:
            place.learner.save(save)
        return keeper.run()

    def _learn_on_cluster(self, address: str, learner: Learner, source: Sources, save: Path | None) -> Run:
        """Learn a source on a Dask cluster, and save the learner."""
        from modicum import distribute

        if self.follow:
            raise ValueError("--follow can't be used with --dask: a cluster learns what is there.")
        if learner._is_fitted():
            raise ValueError("--continue can't be used with --dask. Learn the new rows alone, then: modicum merge.")
        rows = self.open_for(learner, source)  # looked at here, and read by the workers
        check_target(learner, rows, self.target)
        check_report(learner, rows, self.image, self.text)
        began = time.monotonic()
        with Progress() as progress:
            shown = ClusterProgress(progress)
            learner = distribute.fit(
                learner,
                as_paths(source),
                None if address == LOCAL else address,
                self.shards,
                progress=shown,
                folder=self.checkpoint,
                random_state=0,
                **self.as_dict() | self.options_for(learner, source),
            )
        say_what_was_read(rows, learner, bad_rows=shown.bad_rows)
        if save is not None:
            learner.save(save)
        return Run(learner, rows, time.monotonic() - began)

    def _rows(self, source: Sources, place: _Place) -> Stream:
        """The rows of a source from a place on. Files that were read before come first, in the same order."""
        read = None if place.checkpoint is None else place.checkpoint.files
        return self.open_for(
            place.learner,
            source,
            start=place.start,
            first_row=place.first_row,
            follow=self.follow,
            files=None if read is None else list(read),
        )

    def _resume(self, learner: Learner, source: Sources) -> _Place:
        """Where an earlier start of this run stopped, or the beginning."""
        seen = learner._position if learner._is_fitted() else 0  # rows of other sources, which it learned before
        if self.checkpoint is None:
            return _Place(learner, first_row=seen)
        more: dict[str, Any] = {"continued": True} if seen else {}
        if self.document is not None:
            more["document"] = self.document
        run = _identity(learner, " ".join(as_paths(source).sources), self.as_dict() | more)
        checkpoint = Checkpoint(self.checkpoint, every=parse_seconds(self.every), run=run)
        found = checkpoint.resume()
        if found is None:
            return _Place(learner, checkpoint, first_row=seen)
        learner, position, finished = found
        if is_stdin(source):
            say(
                f"{self.checkpoint} has learned {position:,} rows; going on with what comes from standard input now, "
                f"as row {position + 1:,} and later"
            )
            return _Place(learner, checkpoint, first_row=position)
        first_row = max(learner._position - position, 0) if seen else 0
        has_grown = checkpoint.check_files(may_grow=self._is_in_order)
        return _Place(learner, checkpoint, position, first_row, True, finished, has_grown)

    @property
    def _is_in_order(self) -> bool:
        """Whether new rows of a source would come after all others."""
        return self.passes == 1 and not self.shuffle_buffer

    def _is_finished(self, place: _Place, rows: Stream) -> bool:
        """Whether there is nothing to learn; says where a checkpoint is."""
        if place.checkpoint is None or not place.resumed:
            return False
        known = place.checkpoint.files
        has_new = place.has_grown or (known is not None and len(rows.files or known) > len(known))
        has_new |= rows.total is not None and rows.total > place.start
        if not place.finished:
            say(f"resuming at row {place.start:,} from {self.checkpoint}")
        elif has_new and not self._is_in_order:
            raise StateError(
                f"{rows.name} has new rows since {self.checkpoint} was finished. Rows can't be added to a run with "
                f"--passes or --shuffle-buffer: delete {self.checkpoint} to start over."
            )
        elif has_new:
            n_new = "" if rows.total is None else f"{rows.total - place.start:,} "
            say(f"{rows.name} has {n_new}new rows since; learning them")
        else:
            say(f"{self.checkpoint} is finished")
            return not self.follow
        return False

    def write_report(self, run: Run, rows: Any = None, documents: Any = None) -> None:
        """Write the report, if one is asked for; `rows` are all columns of the picks, `documents` as it takes them."""
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
            documents=documents,
        )
        if not run.goes_on:
            say(f"report in {self.report}")


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["modicum", *sys.argv[1:]])


def check_target(learner: Learner, rows: Stream, target: str | None) -> None:
    """Who learns from targets must be told their column, if the source is a table."""
    if target is None and rows.table_columns is not None and learner.__sklearn_tags__().target_tags.required:
        what = "labels" if is_classifier(learner) else "targets"
        columns = ", ".join(rows.table_columns)
        name = type(final_learner(learner)).__name__
        raise DataError(f"{name} needs --target, the column with the {what}. There are: {columns}.")


class _Keeper:
    """Keeps what was learned: the checkpoint and, of a source without end, the state and the output, at intervals."""

    def __init__(self, place: _Place, rows: Stream, every: float, save: Path | None, renew: Renew | None):
        self.learner, self._checkpoint, self._rows = place.learner, place.checkpoint, rows
        self._every, self._save, self._renew = every, save, renew
        self._sizes = _sizes(rows, {})
        self._began = self._kept = time.monotonic()
        self._kept_at = rows.position

    @property
    def position(self) -> int:
        """Rows learned of the source; of standard input, also in earlier runs."""
        return self._rows.position + (0 if self._rows.rereadable else self._rows.first_row)

    def run(self, *, goes_on: bool = False) -> Run:
        return Run(self.learner, self._rows, time.monotonic() - self._began, goes_on)

    def if_due(self) -> None:
        """Keep what was learned if it is time to, and there is something new."""
        if time.monotonic() - self._kept < self._every or self._kept_at == self._rows.position:
            return
        self.write_checkpoint()
        if self._rows.live:
            self.write_output(goes_on=True)
        self._kept, self._kept_at = time.monotonic(), self._rows.position

    def write_checkpoint(self, *, finished: bool = False) -> None:
        if self._checkpoint is not None and self.learner._is_fitted():
            self._sizes = _sizes(self._rows, self._sizes)
            self._checkpoint.files = self._sizes or None
            self._checkpoint.write(self.learner, self.position, finished=finished)

    def write_output(self, *, goes_on: bool) -> None:
        """Write all that is written in the end."""
        if not self.learner._is_fitted():
            return
        if self._save is not None:
            self.learner.save(self._save)
        if self._renew is not None:
            self._renew(self.run(goes_on=goes_on))

    def stop(self, places: list[Path]) -> None:
        """Write everything, and say where it is and how to go on."""
        at = f"stopped at row {self.position:,}"
        if not self.learner._is_fitted():
            say(f"{at}; nothing was learned")
            return
        self.write_checkpoint()
        self.write_output(goes_on=False)
        resumes = [] if self._checkpoint is None else [f"the same command resumes from {self._checkpoint.path}"]
        where = " and ".join(map(str, places)) or ("standard output" if self._renew is not None else "")
        learned = [f"what was learned so far is in {where}"] if where else []
        say("; ".join([at, *resumes, *learned] if resumes or learned else [at, "nothing was saved"]))


def _sizes(rows: Stream, known: dict[str, int]) -> dict[str, int]:
    """Sizes of the files of a stream when they were first seen."""
    return {file: known[file] if file in known else os.stat(file).st_size for file in rows.files or ()}


def _learn(learner: Learner, rows: Stream, keeper: _Keeper, places: list[Path]) -> None:
    with Progress(rows) as progress, _signals(rows) as received:

        def on_chunk(learner: Learner) -> None:
            progress.show(learner, rows.position)
            keeper.if_due()
            if received:
                raise Stopped

        rows.on_idle = keeper.if_due
        try:
            with naming_source(rows, learner):
                learner.learn(rows, on_chunk)
        except Stopped:
            keeper.stop(places)
            raise typer.Exit(128 + received[0]) from None  # as the shell has it
    keeper.write_checkpoint(finished=True)


@contextmanager
def _signals(rows: Stream) -> Iterator[list[int]]:
    """The signals that came: noted, and acted on between chunks, when the learner is whole, or at once while no row
    comes. A second one ends at once.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            with suppress(ValueError, TypeError):  # only the main thread may, and only handlers of Python
                signal.signal(number, handler)

    def note(number: int, frame: Any) -> None:
        received.append(number)
        restore()
        rows.stop()

    for number in SIGNALS:
        with suppress(ValueError):
            signal.signal(number, note)
    try:
        yield received
    finally:
        restore()


def _identity(learner: Learner, source: str, options: dict[str, Any]) -> dict[str, Any]:
    """What must agree for a checkpoint to be of the same run."""
    params = {name: repr(value) for name, value in learner.get_params(deep=False).items()}
    return {"learner": type(learner).__name__, "source": source, **params, **options}
