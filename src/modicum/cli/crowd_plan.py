"""`modicum crowd plan ITEMS`: which items which workers should sort next."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.crowd_names import read_names
from modicum.cli.crowd_project import ProjectOption, find_project, open_project
from modicum.cli.crowd_report import load_crowd
from modicum.cli.grouping import LEARNING
from modicum.cli.output import writer
from modicum.cli.printing import in_shell_words, say
from modicum.cli.safety import check_writing
from modicum.cli.sources import as_paths
from modicum.crowd.adaptive import coarse_to_fine, uncertain
from modicum.crowd.clustering import CrowdClustering
from modicum.crowd.learner import CrowdLearner
from modicum.crowd.reading import as_answers
from modicum.crowd.tasks import Plan, assign, random_plan
from modicum.plot.formatting import plural

STRATEGIES = ("random", "coarse-to-fine", "uncertain")  # all but the first depend on what is known
FIRST_ROUND, LATER_ROUND = 6.0, 1.0  # tasks that an item is in, if nobody says: without a model, and with one

Items = Annotated[
    list[str] | None,
    typer.Argument(
        help="What to sort: a folder of pictures, a text with an item per line, or a table with the column item. "
        "Default: the items of a project, or of --model.",
        show_default=False,
    ),
]
Model = Annotated[Path | None, typer.Option(help="State file of crowd fit: what is known so far.")]
Strategy = Annotated[
    str | None,
    typer.Option(
        help="random: all items equally often on average; coarse-to-fine: a task has items of one cluster; uncertain: "
        "items of whose cluster least is known. Default: random, or uncertain with --model."
    ),
]
TaskSize = Annotated[int, typer.Option(help="Items in a task.")]
Redundancy = Annotated[
    float | None, typer.Option(help="Tasks that each item is in, on average. Default: 6, or 1 with --model.")
]
Workers = Annotated[
    str | None,
    typer.Option(help="Who is asked: how many workers, or a text with a name per line.", rich_help_panel=LEARNING),
]
AnswersPerTask = Annotated[int, typer.Option(help="Workers who get the same task.")]
Done = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="Answers so far: nobody gets a task again, and new tasks have new numbers."),
]
Columns = Annotated[str | None, typer.Option(metavar="MAP", help="Columns of the file of --done, as for crowd fit.")]
Seed = Annotated[int | None, typer.Option(help="A whole number makes the plan repeatable.", rich_help_panel=LEARNING)]


def command(
    items: Items = None,
    project: ProjectOption = None,
    model: Model = None,
    strategy: Strategy = None,
    task_size: TaskSize = 20,
    redundancy: Redundancy = None,
    workers: Workers = None,
    answers_per_task: AnswersPerTask = 1,
    done: Done = None,
    columns: Columns = None,
    random_state: Seed = None,
    output: o.Output = None,
    csv: o.Csv = False,
    table: o.Table = False,
) -> None:
    """Make tasks of ITEMS, or of those in a project, to be sorted by workers.

    The columns are task and item and, with --workers, worker: a row for each item that a worker is shown. Collect the
    answers in a table with one more column, group, and give it to crowd fit. Without --model, every item is in about
    as many tasks as any other, with different neighbours. With it, tasks are those that tell most. The tasks of a
    project are kept in it, whoever comes gets the next one, and what is printed are the codes by which --workers enter.
    """
    check_writing([*(items or ()), *(done or ())], output=output, csv=csv, table=table)
    if not items and not model and (project or find_project(None)):
        if done or columns:
            raise ValueError("--done is for plans in files: a project knows its answers.")
        with open_project(project).closing() as its, writer(output, csv=csv, table=table) as write:
            _plan_project(its, strategy, task_size, redundancy, answers_per_task, workers, random_state, write)
        return
    if project:
        raise ValueError("--project has items and a model of its own: leave out ITEMS and --model.")
    chosen = strategy or ("random" if model is None else "uncertain")
    learner = None if model is None else load_crowd(model)
    _check(chosen, items, learner)
    rng = np.random.default_rng(random_state)
    if redundancy is None:
        redundancy = FIRST_ROUND if learner is None else LATER_ROUND
    plan = _plan(chosen, _names(items, learner), learner, task_size, redundancy, rng)
    plan = _assigned(plan, workers, answers_per_task, done, columns, rng)
    with writer(output, csv=csv, table=table) as write:
        write(plan.table())
    say(_told(plan) + (f"; plan in {output}" if output else ""))


def _plan_project(
    project: Any,
    strategy: str | None,
    task_size: int,
    redundancy: float | None,
    answers_per_task: int,
    workers: str | None,
    random_state: int | None,
    write: Any,
) -> None:
    """Add tasks to a project, invite workers, and write the codes of these."""
    from modicum.web.planning import plan_tasks
    from modicum.web.store.codes import spaced
    from modicum.web.store.fits import last_done

    if workers is not None and workers.isdecimal() and int(workers) == 0:
        raise ValueError("--workers is at least 1.")
    names = None if workers is None or workers.isdecimal() else read_names([workers], "worker").tolist()
    strategy = strategy or ("random" if last_done(project) is None else "uncertain")
    if redundancy is None:
        redundancy = FIRST_ROUND if strategy == "random" else LATER_ROUND
    n_tasks = plan_tasks(project, strategy, task_size, redundancy, answers_per_task, random_state)
    say(f"{plural(n_tasks, 'task')} added to {project.name}, {plural(answers_per_task, 'answer')} wanted of each")
    if workers is None:
        return
    invited = project.invite_some(int(workers)) if names is None else project.invite(names)
    write({"worker": [row.name for row in invited], "code": [spaced(row.code) for row in invited]})


def _check(strategy: str, items: Sequence[str] | None, learner: CrowdLearner | None) -> None:
    """Refuse a strategy without what it needs."""
    if strategy not in STRATEGIES:
        raise ValueError(f"--strategy is one of {', '.join(STRATEGIES)}; got {strategy!r}.")
    if not items and learner is None:
        raise ValueError("crowd plan needs ITEMS, a project, or --model, whose items are taken.")
    if strategy != "random" and not isinstance(learner, CrowdClustering):
        raise ValueError(f"--strategy {strategy} needs --model, a state file of crowd fit --model clustering.")
    if strategy == "coarse-to-fine" and items:
        raise ValueError(
            "--strategy coarse-to-fine is for the items of --model, whose clusters are known: leave out ITEMS."
        )


def _names(items: Sequence[str] | None, learner: CrowdLearner | None) -> np.ndarray:
    """Names of the items; those of a file are numbers if the items of the learner are."""
    if not items:
        assert learner is not None
        return learner.items_
    names = read_names(items, "item")
    are_numbers = learner is not None and learner.items_.dtype.kind == "i" and names.dtype.kind == "U"
    return names.astype(np.int64) if are_numbers and np.char.isdecimal(names).all() else names


def _plan(
    strategy: str,
    names: np.ndarray,
    learner: Any,
    task_size: int,
    redundancy: float,
    rng: np.random.Generator,
) -> Plan:
    if strategy == "random":
        return random_plan(names, task_size, redundancy, random_state=rng)
    n_tasks = math.ceil(redundancy * len(names) / task_size)
    if strategy == "uncertain":
        return uncertain(learner, task_size, n_tasks, items=names, random_state=rng)
    return coarse_to_fine(learner, task_size, n_tasks, random_state=rng)


def _assigned(
    plan: Plan,
    workers: str | None,
    answers_per_task: int,
    done: Sequence[str] | None,
    columns: str | None,
    rng: np.random.Generator,
) -> Plan:
    """The plan with tasks that have numbers of their own and, if there are workers, with these."""
    earlier = None if not done else as_answers(as_paths(done), columns)
    for note in () if earlier is None else earlier.notes:
        say(in_shell_words(note))
    if earlier is not None:
        plan = replace(plan, first=_next_number(earlier.task))
    if workers is None:
        if answers_per_task != 1:
            raise ValueError("--answers-per-task needs --workers: how many, or a file with their names.")
        return plan
    names = np.arange(1, int(workers) + 1) if workers.isdecimal() else read_names([workers], "worker")
    return assign(plan, names, answers_per_task, done=earlier, random_state=rng)


def _next_number(tasks: np.ndarray) -> int:
    """The smallest number above those of earlier tasks; tasks may have other names too."""
    numbers = [int(name) for name in map(str, np.unique(tasks).tolist()) if name.isdecimal()]
    return max(numbers, default=-1) + 1


def _told(plan: Plan) -> str:
    sizes = {len(task) for task in plan.tasks}
    each = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{min(sizes)}"
    told = f"{plural(len(plan), 'task')} of {each} items"
    if plan.workers is None:
        return told
    answers = np.concatenate(plan.workers)
    asked = np.unique(answers, return_counts=True)[1]
    each = f"{asked.min():,}" if asked.min() == asked.max() else f"{asked.min():,} or {asked.max():,}"
    return f"{told}; {plural(len(answers), 'answer')} by {plural(len(asked), 'worker')}, {each} from each"
