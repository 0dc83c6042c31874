"""Plans of tasks: which items are shown together (gomes2011, section 7.4), and to whom."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from modicum.crowd.answers import Answers
from modicum.crowd.names import as_names, codes_of
from modicum.exceptions import DataError
from modicum.rules.params import RANDOM_STATE, Int, Number
from modicum.state.rng import RandomState, as_generator


@dataclass(frozen=True)
class Plan:
    """Tasks, each an array of names of items, and the workers that each is given to.

    Tasks are named by numbers, from `first` on. In a later round let `first` be larger than all earlier numbers.

    Examples
    --------
    >>> from modicum.crowd.tasks import assign, random_plan
    >>> plan = random_plan(100, task_size=20, redundancy=6, random_state=0)
    >>> len(plan), len(plan.tasks[0])
    (30, 20)
    >>> sorted(assign(plan, ["ann", "bob", "eve"], answers_per_task=2, random_state=0).table())
    ['item', 'task', 'worker']
    """

    tasks: tuple[np.ndarray, ...]
    workers: tuple[np.ndarray, ...] | None = field(default=None)
    first: int = 0

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def names(self) -> np.ndarray:
        """The names of the tasks."""
        return np.arange(self.first, self.first + len(self), dtype=np.int64)

    def table(self) -> dict[str, np.ndarray]:
        """Columns task and item, a row for each item of each task; assigned plans also have worker, and each task
        as many times as it has workers."""
        items = np.concatenate(self.tasks) if self.tasks else np.empty(0, np.int64)
        sizes = np.array([len(task) for task in self.tasks], np.intp)
        if self.workers is None:
            return {"task": np.repeat(self.names, sizes), "item": items}
        times = np.array([len(workers) for workers in self.workers], np.intp)
        task = np.repeat(np.arange(len(self)), times)  # of each answer to be given
        starts = np.concatenate([[0], np.cumsum(sizes)])
        worker = np.concatenate(self.workers) if self.workers else np.empty(0, np.int64)
        return {
            "worker": np.repeat(worker, sizes[task]),
            "task": np.repeat(self.names[task], sizes[task]),
            "item": items[_ranges(starts[task], sizes[task])],
        }


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers from each start on, as many as its size says, one after another."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)


# ---- the plan of Strehl and Ghosh --------------------------------------------------------------------


def random_plan(items: Any, task_size: int = 20, redundancy: float = 6, *, random_state: RandomState = None) -> Plan:
    """A plan in which every item is in about `redundancy` tasks of `task_size` items.

    With N items, M in a task and redundancy V there are ceil(N V / M) tasks. Items are first dealt in their order,
    ceil(M / V) to a task, and from the start again when all are dealt: every item is in a task. The rest of each task
    is a random sample of the other items.

    Parameters
    ----------
    items : int or sequence of str or int
        Names of the items; a number N stands for the names 0 to N - 1.
    task_size : int, default=20
    redundancy : float, default=6
        Tasks that an item is in, on average; at least 1.
    random_state : int, Generator or None, default=None

    Returns
    -------
    Plan

    References
    ----------
    gomes2011, section 7.4, after the object-distributed clustering of Strehl and Ghosh.
    """
    names = _as_items(items)
    check_task_size("random_plan", task_size, len(names))
    _check("random_plan", "redundancy", redundancy, Number(1))
    _check("random_plan", "random_state", random_state, RANDOM_STATE)
    rng = as_generator(random_state)
    n, dealt = len(names), math.ceil(task_size / redundancy)
    n_tasks = math.ceil(n * redundancy / task_size)
    fixed = np.arange(n_tasks * dealt).reshape(n_tasks, dealt) % n
    return Plan(tuple(names[np.concatenate([own, _sample_others(own, n, task_size - dealt, rng)])] for own in fixed))


def _sample_others(own: np.ndarray, n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Distinct numbers below n that are not in `own`."""
    free = np.ones(n, bool)
    free[own] = False
    return rng.choice(np.flatnonzero(free), count, replace=False)


def _as_items(items: Any) -> np.ndarray:
    """Distinct names of at least two items."""
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        names = np.arange(max(int(items), 0), dtype=np.int64)
    elif isinstance(items, str):
        raise ValueError(f"random_plan: items must be names or their number; got the text {items!r}.")
    else:
        names = as_names(items, "random_plan: an item")
    if len(names) < 2:
        raise ValueError(f"random_plan: items must be at least 2; got {len(names)}.")
    distinct, counts = np.unique(names, return_counts=True)
    if len(distinct) < len(names):
        raise DataError(f"random_plan: the item {distinct[counts > 1][0].item()!r} is given twice. Give each one once.")
    return names


def check_task_size(owner: str, task_size: int, n_items: int) -> None:
    """Raise a ValueError unless tasks of this size can be made of so many items."""
    _check(owner, "task_size", task_size, Int(2))
    if task_size > n_items:
        raise ValueError(f"{owner}: task_size must be at most the number of items, {n_items}; got {task_size}.")


def _check(owner: str, name: str, value: Any, rule: Any) -> None:
    if not rule.accepts(value):
        raise ValueError(f"{owner}: {name} must be {rule}; got {value!r}.")


# ---- workers -----------------------------------------------------------------------------------------


def assign(
    plan: Plan,
    workers: Any,
    answers_per_task: int = 1,
    *,
    done: "Answers | Plan | Mapping[str, Any] | None" = None,
    random_state: RandomState = None,
) -> Plan:
    """The plan with each task given to `answers_per_task` different workers.

    Workers get equally many tasks, or one more, unless `done` forbids it; then loads are as equal as can be. Among
    workers with equal loads, those who have seen fewer of the task's pairs of items come first.

    Parameters
    ----------
    plan : Plan
    workers : sequence of str or int
        Names of the workers.
    answers_per_task : int, default=1
    done : Answers, Plan, mapping of columns or None, default=None
        Earlier answers or assignments, with columns worker, task and, if known, item. A worker is not given a task
        again.
    random_state : int, Generator or None, default=None
    """
    names = as_names([workers] if isinstance(workers, str) else workers, "assign: a worker")
    _check("assign", "answers_per_task", answers_per_task, Int(1))
    _check("assign", "random_state", random_state, RANDOM_STATE)
    distinct, counts = np.unique(names, return_counts=True)
    if len(distinct) < len(names):
        raise DataError(f"assign: the worker {distinct[counts > 1][0].item()!r} is given twice. Give each one once.")
    if not len(plan):
        return replace(plan, workers=())
    seen, repeats = _history(plan, names, done)
    free = len(names) - seen.sum(axis=1)
    if free.min() < answers_per_task:
        task = int(free.argmin())
        had = f", and {seen[task].sum()} of them had the task {plan.names[task]} before" if seen[task].any() else ""
        raise ValueError(
            f"assign: {answers_per_task} answers per task need as many different workers; there are {len(names)}{had}. "
            "Ask more workers, or for fewer answers."
        )
    between = _common_pairs(plan.tasks, np.concatenate(plan.tasks), _task_of_rows(plan.tasks), len(plan))
    given = _deal(seen, repeats, between, answers_per_task, as_generator(random_state))
    _even_out(given, seen)
    return replace(plan, workers=tuple(names[row] for row in given))


def _history(plan: Plan, names: np.ndarray, done: Any) -> tuple[np.ndarray, np.ndarray]:
    """By task and worker: whether the worker had the task before, and how many of its pairs they have seen."""
    seen, repeats = np.zeros((len(plan), len(names)), bool), np.zeros((len(plan), len(names)))
    if done is None:
        return seen, repeats
    table = _columns(done)
    worker = _places(names, table["worker"])
    known = worker >= 0
    task = _places(plan.names, table["task"])[known]
    worker = worker[known]
    seen[task[task >= 0], worker[task >= 0]] = True
    if "item" in table:
        answers, answer = codes_of(codes_of(table["task"])[1][known].astype(np.int64) * len(names) + worker)
        common = _common_pairs(plan.tasks, table["item"][known], answer, len(answers))
        np.add.at(repeats.T, answers % len(names), common.T)
    return seen, repeats


def _columns(done: Any) -> dict[str, np.ndarray]:
    """The columns of earlier answers or assignments."""
    if isinstance(done, Plan):
        done = done.table()
    if isinstance(done, Answers):
        done = {"worker": done.worker, "task": done.task, "item": done.item}
    if not isinstance(done, Mapping) or "worker" not in done or "task" not in done:
        raise DataError("assign: done must be answers, an assigned plan, or a table with the columns worker and task.")
    return {
        name: as_names(done[name], f"assign: {name} of done") for name in ("worker", "task", "item") if name in done
    }


def _places(names: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place of each wanted name, or -1. The number 7 and the text "7", as files have it, are one name."""
    place = {str(name): at for at, name in enumerate(names.tolist())}
    return np.array([place.get(str(name), -1) for name in wanted.tolist()], np.intp)


def _common_pairs(tasks: tuple[np.ndarray, ...], item: np.ndarray, answer: np.ndarray, n_answers: int) -> np.ndarray:
    """For each task and each answer, given as rows of items: how many pairs of items they have in common."""
    items, planned = codes_of(np.concatenate(tasks))
    at = _places(items, item)
    known = at >= 0
    had = sparse.csr_matrix((np.ones(known.sum()), (answer[known], at[known])), (n_answers, len(items)))
    shown = sparse.csr_matrix((np.ones(len(planned)), (_task_of_rows(tasks), planned)), (len(tasks), len(items)))
    common = (shown @ had.T).toarray()
    return common * (common - 1) / 2


def _task_of_rows(tasks: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.repeat(np.arange(len(tasks)), [len(items) for items in tasks])


def _deal(
    seen: np.ndarray, repeats: np.ndarray, common: np.ndarray, answers_per_task: int, rng: np.random.Generator
) -> np.ndarray:
    """Workers of each task: those with the fewest tasks so far; then those with the fewest repeated pairs."""
    n_tasks, n_workers = seen.shape
    load, repeats = np.zeros(n_workers), repeats.copy()
    given = np.empty((n_tasks, answers_per_task), np.intp)
    for task in rng.permutation(n_tasks):
        order = np.lexsort(np.array([rng.random(n_workers), repeats[task], load, seen[task]]))
        given[task] = order[:answers_per_task]
        load[given[task]] += 1
        repeats[:, given[task]] += common[task][:, None]
    return given


def _even_out(given: np.ndarray, seen: np.ndarray) -> None:
    """Pass tasks on from the busiest workers, also over others, to those with at least two fewer, until none can.

    Then no other assignment has more equal loads: such a chain is an augmenting path.
    """
    if not seen.any():  # loads then differ by one at most
        return
    has = np.zeros_like(seen)
    np.put_along_axis(has, given, True, axis=1)
    while True:
        load = has.sum(axis=0)
        can_move = (has.T.astype(np.int32) @ (~has & ~seen)) > 0  # a task of the one may be given to the other
        chain = next(
            (
                found
                for busy in np.argsort(-load, kind="stable")
                if load[busy] >= load.min() + 2 and (found := _chain(can_move, load, int(busy)))
            ),
            None,
        )
        if chain is None:
            break
        for one, other in pairwise(chain):
            task = int(np.flatnonzero(has[:, one] & ~has[:, other] & ~seen[:, other])[0])
            has[task, one], has[task, other] = False, True
    given[:] = np.nonzero(has)[1].reshape(given.shape)


def _chain(can_move: np.ndarray, load: np.ndarray, busy: int) -> list[int]:
    """A shortest chain of workers from a busy one to one with at least two tasks fewer; empty if there is none."""
    before = np.full(len(load), -1)
    before[busy] = busy
    level = [busy]
    while level:
        following = []
        for worker in level:
            for other in np.flatnonzero(can_move[worker] & (before < 0)).tolist():
                before[other] = worker
                if load[other] <= load[busy] - 2:
                    chain = [other]
                    while chain[-1] != busy:
                        chain.append(int(before[chain[-1]]))
                    return chain[::-1]
                following.append(other)
        level = following
    return []
