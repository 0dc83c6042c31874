"""`modicum coreset SOURCE --size 5000 -k 100`: weighted points that stand for all rows."""

from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.aims import Aim, Aims
from modicum.cli.fit import write_report
from modicum.cli.output import check_folder, check_place, free_name, writer
from modicum.cli.picks import by_column
from modicum.cli.printing import say
from modicum.cli.run import learn
from modicum.coreset.kmeans_coreset import KMeansCoreset
from modicum.coreset.mixture_coreset import MixtureCoreset

AIMS = {"kmeans": Aim(KMeansCoreset), "mixture": Aim(MixtureCoreset)}
MODELS = Aims("--for", "n_clusters", "clusters or components", AIMS)

For = Annotated[str, typer.Option("--for", help=f"What will be fitted to the points: {', '.join(AIMS)}.")]


def coreset(
    source: o.Source,
    model: For = "kmeans",
    output: o.Output = None,
    save: o.Save = None,
    columns: o.Columns = None,
    weight: o.Weight = None,
    chunk_size: o.ChunkSize = None,
    checkpoint: o.CheckpointPath = None,
    every: o.Every = "30s",
    report: o.Report = None,
    image: o.Image = None,
    csv: o.Csv = False,
    table: o.Table = False,
    **params: Any,
) -> None:
    """Summarize SOURCE by weighted points on which models have nearly the cost that they have on all rows.

    The points have the columns that were learned from, and their weight: how many rows they stand for. Hand both to
    any estimator that takes weights. An option that names kmeans or mixture is for that alone.
    """
    learner: Any = MODELS.make(model, params)
    check_place(output)
    for path in (save, report, checkpoint):
        check_folder(path)
    run = learn(
        learner,
        source,
        checkpoint=checkpoint,
        every=every,
        image=image,
        columns=columns,
        weight=weight,
        chunk_size=chunk_size,
    )
    learner = run.learner
    points, weights = learner.as_sample()
    with writer(output, csv=csv, table=table) as write:
        named = by_column(points, run.stream)
        write({**named, free_name("weight", named): weights})
    say(
        f"{len(points):,} points stand for {learner.n_seen_:,} rows, made in {run.seconds:.1f} s"
        + (f"; points in {output}" if output else "")
    )
    if save is not None:
        learner.save(save)
    write_report(run, report, image, None, None)


command = o.with_options(coreset, MODELS.options())
