"""A project: what owners do with it. What workers do is in `work`, what is learned in `fits`."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, Row, bindparam, func, insert, inspect, select, update

from modicum.crowd.answers import Answers
from modicum.crowd.tasks import Plan
from modicum.exceptions import DataError
from modicum.plot.formatting import timestamp
from modicum.web.exports import as_written
from modicum.web.store.codes import new_code, new_token
from modicum.web.store.database import Database
from modicum.web.store.imports import ROLES, insert_answers
from modicum.web.store.media import Item, Media
from modicum.web.store.schema import FORMAT, gold, items, media, metadata, project, task_items, tasks, work, workers

MOST_TITLE, MOST_INSTRUCTION, MOST_DETAILS, MOST_NAME = 200, 500, 20_000, 200  # letters
MOST_WANTED = 1_000  # answers to one task
SAME = {"same": True, "1": True, "+1": True, "true": True, "yes": True}
DIFFERENT = {"different": False, "-1": False, "0": False, "false": False, "no": False}


class Project(Database):
    """A project in its database."""

    # ---- making and opening ----------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        where: str | PathLike[str],
        found: Iterable[Item],
        *,
        title: str,
        instruction: str,
        details: str = "",
        pairs: Sequence[tuple[str, str, bool]] = (),
    ) -> Self:
        """A new project of some items; `pairs` are those of which it is known whether they are the same."""
        for name, text, most in (
            ("title", title, MOST_TITLE),
            ("instruction", instruction, MOST_INSTRUCTION),
            ("details", details, MOST_DETAILS),
        ):
            if len(text) > most:
                raise DataError(f"the {name} has {len(text):,} letters; the limit is {most:,}.")
        made = cls(where)
        made.make_file()
        try:
            with made.changing() as connection:
                if inspect(connection).has_table(project.name):
                    raise DataError(f"{made.name} has a project already. Give it a database of its own.")
                metadata.create_all(connection)
                _insert_items(connection, found)
                _insert_gold(connection, pairs)
                facts = {"title": title, "instruction": instruction, "details": details}
                row = {"format": FORMAT, "secret": new_token(), "made": time.time(), **facts}
                connection.execute(insert(project).values(row))
        except BaseException:
            made.close()
            for ending in ("", "-wal", "-shm") if made.file else ():
                made.file.with_name(made.file.name + ending).unlink(missing_ok=True)  # type: ignore[union-attr]
            raise
        return made

    @classmethod
    def open(cls, where: str | PathLike[str]) -> Self:
        """The project in a database."""
        opened = cls(where)
        opened.check_file()
        try:
            opened._check_format()
        except BaseException:
            opened.close()
            raise
        return opened

    def _check_format(self) -> None:
        with self.reading() as connection:
            if not inspect(connection).has_table(project.name):
                raise DataError(f"{self.name} has no project in it. Make one with: modicum crowd new")
            known = connection.execute(select(project.c.format)).scalar_one_or_none()
        if known is None:
            raise DataError(f"{self.name} is damaged: it has no title, and no items.")
        if known > FORMAT:
            raise DataError(f"{self.name} was made by a newer version of modicum. Upgrade it: pip install -U modicum")

    @contextmanager
    def closing(self) -> Iterator[Self]:
        """Close the project at the end."""
        try:
            yield self
        finally:
            self.close()

    # ---- items -----------------------------------------------------------------------------------

    def facts(self) -> Row[Any]:
        """Title, instructions and the like."""
        with self.reading() as connection:
            return connection.execute(select(project)).one()

    def item_names(self) -> np.ndarray:
        with self.reading() as connection:
            return np.array(list(connection.execute(select(items.c.name).order_by(items.c.id)).scalars()), np.str_)

    def write_pictures(self, folder: Path) -> dict[str, str]:
        """Write thumbnails to a folder; their paths by the names of items."""
        with self.reading() as connection:
            found = select(items.c.id, items.c.name, media.c.body).join(media, items.c.thumb == media.c.digest)
            paths = {}
            for number, name, body in connection.execute(found):
                path = folder / f"{number}.jpg"
                path.write_bytes(body)
                paths[name] = str(path)
        return paths

    # ---- tasks and workers -----------------------------------------------------------------------

    def add_plan(self, plan: Plan, wanted: int = 1, rng: np.random.Generator | None = None) -> int:
        """Add the tasks of a plan, each to be answered by `wanted` workers; returns how many.

        Where pairs are known, a task gets one of them on top, to see how workers sort it.
        """
        if not 1 <= wanted <= MOST_WANTED:
            raise DataError(f"each task takes from 1 to {MOST_WANTED:,} answers; got {wanted}.")
        rng = np.random.default_rng() if rng is None else rng
        with self.changing() as connection:
            places = dict(connection.execute(select(items.c.name, items.c.id)).all())
            known = connection.execute(select(gold.c.first, gold.c.second)).all()
            first = (connection.execute(select(func.max(tasks.c.id))).scalar() or 0) + 1
            rows, members = [], []
            for number, task in enumerate(plan.tasks, first):
                shown = {places[str(name)] for name in task.tolist()}
                shown |= set(known[int(rng.integers(len(known)))]) if known else set()
                rows.append({"id": number, "name": str(number), "wanted": wanted})
                members += [{"task": number, "item": item} for item in sorted(shown)]
            if rows:
                connection.execute(insert(tasks), rows)
                connection.execute(insert(task_items), members)
        return len(rows)

    def invite(self, names: Sequence[str]) -> list[Row[Any]]:
        """Workers of these names, who are made if they are new, and let in again if they were barred; with codes."""
        names = [as_name(name) for name in names]
        with self.changing() as connection:
            return _invite(connection, names)

    def invite_some(self, count: int) -> list[Row[Any]]:
        """So many new workers, named by numbers."""
        if count < 1:
            raise DataError(f"at least 1 worker is invited; got {count}.")
        with self.changing() as connection:
            known = set(connection.execute(select(workers.c.name)).scalars())
            names = (f"worker {number}" for number in range(1, len(known) + count + 1))
            return _invite(connection, [name for name in names if name not in known][:count])

    def bar(self, worker: int, *, active: bool) -> None:
        """Let a worker enter no more, or again. What they did stays."""
        with self.changing() as connection:
            connection.execute(update(workers).where(workers.c.id == worker).values(active=active))

    def invited(self) -> list[Row[Any]]:
        """All workers."""
        with self.reading() as connection:
            return list(connection.execute(select(workers).order_by(workers.c.id)))

    # ---- answers ---------------------------------------------------------------------------------

    def answer_rows(self) -> dict[str, list[Any]]:
        """All that was submitted, as columns: a row for each item; the group of an item that was left out is blank."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("worker", "task", "item", "group", "name", "seconds", "at")
        }
        with self.reading() as connection:
            names = dict(connection.execute(select(items.c.id, items.c.name)).all())
            done = (
                select(workers.c.name, tasks.c.name, work.c.shown, work.c.groups, work.c.seconds, work.c.submitted)
                .join_from(work, workers, work.c.worker == workers.c.id)
                .join(tasks, work.c.task == tasks.c.id)
                .where(work.c.submitted.is_not(None))
                .order_by(work.c.id)
            )
            for worker, task, shown, groups, seconds, at in connection.execute(done):
                placed = {item: group for group in groups for item in group["items"]}
                for item in shown:
                    group = placed.get(item)
                    cells = (
                        worker,
                        task,
                        names[item],
                        *(("", "") if group is None else (str(group["id"]), group["name"])),
                    )
                    for column, cell in zip(columns.values(), (*cells, seconds, timestamp(at)), strict=True):
                        column.append(cell)
        return columns

    def answers(self) -> Answers:
        """All answers; items that were left out are ignored."""
        rows = self.answer_rows()
        placed = [at for at, group in enumerate(rows["group"]) if group]
        if not placed:
            raise DataError(f"{self.name}: nobody has submitted an answer yet.")
        worker, task, item, group = (np.array([rows[name][at] for at in placed], np.str_) for name in ROLES)
        left_out = len(rows["group"]) - len(placed)
        notes = (f"{left_out:,} times an item was left out of all groups",) if left_out else ()
        return Answers(worker, task, item, group, notes)

    def add_answers(self, answers: Answers) -> tuple[int, int]:
        """Add answers that were gathered elsewhere; how many are new, and how many were here already.

        Tasks are those of the same name if these have the same items; other ones are made.
        """
        wanted = {role: list(map(as_written, getattr(answers, role).astype(np.str_).tolist())) for role in ROLES}
        with self.changing() as connection:
            places = dict(connection.execute(select(items.c.name, items.c.id)).all())
            for name in wanted["item"]:
                if name not in places:
                    raise DataError(f"there is no item {name!r} in {self.name}, which has {len(places):,} items.")
            return insert_answers(connection, wanted, answers.numbers().tolist(), places)


def _invite(connection: Connection, names: Sequence[str]) -> list[Row[Any]]:
    named = select(workers).where(workers.c.name.in_(names))
    known = {row.name: row for row in connection.execute(named)}
    for row in known.values():
        code = row.code or new_code()  # none: answers of theirs were imported before
        connection.execute(update(workers).where(workers.c.id == row.id).values(code=code, active=True))
    new = [name for name in dict.fromkeys(names) if name not in known]
    rows = [{"name": name, "code": new_code(), "active": True, "made": time.time()} for name in new]
    if rows:
        connection.execute(insert(workers), rows)
    found = {row.name: row for row in connection.execute(named)}
    return [found[name] for name in dict.fromkeys(names)]


_MEDIA = select(media.c.mime, media.c.body).where(media.c.digest == bindparam("digest"))


def find_media(connection: Connection, digest: str) -> Media | None:
    """A picture or a sound."""
    row = connection.execute(_MEDIA, {"digest": digest}).one_or_none()
    return None if row is None else Media(row.mime, row.body)


def as_name(name: str) -> str:
    """The name of a worker; a `DataError` if it can't be one."""
    name = " ".join(str(name).split())
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise DataError(f"the name of a worker has 1 to {MOST_NAME} letters; got {name[:MOST_NAME]!r}.")
    return name


def as_gold(columns: dict[str, list[str]]) -> list[tuple[str, str, bool]]:
    """Pairs of items, and whether they are the same, from columns a, b and same."""
    if missing := [name for name in ("a", "b", "same") if name not in columns]:
        raise DataError(f"known pairs: no column {missing[0]!r}. A table of pairs has the columns a, b and same.")
    pairs = []
    for a, b, said in zip(columns["a"], columns["b"], columns["same"], strict=True):
        same = (SAME | DIFFERENT).get(str(said).strip().lower())
        if a == b or same is None:
            raise DataError(f"known pairs: {a!r} and {b!r} must be two items, and the same or different; got {said!r}.")
        pairs.append((a, b, same))
    return pairs


def _insert_items(connection: Connection, found: Iterable[Item]) -> None:
    names, digests = set(), set()
    for number, item in enumerate(found, 1):
        if item.name in names:
            raise DataError(f"there are two items {item.name!r}. Names must differ.")
        names.add(item.name)
        for one in (item.thumb, item.full):
            if one is not None and one.digest not in digests:
                digests.add(one.digest)
                connection.execute(insert(media).values(digest=one.digest, mime=one.mime, body=one.body))
        where = {size: one.digest if one else None for size, one in (("thumb", item.thumb), ("full", item.full))}
        row = {"id": number, "name": item.name, "kind": item.kind, "alt": item.alt, "text": item.text, **where}
        connection.execute(insert(items).values(row))
    if len(names) < 3:
        raise DataError(f"a project needs at least 3 items to sort; found {len(names)}.")


def _insert_gold(connection: Connection, pairs: Sequence[tuple[str, str, bool]]) -> None:
    places = dict(connection.execute(select(items.c.name, items.c.id)).all())
    for name in (name for pair in pairs for name in pair[:2]):
        if name not in places:
            raise DataError(f"known pairs: there is no item {name!r}.")
    rows = {tuple(sorted((places[a], places[b]))): same for a, b, same in pairs}
    if rows:
        connection.execute(insert(gold), [{"first": a, "second": b, "same": same} for (a, b), same in rows.items()])
