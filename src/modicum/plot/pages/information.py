"""The page of information maximisation: clusters, their typical rows, uncertain rows, and how the number was found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from modicum.cluster.information.words import doubt, how_chosen, known_labels
from modicum.contract.picks import Picks
from modicum.plot.curves import clusters_over_stream
from modicum.plot.formatting import count, measure, percent, plural
from modicum.plot.gallery import MOST_ROWS, Exhibit, gallery, picture_gallery, row_columns
from modicum.plot.information import regularization_path
from modicum.plot.page import Block, Cards, Column, Context, Figure, Section, Table
from modicum.plot.pages.shared import Content, at_a_glance, cluster_size_bars, costs, figure
from modicum.rows import is_sparse, is_table, n_rows
from modicum.streams.readers.tables import FILE, ROW

MOST_TYPICAL = 10  # pictures of each cluster
FEW_TYPICAL = 3  # rows of a table, or texts
MOST_UNCERTAIN = 20


def information_clusterer(learner: Any, context: Context) -> Content:
    n = learner.n_clusters_
    facts = [("clusters", count(n)), ("information", f"{measure(max(0.0, learner.mutual_information_))} nats")]
    sections = [
        at_a_glance(learner, context, *facts),
        Section("Clusters", [*_path(learner), _sizes(learner), *_stream(learner)]),
        _typical(learner, context),
        *(_uncertain(learner, context) if n > 1 else ()),
        costs(learner, context),
    ]
    return _sentences(learner), sections


def _sentences(learner: Any) -> str:
    labels = known_labels(learner)
    told = [
        f"{plural(learner.n_clusters_, 'cluster')} found in {plural(learner.n_seen_, 'row')}.",
        f"Labels: {labels}." if labels else "",
        f"Regularization {learner.regularization_:.3g}, {how_chosen(learner)}.",
        f"Not sure: {doubt(learner)}." if doubt(learner) else "",
    ]
    return " ".join(filter(None, told))


# ---- figures -----------------------------------------------------------------------------------------


def _path(learner: Any) -> list[Figure]:
    choice = learner.choice_
    if choice is None:
        return []
    counts = choice["n_clusters"]
    alt = f"Curves: clusters go from {count(counts[0])} to {count(counts[-1])} as the regularization rises."
    caption = "Clusters by regularization."
    if "score" in choice:
        caption = (
            "Clusters by regularization, and the agreement of clusterings of two halves of the rows: stability. "
            "The score compares it with that of rows without clusters."
        )
    return [figure(regularization_path(learner), alt, caption, tall="score" in choice)]


def _sizes(learner: Any) -> Figure:
    return cluster_size_bars(learner.weights_ * learner.n_seen_)


def _stream(learner: Any) -> list[Figure]:
    clusters = learner.history_["clusters"]
    if len(clusters) < 2:
        return []  # one point is no curve
    alt = f"Curve: clusters go from {count(clusters[0])} to {count(clusters[-1])}."
    return [figure(clusters_over_stream(learner), alt, "Clusters and information, after each fit from scratch.")]


# ---- rows --------------------------------------------------------------------------------------------


def _typical(learner: Any, context: Context) -> Section:
    names, shares = _names(learner), learner.weights_
    of_each = MOST_TYPICAL if context.image or context.pictures else FEW_TYPICAL
    found = learner.typical(max(1, min(of_each, MOST_ROWS // learner.n_clusters_)))
    order = [k for k in np.argsort(-shares, kind="stable") if len(found[k])]
    sizes = [len(found[k]) for k in order]
    headings = [f"{names[k]}: {percent(shares[k])}" for k in order]
    block, left_out = _rows(learner, context, _joined([found[k] for k in order]))
    return Section(
        "Typical rows",
        _by_cluster(block, headings, sizes),
        f"The held rows nearest to the mean of each cluster, largest cluster first. {left_out}",
    )


def _by_cluster(block: Block, headings: Sequence[str], sizes: Sequence[int]) -> list[Block]:
    """Cards with a heading for each cluster, or a table with a column of clusters."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if isinstance(block, Cards):
        parts = [block.cards[start:end] for start, end in pairwise(starts)]
        return [Cards(cards, heading) for cards, heading in zip(parts, headings, strict=True) if cards]
    assert isinstance(block, Table)
    firsts = dict(zip(starts.tolist(), headings, strict=False))
    cluster = Column("cluster", [firsts.get(i, "") for i in range(block.n_rows)])
    return [replace(block, columns=[cluster, *block.columns])]


def _uncertain(learner: Any, context: Context) -> list[Section]:
    picks = learner.uncertain(MOST_UNCERTAIN)
    likeliest = np.argsort(-learner.predict_proba(picks.rows), axis=1, kind="stable")[:, :2]
    told = {
        "likeliest": [" or ".join(str(learner.classes_[k]) for k in pair) for pair in likeliest],
        "entropy": learner.conditional_entropy(picks.rows).tolist(),
    }
    block, left_out = _rows(learner, context, picks, told)
    largest = f"at most {np.log(learner.n_clusters_):.3g} for {plural(learner.n_clusters_, 'cluster')}"
    note = f"The held rows whose clusters have the largest entropy ({largest}), and the two likeliest ones. {left_out}"
    return [Section("Uncertain rows", [block], note)]


def _names(learner: Any) -> list[str]:
    """Names of clusters: those of classes, or numbers."""
    is_numbered = learner.classes_.dtype.kind in "iu"
    return [f"cluster {name}" if is_numbered else str(name) for name in learner.classes_]


def _joined(parts: Sequence[Picks]) -> Picks:
    """Several picks as one."""
    from scipy import sparse

    rows, ids = [part.rows for part in parts], np.concatenate([part.ids for part in parts])
    if isinstance(rows[0], list):
        return Picks(parts[0].kind, [row for some in rows for row in some], ids)
    return Picks(parts[0].kind, sparse.vstack(rows, "csr") if is_sparse(rows[0]) else np.concatenate(rows), ids)


def _rows(
    learner: Any, context: Context, picks: Picks, told: Mapping[str, Sequence[Any]] | None = None
) -> tuple[Block, str]:
    """Held rows as pictures, texts or a table, with what is `told` of each; and a note of what is left out."""
    told, pipeline = told or {}, context.pipeline
    found = picks if pipeline is None else pipeline.originals(picks)
    columns = {**told, **_columns(learner, found)}
    if context.pictures in columns:
        return picture_gallery(columns[context.pictures], _captions(told, n_rows(picks.rows)))
    exhibit = Exhibit(picks.rows, found.ids)
    text = context.text if context.text in columns else None
    shown = dict(told) if context.image else columns
    return gallery(learner, exhibit, replace(context, picks=shown, pipeline=None, text=text))


def _captions(told: Mapping[str, Sequence[Any]], n: int) -> list[list[str]]:
    columns = [Column.of(name, values) for name, values in told.items()]
    return [[f"{one.name} {one.cells[i]}" if one.numeric else one.cells[i] for one in columns] for i in range(n)]


def _columns(learner: Any, picks: Picks) -> dict[str, Any]:
    """The columns of rows, those of a source without their places."""
    if is_table(picks.rows):
        return {name: picks.rows[name].to_pylist() for name in picks.rows.column_names if name not in (FILE, ROW)}
    return row_columns(picks.rows, [str(name) for name in learner.column_names_ or ()])
