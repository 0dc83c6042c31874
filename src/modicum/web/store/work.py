"""What workers do: they take a task, move its items, and submit.

Every function takes a connection and makes its changes there; whoever calls commits them. What is refused is refused
before anything is changed.
"""

import math
import random
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, bindparam, exists, func, insert, or_, select, update

from modicum.exceptions import DataError, ModicumError
from modicum.web.store.schema import items, moves, project, task_items, tasks, work, workers

IDLE = 24 * 3600.0  # seconds without a move after which a task is offered to others, too
MOST_GROUPS, MOST_MOVES, MOST_ID = 500, 5_000, 1_000_000  # groups: or as many as items
MOST_NAME, MOST_NAMES, MOST_COMMENT = 100, 5_000, 2_000  # letters of a name, of all names, of a comment
FEWEST = 2  # items in groups: an answer with fewer says nothing

Groups = list[dict[str, Any]]  # each {"id": int, "name": str, "items": [ids of items]}


class NotFoundError(ModicumError):
    """There is no such work, or it is another worker's."""


class ConflictError(ModicumError):
    """What was sent does not follow what is here; says what is here."""

    def __init__(self, message: str, number: int, *, submitted: bool):
        super().__init__(message)
        self.number, self.submitted = number, submitted


class Move(NamedTuple):
    """A move as a browser sends it: the groups after it, or the number of the move it goes back to."""

    groups: Groups | None
    to: int | None
    seconds: float


# ---- tasks ---------------------------------------------------------------------------------------------


def find_worker(connection: Connection, code: str) -> Row[Any] | None:
    """The worker with a code, unless they were barred."""
    return connection.execute(_WORKER, {"code": code}).one_or_none()


def open_work(connection: Connection, worker: int) -> Row[Any] | None:
    """What a worker has begun and not submitted."""
    return connection.execute(_BEGUN, {"worker": worker}).one_or_none()


def take_task(connection: Connection, worker: int, rng: random.Random | None = None) -> int | None:
    """The id of the work that a worker has begun, or of a new one; None if there is nothing left to do."""
    begun = open_work(connection, worker)
    if begun is not None:
        return begun.id
    found = connection.execute(_NEXT, _asks(worker)).scalar_one_or_none()
    if found is None:
        return None
    shown = list(connection.execute(_ITEMS_OF, {"task_": found}).scalars())
    (rng or random.SystemRandom()).shuffle(shown)
    connection.execute(_TAKE, {"id_": found})
    now = time.time()
    made = {"worker": worker, "task": found, "shown": shown, "groups": [], "started": now, "moved": now}
    return connection.execute(_BEGIN, made).scalar_one()


def count_work(connection: Connection, worker: int) -> tuple[int, int]:
    """How many tasks a worker has submitted, and how many are left for them, the one they have begun included."""
    n_done, n_begun, n_free = connection.execute(_COUNTS, _asks(worker)).one()
    return n_done, n_begun + n_free


def _asks(worker: int) -> dict[str, Any]:
    return {"worker": worker, "idle_since": time.time() - IDLE}


def _free() -> Any:
    """Ids of tasks that a worker may have: those of which answers are wanted, or that somebody seems to have left."""
    mine = exists().where(work.c.task == tasks.c.id, work.c.worker == bindparam("worker"))
    is_idle = work.c.submitted.is_(None) & (work.c.moved < bindparam("idle_since"))
    left = exists().where(work.c.task == tasks.c.id, is_idle)
    n_busy = select(func.count()).where(work.c.task == tasks.c.id, ~is_idle).scalar_subquery()  # or done
    is_wanted = or_(tasks.c.taken < tasks.c.wanted, and_(left, n_busy < tasks.c.wanted))
    return select(tasks.c.id).where(is_wanted, ~mine)


def _counts() -> Any:
    """Tasks that a worker has done, has begun, and may have."""
    own = [
        select(func.count()).where(work.c.worker == bindparam("worker"), is_so)
        for is_so in (work.c.submitted.is_not(None), work.c.submitted.is_(None))
    ]
    free = select(func.count()).select_from(_free().subquery())
    return select(*(each.scalar_subquery() for each in (*own, free)))


# made once: to put a statement together takes longer than to run it
_NEXT = _free().order_by(tasks.c.taken, tasks.c.id).limit(1)
_COUNTS = _counts()
_BEGUN = (
    select(work).where(work.c.worker == bindparam("worker"), work.c.submitted.is_(None)).order_by(work.c.id).limit(1)
)
_WORKER = select(workers).where(workers.c.code == bindparam("code"), workers.c.active)
_OWN = (
    select(work)
    .join(workers, work.c.worker == workers.c.id)
    .where(work.c.id == bindparam("work"), workers.c.code == bindparam("code"), workers.c.active)
)
_OWN_LOCKED = _OWN.with_for_update(of=work)
_ITEMS_OF = select(task_items.c.item).where(task_items.c.task == bindparam("task_"))
_TAKE = update(tasks).where(tasks.c.id == bindparam("id_")).values(taken=tasks.c.taken + 1)
_BEGIN = insert(work).returning(work.c.id)
_CHANGE = update(work).where(work.c.id == bindparam("id_"))
_KEEP = insert(moves)
_PROJECT = select(project.c.title, project.c.instruction, project.c.details)
_SHOWN = select(items).where(items.c.id.in_(bindparam("shown", expanding=True)))
_MOVES = select(moves.c.back_to, moves.c.groups).where(moves.c.work == bindparam("work_")).order_by(moves.c.number)


def task_page(connection: Connection, mine: Row[Any]) -> dict[str, Any]:
    """What the page of a piece of work shows."""
    facts = connection.execute(_PROJECT).one()
    by_id = {row.id: row for row in connection.execute(_SHOWN, {"shown": mine.shown})}
    done, left = count_work(connection, mine.worker)
    return {
        "work": mine.id,
        **facts._mapping,
        "done": done,
        "left": left,
        "items": [_for_worker(by_id[item]) for item in mine.shown],
        "number": mine.number,
        "moves": [
            {"groups": groups} if to is None else {"to": to}
            for to, groups in connection.execute(_MOVES, {"work_": mine.id})
        ],
        "seconds": mine.seconds,
    }


def _for_worker(row: Row[Any]) -> dict[str, Any]:
    """An item for a page of a worker: folders may be named after what is to be found out."""
    found = shown_item(row)
    return found if row.text is not None else found | {"name": row.name.rpartition("/")[2]}


def shown_item(row: Row[Any]) -> dict[str, Any]:
    """An item for a page: names, and where its picture or sound is."""
    found = {"id": row.id, "kind": row.kind, "name": row.name, "alt": row.alt, "text": row.text}
    found |= {size: f"/media/{digest}" for size in ("thumb", "full") if (digest := getattr(row, size)) is not None}
    return found


# ---- moves ---------------------------------------------------------------------------------------------


def save_moves(connection: Connection, code: str, work_id: int, first: int, sent: Sequence[Move]) -> int:
    """Append moves with the numbers from `first` on; the number of the last one that is saved now.

    Moves that are saved already may be sent again: a browser that got no answer can't know that they are.
    """
    mine = _mine(connection, code, work_id)
    if first < 1 or first > mine.number + 1:
        raise ConflictError(f"moves from {mine.number + 1} on are missing", mine.number, submitted=_is_done(mine))
    again, new = sent[: mine.number + 1 - first], sent[mine.number + 1 - first :]
    if again:
        _check_same(connection, mine, first, again)
    if not new:
        return mine.number
    if mine.submitted is not None:
        raise ConflictError("this task was submitted already", mine.number, submitted=True)
    if mine.number + len(new) > MOST_MOVES:
        raise DataError(f"a task takes up to {MOST_MOVES:,} moves. Submit it.")
    rows = _resolved(connection, mine, new)
    last = rows[-1]
    groups = last["groups"] if last["back_to"] is None else _groups_after(connection, mine, rows, last["back_to"])
    connection.execute(_KEEP, rows)
    now = {"number": last["number"], "groups": groups, "seconds": last["seconds"], "moved": last["at"]}
    connection.execute(_CHANGE, {"id_": work_id, **now})
    return last["number"]


def submit(connection: Connection, code: str, work_id: int, number: int, comment: str, seconds: float) -> None:
    """Make the groups after the last move the answer. Submitting again changes nothing.

    The number is that of the last move in the browser: if more or fewer are saved, the answer would be another one.
    """
    mine = _mine(connection, code, work_id)
    if number != mine.number:
        raise ConflictError("there are other moves here than in the browser", mine.number, submitted=_is_done(mine))
    if mine.submitted is not None:
        return
    if sum(len(group["items"]) for group in mine.groups) < FEWEST:
        raise DataError(f"an answer needs at least {FEWEST} items in groups.")
    seconds = max(_seconds(seconds), mine.seconds)
    final = {"submitted": time.time(), "comment": storable(comment)[:MOST_COMMENT], "seconds": seconds}
    connection.execute(_CHANGE, {"id_": work_id, **final})


def _mine(connection: Connection, code: str, work_id: int) -> Row[Any]:
    """A piece of work of the worker with this code."""
    # two windows may send moves at once; in SQLite, changes wait for each other anyway
    own = _OWN_LOCKED if connection.dialect.name == "postgresql" else _OWN
    found = connection.execute(own, {"work": work_id, "code": code}).one_or_none()
    if found is None:
        raise NotFoundError("you have no such task, or your code is not valid any more")
    return found


def _is_done(mine: Row[Any]) -> bool:
    return mine.submitted is not None


def _check_same(connection: Connection, mine: Row[Any], first: int, again: Sequence[Move]) -> None:
    """A conflict unless these moves are those that are saved under their numbers."""
    wanted = moves.c.number.between(first, first + len(again) - 1)
    saved = connection.execute(
        select(moves.c.back_to, moves.c.groups).where(moves.c.work == mine.id, wanted).order_by(moves.c.number)
    )
    for (to, groups), move in zip(saved, again, strict=True):
        if to != move.to or (to is None and groups != checked_groups(move.groups or [], set(mine.shown))):
            raise ConflictError("this task was changed in another window", mine.number, submitted=_is_done(mine))


def _resolved(connection: Connection, mine: Row[Any], new: Sequence[Move]) -> list[dict[str, Any]]:
    """Rows of moves, with the groups after them, except for moves that go back."""
    rows: list[dict[str, Any]] = []
    known = set(mine.shown)
    for number, move in enumerate(new, mine.number + 1):
        groups = None
        if move.to is None:
            groups = checked_groups(move.groups or [], known)
        elif not 0 <= move.to < number or _groups_after(connection, mine, rows, move.to) is None:
            raise DataError(f"move {number} can't go back to move {move.to}.")
        seconds = _seconds(move.seconds)
        row = {"work": mine.id, "number": number, "back_to": move.to, "groups": groups, "seconds": seconds}
        rows.append(row | {"at": time.time()})
    return rows


def _groups_after(connection: Connection, mine: Row[Any], rows: list[dict[str, Any]], number: int) -> Groups | None:
    """The groups after a move; None if it is one that went back, to which none can go back."""
    if number == 0:
        return []
    if number > mine.number:
        return rows[number - mine.number - 1]["groups"]
    return connection.execute(
        select(moves.c.groups).where(moves.c.work == mine.id, moves.c.number == number)
    ).scalar_one()


def checked_groups(groups: Groups, known: set[int]) -> Groups:
    """The groups, if all of their items are known and none is there twice; else a `DataError`."""
    if len(groups) > (most := max(MOST_GROUPS, len(known))):
        raise DataError(f"there are {len(groups):,} groups; the limit is {most:,}.")
    if sum(len(group["name"]) for group in groups) > MOST_NAMES:
        raise DataError(f"the names of the groups have more than {MOST_NAMES:,} letters together.")
    ids = [group["id"] for group in groups]
    placed = [item for group in groups for item in group["items"]]
    if len(set(ids)) < len(ids) or not all(1 <= number <= MOST_ID for number in ids):
        raise DataError("groups need different ids, from 1 on.")
    if len(set(placed)) < len(placed):
        raise DataError("an item is in two groups.")
    if not known.issuperset(placed):
        raise DataError("an item is not of this task.")
    return [group | {"name": storable(group["name"])[:MOST_NAME]} for group in groups]


def storable(text: str) -> str:
    """A text without what databases refuse: null characters, and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def _seconds(seconds: float) -> float:
    """Seconds that a browser has counted; 0 if that can't be."""
    return seconds if math.isfinite(seconds) and 0 <= seconds < 1e7 else 0.0
