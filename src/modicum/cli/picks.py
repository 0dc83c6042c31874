"""`modicum picks STATE`: what a saved learner has picked; and such rows as columns, with all that is known of them."""

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from modicum.cli import options as o
from modicum.cli.output import free_name, writer
from modicum.cli.predict import StatePath
from modicum.cli.printing import say
from modicum.cli.safety import check_writing
from modicum.contract.learner import Learner
from modicum.contract.loading import load
from modicum.contract.picks import Picks
from modicum.distribute.shards import APART
from modicum.exceptions import DataError
from modicum.pipeline import StreamPipeline, final_learner
from modicum.rows import is_table, n_rows
from modicum.streams import Stream
from modicum.streams.readers.tables import FILE, ROW

WIDE = 10_000  # columns of sparse rows, above which only their entries are written


def command(state: StatePath, output: o.Output = None, csv: o.Csv = False, table: o.Table = False) -> None:
    """Print what a saved learner has picked: exemplars, prototypes, active rows or a sample.

    Learners that pick no rows have points, centers, components or topics, each with its weight. Rows are printed with
    the columns that were learned from, or, where the learner has kept them, with all columns of the source.
    """
    check_writing(str(state), output=output, csv=csv, table=table)
    learner = load(state)
    kind, columns = held_columns(learner, str(state))
    with writer(output, csv=csv, table=table) as write:
        write(columns)
    count = len(next(iter(columns.values()), ()))
    say(f"{count:,} {kind}{'s' * (count != 1)} of {learner.n_seen_:,} rows" + (f"; see {output}" if output else ""))


def held_columns(learner: Any, source: str) -> tuple[str, dict[str, Any]]:
    """What a learner holds that can be looked at, as columns, and what one row of them is called."""
    if not learner._is_fitted():
        raise DataError(f"{source}: the {type(learner).__name__} has not seen any rows yet.")
    picks = learner.picks()
    if picks is not None:
        rows = with_places(picks) if is_table(picks.rows) else named_columns(picks.rows, learner.column_names_)
        return picks.kind, listed(picks, rows)
    for kind, points, facts in _summaries(final_learner(learner)):
        columns = {} if points is None else in_own_units(points, learner, final_learner(learner).column_names_)
        return kind, {free_name(name, columns): column for name, column in facts.items()} | columns
    raise DataError(f"{source}: a {type(final_learner(learner)).__name__} holds no rows, points or centers.")


def in_own_units(points: Any, learner: Any, names: list[str] | None) -> dict[str, Any]:
    """Points of a learner by name of column; those of a pipeline in the units of the source, where that is possible."""
    encoder = learner.encoder_ if isinstance(learner, StreamPipeline) else None
    if encoder is None:
        return named_columns(points, names)
    return encoder.inverse_transform(points) or named_columns(points, None)


def _summaries(learner: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(kind, rows, facts about each) that a learner without picks can show, the most useful first."""
    if hasattr(learner, "cluster_centers_"):
        sizes = learner.cluster_sizes_
        yield "center", learner.cluster_centers_, {"center": np.arange(len(sizes)), "stands_for": np.round(sizes, 1)}
    if hasattr(learner, "means_"):
        names = getattr(learner, "component_names_", None)
        number = {"component": np.arange(len(learner.weights_))}
        yield (
            "component",
            learner.means_,
            number | ({} if names is None else {"name": names}) | {"weight": learner.weights_},
        )
    if hasattr(learner, "predict_items"):
        order = np.argsort(-learner.weights_, kind="stable")
        facts = {"topic": order, "weight": learner.weights_[order]}
        words = getattr(learner, "topics_", None)
        if words is not None:
            yield "topic", None, facts | {"words": [", ".join(words[k]) for k in order]}
        yield "topic", learner.components_[order], facts
    if hasattr(learner, "as_sample"):
        points, weights = learner.as_sample()
        yield "point", points, {"weight": weights}


def check_report(learner: Any, rows: Stream, image: str | None, text: str | None) -> None:
    """Before a long run: can the report show these pictures or texts?"""
    shape = parse_shape(image)
    if shape is not None and rows.width is not None and math.prod(shape) != rows.width:
        raise DataError(f"--image {image} takes {math.prod(shape):,} columns; {rows.name} has {rows.width:,}.")
    if text is None:
        return
    if not chooses_rows(learner):
        raise DataError(
            f"--text {text}: {type(final_learner(learner)).__name__} chooses no rows whose texts could be shown."
        )
    if not rows.rereadable and not learner.traits.tables:
        raise DataError(f"--text {text}: {rows.name} can be read only once. Write it to a file first.")
    if text not in (rows.table_columns or ()):
        there = ", ".join(rows.table_columns or ()) or "no names of columns"
        raise DataError(f"--text {text}: no such column in {rows.name}. There are: {there}.")


def chooses_rows(learner: Learner) -> bool:
    """Whether a learner, fitted or not, has rows to show."""
    last = learner.steps[-1][1] if isinstance(learner, StreamPipeline) else learner
    return type(last).picks is not Learner.picks


def picked_rows(picks: Picks, stream: Stream) -> dict[str, Any]:
    """All original columns of the picks, read again from the source; from a pipe, what was learned from."""
    if is_table(picks.rows):
        return with_places(picks)
    learned = by_column(picks.rows, stream)
    if not stream.rereadable or stream.table_columns is None:
        return learned
    taken = stream.take(np.maximum(picks.ids, 0))
    columns = {name: taken[name] for name in taken.column_names}
    return columns if (picks.ids >= 0).all() else _with_given(columns, learned, picks.ids < 0)


def with_places(picks: Picks) -> dict[str, Any]:
    """All columns of original rows; file and row of each only where they say more than its position."""
    columns = {name: picks.rows[name] for name in picks.rows.column_names}
    files, rows = columns.pop(FILE, None), columns.pop(ROW, None)
    if files is None or rows is None:
        return columns
    known = picks.ids >= 0
    told = rows.to_numpy()[known] != picks.ids[known] + 1
    if len(set(files.to_pylist()) - {None}) <= 1 and not told.any():
        return columns
    return {free_name("file", columns): files, free_name("row", columns): rows} | columns


def _with_given(picks: dict[str, Any], learned: dict[str, Any], given: np.ndarray) -> dict[str, Any]:
    """The picks with rows that are not of the source, of which only the columns learned from are known."""
    unknown = [None] * len(given)
    return {
        name: [own[i] if given[i] else cell for i, cell in enumerate(column.to_pylist())]
        for name, column in picks.items()
        for own in [np.asarray(learned.get(name, unknown)).tolist()]
    }


def listed(picks: Picks, rows: Any, *, only_new: bool = False) -> dict[str, Any]:
    """Picks as columns to print: facts about each, and the columns of its row; those that stand for most rows first.

    `rows` are columns by name, or a pyarrow Table. `only_new` leaves out rows that were given rather than picked.
    """
    columns = {name: rows[name] for name in rows.column_names} if hasattr(rows, "column_names") else dict(rows)
    facts = {"position": picks.ids, picks.kind: np.arange(len(picks))}  # as numbered by `predict` and `transform`
    if "file" in columns and (picks.ids >= 1 << APART).any():
        del facts["position"]  # rows of files were numbered apart, on a cluster: file and row tell more
    order = np.arange(len(picks))
    if picks.weights is not None:
        facts["stands_for"] = np.round(picks.weights, 1)
        order = np.argsort(-picks.weights, kind="stable")
    if only_new:
        order = order[picks.ids[order] >= 0]
    told = {free_name(name, columns): column for name, column in facts.items()}
    return {name: _reorder(column, order) for name, column in {**told, **columns}.items()}


def _reorder(column: Any, order: np.ndarray) -> Any:
    return column.take(order) if hasattr(column, "to_pylist") else np.asarray(column)[order]


def by_column(rows: Any, stream: Stream) -> dict[str, Any]:
    """Rows such as were learned from, by the source's names of columns."""
    return named_columns(rows, stream.columns)


def named_columns(rows: Any, names: list[str] | None) -> dict[str, Any]:
    """Rows such as were learned from, by names of columns; x0, x1, ... if there are none."""
    if hasattr(rows, "toarray"):
        if rows.shape[1] > WIDE:
            return {"entries": [_entries(rows[i]) for i in range(rows.shape[0])]}
        rows = rows.toarray()
    if isinstance(rows, list):
        return {"row": rows}
    rows = np.asarray(rows)
    rows = rows if rows.ndim == 2 else rows.reshape(len(rows), -1)
    names = names or [f"x{i}" for i in range(rows.shape[1])]
    return {name: rows[:, i] for i, name in enumerate(names)}


def _entries(row: Any) -> str:
    """A sparse row as svmlight files have it, columns counted from 0."""
    return " ".join(f"{j}:{value:g}" for j, value in zip(row.indices, row.data, strict=True))


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """(28, 28) from "28x28"."""
    if text is None:
        return None
    if not re.fullmatch(r"\d+x\d+(x3)?", text):
        raise ValueError(f"--image takes a shape such as 28x28 or 32x32x3; got {text!r}.")
    return tuple(int(side) for side in text.split("x"))


def estimated(learner: Any) -> str:
    """How the loss of an exemplar clustering is known, in brackets; empty if from all rows."""
    return "" if learner.is_exact_ else f" (estimated from {n_rows(learner.held_out_rows_):,} held-out rows)"
