"""`modicum select SOURCE -k 100`: the rows worth looking at, out of as many as you like."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.objectives import AIMS, OBJECTIVES, make_learner
from modicum.cli.output import writer
from modicum.cli.picker import Picker
from modicum.cli.picks import estimated, listed, picked_rows
from modicum.cli.preparing import kinds_in
from modicum.cli.printing import say
from modicum.cli.run import Job, Run
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source, is_pictures
from modicum.pipeline.images import copy_pictures

CopyTo = Annotated[Path | None, typer.Option(help="Copy the picked pictures to this folder.", metavar="DIR")]
Objective = Annotated[str, typer.Option(help=f"What makes a choice good: {', '.join(AIMS)}.")]


def select(
    source: Source,
    objective: Objective = "exemplar",
    output: o.Output = None,
    save: o.Save = None,
    csv: o.Csv = False,
    table: o.Table = False,
    force: o.Force = False,
    copy_to: CopyTo = None,
    **given: Any,
) -> None:
    """Choose the rows of SOURCE that represent all of it best, or differ most, or predict best.

    The picks keep all original columns, with the row's position in the source and, where it is known, how many rows it
    stands for. An option that names objectives is for these alone.
    """
    picker = Picker.take_from(given)
    job = picker.read_groups(Job.take_from(given))
    picker.check(source, output)
    if copy_to is not None and not (is_pictures(source) or "image" in (kinds_in(job.types) or {}).values()):
        raise ValueError("--copy-to is for folders of pictures, or columns that --types says are images.")
    picker.add_to(given)
    learner = make_learner(objective, given, job.target)
    k = given.get(OBJECTIVES.count) or given.get(OBJECTIVES[objective].count)
    learner = picker.wrap(learner, k, source=source, job=job)
    files = {"output": output, "save": save, "report": job.report, "other": job.checkpoint_file}
    check_writing(source, learner, **files, force=force, csv=csv, table=table)

    def write_picks(run: Run) -> dict[str, Any]:
        picks = run.learner.picks()
        columns = picker.with_groups(picked_rows(picks, run.rows), picks)
        if output is not None or not run.goes_on:
            with writer(output, csv=csv, table=table) as write:
                write(listed(picks, columns, only_new=picker.include is not None))
        return columns

    def renew(run: Run) -> None:
        job.write_report(run, write_picks(run))

    run = job.learn(learner, source, save=save, output=output, renew=renew)
    columns = write_picks(run)
    n_picked = np.count_nonzero(run.learner.picks().ids >= 0)
    success = picker.describe(run.learner) if picker.balance else _success(run.learner, objective)
    say(
        f"{n_picked} of {run.learner.n_seen_:,} rows chosen in {run.seconds:.1f} s; {success}"
        + (f"; picks in {output}" if output else "")
    )
    if copy_to is not None:
        say(f"{len(copy_pictures(_picture_paths(run.learner), copy_to))} pictures copied to {copy_to}")
    picker.write_outliers(run.learner, job, source, output)
    job.write_report(run, columns)


def _picture_paths(learner: Any) -> list[str]:
    """Paths of the pictures that were picked, those that stand for most first."""
    column = next(name for name, kind, _ in learner.encoder_.decisions_ if kind == "image")
    return listed(learner.picks(), {column: learner.picks().rows[column]})[column].to_pylist()


def _success(learner: Any, objective: str) -> str:
    if objective == "exemplar":
        return f"mean dissimilarity to the nearest exemplar: {learner.loss_:.4g}{estimated(learner)}"
    return f"{objective}: {-learner.value_ if objective == 'error' else learner.value_:.4g}"


command = o.with_options(select, [*OBJECTIVES.options(), *Picker.options(), *Job.options()])
