"""Progress on stderr: a bar when it is a terminal, nothing when it is not."""

import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from sklearn.base import is_classifier

from modicum.contract.learner import Learner
from modicum.distribute.progress import JobProgress
from modicum.rules.budget import format_bytes
from modicum.streams import Stream
from modicum.streams.readers.base import BadRows

READING, COMPILING = "reading", "compiling (once)"


class Progress:
    """A bar and some facts: for rows of a stream by `show`, for steps of other kinds by `tell`.

    While loops are compiled, which the first run does, the facts say so.
    """

    def __init__(self, rows: Stream | None = None):
        self._start = (None, 0) if rows is None else (rows.total, rows.position)
        self._bar: Any = None
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            from modicum._jit.compiling import on_compile

            columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
            self._exits.enter_context(self._bar)
            total, completed = self._start
            self._task = self._bar.add_task(READING, total=total, completed=completed)
            self._exits.enter_context(on_compile(self._tell_compiling))
        return self

    def show(self, learner: Learner, position: int) -> None:
        """Rows, rows per second, how good it is so far, and memory held."""
        if self._bar is None:
            return
        speed = self._bar.tasks[self._task].speed or 0
        facts = [f"{position:,} rows", f"{speed:,.0f} rows/s"]
        facts += [f"{name} {value:.4g}" for name, value in _latest(learner).items()]
        self.tell(*facts, f"{format_bytes(learner.nbytes_)} held", completed=position)

    def tell(self, *facts: str, completed: int | None = None, total: int | None = None) -> None:
        """Show how far it is, if that is known, and some facts."""
        if self._bar is not None:
            known = {} if total is None else {"total": total}
            self._bar.update(self._task, completed=completed, description=" · ".join(facts), **known)

    def _tell_compiling(self, is_compiling: bool) -> None:
        """Say that loops are being compiled, until that is done."""
        if is_compiling:
            self._description = self._bar.tasks[self._task].description
        self._bar.update(self._task, description=COMPILING if is_compiling else self._description)
        self._bar.refresh()  # the compiler may keep the thread that refreshes from running

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._exits.close()


class ClusterProgress:
    """Shows how far a job on a cluster is, and knows the rows that it has left out."""

    def __init__(self, progress: Progress):
        self._progress, self.bad_rows = progress, BadRows()

    def __call__(self, now: JobProgress) -> None:
        self.bad_rows = now.bad_rows
        done, total = (now.rows, now.n_rows) if now.n_rows else (now.shards_done, now.n_shards)
        self._progress.tell(str(now), completed=done, total=total)


def _latest(learner: Learner) -> dict[str, float]:
    """Numbers to watch; only recorded ones, as attributes computed on request may take long."""
    if is_classifier(learner):
        return {"accuracy": learner.accuracy_}
    history = getattr(learner, "history_", {})
    return {name: history[name][-1] for name in ("utility", "value", "components") if len(history.get(name, ()))}
