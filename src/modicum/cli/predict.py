"""`modicum predict STATE SOURCE`: predictions of a saved learner for every row of a source."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.output import free_name, writer
from modicum.cli.preparing import Document, Features, grouping, groups_rows, open_documents
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cli.safety import check_writing
from modicum.cli.segments import Painter
from modicum.cli.sources import ChunkSize, Columns, Source, TextReading, as_paths, is_pictures, naming_source
from modicum.cli.topics import whole_documents
from modicum.contract.loading import load
from modicum.exceptions import DataError
from modicum.pipeline import final_learner
from modicum.pipeline.images import DESCRIPTORS, import_features
from modicum.pipeline.tables import TEXT_COLUMN, as_written
from modicum.streams import Chunk, Stream, stream

StatePath = Annotated[o.Path, typer.Argument(help="A state file that fit, select or merge wrote.", show_default=False)]
Keep = Annotated[str | None, typer.Option(help="Columns of the source to write beside the predictions: a,b,c or all.")]

Segments = Annotated[
    o.Path | None,
    typer.Option(help="Folder for segmentations of pictures by a topic model: a colour for each topic.", metavar="DIR"),
]


def predict(
    state: StatePath,
    source: Source,
    output: o.Output = None,
    columns: Columns = None,
    keep: Keep = None,
    chunk_size: ChunkSize = None,
    features: Features = DESCRIPTORS,
    document: Document = None,
    segments: Segments = None,
    csv: o.Csv = False,
    table: o.Table = False,
    **given: Any,
) -> None:
    """Predict for every row of SOURCE with a saved learner.

    The column prediction is the cluster, class, value, component or most similar prototype. Beside it, exemplars have
    the position of the exemplar and the dissimilarity to it; prototypes their position and the similarity; regressors
    the standard deviation, where the model has one; classifiers the probability; RIM the probability and the entropy of
    the row's clusters; mixtures of unknown size the name of the component, the log-density of the row and the
    probability that it is from a new component; topic models the share of the topic and its words.
    """
    check_writing(source, output=output, csv=csv, table=table)
    learner = load(state)
    _check_array(output, learner)
    import_features(features)
    reading = TextReading.take_from(given).text_options() | {"chunk_size": chunk_size}
    groups = groups_rows(learner) and not final_learner(learner)._counts_words
    if groups:
        reading |= grouping(document, source, chunk_size)
    if learner.traits.tables:
        if columns is not None:
            raise ValueError("--columns: the state has the columns that were learned from, and finds them by name.")
        rows = open_rows(learner, source, document, reading)
    else:
        rows = stream(as_paths(source), columns=columns or learner.column_names_, **reading)
    if groups and document is not None:
        _predict_documents(learner, rows, keep, writer(output, csv=csv, table=table))
        return
    if groups and not is_pictures(source):
        say("every row is a document of its own; for documents of several rows, take --document COLUMN")
    painter = None if segments is None else Painter(learner, segments)
    kept = kept_columns(keep, rows)
    reads = naming_source(rows, learner, learned=False)
    with writer(output, csv=csv, table=table) as write, Progress(rows) as progress, reads:
        for chunk, carried in with_kept(rows, source, kept, reading):
            made = {"row": chunk.row_ids, **learner.table(chunk.X)}
            write({free_name(name, carried): column for name, column in made.items()} | carried)
            if painter is not None:
                painter.paint(chunk.X)
            progress.show(learner, rows.position)
    if output:
        say(f"{rows.position:,} rows predicted; see {output}")
    if painter is not None:
        say(f"{painter.count:,} segmentations in {segments}")


def _predict_documents(learner: Any, rows: Stream, keep: str | None, writing: Any) -> None:
    """Predict for documents of several rows, one after another."""
    if keep is not None:
        raise ValueError("--keep: predictions are for documents of several rows. Leave it out.")
    with writing as write, naming_source(rows, learner, learned=False):
        for X, y in whole_documents(rows):
            names = y[np.append(True, y[1:] != y[:-1])]
            write({"document": names} | learner.table(X, y))


def open_rows(learner: Any, source: list[str], document: str | None, reading: dict[str, Any]) -> Stream:
    """Rows of a table as a pipeline takes them, or documents if words were counted."""

    def opened(**how: Any) -> Stream:
        return stream(as_paths(source), raw=True, **reading, **how)

    if not final_learner(learner)._counts_words:
        return opened()
    is_plain = getattr(learner.preparation_, "_texts", [TEXT_COLUMN]) == [TEXT_COLUMN]
    return open_documents(document, source, opened, is_plain=is_plain)


def kept_columns(text: str | None, rows: Stream) -> list[str]:
    """The columns that --keep names."""
    if text is None:
        return []
    there = rows.table_columns
    if there is None:
        raise DataError(f"--keep {text}: {rows.name} has no names of columns.")
    if not rows.rereadable and not rows.is_raw:
        raise DataError(f"--keep {text}: {rows.name} can be read only once. Write it to a file first.")
    names = there if text == "all" and "all" not in there else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in there:
            raise DataError(f"--keep {name}: no such column in {rows.name}. There are: {', '.join(there)}.")
    return list(dict.fromkeys(names))


def with_kept(
    rows: Stream, source: list[str], names: list[str], reading: dict[str, Any]
) -> Iterator[tuple[Chunk, dict[str, Any]]]:
    """The chunks of a stream, each with the named columns of its rows, of any type."""
    if not names or rows.is_raw:
        for chunk in rows:
            kept = as_written(chunk.X.select(names)) if names else {}
            yield chunk, {name: kept[name] for name in names}
        return
    again = stream(as_paths(source), raw=True, **reading | {"chunk_size": rows.chunk_size})
    for chunk, raw in zip(rows, again, strict=True):
        yield chunk, {name: raw.X[name] for name in names}


def _check_array(output: o.Path | None, learner: Any) -> None:
    """An array holds numbers: the names of classes would be left out."""
    wants_array = output is not None and output.suffix.lower() == ".npy"
    classes = getattr(final_learner(learner), "classes_", np.empty(0))
    if wants_array and classes.dtype.kind not in "biuf":
        raise DataError(f"can't write {output}: classes have names, an array only numbers. Take .csv or .parquet.")


command = o.with_options(predict, TextReading.options())
