"""What is going on in a project: how far it is, and how each worker works, before anything is fitted.

What submitted answers say is computed once for each number of them; they never change.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import bdtr
from sqlalchemy import Connection, case, func, select

from modicum.crowd.answers import Answers
from modicum.crowd.pairs import Pairs
from modicum.plot.formatting import count, duration, percent, plural
from modicum.web.store.project import Project
from modicum.web.store.schema import gold, items, tasks, work, workers

FEW, MANY = 0.25, 4.0  # times the seconds of the median worker: less is fast, more is slow
FEWEST_ANSWERS = 2  # of a worker, to be judged by seconds or groups
GOOD, CHANCE, FEWEST_ASKED = 0.8, 0.01, 5  # known pairs: a good worker's share, the risk of a false flag, pairs needed
_measuring = Lock()
_last: "WeakKeyDictionary[Project, Measured]" = WeakKeyDictionary()  # what was measured last, by project
MOST_BARS = 24  # of the histogram of answers per item
TRUSTED = 3  # times that the median item is sorted: with fewer, a few more answers change clusters much


@dataclass(frozen=True)
class Flag:
    """Something about a worker that is worth a look."""

    kind: str
    words: str


@dataclass(frozen=True)
class WorkerFacts:
    """A worker and what they did. What is not known is None."""

    id: int
    name: str
    code: str | None
    active: bool
    n_open: int = 0  # tasks begun and not submitted
    n_answers: int = 0
    n_items: int = 0  # put in groups
    n_moves: int = 0
    n_comments: int = 0
    last: float | None = None  # when they submitted
    seconds: float | None = None  # per item, the median of their answers
    left_out: float | None = None  # share of items
    agreement: float | None = None  # see `Agreement`
    kappa: float | None = None
    n_known: int = 0  # known pairs they were asked
    n_right: int = 0
    reliability: float | None = None  # of the last fit
    flags: tuple[Flag, ...] = field(default=())


@dataclass(frozen=True)
class Progress:
    """How far a project is, in numbers that are counted quickly: pages ask for them again and again."""

    n_items: int
    n_tasks: int
    n_wanted: int  # answers
    n_wanted_done: int  # of those; answers beyond what a task wants do not count
    n_answers: int  # all, also those that were gathered elsewhere
    n_imported: int  # answers gathered elsewhere
    n_elsewhere: int  # workers who gave those
    n_open: int  # tasks in work
    n_busy: int  # workers who have one in work
    n_invited: int  # workers with a code

    @property
    def share(self) -> float:
        return self.n_wanted_done / max(self.n_wanted, 1)

    @property
    def shown(self) -> dict[str, str]:
        """What changes while people sort, as the overview shows it; `filled` and `going` are percents of a meter."""
        n_begun = self.n_wanted_done + self.n_open
        return {
            "done": count(self.n_wanted_done),
            "share": f"{percent(self.share)} done",
            "open": count(self.n_open),
            "busy": plural(self.n_busy, "worker"),
            "left": count(max(self.n_wanted - n_begun, 0)),
            "invited": count(self.n_invited),
            "filled": f"{100 * self.share:.2f}",
            "going": f"{min(100 * n_begun / max(self.n_wanted, 1), 100):.2f}",
        }


@dataclass(frozen=True)
class Overview(Progress):
    """How far a project is, how often items were sorted, and how each worker works."""

    per_item: np.ndarray  # answers in which each item was put in a group
    workers: list[WorkerFacts]

    @property
    def n_unsorted(self) -> int:
        return int((self.per_item == 0).sum())

    @property
    def median(self) -> float:
        return float(np.median(self.per_item))

    @property
    def bars(self) -> list[tuple[str, int]]:
        """How many items were sorted how often: words and counts."""
        most = int(self.per_item.max(initial=0))
        step = most // MOST_BARS + 1
        counts = np.bincount(self.per_item // step, minlength=most // step + 1).tolist()
        ends = ((at * step, at * step + step - 1) for at in range(len(counts)))
        return [
            (str(low) if low == high else f"{low} to {high}", n) for (low, high), n in zip(ends, counts, strict=True)
        ]


def overview(project: Project, findings: dict[str, Any] | None = None) -> Overview:
    """How far a project is, and what each worker did; with the findings of a fit, also what that says of workers."""
    with project.reading() as connection:
        now = _counted(connection)
        begun = select(work.c.worker, func.count()).where(work.c.submitted.is_(None)).group_by(work.c.worker)
        opened: dict[int, int] = dict(connection.execute(begun).all())
        everybody = connection.execute(select(workers).order_by(workers.c.id)).all()
    done = _lately_measured(project, now.n_answers)
    found = {each["name"]: each for each in (findings or {}).get("workers", ())}
    facts = [
        WorkerFacts(row.id, row.name, row.code, row.active, opened.get(row.id, 0), **done.by_worker.get(row.id, {}))
        for row in everybody
    ]
    return Overview(**vars(now), per_item=done.per_item, workers=_flagged(facts, found, done.one_group))


def progress(project: Project) -> Progress:
    """How far a project is."""
    with project.reading() as connection:
        return _counted(connection)


def _counted(connection: Connection) -> Progress:
    n_items = connection.execute(select(func.count()).select_from(items)).scalar_one()
    own = _wanted().subquery()
    least = case((own.c.done < own.c.wanted, own.c.done), else_=own.c.wanted)
    n_tasks, n_wanted, n_wanted_done = connection.execute(
        select(func.count(), *(func.coalesce(func.sum(column), 0) for column in (own.c.wanted, least)))
    ).one()
    by = case((tasks.c.wanted == 0, work.c.worker))  # the worker of an answer that was gathered elsewhere, else null
    submitted = select(func.count(), func.count(by), func.count(by.distinct())).where(work.c.submitted.is_not(None))
    n_answers, n_imported, n_elsewhere = connection.execute(
        submitted.join_from(work, tasks, work.c.task == tasks.c.id)
    ).one()
    begun = select(func.count(), func.count(work.c.worker.distinct())).where(work.c.submitted.is_(None))
    n_open, n_busy = connection.execute(begun).one()
    n_invited = connection.execute(select(func.count(workers.c.code))).scalar_one()
    return Progress(
        n_items=n_items,
        n_tasks=n_tasks,
        n_wanted=int(n_wanted),  # sums of sums are decimals in PostgreSQL
        n_wanted_done=int(n_wanted_done),
        n_answers=n_answers,
        n_imported=n_imported,
        n_elsewhere=n_elsewhere,
        n_open=n_open,
        n_busy=n_busy,
        n_invited=n_invited,
    )


def _wanted() -> Any:
    """By task of which answers are wanted: how many, and how many there are."""
    done = func.sum(case((work.c.submitted.is_not(None), 1), else_=0))
    own = select(tasks.c.id, tasks.c.wanted, func.coalesce(done, 0).label("done"))
    own = own.outerjoin_from(tasks, work, work.c.task == tasks.c.id)
    return own.where(tasks.c.wanted > 0).group_by(tasks.c.id, tasks.c.wanted)


# ---- what submitted answers say --------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What submitted answers say: fields of `WorkerFacts` by id of worker, and counts by item."""

    by_worker: dict[int, dict[str, Any]]
    one_group: Counter[int]  # by worker: answers in which everything is in one group
    per_item: np.ndarray


def _lately_measured(project: Project, n_answers: int) -> Measured:
    """What the submitted answers say, or what they said before the one that came just now.

    With many answers it takes a second to measure. One page does it; others, and workers behind them, need not wait.
    """
    if _measuring.acquire(blocking=project not in _last):
        try:
            _last[project] = measured(project, n_answers)
        finally:
            _measuring.release()
    return _last[project]


@lru_cache(maxsize=4)
def measured(project: Project, n_answers: int) -> Measured:
    """What the submitted answers say, as long as there are so many."""
    with project.reading() as connection:
        n_items = connection.execute(select(func.count()).select_from(items)).scalar_one()
        columns = "worker", "shown", "groups", "number", "seconds", "submitted", "comment"
        done = select(*(work.c[name] for name in columns)).where(work.c.submitted.is_not(None)).order_by(work.c.id)
        rows = connection.execute(done).all()
        known = connection.execute(select(gold.c.first, gold.c.second, gold.c.same)).all()
    by_worker: dict[int, list[Any]] = {}
    for row in rows:
        by_worker.setdefault(row.worker, []).append(row)
    facts = {worker: _habits(own) for worker, own in by_worker.items()}
    placed = _placed(rows)
    pairs = placed.pairs() if len(placed) else None
    if pairs is not None and len(pairs):
        ids = pairs.workers.tolist()
        for worker, (agreement, kappa) in zip(ids, agreements(pairs), strict=True):
            facts[worker] |= {"agreement": agreement, "kappa": kappa}
        for worker, (n_right, n_known) in zip(ids, known_pairs(pairs, known), strict=True):
            facts[worker] |= {"n_right": n_right, "n_known": n_known}
    one_group = Counter(row.worker for row in rows if sum(bool(group["items"]) for group in row.groups) == 1)
    return Measured(facts, one_group, _per_item(placed, n_items))


@lru_cache(maxsize=4)
def median_sorted(project: Project, before: float) -> float:
    """How often the median item was put in a group, in answers that were submitted before some time."""
    with project.reading() as connection:
        n_items = connection.execute(select(func.count()).select_from(items)).scalar_one()
        done = select(work.c.worker, work.c.groups).where(work.c.submitted < before)
        placed = _placed(connection.execute(done).all())
    return float(np.median(_per_item(placed, n_items)))


def _per_item(placed: Answers, n_items: int) -> np.ndarray:
    return np.bincount(placed.item, minlength=n_items + 1)[1:]


def _placed(rows: Sequence[Any]) -> Answers:
    """A row for each item in a group; names of workers and items are ids, those of tasks places in `rows`."""
    cells = [
        (row.worker, at, item, group["id"])
        for at, row in enumerate(rows)
        for group in row.groups
        for item in group["items"]
    ]
    return Answers(*np.array(cells, np.int64).reshape(-1, 4).T)


def _habits(own: Sequence[Any]) -> dict[str, Any]:
    """What one worker does, without regard to others."""
    shown = sum(len(row.shown) for row in own)
    placed = sum(len(group["items"]) for row in own for group in row.groups)
    seconds = [row.seconds / len(row.shown) for row in own if row.seconds > 0 and row.shown]
    return {
        "n_answers": len(own),
        "n_items": placed,
        "n_moves": sum(row.number for row in own),
        "n_comments": sum(bool(row.comment) for row in own),
        "last": max(row.submitted for row in own),
        "seconds": float(np.median(seconds)) if seconds else None,
        "left_out": 1 - placed / shown if shown else None,
    }


def agreements(pairs: Pairs) -> list[tuple[float | None, float | None]]:
    """By worker: the share of others' labels that equal theirs, averaged over their labels, and Cohen's kappa of it.

    Only pairs that others have judged, too, count. Kappa is 0 for who agrees no more than somebody who puts as many
    pairs together at random, and 1 for full agreement; None where there is nothing to compare with.
    """
    n_workers = len(pairs.workers)
    together = pairs.label > 0
    pair = np.unique(pairs.first.astype(np.int64) * len(pairs.items) + pairs.second, return_inverse=True)[1]
    own = np.unique(pair * n_workers + pairs.worker, return_inverse=True)[1]
    others = np.bincount(pair)[pair] - np.bincount(own)[own]
    others_together = (np.bincount(pair, together)[pair] - np.bincount(own, together)[own]) / np.maximum(others, 1)
    equal = np.where(together, others_together, 1 - others_together)
    shared = others > 0
    by = pairs.worker[shared]
    count = np.bincount(by, minlength=n_workers)
    share, said, heard = (
        np.bincount(by, values[shared], n_workers) / np.maximum(count, 1)
        for values in (equal, together, others_together)
    )
    chance = said * heard + (1 - said) * (1 - heard)
    kappa = (share - chance) / np.where(chance < 1, 1 - chance, np.inf)
    return [
        (float(s) if n else None, float(k) if n and c < 1 else None)
        for n, s, k, c in zip(count, share, kappa, chance, strict=True)
    ]


def known_pairs(pairs: Pairs, known: Sequence[Any]) -> list[tuple[int, int]]:
    """By worker: how many labels of known pairs are right, and how many there are."""
    place = {item: at for at, item in enumerate(pairs.items.tolist())}
    truth = {
        min(place[a], place[b]) * len(place) + max(place[a], place[b]): same
        for a, b, same in known
        if a in place and b in place
    }
    keys = np.array(sorted(truth), np.int64)
    low, high = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    label = low.astype(np.int64) * len(place) + high
    asked = np.isin(label, keys)
    same = np.array([truth[key] for key in keys.tolist()], bool)[np.searchsorted(keys, label[asked])]
    right = (pairs.label[asked] > 0) == same
    by_worker = [np.bincount(pairs.worker[asked], weight, len(pairs.workers)) for weight in (right, None)]
    return [(int(n_right), int(n)) for n_right, n in zip(*by_worker, strict=True)]


# ---- what is worth a look --------------------------------------------------------------------------------


def _flagged(facts: list[WorkerFacts], found: dict[str, Any], one_group: Counter[int]) -> list[WorkerFacts]:
    timed = [own.seconds for own in facts if own.seconds is not None and own.n_answers >= FEWEST_ANSWERS]
    usual = float(np.median(timed)) if timed else None
    made = []
    for own in facts:
        known = found.get(own.name)
        flags = [*_by_time(own, usual), *_by_fit(known), *_by_gold(own), *_by_groups(own, one_group[own.id])]
        reliability = None if known is None else known["reliability"]
        made.append(WorkerFacts(**{**vars(own), "reliability": reliability, "flags": tuple(flags)}))
    return made


def _by_time(own: WorkerFacts, usual: float | None) -> list[Flag]:
    if own.seconds is None or not usual or own.n_answers < FEWEST_ANSWERS:
        return []
    words = f"{duration(own.seconds)} per item; the median worker needs {duration(usual)}"
    if own.seconds > MANY * usual:
        return [Flag("slow", words)]
    return [Flag("fast", words)] if own.seconds < FEW * usual else []


def _by_fit(known: dict[str, Any] | None) -> list[Flag]:
    if known is None or known["kind"] not in ("random", "adversarial"):
        return []
    at = f"a reliability of {known['reliability']:.2f}, from -1 to 1"
    said = {
        "random": f"the fit can't tell their groups from random ones: {at}",
        "adversarial": f"they put together what others keep apart: {at}",
    }
    return [Flag(known["kind"], said[known["kind"]])]


def _by_gold(own: WorkerFacts) -> list[Flag]:
    if own.n_known < FEWEST_ASKED or bdtr(own.n_right, own.n_known, GOOD) >= CHANCE:
        return []
    words = f"{own.n_right} of {own.n_known} known pairs right; good workers have {percent(GOOD)} or more"
    return [Flag("gold", words)]


def _by_groups(own: WorkerFacts, one_group: int) -> list[Flag]:
    flags = []
    if own.n_answers >= FEWEST_ANSWERS and one_group > own.n_answers / 2:
        flags.append(
            Flag("one group", f"everything is in one group in {one_group} of {plural(own.n_answers, 'answer')}")
        )
    if own.left_out is not None and own.left_out > 0.5:
        flags.append(Flag("leaves out", f"{percent(own.left_out)} of the items they were shown are in no group"))
    return flags
