"""What was learned of the answers: progress while it is learned, then the learner and what pages show of it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Row, insert, select, update

from modicum.web.store.project import Project
from modicum.web.store.schema import fits

BEAT = 2.0  # seconds between signs of life
DEAD = 30.0  # seconds without one after which a fit was killed

_SHOWN = [column for column in fits.c if column.name not in ("state", "findings")]


class Fit:
    """A fit that is under way. It tells the database how far it is."""

    def __init__(self, project: Project, n_answers: int):
        self._project = project
        self._told = 0.0
        now = time.time()
        row = {"started": now, "beat": now, "n_answers": n_answers, "words": "starting"}
        with project.changing() as connection:
            self.id = connection.execute(insert(fits).values(row).returning(fits.c.id)).scalar_one()

    def tell(self, share: float, words: str) -> None:
        """How far it is; not every call is written down."""
        if time.monotonic() - self._told >= 0.3:
            self._told = time.monotonic()
            self._write(share=share, words=words)

    def finish(self, state: bytes, findings: dict[str, Any]) -> None:
        self._write(share=1.0, words="", ended=time.time(), state=state, findings=findings)

    def fail(self, error: str) -> None:
        self._write(ended=time.time(), error=error)

    def _write(self, **values: Any) -> None:
        with self._project.changing() as connection:
            connection.execute(update(fits).where(fits.c.id == self.id).values(beat=time.time(), **values))


@contextmanager
def fitting(project: Project, n_answers: int) -> Iterator[Fit]:
    """A fit under way, with signs of life in the background; what is raised is written down."""
    fit, ended = Fit(project, n_answers), threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            fit._write()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield fit
    except BaseException as error:
        fit.fail(str(error) or type(error).__name__)
        raise
    finally:
        ended.set()
        thread.join()


def latest(project: Project) -> Row[Any] | None:
    """The fit that began last, without what it found."""
    with project.reading() as connection:
        return connection.execute(select(*_SHOWN).order_by(fits.c.id.desc()).limit(1)).one_or_none()


def last_done(project: Project) -> Row[Any] | None:
    """The last fit that ended well, without what it found."""
    with project.reading() as connection:
        return connection.execute(_done(*_SHOWN)).one_or_none()


def findings(project: Project) -> dict[str, Any] | None:
    """What the last fit that ended well found, as pages show it."""
    with project.reading() as connection:
        return connection.execute(_done(fits.c.findings)).scalar_one_or_none()


def state(project: Project) -> bytes | None:
    """The state of the learner of the last fit that ended well."""
    with project.reading() as connection:
        return connection.execute(_done(fits.c.state)).scalar_one_or_none()


def _done(*columns: Any) -> Any:
    done = fits.c.ended.is_not(None) & fits.c.error.is_(None)
    return select(*columns).where(done).order_by(fits.c.id.desc()).limit(1)
