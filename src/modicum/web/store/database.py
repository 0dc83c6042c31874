"""Databases of projects: an SQLite file, or PostgreSQL by URL."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from modicum._optional import require
from modicum.exceptions import DataError

ENDING = ".crowd"
READERS = 6  # threads of a server that read: more would only wait for each other
PATIENCE = 30  # seconds that a change waits for those of other processes
HEADER = b"SQLite format 3\0"


class Database:
    """Connections for reading and for changes."""

    def __init__(self, where: str | os.PathLike[str]):
        self.where = str(where)
        self.url = _as_url(self.where)
        self.engine = _engine(self.url)
        # SQLite reads from snapshots anyway
        self._snapshot = {} if self.file else {"isolation_level": "REPEATABLE READ"}

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        return Path(str(self.url.database)) if self.url.get_backend_name() == "sqlite" else None

    @property
    def name(self) -> str:
        """What the database is called in messages: without a password."""
        return str(self.file) if self.file else self.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database, whatever others change meanwhile."""
        with self._named_errors(), self.engine.connect().execution_options(**self._snapshot) as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """A connection whose changes are made at the end, durably and all at once, or not at all."""
        with (
            self._named_errors(),
            self.engine.connect().execution_options(changing=True) as connection,
            connection.begin(),
        ):
            yield connection

    def make_file(self) -> None:
        """Make an empty file that only its owner can read: it holds the codes by which workers enter."""
        if self.file is None:
            return
        if not self.file.parent.is_dir():
            raise DataError(f"can't make {self.file}: the folder {self.file.parent} does not exist.")
        try:
            os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise DataError(f"{self.file} exists already. Choose another name, or remove it.") from None
        except OSError as error:
            raise DataError(f"can't make {self.file}: {error.strerror}.") from None

    def check_file(self) -> None:
        """A `DataError` unless the file is there and is a database."""
        if self.file is None:
            return
        if not self.file.is_file():
            raise DataError(f"there is no project {self.file}. Make one with: modicum crowd new")
        with open(self.file, "rb") as file:
            if file.read(len(HEADER)) != HEADER:
                raise self._no_project()
        # opening it for work would change how it is written, and it may be the database of another program
        address = f"{self.file.resolve().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                known = "SELECT 1 FROM sqlite_master WHERE name = 'modicum_project'"
                if connection.execute(known).fetchone() is None:
                    raise self._no_project()
        except sqlite3.Error as error:
            raise DataError(f"{self.file}: the database does not work: {error}.") from None

    def _no_project(self) -> DataError:
        return DataError(f"{self.name} is not a project that modicum crowd new made.")

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise DatabaseError(f"{self.name}: the database does not work: {reason}.") from error


class DatabaseError(DataError):
    """The database can't be reached, or refuses."""


def _as_url(where: str) -> URL:
    """The URL of a database, or of the SQLite file at a path."""
    if "://" not in where:
        return URL.create("sqlite", database=where if where.endswith(ENDING) else where + ENDING)
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise DataError("can't understand the URL of the project: postgresql://USER:PASSWORD@HOST/DATABASE.") from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise DataError(f"projects are SQLite files or PostgreSQL databases, not {url.get_backend_name()}.")
    require("psycopg", "PostgreSQL")
    return url.set(drivername="postgresql+psycopg")


def _engine(url: URL) -> Engine:
    is_remote = url.get_backend_name() == "postgresql"
    try:
        # as many connections as threads read at once, and one that writes: opening one takes longer than most queries
        engine = create_engine(url, poolclass=QueuePool, pool_size=READERS + 2, pool_pre_ping=is_remote)
    except (NoSuchModuleError, ImportError) as error:
        raise DataError(f"can't open a database by this URL: {error}.") from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says so
    for pragma in (
        "journal_mode = WAL",  # readers and the one who writes do not wait for each other
        "synchronous = FULL",  # a commit is on the disk when it returns: it survives a loss of power
        "foreign_keys = ON",
        f"busy_timeout = {1000 * PATIENCE}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # whoever will write must say so at once: a reader that becomes a writer is refused if another one wrote meanwhile
    is_changing = connection.get_execution_options().get("changing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_changing else "BEGIN")
