"""`modicum tradeoff SOURCE -k 100 --risk 1.05x`: how much data, memory and time a wanted risk takes."""

import inspect
from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.aims import Aim, Aims
from modicum.cli.output import writer
from modicum.cli.preparing import Preparing
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.run import command_line
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source, naming_source
from modicum.cli.values import parameter
from modicum.coreset import StreamGaussianMixture, StreamKMeans
from modicum.pipeline import StreamPipeline
from modicum.rules.budget import format_bytes
from modicum.streams import Stream
from modicum.tradeoff import Tradeoff, Tram
from modicum.tradeoff import tradeoff as try_all
from modicum.tradeoff.rounds import Round

AIMS = {"kmeans": Aim(StreamKMeans), "mixture": Aim(StreamGaussianMixture)}
MODELS = Aims("--for", "n_clusters", "clusters or components", AIMS)
OF_TRAM = [name for name in inspect.signature(Tram).parameters if name != "estimator"]
NOT_OPTIONS = {"estimator", "n_points", "warm_start"}  # made here, chosen by the search, without effect
CURVE_ROWS, CURVE_BYTES = 200_000, 256 * 2**20  # of rows that curves are measured on, at most
AROUND = (0.25, 0.5, 1.0, 2.0)  # factors of the size found

For = Annotated[str, typer.Option("--for", help=f"What is fitted: {', '.join(AIMS)}.")]
Risk = Annotated[str, typer.Option(help='The risk that is wanted: a number, "5% above best" or 1.05x.')]
Report = Annotated[o.Path | None, typer.Option(help="Write a report, one HTML page, to this file.")]
Points = Annotated[str | None, typer.Option(help="Points of the summaries measured for the curves: 500,1000,2000.")]
Repeats = Annotated[int, typer.Option(help="Runs of each point of the curves.")]
Curves = Annotated[o.Path | None, typer.Option(help="File with measurements of curves, to add to.")]


def tradeoff(
    source: Source,
    model: For = "kmeans",
    risk: Risk = "1.05x",
    output: o.Output = None,
    save: o.Save = None,
    report: Report = None,
    curves: Curves = None,
    n_points: Points = None,
    repeats: Repeats = 3,
    csv: o.Csv = False,
    table: o.Table = False,
    force: o.Force = False,
    **given: Any,
) -> None:
    """Find how many rows of SOURCE, how much memory and how much time it takes to reach a risk.

    Each round learns more rows from the beginning of the source, until the risk on held-out rows is low enough; so the
    rows should be well mixed. Prints the cost of each round. The best risk, for --risk 1.05x, is that of the best of up
    to 20 runs here on a large summary; better ones may exist. With --report or --curves, the cost of other risks is
    measured too, on up to 200,000 rows.
    """
    reading = Preparing.take_from(given)
    tram = make_tram(model, risk, given)
    tried = None if n_points is None else _numbers(n_points)
    files = {"output": output, "save": save, "report": report, "other": curves}
    check_writing(source, tram.estimator, **files, force=force, csv=csv, table=table)
    check_curves(repeats, curves)
    rows, encoder = reading.prepared_rows(source, tram.estimator)
    with Progress() as progress, naming_source(rows, tram):
        tram.fit(rows, on_round=lambda tram: progress.tell(*_facts(tram.path_[-1])))
    with writer(output, csv=csv, table=table) as write:
        write({name: [getattr(made, name) for made in tram.path_] for name in Round._fields})
    if encoder is not None:
        say(encoder.summary_)
    say(tram.summary())
    if save is not None:
        (tram.solution_ if encoder is None else StreamPipeline.of(encoder, tram.solution_)).save(save)
    if report is None and curves is None:
        return
    found = measure(tram, rows, tried or _around(tram.path_[-1].n_points), repeats, curves)
    if report is not None:
        from modicum.plot.report import write_tradeoff_report

        write_tradeoff_report(report, tram, found, command=command_line(), source=rows.description)
        say(f"report in {report}")


def check_curves(repeats: int, path: o.Path | None) -> None:
    """Before the search: can curves be measured so, and added to that file?"""
    if repeats < 1:
        raise ValueError(f"--repeats takes a number from 1; got {repeats}.")
    if path is not None and path.exists():
        Tradeoff.read(path)


def make_tram(model: str, risk: str, texts: dict[str, str | None]) -> Tram:
    """The search from option texts."""
    own = {name: parameter(Tram, name, text) for name, text in texts.items() if name in OF_TRAM and text is not None}
    return Tram(
        MODELS.make(model, {name: text for name, text in texts.items() if name not in OF_TRAM}),
        parameter(Tram, "risk", risk),
        **own,
    )


def measure(tram: Tram, rows: Stream, n_points: list[int], repeats: int, path: o.Path | None) -> Tradeoff:
    """The curves, on the first rows."""
    with Progress() as progress:
        return try_all(
            first_rows(rows),
            n_points,
            estimator=tram.estimator,
            repeats=repeats,
            validation_fraction=tram.validation_fraction,
            path=path,
            on_cell=lambda done, cells: progress.tell(f"curves: {done} of {cells}", completed=done, total=cells),
            random_state=tram.random_state,
        )


def first_rows(rows: Stream) -> np.ndarray:
    """As many rows as curves are measured on."""
    chunks: list[np.ndarray] = []
    count = 0
    for chunk in rows:
        chunks.append(chunk.X)
        count += len(chunk.X)
        if count >= CURVE_ROWS or sum(X.nbytes for X in chunks) >= CURVE_BYTES:
            break
    return np.concatenate(chunks)[:CURVE_ROWS]


def _facts(made: Round) -> list[str]:
    return [
        f"{made.n_rows:,} rows",
        f"{made.n_points:,} points",
        f"risk {made.risk:.4g}",
        f"{format_bytes(made.nbytes)} held",
        "searching",
    ]


def _numbers(text: str) -> list[int]:
    numbers = text.split(",")
    if not all(number.strip().isdecimal() and int(number) > 0 for number in numbers):
        raise ValueError(f"--n-points takes numbers of points such as 500,1000,2000; got {text!r}.")
    return [int(number) for number in numbers]


def _around(n_points: int) -> list[int]:
    return [max(1, round(factor * n_points)) for factor in AROUND]


_of_search = [made for made in o.constructor_options(Tram, short="") if made.name not in NOT_OPTIONS]
_of_model = [made for made in MODELS.options() if made.name not in {*NOT_OPTIONS, *OF_TRAM}]
command = o.with_options(tradeoff, [*_of_model, *_of_search, *Preparing.options(without=("target", "passes", "image"))])
