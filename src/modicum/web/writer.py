"""Changes of a server, many in one transaction: with a hundred workers, the disk is asked once, not a hundred times."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection

from modicum.exceptions import ModicumError
from modicum.web.store.database import Database

MOST = 256  # changes in one transaction

Result = TypeVar("Result")
Change = Callable[[Connection], Any]


class _Job:
    """A change, and who waits for its result."""

    def __init__(self, change: Change):
        self.change = change
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def make(self, connection: Connection) -> None:
        self.error = None
        try:
            self.result = self.change(connection)
        except ModicumError as error:  # refused before anything was changed
            self.error = error

    def answer(self) -> None:
        if self.future.cancelled():  # the browser has gone; the change is made all the same
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def _answer(jobs: list[_Job]) -> None:
    for job in jobs:
        job.answer()


class Writer:
    """One thread that makes all changes. A result is given only after its change was committed."""

    def __init__(self, database: Database):
        self._database = database
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="modicum-writer", daemon=True)
        self._thread.start()

    async def __call__(self, change: Callable[[Connection], Result]) -> Result:
        """Make a change; what it raises is raised here, and then nothing of it was made.

        A change that refuses something (`ModicumError`) does so before it changes anything.
        """
        job = _Job(change)
        self._jobs.put(job)
        return await job.future

    def close(self) -> None:
        """Make the changes that wait, and end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            jobs = [self._jobs.get(), *self._waiting()]
            goes_on = None not in jobs
            self._commit([job for job in jobs if job is not None])

    def _waiting(self) -> list[_Job | None]:
        found: list[_Job | None] = []
        try:
            while len(found) < MOST:
                found.append(self._jobs.get_nowait())
        except Empty:
            pass
        return found

    def _commit(self, jobs: list[_Job]) -> None:
        if not jobs:
            return
        making = False
        try:
            with self._database.changing() as connection:
                making = True
                for job in jobs:
                    job.make(connection)
                making = False
        except Exception as error:  # nothing was committed
            if making and len(jobs) > 1:  # one of the changes is to blame: alone, each fails or not by itself
                for job in jobs:
                    self._commit([job])
                return
            for job in jobs:
                job.error = error
        with suppress(RuntimeError):  # the server has ended, and nobody waits
            jobs[0].loop.call_soon_threadsafe(_answer, jobs)
