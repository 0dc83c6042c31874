"""`modicum evaluate SOURCE --target T --learner svm`: predict, score, then learn every row, for one learner or more."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum._optional import require
from modicum.cli import options as o
from modicum.cli.learners import command_named
from modicum.cli.output import writer
from modicum.cli.preparing import Preparing
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.run import check_target
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source, Sources, is_stdin, naming_source
from modicum.cli.values import called
from modicum.contract.learner import Learner
from modicum.evaluate import METRICS, Prequential, prequential
from modicum.exceptions import DataError
from modicum.pipeline.stream_pipeline import watch_order_of

CHUNK = 100  # few, as a learner that follows changes is to know the latest rows
CURVE = ("n_seen", "overall", "recent", "seconds", "nbytes")
PICTURES = (".png", ".svg", ".pdf")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


Learners = Annotated[
    list[str],
    typer.Option(
        "--learner", help='What to evaluate, such as svm or "svm(half-life=1000)". May be repeated.', metavar="LEARNER"
    ),
]
MetricName = Annotated[
    str | None,
    typer.Option("--metric", help=f"One of {', '.join(map(_dashed, METRICS))}. Default: by the kind of learner."),
]
ChunkSize = Annotated[int, typer.Option(help="Rows predicted at once, before any of them is learned.", min=1)]
Lag = Annotated[int, typer.Option(help="Rows that come before the target of a row is known.")]
Window = Annotated[float, typer.Option(help="Length of the window of the recent score, which fades.")]
Plot = Annotated[Path | None, typer.Option(help=f"Picture of the scores over the source: {', '.join(PICTURES)}.")]
Scores = Annotated[
    Path | None, typer.Option("-o", "--output", help="File for the scores over the source; its ending is the format.")
]


def evaluate(
    source: Source,
    learner: Learners,
    metric: MetricName = None,
    chunk_size: ChunkSize = CHUNK,
    lag: Lag = 0,
    window: Window = 1000,
    plot: Plot = None,
    output: Scores = None,
    csv: o.Csv = False,
    table: o.Table = False,
    **given: Any,
) -> None:
    """Evaluate learners along SOURCE: every row is predicted and scored before it is learned.

    Prints, for each learner, the score of all rows and of recent ones, rows per second, bytes held, and about where the
    error rose by more than chance. Nothing is saved.
    """
    check_writing(source, output=output, other=plot, csv=csv, table=table)
    _check_picture(plot)
    reading = replace(Preparing.take_from(given), chunk_size=chunk_size)
    metric = None if metric is None else metric.replace("-", "_")
    learners = {text: make(text) for text in learner}
    if len(learners) > 1 and is_stdin(source):
        raise DataError("standard input can be read only once, for one learner. Write it to a file first.")
    found = {}
    for text, model in learners.items():
        found[text] = _along(source, reading, model, metric=metric, lag=lag, window=window)
        say(f"{text}: {found[text]}")
    with writer(None, csv=csv, table=table) as write:
        write(summary(found))
    if output is not None:
        with writer(output) as write:
            for text, scores in found.items():
                write({"learner": [text] * len(scores.n_seen)} | {name: getattr(scores, name) for name in CURVE})
    if plot is not None:
        from modicum.plot import scores_over_stream

        scores_over_stream(found if len(found) > 1 else next(iter(found.values()))).savefig(plot)


def make(text: str) -> Learner:
    """The learner that a text such as `svm(half-life=1000)` describes; seeded, so that the scores are repeatable."""
    name, bracket, rest = text.partition("(")
    model = called(f"{command_named(name.strip())}({rest if bracket else ')'}")
    model._check_params()
    return model.set_params(random_state=0) if getattr(model, "random_state", 0) is None else model


def _along(source: Sources, reading: Preparing, model: Learner, **how: Any) -> Prequential:
    """The scores of one learner along a source."""
    rows, encoder = reading.prepared_rows(source, model)
    check_target(model, rows, reading.target)
    if encoder is not None and encoder._is_fitted():
        watch_order_of(model, [encoder])
    with Progress(rows) as progress, naming_source(rows, model):
        scores = prequential(model, rows, on_chunk=lambda model: _show(progress, model, rows.position), **how)
    if not len(scores.n_seen):
        raise DataError(
            f"{rows.name}: no rows were scored, as all of them came before anything was learned. Take fewer with "
            "--chunk-size or --lag."
        )
    if encoder is not None:
        say(encoder.summary_)
    return scores


def _show(progress: Progress, model: Learner, position: int) -> None:
    if model._is_fitted():
        progress.show(model, position)


def summary(found: Mapping[str, Prequential]) -> dict[str, Any]:
    """A row for each learner."""
    scores = list(found.values())
    return {
        "learner": list(found),
        "metric": [its.metric for its in scores],
        "score": [its.score for its in scores],
        "recent": [float(its.recent[-1]) for its in scores],
        "rows": [int(its.n_seen[-1]) for its in scores],
        "rows_per_second": [round(its.n_seen[-1] / max(its.seconds[-1], 1e-9)) for its in scores],
        "nbytes": [int(its.nbytes[-1]) for its in scores],
        "error_rose": [" ".join(str(change.since) for change in its.changes) for its in scores],
    }


def _check_picture(path: Path | None) -> None:
    """Before a long run: can the picture be drawn?"""
    if path is not None:
        require("matplotlib", "plots")
        if path.suffix.lower() not in PICTURES:
            raise DataError(f"can't draw {path}: the name must end in {', '.join(PICTURES)}.")


command = o.with_options(evaluate, Preparing.options(without=("passes", "image", "prepare_like", "weight")))
