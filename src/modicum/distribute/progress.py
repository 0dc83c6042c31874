"""How far a job is: shards done, rows learned, merges done."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from modicum._optional import require
from modicum.exceptions import MissingExtraError
from modicum.streams.readers.base import BadRows


@dataclass
class JobProgress:
    """What `progress` is called with, whenever it has changed."""

    n_shards: int
    n_merges: int
    n_rows: int | None = None  # of the source, if it is known
    shards_done: int = 0
    merges_done: int = 0
    rows_by_shard: dict[int, int] = field(default_factory=dict)
    bad_by_shard: dict[int, BadRows] = field(default_factory=dict)  # left out by shards that are done, if asked to

    @property
    def rows(self) -> int:
        """Rows learned so far."""
        return sum(self.rows_by_shard.values())

    @property
    def bad_rows(self) -> BadRows:
        """Rows left out because of `skip_bad_rows`, by the shards that this call has learned."""
        found = BadRows()
        for _, bad in sorted(self.bad_by_shard.items()):
            found.add_all(bad)
        return found

    def hear(self, shard: int, rows: int, bad_rows: tuple[int, Sequence[tuple[str, int, str]]] | None) -> None:
        """Note what a worker tells of a shard."""
        self.rows_by_shard[shard] = rows
        if bad_rows is not None:
            bad = self.bad_by_shard[shard] = BadRows()
            bad.count, bad.first = bad_rows[0], list(bad_rows[1])

    def __str__(self) -> str:
        said = [f"{self.rows:,} rows", f"{self.shards_done} of {self.n_shards} shards"]
        return " · ".join([*said, *([f"{self.merges_done} of {self.n_merges} merges"] if self.n_merges else [])])


Show = Callable[[JobProgress], object]


@contextmanager
def shown(progress: bool | Show) -> Iterator[Show]:
    """A function to show progress with: the one that was given, or a bar on a terminal."""
    if callable(progress):
        yield progress
        return
    if not progress or not sys.stderr.isatty():
        yield lambda now: None
        return
    try:
        rich = require("rich.progress", "a progress bar")
    except MissingExtraError:
        yield lambda now: None
        return
    from rich.console import Console

    columns = (rich.BarColumn(), rich.TextColumn("{task.description}"), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(now: JobProgress) -> None:
            total = now.n_rows or now.n_shards
            done = now.rows if now.n_rows else now.shards_done
            bar.update(task, total=total, completed=done, description=str(now))

        yield show


class Watch:
    """Keeps a `JobProgress` up to date with what workers tell, and shows it."""

    def __init__(self, now: JobProgress, show: Show):
        self.now, self._show, self._lock = now, show, threading.Lock()

    def told(self, event: Any) -> None:
        """A worker says how many rows a shard has learned."""
        with suppress(TypeError, ValueError, KeyError):  # somebody else may use the topic
            _, what = event
            self._change(lambda now: now.hear(int(what["shard"]), int(what["rows"]), what.get("bad_rows")))

    def shard_done(self, number: int, n_rows: int | None = None) -> None:
        def change(now: JobProgress) -> None:
            now.shards_done += 1
            if n_rows is not None:
                now.rows_by_shard[number] = n_rows

        self._change(change)

    def merge_done(self) -> None:
        self._change(lambda now: setattr(now, "merges_done", now.merges_done + 1))

    def _change(self, change: Callable[[JobProgress], object]) -> None:
        with self._lock:
            change(self.now)
            self._show(self.now)
