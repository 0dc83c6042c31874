"""Answers that were gathered elsewhere, as if they had been given here."""

import time
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from modicum.exceptions import DataError
from modicum.web.store.schema import task_items, tasks, work, workers

ROLES = ("worker", "task", "item", "group")
ELSEWHERE = "imported: "  # before names of tasks: those of other sources may be names of tasks here


def insert_answers(
    connection: Connection, columns: dict[str, list[str]], numbers: list[int], places: dict[str, int]
) -> tuple[int, int]:
    """Insert answers, whose rows have `numbers`; how many are new, and how many were there already."""
    found: dict[int, list[tuple[str, str, str, str]]] = {}
    for number, row in zip(numbers, zip(*(columns[role] for role in ROLES), strict=True), strict=True):
        found.setdefault(number, []).append(row)
    store = _Answers(connection)
    n_new = sum(store.add(rows[0][0], rows[0][1], _groups(rows, places)) for rows in found.values())
    return n_new, len(found) - n_new


def _groups(rows: list[tuple[str, str, str, str]], places: dict[str, int]) -> list[dict[str, Any]]:
    members: dict[str, list[int]] = {}
    for *_, item, group in rows:
        members.setdefault(group, []).append(places[item])
    return [{"id": at, "name": name, "items": found} for at, (name, found) in enumerate(members.items(), 1)]


class _Answers:
    """What is in a project, by name."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self._workers = dict(connection.execute(select(workers.c.name, workers.c.id)).all())
        self._tasks = dict(connection.execute(select(tasks.c.name, tasks.c.id)).all())
        self._next_task = (connection.execute(select(func.max(tasks.c.id))).scalar() or 0) + 1
        self._items: dict[int, set[int]] = {}
        for task, item in connection.execute(select(task_items.c.task, task_items.c.item)):
            self._items.setdefault(task, set()).add(item)
        done = select(work.c.worker, work.c.task, work.c.groups).where(work.c.submitted.is_not(None))
        self._done = {(worker, task): groups for worker, task, groups in connection.execute(done)}
        self._begun = set(connection.execute(select(work.c.worker, work.c.task)).all())

    def add(self, worker: str, task: str, groups: list[dict[str, Any]]) -> bool:
        """Insert an answer; False if it is there already."""
        placed = [item for group in groups for item in group["items"]]
        by, to = self._worker(worker), self._task(task, placed)
        if (by, to) in self._done:
            if _partition(self._done[by, to]) == _partition(groups):
                return False
            raise DataError(f"the worker {worker!r} has another answer to the task {task!r}. Name the task otherwise.")
        if (by, to) in self._begun:
            raise DataError(f"the worker {worker!r} is sorting the task {task!r} just now. Name the task otherwise.")
        now = time.time()
        row = {"worker": by, "task": to, "shown": placed, "groups": groups, "started": now, "moved": now}
        self._connection.execute(insert(work).values(row | {"submitted": now}))
        self._connection.execute(update(tasks).where(tasks.c.id == to).values(taken=tasks.c.taken + 1))
        self._done[by, to] = groups
        return True

    def _worker(self, name: str) -> int:
        if name not in self._workers:
            row = {"name": name, "active": True, "made": time.time()}
            made = self._connection.execute(insert(workers).values(row).returning(workers.c.id))
            self._workers[name] = made.scalar_one()
        return self._workers[name]

    def _task(self, name: str, placed: list[int]) -> int:
        """The task of that name, if it has these items; else one that answers elsewhere were given to."""
        own = self._tasks.get(name)
        if own is not None and self._items[own].issuperset(placed):
            return own
        name = ELSEWHERE + name
        if name not in self._tasks:
            self._tasks[name] = self._next_task
            self._connection.execute(insert(tasks).values(id=self._next_task, name=name, wanted=0))
            self._items[self._next_task] = set()
            self._next_task += 1
        task = self._tasks[name]
        if new := set(placed) - self._items[task]:
            self._connection.execute(insert(task_items), [{"task": task, "item": item} for item in sorted(new)])
            self._items[task] |= new
        return task


def _partition(groups: list[dict[str, Any]]) -> set[frozenset[int]]:
    return {frozenset(group["items"]) for group in groups if group["items"]}
