"""The tables of a project. Times are seconds since 1970, in UTC; digests are SHA-256, in hexadecimal digits."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

FORMAT = 1  # to be raised when older versions can't work with new projects

metadata = MetaData()

project = Table(
    "modicum_project",  # a name of its own: by it a database is known to be a project
    metadata,
    Column("format", Integer, primary_key=True),
    Column("title", Text, nullable=False),
    Column("instruction", Text, nullable=False),  # always in sight of workers
    Column("details", Text, nullable=False),  # a click away
    Column("secret", String(64), nullable=False),  # signs tokens against forged requests
    Column("made", Float, nullable=False),
)

media = Table(
    "media",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("mime", String(40), nullable=False),
    Column("body", LargeBinary, nullable=False),
)

items = Table(
    "items",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", String(8), nullable=False),  # image, text or audio
    Column("alt", Text, nullable=False),
    Column("text", Text),  # of texts
    Column("thumb", ForeignKey("media.digest")),  # of images
    Column("full", ForeignKey("media.digest")),  # of images and audio
)

gold = Table(
    "gold",
    metadata,
    Column("first", ForeignKey("items.id"), primary_key=True),
    Column("second", ForeignKey("items.id"), primary_key=True),
    Column("same", Boolean, nullable=False),
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("wanted", Integer, nullable=False),  # answers; 0 if they were gathered elsewhere
    Column("taken", Integer, nullable=False, default=0),  # by workers, done or not
    Index("tasks_by_taken", "taken", "id"),
)

task_items = Table(
    "task_items",
    metadata,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("item", ForeignKey("items.id"), primary_key=True),
)

workers = Table(
    "workers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("code", String(16), unique=True),  # none if the answers were gathered elsewhere
    Column("active", Boolean, nullable=False),
    Column("made", Float, nullable=False),
)

work = Table(  # a task in the hands of a worker
    "work",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("worker", ForeignKey("workers.id"), nullable=False),
    Column("task", ForeignKey("tasks.id"), nullable=False),
    Column("shown", JSON, nullable=False),  # ids of the items, in the order in which this worker sees them
    Column("number", Integer, nullable=False, default=0),  # of the last move
    Column("groups", JSON, nullable=False),  # after the last move
    Column("seconds", Float, nullable=False, default=0.0),  # that the page was in sight
    Column("started", Float, nullable=False),
    Column("moved", Float, nullable=False),
    Column("submitted", Float),
    Column("comment", Text, nullable=False, default=""),
    UniqueConstraint("worker", "task"),
    Index("work_by_task", "task"),
)

moves = Table(
    "moves",
    metadata,
    Column("work", ForeignKey("work.id"), primary_key=True),
    Column("number", Integer, primary_key=True),  # from 1
    Column("back_to", Integer),  # the number of an earlier move, if this undid or redid others
    Column("groups", JSON(none_as_null=True)),  # after the move; none if it went back: they are those of that move
    Column("seconds", Float, nullable=False),
    Column("at", Float, nullable=False),
)

fits = Table(
    "fits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("started", Float, nullable=False),
    Column("beat", Float, nullable=False),  # the last sign of life
    Column("ended", Float),
    Column("share", Float, nullable=False, default=0.0),  # done
    Column("words", Text, nullable=False, default=""),  # what is being done
    Column("error", Text),
    Column("n_answers", Integer, nullable=False),
    Column("state", LargeBinary),  # of the learner
    Column("findings", JSON),  # what pages show, so that a server needs no learner
)
