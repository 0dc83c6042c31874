"""`modicum crowd demo`: pictures of Greebles, simulated workers of three schools, and the pages to try."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from modicum._optional import require
from modicum.cli.crowd_serve import Port, serve
from modicum.cli.printing import say
from modicum.datasets import greeble_sorting, greebles
from modicum.plot.formatting import plural

if TYPE_CHECKING:
    from modicum.web.store import Project

N_ITEMS, TASK_SIZE, REDUNDANCY, ANSWERS = 60, 15, 9, 6
SCHOOLS = ("height", "body colour", "dots")  # what workers sort by
PER_SCHOOL, TASKS_EACH = 5, 12  # workers, and tasks that each of them does: there is some work left for you
INSTRUCTION = "Which Greebles belong together? Make as many groups as you like: there is no right answer."
DETAILS = """Greebles are little creatures. Look at a few before you begin, and decide what matters to you.

Somebody else may sort by something else. That is fine: from what many people say, one clustering is made that tells \
apart whatever any of them tells apart."""


def command(
    folder: Annotated[Path, typer.Option(help="Where the project is made, if it is not there.")] = Path("demo"),
    port: Port = 8000,
) -> None:
    """Try the pages of a project: Greebles that simulated workers have sorted, and that you can sort.

    Greebles are creatures that differ in height, body colour and the colour of their dots. Each simulated worker sorts
    by one of these, and nobody by all; the clusters that are found tell all of them apart.
    """
    require("fastapi", "crowd demo")
    from modicum.web.store import Project

    path = folder / "greebles.crowd"
    if path.exists():
        say(f"going on with {path}; remove it to begin anew")
        project = Project.open(path)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        project = make_demo(path)
    with project.closing():
        serve(project, "127.0.0.1", port)


def make_demo(path: Path) -> "Project":
    """A project of Greebles that simulated workers have sorted in part, with a first fit."""
    from modicum.cli.crowd_fit import InProject
    from modicum.crowd import CrowdClustering
    from modicum.web.planning import plan_tasks
    from modicum.web.store import Project

    attributes = greebles(N_ITEMS)
    say(f"drawing {N_ITEMS} Greebles")
    found = _pictures(attributes)
    project = Project.create(path, found, title="Greebles", instruction=INSTRUCTION, details=DETAILS)
    plan_tasks(project, "random", TASK_SIZE, REDUNDANCY, ANSWERS, 0)
    project.invite(["you", "a friend"])
    n_done = simulate(project, attributes)
    say(f"{plural(n_done, 'answer')} of simulated workers: {PER_SCHOOL} sort by {f', {PER_SCHOOL} by '.join(SCHOOLS)}")
    source, learner = InProject(project), CrowdClustering(random_state=0)
    source.keep(learner, source.read())
    say(f"{plural(learner.n_clusters_, 'cluster')} found")
    return project


def simulate(project: "Project", attributes: np.ndarray) -> int:
    """Let workers of three schools do tasks; returns how many."""
    rng = np.random.default_rng(0)
    invited = project.invite([f"{school} {number + 1}" for number in range(PER_SCHOOL) for school in SCHOOLS])
    n_done = 0
    for _ in range(TASKS_EACH):
        for at, worker in enumerate(invited):
            n_done += _sort_one(project, worker, at % len(SCHOOLS), attributes, rng)
    return n_done


def _sort_one(project: "Project", worker: Any, school: int, attributes: np.ndarray, rng: np.random.Generator) -> bool:
    """Do one task as a worker would: item by item into groups, then submit; False if there is none left."""
    from modicum.web.store import work

    with project.changing() as connection:
        number = work.take_task(connection, worker.id, random.Random(int(rng.integers(2**31))))
        if number is None:
            return False
        mine = work.open_work(connection, worker.id)
        assert mine is not None
        side = greeble_sorting(attributes[np.array(mine.shown) - 1], school, random_state=rng)
        clock = np.cumsum(rng.gamma(3.0, 0.7, len(side)))
        groups: list[work.Groups] = [
            [
                {
                    "id": k + 1,
                    "name": "",
                    "items": [item for item, on in zip(mine.shown[:n], side, strict=False) if on == k],
                }
                for k in (0, 1)
            ]
            for n in range(1, len(side) + 1)
        ]
        moves = [work.Move(made, None, float(at)) for made, at in zip(groups, clock, strict=True)]
        work.save_moves(connection, worker.code, number, 1, moves)
        work.submit(connection, worker.code, number, len(moves), "", float(clock[-1]))
    return True


def _pictures(attributes: np.ndarray) -> Iterator[Any]:
    from modicum.plot.greebles import draw_greeble
    from modicum.web.store.media import picture_item

    for number, row in enumerate(attributes):
        name = f"greeble {number + 1}"
        yield picture_item(draw_greeble(*row, random_state=number), name, name)
