"""`modicum similar STATE QUERY`: documents most similar to others, by a saved topic model."""

from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.output import writer
from modicum.cli.predict import StatePath, open_rows
from modicum.cli.preparing import Document, grouping, groups_rows
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source, is_stdin, naming_source
from modicum.cli.topics import descriptions, is_text
from modicum.contract.loading import load
from modicum.exceptions import DataError
from modicum.pipeline import Pixels, StreamPipeline
from modicum.rows import n_rows
from modicum.streams import Stream

Among = Annotated[
    list[str] | None,
    typer.Option(help="Files, folders or URLs of the documents to choose from. Default: those that the state holds."),
]
HowMany = Annotated[int, typer.Option("-k", "--n-similar", help="Similar documents for each one.", min=1)]


def command(
    state: StatePath,
    source: Source,
    among: Among = None,
    n_similar: HowMany = 5,
    document: Document = None,
    output: o.Output = None,
    csv: o.Csv = False,
    table: o.Table = False,
) -> None:
    """Find the documents that are most similar to those of SOURCE, by a saved topic model of texts or pictures.

    A text file of SOURCE is one document, and a line of standard input.

    The column row is the position in SOURCE, document the position of the similar document, and score the
    log-likelihood per word or pixel if it came from that document: a lower bound of it, the highest first.
    """
    check_writing([*source, *(among or ())], output=output, csv=csv, table=table)
    learner = load(state)
    _check(learner, state)
    is_file = document is None and not is_stdin(source) and is_text(source)
    queries = _open(learner, source, "file" if is_file else document)
    others = None if among is None else _open(learner, among, document)
    with writer(output, csv=csv, table=table) as write, naming_source(queries, learner, learned=False):
        for chunk in queries:
            ids, scores = _best(learner, learner.preparation_.transform(chunk.X), n_similar, others)
            columns = {"row": np.repeat(chunk.row_ids, ids.shape[1]), "document": ids.ravel(), "score": scores.ravel()}
            write(columns | _described(learner, others, ids.ravel(), document))


def _check(learner: Any, state: o.Path) -> None:
    """Only documents that are rows can be compared."""
    is_prepared = isinstance(learner, StreamPipeline) and groups_rows(learner)
    if not is_prepared or not (learner.learner_._counts_words or isinstance(learner.preparation_, Pixels)):
        raise DataError(f"{state}: similar documents are found by topic models of texts or pictures; it is none.")


def _open(learner: Any, source: list[str], document: str | None) -> Stream:
    how = {} if learner.learner_._counts_words else grouping(None, source, None)
    return open_rows(learner, source, document, how)


def _best(learner: Any, Z: Any, k: int, others: Stream | None) -> tuple[np.ndarray, np.ndarray]:
    """Ids and scores of the best documents for each one of Z, the best first; others are read chunk by chunk."""
    model = learner.learner_
    if others is None:
        return model.retrieve(Z, k)
    ids, scores = np.empty((n_rows(Z), 0), np.int64), np.empty((n_rows(Z), 0))
    for chunk in others:
        index = model.index(learner.preparation_.transform(chunk.X), row_ids=chunk.row_ids)
        found = model.retrieve(Z, k, index=index)
        ids, scores = np.hstack([ids, found[0]]), np.hstack([scores, found[1]])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        ids, scores = np.take_along_axis(ids, best, axis=1), np.take_along_axis(scores, best, axis=1)
    return ids, scores


def _described(learner: Any, others: Stream | None, ids: np.ndarray, document: str | None) -> dict[str, Any]:
    """The texts or paths of documents, where they can be read again."""
    if others is None or not others.rereadable:
        return {}
    name = "path" if isinstance(learner.preparation_, Pixels) else "text"
    return {name: list(descriptions(learner.preparation_, others.take(ids), document))}
