"""`modicum predict STATE SOURCE`: predictions of a saved learner for every row of a source."""

from typing import Annotated, Any

import typer
from sklearn.base import is_classifier

from modicum.cli import options as o
from modicum.cli.output import writer
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.sources import ChunkSize, Columns, Source, naming_source
from modicum.contract.loading import load
from modicum.exceptions import DataError
from modicum.streams import stream

StatePath = Annotated[o.Path, typer.Argument(help="A state file that fit, select or merge wrote.", show_default=False)]


def command(
    state: StatePath,
    source: Source,
    output: o.Output = None,
    columns: Columns = None,
    chunk_size: ChunkSize = None,
    csv: o.Csv = False,
    table: o.Table = False,
) -> None:
    """Predict for every row of SOURCE with a saved learner.

    Exemplars: the cluster, the position of its exemplar and the dissimilarity to it. Selectors: the most similar
    prototype, its position and the similarity. Regressors: the prediction, and its standard deviation where the model
    has one. Classifiers: the class and its probability. Mixtures of unknown size: the component, its name, the
    log-density of the row, and the probability that it is from a new component.
    """
    learner = load(state)
    _check_array(output, learner)
    rows = stream(source, columns=columns or learner.column_names_, chunk_size=chunk_size)
    with writer(output, csv=csv, table=table) as write, Progress(rows) as progress, naming_source(rows, learner):
        for chunk in rows:
            write({"row": chunk.row_ids, **learner.table(chunk.X)})
            progress.show(learner, rows.position)
    if output:
        say(f"{rows.position:,} rows predicted; see {output}")


def _check_array(output: o.Path | None, learner: Any) -> None:
    """An array holds numbers: the names of classes would be left out."""
    wants_array = output is not None and output.suffix.lower() == ".npy"
    if wants_array and is_classifier(learner) and learner.classes_.dtype.kind not in "biuf":
        raise DataError(f"can't write {output}: classes have names, an array only numbers. Take .csv or .parquet.")
