"""`modicum suggest-c SOURCE --target LABEL`: a good C for a stream, from one pass over it."""

from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.output import writer
from modicum.cli.preparing import Preparing
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.run import check_target
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source, naming_source
from modicum.svm import StreamSVC
from modicum.svm.suggest import GRID, suggest_C

USUAL_GRID = ",".join(f"{C:g}" for C in GRID)
Grid = Annotated[str, typer.Option(help="Numbers to try, such as 0.1,1,10.")]


def suggest(
    source: Source,
    grid: Grid = USUAL_GRID,
    csv: o.Csv = False,
    table: o.Table = False,
    **given: Any,
) -> None:
    """Find a good C for a classifier in one pass over SOURCE.

    Prints, for each C, the share of the rows that were classified correctly before they were learned. All options of
    modicum fit svc may be given, so that C is that of the model you want.
    """
    check_writing(source, csv=csv, table=table)
    own = o.own_values(StreamSVC, given, Preparing)
    reading = Preparing.take_from(given)
    given |= own
    model = o.make_learner(StreamSVC, {"C": grid, **given})
    model._check_params()
    rows, encoder = reading.prepared_rows(source, model)
    check_target(model, rows, reading.target)
    params = model.get_params(deep=False)
    costs = np.atleast_1d(params.pop("C")).tolist()
    with Progress(rows) as progress, naming_source(rows, model):
        found = suggest_C(rows, costs, on_chunk=lambda model: progress.show(model, rows.position), **params)
    with writer(None, csv=csv, table=table) as write:
        write({"C": list(found.accuracy), "accuracy": list(found.accuracy.values())})
    if encoder is not None:
        say(encoder.summary_)
    say(f"C = {found.C:g} is best: {found.accuracy[found.C]:.2%} of {rows.position:,} rows")


_of_model = [made for made in o.constructor_options(StreamSVC) if made.name != "C"]
command = o.with_options(suggest, [*_of_model, *Preparing.options(without=("passes", "image", "prepare_like"))])
