"""`modicum select SOURCE -k 100`: the rows worth looking at, out of as many as you like."""

from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.objectives import AIMS, OBJECTIVES, make_learner
from modicum.cli.output import check_output, free_name, writer
from modicum.cli.picker import Picker
from modicum.cli.picks import picked_rows
from modicum.cli.printing import say
from modicum.cli.run import Job
from modicum.cli.sources import Source
from modicum.contract.picks import Picks

Objective = Annotated[str, typer.Option(help=f"What makes a choice good: {', '.join(AIMS)}.")]


def select(
    source: Source,
    objective: Objective = "exemplar",
    output: o.Output = None,
    save: o.Save = None,
    csv: o.Csv = False,
    table: o.Table = False,
    **given: Any,
) -> None:
    """Choose the rows of SOURCE that represent all of it best, or differ most, or predict best.

    The picks keep all original columns, with the row's position in the source and, where it is known, how many rows it
    stands for. An option that names objectives is for these alone.
    """
    picker = Picker.take_from(given)
    job = picker.read_groups(Job.take_from(given))
    picker.check(source, output)
    picker.add_to(given)
    learner = make_learner(objective, given, job.target)
    check_output(output)
    k = given.get(OBJECTIVES.count) or given.get(OBJECTIVES[objective].count)
    learner = picker.wrap(learner, k, source=source, job=job)
    run = job.learn(learner, source, save=save)
    picks = run.learner.picks()
    columns, order = picker.with_groups(picked_rows(picks, run.rows), picks), _order(picks)
    if picker.include is not None:
        order = order[picks.ids[order] >= 0]  # without the rows that were given
    with writer(output, csv=csv, table=table) as write:
        facts = {free_name(name, columns): column for name, column in _facts(picks).items()}
        write({name: _reorder(column, order) for name, column in {**facts, **columns}.items()})
    success = picker.describe(run.learner) if picker.balance else _success(run.learner, objective)
    say(
        f"{len(order)} of {run.learner.n_seen_:,} rows chosen in {run.seconds:.1f} s; {success}"
        + (f"; picks in {output}" if output else "")
    )
    picker.write_outliers(run.learner, job, source, output)
    job.write_report(run, columns)


def _facts(picks: Picks) -> dict[str, np.ndarray]:
    """What is told about each pick beside its own columns."""
    facts = {"position": picks.ids, picks.kind: np.arange(len(picks))}  # as numbered by `predict` and `transform`
    return facts if picks.weights is None else facts | {"stands_for": np.round(picks.weights, 1)}


def _order(picks: Picks) -> np.ndarray:
    """The picks that stand for most rows first, where that is known."""
    return np.arange(len(picks)) if picks.weights is None else np.argsort(-picks.weights, kind="stable")


def _success(learner: Any, objective: str) -> str:
    if objective == "exemplar":
        return f"mean dissimilarity to the nearest exemplar: {learner.loss_:.4g}"
    return f"{objective}: {-learner.value_ if objective == 'error' else learner.value_:.4g}"


def _reorder(column: Any, order: np.ndarray) -> Any:
    return column.take(order) if hasattr(column, "to_pylist") else np.asarray(column)[order]


command = o.with_options(select, [*OBJECTIVES.options(), *Picker.options(), *Job.options()])
