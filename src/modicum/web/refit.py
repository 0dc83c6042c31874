"""Fits that a server starts: in a process of its own, at low priority, while workers go on."""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from sqlalchemy import func, select

from modicum.exceptions import DataError
from modicum.web.store import fits
from modicum.web.store.project import Project
from modicum.web.store.schema import work

COMMAND = (sys.executable, "-P", "-m", "modicum", "crowd", "fit")  # -P: no modules of the current folder
NICE = 10  # lower priority than that of the server
MOST_BYTES = 8_192  # of what a process says: the end of it
PATIENCE = 5.0  # seconds that a process has to end by itself


class Refit:
    """At most one fit at a time."""

    def __init__(self, project: Project):
        self._project = project
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def start(self, n_clusters: int | None = None) -> None:
        """Start a fit of all answers; a `DataError` if one is under way, or if there is nothing to fit."""
        with self._lock:
            latest = fits.latest(self._project)
            if self._is_running(latest):
                raise DataError("a fit is under way. Wait until it is done.")
            if not _count_answers(self._project):
                raise DataError("nobody has submitted an answer yet, so there is nothing to fit.")
            options = () if n_clusters is None else ("--n-clusters", str(n_clusters))
            self._child = _Child((*COMMAND, *options), self._project, 0 if latest is None else latest.id)

    def status(self) -> dict[str, Any]:
        """How far the fit is that is under way, how the last one ended, and how many answers are new since."""
        latest, done, child = fits.latest(self._project), fits.last_done(self._project), self._child
        if child is not None and (latest is None or latest.id <= child.after):
            latest = None  # it has not written anything yet
            started, share, words = child.started, 0.0, "starting"
        elif latest is not None:
            started, share, words = latest.started, latest.share, latest.words
        else:
            started, share, words = time.time(), 0.0, ""
        running = self._is_running(latest)
        return {
            "running": running,
            "share": share,
            "words": words,
            "seconds": max(0.0, time.time() - started) if running else 0.0,
            "error": None if running else self._error(latest),
            "fit": None if done is None else done.id,
            "ended": None if done is None else done.ended,
            "n_answers": None if done is None else done.n_answers,
            "new_answers": max(0, _count_answers(self._project) - (0 if done is None else done.n_answers)),
        }

    def close(self) -> None:
        """End a fit that is under way."""
        if self._child is not None:
            self._child.end()

    def _is_running(self, latest: Any) -> bool:
        """Whether a fit is under way: ours, or one of another process."""
        if self._child is not None and self._child.is_running:
            return True
        is_buried = self._child is not None and latest is not None and self._child.wrote(latest)
        return latest is not None and not is_buried and _is_alive(latest)

    def _error(self, latest: Any) -> str | None:
        """Why the last fit failed, if it did."""
        if self._child is not None and self._child.failed and (latest is None or self._child.wrote(latest)):
            return latest.error if latest is not None and latest.error else self._child.last_words
        if latest is None:
            return None
        return latest.error if latest.ended is not None else "The last fit was interrupted."


def _is_alive(fit: Any) -> bool:
    """Whether some process is at work on a fit, by its signs of life."""
    return fit.ended is None and time.time() - fit.beat < fits.DEAD


def _count_answers(project: Project) -> int:
    with project.reading() as connection:
        return connection.execute(select(func.count()).where(work.c.submitted.is_not(None))).scalar_one()


class _Child:
    """A process that fits, and the end of what it says."""

    def __init__(self, command: tuple[str, ...], project: Project, after: int):
        self.started, self.after = time.time(), after  # fits with larger ids are its own
        self.ended: float | None = None
        self._said = b""
        where = str(project.file.resolve()) if project.file else project.url.render_as_string(hide_password=False)
        self._process = subprocess.Popen(
            command,
            env=os.environ | {"MODICUM_PROJECT": where},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with suppress(OSError, AttributeError):  # Windows has other priorities
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)  # its threads, which come later, inherit it
        self._reader = threading.Thread(target=self._read, name="modicum-refit", daemon=True)
        self._reader.start()

    @property
    def is_running(self) -> bool:
        return self._reader.is_alive()

    @property
    def failed(self) -> bool:
        return not self.is_running and self._process.returncode != 0

    @property
    def last_words(self) -> str:
        """The last line that it said."""
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip() if lines else f"The process ended with code {self._process.returncode}."

    def wrote(self, fit: Any) -> bool:
        """Whether it has ended, and a fit in the database is of its time."""
        return self.ended is not None and fit.id > self.after and fit.started <= self.ended

    def end(self) -> None:
        """Terminate the process, or kill it if it does not end."""
        self._process.terminate()
        self._reader.join(PATIENCE)
        if self.is_running:
            self._process.kill()
            self._reader.join()

    def _read(self) -> None:
        pipe: Any = self._process.stdout
        with pipe:
            while chunk := pipe.read1(MOST_BYTES):
                self._said = (self._said + chunk)[-MOST_BYTES:]
        self._process.wait()
        self.ended = time.time()
