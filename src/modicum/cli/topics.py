"""Topic models on the command line: what the documents of a source are, and which family of topics suits them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modicum.cli.preparing import Preparing, names_in
from modicum.cli.printing import say
from modicum.cli.sources import Sources, as_paths, is_pictures, is_stdin, is_table
from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.pipeline import Pixels, StreamPipeline, WordCounts
from modicum.pipeline.columns.cells import has_text
from modicum.pipeline.images import DESCRIPTORS
from modicum.pipeline.kinds import suggest
from modicum.plot.formatting import label
from modicum.streams import Stream
from modicum.streams.readers.base import join
from modicum.streams.readers.files import find_files_so_far
from modicum.streams.readers.formats import DOCUMENTS, TEXT

SAMPLED = 1_000  # rows that tell whether a table has texts
LONGEST = 1 << 20  # rows of a document that is predicted whole
NEAREST = 3  # documents shown for each topic
MOST_LETTERS = 100  # of a document in the report


def with_family(learner: Learner, preparing: Preparing, source: Sources, *, is_told: bool) -> Learner:
    """The learner with the family of topics that suits a source, unless it is told; says what was assumed."""
    if not is_told:
        learner.set_params(family=_family(preparing, source))
    counts_words = learner._counts_words
    if is_pictures(source):
        if counts_words:
            raise DataError("--family multinomial is for words, but of pictures the pixels are learned. Leave it out.")
        if preparing.features != DESCRIPTORS:
            raise DataError("--features is not for topics of pictures, whose items are pixels.")
        say("every picture is a document, and its pixels are the items")
    elif not counts_words and preparing.document is None:
        say("every row is a document of its own; for documents of several rows, take --document COLUMN")
    return learner


def _family(preparing: Preparing, source: Sources) -> str:
    """The family that suits a source."""
    if is_pictures(source):
        return "gaussian"
    if is_stdin(source) or is_text(source):
        return "multinomial"
    if is_table(source):
        return _family_of_table(preparing, source)
    if _is_sparse(source):
        say("every row is a document of counts of words")
        return "multinomial"
    if preparing.document is not None:
        return "gaussian"
    raise DataError(
        f"{' '.join(as_paths(source).sources)}: take --family multinomial if rows are counts of words; if "
        "they are items of documents, name the column of their documents, such as --document 0."
    )


def is_text(source: Sources) -> bool:
    """Whether a source is plain text, or a folder of files without a known ending."""
    found = find_files_so_far(as_paths(source))
    return found is None or found.format in (TEXT, DOCUMENTS)


def _is_sparse(source: Sources) -> bool:
    found = find_files_so_far(as_paths(source))
    return found is not None and found.format.name == "svmlight"


def _family_of_table(preparing: Preparing, source: Sources) -> str:
    """Words if there are texts to learn from, otherwise numbers, whose documents must be told."""
    rows = preparing.open(source, None, **preparing.raw_options(source) | {"chunk_size": SAMPLED})
    first = next((chunk.X for chunk in rows), None)
    if first is None:
        return "multinomial"  # without any row, the error is that of the source
    there = rows.table_columns or []
    names = [name for name in names_in(preparing.columns) or there if name in there and name != preparing.document]
    kinds = {name: suggest(name, first.column(name), first.schema.field(name).metadata).kind for name in names}
    has_words = "text" in kinds.values()
    if has_words or (preparing.document is None and names and all(has_text(first.column(name)) for name in names)):
        return "multinomial"
    if preparing.document is not None:
        return "gaussian"
    raise DataError(
        f"{rows.name}: no column is text. If rows are items of documents, name the column of their documents with "
        "--document; if they are counts of words, take --family multinomial."
    )


# ---- answers -----------------------------------------------------------------------------------------


def whole_documents(rows: Stream) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows and targets of a stream in pieces that end where a document ends: consecutive rows with the same target."""
    X: Any = None
    y: Any = None
    for chunk in rows:
        X, y = (chunk.X, chunk.y) if X is None else (join([X, chunk.X]), np.concatenate([y, chunk.y]))
        changes = np.flatnonzero(y[1:] != y[:-1])
        end = int(changes[-1]) + 1 if len(changes) else 0
        if end:
            yield X[:end], y[:end]
            X, y = X[end:], y[end:]
        if len(y) > LONGEST:
            raise DataError(f"{rows.name}: document {y[0]} has more than {LONGEST:,} rows.")
    if X is not None:
        yield X, y


# ---- documents in the report -------------------------------------------------------------------------


def shown_documents(learner: Any, rows: Stream, document: str | None) -> dict[int, str]:
    """Texts, paths or names of the documents that are nearest to topics, by their ids, read again from the source."""
    if not isinstance(learner, StreamPipeline) or not rows.rereadable or rows.live:
        return {}
    ids = np.unique(learner.learner_.nearest_documents(NEAREST)[0])
    ids = ids[ids >= rows.first_row]  # others are of earlier sources
    described = descriptions(learner.preparation_, rows.take(ids), document) if len(ids) else ()
    return dict(zip(ids.tolist(), described, strict=False))


def descriptions(preparation: Any, found: Any, document: str | None) -> Sequence[str]:
    """What is shown of documents; nothing for rows of numbers that have no name."""
    if isinstance(preparation, Pixels):
        return preparation.paths(found)
    if not isinstance(preparation, WordCounts) or not preparation._texts:
        return [str(value) for value in found[document].to_pylist()] if document else ()
    texts = [label(text or "", MOST_LETTERS) for text in preparation._texts_of(found)]
    if "path" not in found.column_names:
        return texts
    return [f"{Path(path).name}: {text}" for path, text in zip(found["path"].to_pylist(), texts, strict=True)]
