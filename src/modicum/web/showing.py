"""Items, clusters and workers as the owner's pages show them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from sqlalchemy import func, select

from modicum.plot.formatting import clipped, percent, plural
from modicum.web.overview import WorkerFacts
from modicum.web.store.project import Project
from modicum.web.store.schema import items, tasks, work
from modicum.web.store.work import shown_item

MOST_LETTERS = 1_500  # of a text
MOST_SURE, MOST_UNSURE = 24, 8  # items of a cluster that a page shows
UNSURE = 0.9  # items with a smaller probability are
MOST_ANSWERS = 100  # on the page of a worker
SHADES = 10
MOST_NAMED, MOST_NAME = 26, 17  # rows of a matrix that have names beside them, and letters of these
FEWEST_NAMED = 0.04  # the share of the rows that a school needs for its label

Shown = dict[str, Any]


@lru_cache(maxsize=2)
def shown_items(project: Project) -> dict[int, Shown]:
    """By id, what pages show of each item; items never change."""
    columns = [
        func.substr(column, 1, MOST_LETTERS).label("text") if column is items.c.text else column for column in items.c
    ]
    with project.reading() as connection:
        return {row.id: shown_item(row) for row in connection.execute(select(*columns).order_by(items.c.id))}


def found_items(project: Project, findings: Mapping[str, Any]) -> list[Shown]:
    """What pages show of each item that was fitted, and what was found of it."""
    by_name = {item["name"]: item for item in shown_items(project).values()}
    return [by_name[found["name"]] | found for found in findings["items"] if found["name"] in by_name]


def clusters_of(project: Project, findings: Mapping[str, Any]) -> list[Shown]:
    """Clusters, the largest first: number, hue, size, the surest items, and those that might be of another one."""
    members: list[list[Shown]] = [[] for _ in range(findings["n_clusters"])]
    for item in found_items(project, findings):
        members[item["cluster"]].append(item)
    made = []
    for number, own in enumerate(members):
        own.sort(key=lambda item: -item["sure"])
        surest = own[:MOST_SURE]
        unsure = [item for item in own[MOST_SURE:][::-1] if item["sure"] < UNSURE][:MOST_UNSURE]
        hue = findings["hues"][number]
        made.append({"number": number, "hue": hue, "size": len(own), "surest": surest, "unsure": unsure})
    return sorted(made, key=lambda cluster: -cluster["size"])


def answers_of(project: Project, worker: int) -> list[Shown]:
    """What a worker submitted, the last first: groups of items, times and comments."""
    columns = work.c.shown, work.c.groups, work.c.number, work.c.seconds, work.c.submitted, work.c.comment
    done = (
        select(tasks.c.name.label("task"), *columns)
        .join_from(work, tasks, work.c.task == tasks.c.id)
        .where(work.c.worker == worker, work.c.submitted.is_not(None))
        .order_by(work.c.submitted.desc(), work.c.id.desc())
        .limit(MOST_ANSWERS)
    )
    known = shown_items(project)
    with project.reading() as connection:
        rows = connection.execute(done).all()
    return [{**row._mapping, "groups": _groups(row, known)} for row in rows]


def _groups(row: Any, known: dict[int, Shown]) -> list[Shown]:
    """Groups of an answer with their items, and at the end those that were left out."""
    groups = [
        {"name": group["name"] or f"Group {number}", "items": group["items"]}  # as workers see it
        for number, group in enumerate(row.groups, 1)
        if group["items"]
    ]
    placed = {item for group in groups for item in group["items"]}
    left = [item for item in row.shown if item not in placed]
    if left:
        groups.append({"name": None, "items": left})
    return [group | {"items": [known[item] for item in group["items"]]} for group in groups]


def in_order(everybody: Sequence[WorkerFacts], new: set[int]) -> list[WorkerFacts]:
    """Workers in the order in which an owner needs them: with `new` ids, worth a look, at work, then those who wait."""

    def place(who: WorkerFacts) -> tuple[float, ...]:
        if who.id in new:
            return 0, who.id
        rank = 1 if who.flags else 2 if who.n_answers or who.n_open else 3
        return rank, -(who.last or 0.0), -who.id  # the last ones first

    return sorted(everybody, key=place)


# ---- numbers as shades and words -------------------------------------------------------------------------


def sure(share: float) -> str:
    """The probability of a cluster: no model is as sure as 100% sounds.

    >>> sure(0.944), sure(0.995), sure(1.0)
    ('94%', 'over 99%', 'over 99%')
    """
    return "over 99%" if share >= 0.995 else percent(share)


def shade(share: float) -> int:
    """The shade of a number from 0 to 1, by which a class is named."""
    return round(SHADES * min(max(share, 0.0), 1.0))


def shaded_cells(matrix: Sequence[Sequence[float]]) -> dict[str, str]:
    """The cells of a matrix from -1 to 1 as SVG paths of unit squares, one for each class of shade."""
    paths: dict[str, list[str]] = {}
    for row, values in enumerate(matrix):
        for column, value in enumerate(values):
            name = f"{'with' if value >= 0 else 'against'}-{shade(abs(value))}"
            paths.setdefault(name, []).append(f"M{column} {row}h1v1h-1z")
    return {name: "".join(cells) for name, cells in paths.items()}


def row_labels(agreement: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Labels beside a matrix of workers and the rows where their middles are: names, or schools if there are many."""
    workers, schools = agreement["workers"], agreement["schools"]
    if len(workers) <= MOST_NAMED:
        return [(row + 0.5, clipped(name, MOST_NAME)) for row, name in enumerate(workers)]
    made, start = [], 0
    for school, members in groupby(schools):
        size = len(list(members))
        if size >= FEWEST_NAMED * len(workers):  # smaller ones have no room for a label
            made.append((start + size / 2, f"School {school + 1}" if school >= 0 else "of no school"))
        start += size
    return made


def schools_of(agreement: Mapping[str, Any]) -> list[list[str]]:
    """Names of the workers of each school, the largest first."""
    schools: dict[int, list[str]] = {}
    for name, school in zip(agreement["workers"], agreement["schools"], strict=True):
        if school >= 0:
            schools.setdefault(school, []).append(name)
    return [schools[school] for school in sorted(schools)]


def told_of(found: Mapping[str, Any]) -> list[str]:
    """What a worker lumps and splits, in sentences."""
    if found["kind"] != "usual":
        return []
    said = [f"Puts clusters {_listed(lump)} together." for lump in _united(found["lumps"])]
    if found["splits"]:
        one = len(found["splits"]) == 1
        said.append(f"Splits {'cluster' if one else 'clusters'} {_listed(found['splits'])} into smaller groups.")
    n_clusters = plural(len(found["confusion"]), "cluster")
    return said or [f"Tells all {n_clusters} apart, and splits none."]


def _united(pairs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Pairs of clusters united to sets of clusters that are all put together, the largest first."""
    near: dict[int, set[int]] = {}
    for a, b in pairs:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    left, sets = {(min(pair), max(pair)) for pair in pairs}, []
    while left:
        grown = set(min(left))
        for other in sorted(near):
            if grown <= near[other]:
                grown.add(other)
        sets.append(sorted(grown))
        left -= {(a, b) for a in grown for b in grown}
    return sorted(sets, key=len, reverse=True)


def _listed(numbers: Sequence[int]) -> str:
    """Numbers in words.

    >>> _listed([1]), _listed([1, 2]), _listed([1, 2, 5])
    ('1', '1 and 2', '1, 2 and 5')
    """
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last
