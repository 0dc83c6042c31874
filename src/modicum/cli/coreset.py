"""`modicum coreset SOURCE --n-points 5000 -k 100`: weighted points that stand for all rows."""

from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.aims import Aim, Aims
from modicum.cli.output import free_name, writer
from modicum.cli.picks import in_own_units
from modicum.cli.printing import say
from modicum.cli.run import Job, Run
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source
from modicum.coreset import KMeansCoreset, MixtureCoreset
from modicum.pipeline import final_learner

AIMS = {"kmeans": Aim(KMeansCoreset), "mixture": Aim(MixtureCoreset)}
MODELS = Aims("--for", "n_clusters", "clusters or components", AIMS)

For = Annotated[str, typer.Option("--for", help=f"What will be fitted to the points: {', '.join(AIMS)}.")]


def coreset(
    source: Source,
    model: For = "kmeans",
    output: o.Output = None,
    save: o.Save = None,
    csv: o.Csv = False,
    table: o.Table = False,
    force: o.Force = False,
    **given: Any,
) -> None:
    """Summarize SOURCE by weighted points on which models have nearly the cost that they have on all rows.

    The points have the columns that were learned from, and a weight: how many rows they stand for. Give both to any
    estimator that takes weights. An option that names kmeans or mixture is for that alone.
    """
    job = Job.take_from(given)
    learner = MODELS.make(model, given)
    files = {"output": output, "save": save, "report": job.report, "other": job.checkpoint}
    check_writing(source, learner, **files, force=force, csv=csv, table=table)

    def write_points(run: Run) -> Any:
        points, weights = final_learner(run.learner).as_sample()
        if output is not None or not run.goes_on:
            with writer(output, csv=csv, table=table) as write:
                named = in_own_units(points, run.learner, run.rows.columns)
                write({**named, free_name("weight", named): weights})
        return points

    def renew(run: Run) -> None:
        write_points(run)
        job.write_report(run)

    run = job.learn(learner, source, save=save, output=output, renew=renew)
    points = write_points(run)
    say(
        f"{len(points):,} points stand for {run.learner.n_seen_:,} rows, made in {run.seconds:.1f} s"
        + (f"; points in {output}" if output else "")
    )
    job.write_report(run)


_shared = Job.options(without=("target", "passes", "shuffle_buffer", "text"))  # a point is no row of the source
command = o.with_options(coreset, [*MODELS.options(), *_shared])
