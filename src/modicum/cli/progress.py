"""Progress on stderr: a bar when it is a terminal, nothing when it is not."""

import sys
from types import TracebackType
from typing import Any, Self

from sklearn.base import is_classifier

from modicum.base import Learner
from modicum.budget import format_bytes
from modicum.streams import Stream


def say(message: str) -> None:
    """A line for people."""
    print(message, file=sys.stderr)


class Progress:
    """Rows, rows per second, how good it is so far, and memory held."""

    def __init__(self, rows: Stream):
        self._rows = rows
        self._bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("reading", total=self._rows.total, completed=self._rows.position)
        return self

    def show(self, learner: Learner, position: int) -> None:
        if self._bar is None:
            return
        task = self._bar.tasks[self._task]
        facts = [f"{position:,} rows", f"{task.speed or 0:,.0f} rows/s"]
        facts += [f"{name} {value:.4g}" for name, value in _latest(learner).items()]
        facts.append(f"{format_bytes(learner.nbytes_)} held")
        self._bar.update(self._task, completed=position, description=" · ".join(facts))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _latest(learner: Learner) -> dict[str, float]:
    """Numbers worth a look while they change; what was recorded costs nothing, what is computed when asked may."""
    if is_classifier(learner):
        return {"accuracy": learner.accuracy_}
    history = getattr(learner, "history_", {})
    return {name: history[name][-1] for name in ("utility", "value") if len(history.get(name, ()))}
