"""More tasks for workers: the same plans for the command line and the owner's page."""

import math
from typing import Any

import numpy as np

from modicum.crowd.tasks import Plan, random_plan
from modicum.exceptions import DataError, StateError
from modicum.plot.formatting import count
from modicum.web.store import fits
from modicum.web.store.project import Project

STRATEGIES = ("random", "coarse-to-fine", "uncertain")  # all but the first need a fit
MOST_TASKS, MOST_SHOWN = 20_000, 1_000_000  # in one plan: tasks, and items in all of them


def plan_tasks(
    project: Project,
    strategy: str,
    task_size: int = 20,
    redundancy: float = 6.0,
    answers_per_task: int = 1,
    random_state: Any = None,
) -> int:
    """Add tasks of `task_size` items to a project, each item in about `redundancy` of them; returns how many.

    random: all items equally often on average. uncertain: items of whose cluster least is known. coarse-to-fine: items
    of one cluster. The last two need a fit; what they cost is reading its state, a few seconds.
    """
    names = project.item_names()
    _check(strategy, task_size, redundancy, len(names))
    rng = np.random.default_rng(random_state)
    return project.add_plan(_plan(project, strategy, names, task_size, redundancy, rng), answers_per_task, rng)


def _check(strategy: str, task_size: int, redundancy: float, n_items: int) -> None:
    if strategy not in STRATEGIES:
        raise DataError(f"the strategy is one of {', '.join(STRATEGIES)}; got {strategy!r}.")
    if not 2 <= task_size <= n_items:
        raise DataError(f"a task has from 2 to {count(n_items)} items, as there are so many; got {task_size}.")
    if not 1 <= redundancy <= MOST_TASKS:  # false for nan, too
        raise DataError(f"each item is in at least 1 task, on average; got {redundancy}.")
    if (n_tasks := math.ceil(redundancy * n_items / task_size)) > MOST_TASKS:
        raise DataError(f"that would be {count(n_tasks)} tasks; the limit is {count(MOST_TASKS)} at once.")
    if (n_shown := n_tasks * task_size) > MOST_SHOWN:
        raise DataError(f"these tasks would have {count(n_shown)} items; the limit is {count(MOST_SHOWN)} at once.")


def _plan(
    project: Project, strategy: str, names: np.ndarray, task_size: int, redundancy: float, rng: np.random.Generator
) -> Plan:
    if strategy == "random":
        return random_plan(names, task_size, redundancy, random_state=rng)
    from modicum.crowd.adaptive import coarse_to_fine, uncertain

    model = _model(project, strategy)
    n_tasks = math.ceil(redundancy * len(names) / task_size)
    if strategy == "uncertain":
        return uncertain(model, task_size, n_tasks, items=names, random_state=rng)
    return coarse_to_fine(model, min(task_size, len(model.items_)), n_tasks, random_state=rng)


def _model(project: Project, strategy: str) -> Any:
    """The model of the last fit."""
    from modicum.crowd.clustering import CrowdClustering

    state = fits.state(project)
    if state is None:
        raise DataError(f"the strategy {strategy} needs a fit of the answers so far. Fit first, or plan at random.")
    try:
        return CrowdClustering.from_bytes(state)
    except StateError as error:
        raise DataError(f"the strategy {strategy} needs a fit by clustering: {error}") from None
