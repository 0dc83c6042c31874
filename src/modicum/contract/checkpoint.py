"""Checkpoints: a learner and its position in the stream, in one file."""

import os
import time
from pathlib import Path
from typing import Any

from modicum.contract.loading import from_content, read_content
from modicum.exceptions import StateError
from modicum.rules.invariants import Keyed, Scope, Violation, Whole, check_rule
from modicum.rules.params import TRUTH, Where
from modicum.state.files import temporary_name, to_bytes, write_atomically

_MARK = Keyed(position=Whole(), finished=TRUTH, run=Where(lambda value: isinstance(value, dict), "a dict"))

_FILES = "files"  # the key of the sizes of files in what is kept about a run


class Checkpoint:
    """A learner and its position in the stream, in one file that is rewritten at intervals.

    `every` is the interval in seconds. `run` is plain data that identifies the run; a checkpoint of another run is
    refused. The file is a state file as well: `modicum.load` reads the learner in it. `files` are the sizes of the
    files read, by path in the order of reading, if known: as written, or as found by `resume`.

    Examples
    --------
    >>> import modicum, numpy as np, tempfile
    >>> checkpoint = Checkpoint(tempfile.mkdtemp() + "/state.mcm", every=30, run={"source": "rows.npy"})
    >>> checkpoint.resume() is None  # no file yet
    True
    >>> checkpoint.write(modicum.Reservoir(10).partial_fit(np.ones((5, 2))), position=5)
    >>> learner, position, finished = checkpoint.resume()
    >>> learner.n_seen_, position, finished
    (5, 5, False)
    """

    def __init__(self, path: str | os.PathLike[str], *, every: float, run: dict[str, Any]):
        self.path = Path(path)
        self.every = every
        self.run = run
        self.files: dict[str, int] | None = None
        self._written = time.monotonic()

    def resume(self, **given: Any) -> tuple[Any, int, bool] | None:
        """(learner, position, finished) as last written by this run; None if there is no file."""
        if not self.path.exists():
            return None
        content = read_content(self.path)
        mark = content.get("checkpoint")
        if mark is None:
            raise StateError(f"{self.path} is a saved learner, not a checkpoint. Choose another --checkpoint file.")
        try:
            check_rule(_MARK, mark, Scope(None, {}))
        except Violation as violation:
            raise StateError(f"{self.path} is damaged: its checkpoint is invalid, {violation}.") from None
        for key, value in self.run.items():
            if mark["run"].get(key) != value:
                raise StateError(
                    f"{self.path} belongs to another run ({key} was {mark['run'].get(key)!r}, now {value!r}). "
                    "Delete it to start over, or choose another file."
                )
        self.files = self._sizes(mark["run"].get(_FILES))
        return from_content(content, str(self.path), **given), mark["position"], mark["finished"]

    def check_files(self, *, may_grow: bool = True) -> bool:
        """Whether files that were read have changed since `resume` found their sizes.

        The last one may have grown; a StateError for any other change, and for that one unless it `may_grow`.
        """
        grown = False
        for file, before in (self.files or {}).items():
            now = os.stat(file).st_size if os.path.exists(file) else 0
            is_last = file == [*(self.files or {})][-1]
            if now < before or (now > before and not (is_last and may_grow)):
                raise StateError(
                    f"{file} has changed since {self.path} was written: {before:,} bytes then, {now:,} now. "
                    f"Restore it, or delete {self.path} to start over."
                )
            grown |= now > before
        return grown

    def _sizes(self, files: Any) -> dict[str, int] | None:
        valid = isinstance(files, dict) and all(isinstance(size, int) and size >= 0 for size in files.values())
        if files is not None and not valid:
            raise StateError(
                f"{self.path} is damaged: its checkpoint is invalid, sizes of files must be a dict of ints."
            )
        return files

    def write_if_due(self, learner: Any, position: int) -> None:
        """Write if `every` seconds have passed since the last time."""
        if time.monotonic() - self._written >= self.every:
            self.write(learner, position)

    def write(self, learner: Any, position: int, *, finished: bool = False) -> None:
        """Replace the file by the present state of a learner."""
        for leftover in self.path.parent.glob(temporary_name(self.path, "*")):
            leftover.unlink(missing_ok=True)  # of a run that was killed while writing
        files = {} if self.files is None else {_FILES: self.files}
        mark = {"position": position, "finished": finished, "run": self.run | files}
        content = learner._guard().run(learner._content)
        write_atomically(self.path, to_bytes(content | {"checkpoint": mark}))
        self._written = time.monotonic()


def parse_seconds(text: str) -> float:
    """Seconds in "30s", "0.5s", "5m", "1h" or "45".

    >>> parse_seconds("5m"), parse_seconds("0.5s")
    (300.0, 0.5)
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "m", "h") else (text, "s")
    try:
        seconds = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a time is a number and a unit, such as 30s, 0.5s or 5m; got {text!r}.")
    return seconds
