"""`modicum select SOURCE -k 100`: the rows worth looking at, out of as many as you like."""

from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.objectives import AIMS, OBJECTIVES, make_learner
from modicum.cli.output import writer
from modicum.cli.picks import listed, picked_rows
from modicum.cli.printing import say
from modicum.cli.run import Job
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source

Objective = Annotated[str, typer.Option(help=f"What makes a choice good: {', '.join(AIMS)}.")]


def select(
    source: Source,
    objective: Objective = "exemplar",
    output: o.Output = None,
    save: o.Save = None,
    csv: o.Csv = False,
    table: o.Table = False,
    force: o.Force = False,
    **given: Any,
) -> None:
    """Choose the rows of SOURCE that represent all of it best, or differ most, or predict best.

    The picks keep all original columns, with the row's position in the source and, where it is known, how many rows it
    stands for. An option that names objectives is for these alone.
    """
    job = Job.take_from(given)
    learner = make_learner(objective, given, job.target)
    files = {"output": output, "save": save, "report": job.report, "other": job.checkpoint}
    check_writing(source, learner, **files, force=force, csv=csv, table=table)
    run = job.learn(learner, source, save=save)
    picks = run.learner.picks()
    columns = picked_rows(picks, run.rows)
    with writer(output, csv=csv, table=table) as write:
        write(listed(picks, columns))
    success = _success(run.learner, objective)
    say(
        f"{len(picks)} of {run.learner.n_seen_:,} rows chosen in {run.seconds:.1f} s; {success}"
        + (f"; picks in {output}" if output else "")
    )
    job.write_report(run, columns)


def _success(learner: Any, objective: str) -> str:
    if objective == "exemplar":
        return f"mean dissimilarity to the nearest exemplar: {learner.loss_:.4g}"
    return f"{objective}: {-learner.value_ if objective == 'error' else learner.value_:.4g}"


command = o.with_options(select, [*OBJECTIVES.options(), *Job.options()])
