"""`modicum certify STATE SOURCE`: how much better than the picks of a saved learner any other rows could be."""

import json
from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.predict import StatePath, open_rows
from modicum.cli.preparing import Features
from modicum.cli.printing import printable
from modicum.cli.show import as_plain
from modicum.cli.sources import ChunkSize, Columns, Source, TextReading, as_paths
from modicum.contract.loading import load
from modicum.exceptions import DataError
from modicum.pipeline import final_learner
from modicum.pipeline.images import DESCRIPTORS, import_features
from modicum.select.certificates import Certificate
from modicum.streams import Stream, stream

NUMBERS = ("value", "optimum_at_most", "share", "n_chosen", "n_rows", "gains", "epsilon", "confidence", "conditions")


def certify(
    state: StatePath,
    source: Source,
    confidence: Annotated[float, typer.Option(help="Of the validation sample, where there is one.")] = 0.95,
    columns: Columns = None,
    chunk_size: ChunkSize = None,
    features: Features = DESCRIPTORS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    **given: Any,
) -> None:
    """Bound how much better than the picks of a saved learner any other rows of SOURCE are.

    Reads SOURCE, from which the picks were chosen, once more. The value of the picks plus the largest gains of single
    rows is more than any set of as many rows can reach, however the picks were found. For exemplars and for selections
    by the objectives logdet and variance.
    """
    learner = load(state)
    if not hasattr(final_learner(learner), "certify"):
        raise DataError(f"{state}: {type(final_learner(learner)).__name__} has no value that could be certified.")
    import_features(features)
    reading = TextReading.take_from(given).text_options() | {"chunk_size": chunk_size}
    rows = _open(learner, source, columns, reading)
    found = learner.certify(rows, confidence=confidence)
    print(json.dumps(as_plain(_numbers(found)), indent=2) if as_json else printable(str(found)))


def _open(learner: Any, source: list[str], columns: str | None, reading: dict[str, Any]) -> Stream:
    if not learner.traits.tables:
        return stream(as_paths(source), columns=columns or learner.column_names_, **reading)
    if columns is not None:
        raise ValueError("--columns: the state has the columns that were learned from, and finds them by name.")
    return open_rows(learner, source, None, reading)


def _numbers(found: Certificate) -> dict[str, Any]:
    return {"text": str(found)} | {name: getattr(found, name) for name in NUMBERS}


command = o.with_options(certify, TextReading.options())
