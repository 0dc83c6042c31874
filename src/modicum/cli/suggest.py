"""`modicum suggest-c SOURCE --target LABEL`: a good C for a stream, from one pass over it."""

from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.output import writer
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.run import check_target
from modicum.cli.sources import reading
from modicum.streams import stream
from modicum.svm.stream_svc import StreamSVC
from modicum.svm.suggest import GRID, suggest_C

USUAL_GRID = ",".join(f"{C:g}" for C in GRID)
Grid = Annotated[str, typer.Option(help="Numbers to try, such as 0.1,1,10.")]


def suggest(
    source: o.Source,
    grid: Grid = USUAL_GRID,
    columns: o.Columns = None,
    target: o.Target = None,
    weight: o.Weight = None,
    chunk_size: o.ChunkSize = None,
    shuffle_buffer: o.ShuffleBuffer = 0,
    csv: o.Csv = False,
    table: o.Table = False,
    **params: Any,
) -> None:
    """Find a good C for StreamSVC in one pass over SOURCE.

    Prints, for each C, the part of the rows that were classified rightly before they were learned. All options of
    `modicum fit svc` may be given, so that C is that of the model you want.
    """
    model = o.make_learner(StreamSVC, {"C": grid, **params})
    model._check_params()
    seed = 0 if model.random_state is None else model.random_state
    rows = stream(
        source,
        columns=columns,
        target=target,
        weight=weight,
        chunk_size=chunk_size,
        shuffle_buffer=shuffle_buffer,
        random_state=seed,
    )
    check_target(model, rows, target)
    given = model.get_params(deep=False)
    costs = np.atleast_1d(given.pop("C")).tolist()
    with Progress(rows) as progress, reading(rows, model):
        found = suggest_C(rows, costs, on_chunk=lambda model: progress.show(model, rows.position), **given)
    with writer(None, csv=csv, table=table) as write:
        write({"C": list(found.accuracy), "accuracy": list(found.accuracy.values())})
    say(f"C = {found.C:g} is best: {found.accuracy[found.C]:.2%} of {rows.position:,} rows")


command = o.with_options(suggest, [made for made in o.constructor_options(StreamSVC) if made.name != "C"])
