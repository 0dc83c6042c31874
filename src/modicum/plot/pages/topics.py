"""The page of topic models: topics, the documents nearest to them, and the stream."""

from typing import Any

import numpy as np

from modicum.pipeline import Pixels
from modicum.pipeline.pixels import srgb
from modicum.plot.classifiers import column_names
from modicum.plot.curves import history_over_stream
from modicum.plot.formatting import clipped, count, measure, percent, plural
from modicum.plot.images import THUMBNAIL, data_uri
from modicum.plot.page import Block, Card, Cards, Column, Context, Figure, Section, Table
from modicum.plot.pages.shared import Content, at_a_glance, costs, figure
from modicum.plot.segments import segment_images
from modicum.plot.topics import topics_over_stream

MOST_TOPICS = 40
MOST_COLUMNS = 12  # of the mean of a topic
MOST_DOCUMENTS = 15  # topics whose documents are listed
NEAREST = 3  # documents of each topic
MOST_PICTURES = 8


def memory_bounded_topic_model(learner: Any, context: Context) -> Content:
    n, facts = learner.n_topics_, [("documents", count(learner.n_documents_)), ("topics", count(learner.n_topics_))]
    order = np.argsort(-learner.weights_, kind="stable")[:MOST_TOPICS]
    more = f" {plural(n - len(order), 'smaller topic')} not shown." if n > len(order) else ""
    sections = [
        at_a_glance(learner, context, *facts, *_measure(learner)),
        Section("Topics", [_topics(learner, context, order)], f"Largest topic first, by its share of all items.{more}"),
        *_documents(learner, context, order[:MOST_DOCUMENTS]),
        *_over_stream(learner),
        costs(learner, context),
    ]
    found = f"{plural(n, 'topic')} found in {plural(learner.n_documents_, 'document')}"
    return f"{found}, of which {count(len(learner._snapshot().held[0]))} are held by themselves.", sections


def _measure(learner: Any) -> list[tuple[str, str]]:
    """How well topics explain the items."""
    if hasattr(learner, "free_energy_"):
        return [("free energy per item", measure(learner.free_energy_ / learner.n_seen_))]
    known = getattr(learner, "history_", {}).get("perplexity", ())
    return [("perplexity of new documents", measure(known[-1]))] if len(known) and np.isfinite(known[-1]) else []


def _topics(learner: Any, context: Context, order: np.ndarray) -> Block:
    shares = learner.weights_[order]
    if isinstance(_preparation(context), Pixels):
        colours = srgb(learner.components_[order, 2:])
        bars = shares / shares.max()
        return Cards(
            [
                Card([f"topic {k}", percent(share)], picture=_swatch(colour), bar=float(bar))
                for k, share, colour, bar in zip(order, shares, colours, bars, strict=True)
            ]
        )
    columns = [
        Column("topic", [str(k) for k in order], numeric=True),
        Column("share", [percent(share) for share in shares], numeric=True, bars=list(shares / shares.max())),
    ]
    if hasattr(learner, "topics_"):
        words = learner.topics_
        return Table([*columns, Column("words", [", ".join(words[k]) for k in order])])
    return Table([*columns, *(Column.of(name, values) for name, values in _means(learner, context, order).items())])


def _means(learner: Any, context: Context, order: np.ndarray) -> dict[str, list[Any]]:
    """Means of topics by column, in the units of the source where they are known."""
    means = learner.components_[order]
    encoder = None if context.pipeline is None else context.pipeline.encoder_
    found = {} if encoder is None else encoder.inverse_transform(means)
    own = found or {name: means[:, j] for j, name in enumerate(column_names(learner))}
    return {name: list(own[name]) for name in list(own)[:MOST_COLUMNS]}


def _swatch(colour: np.ndarray) -> str:
    return data_uri(np.full((THUMBNAIL // 2, THUMBNAIL, 3), colour, np.uint8))


# ---- documents ---------------------------------------------------------------------------------------


def _documents(learner: Any, context: Context, order: np.ndarray) -> list[Section]:
    """The documents nearest to topics: as pictures with their segments, or as texts."""
    ids, shares = (found[order] for found in learner.nearest_documents(NEAREST))
    if not ids.size:
        return []
    preparation, known = _preparation(context), context.documents or {}
    if isinstance(preparation, Pixels):
        return _segments(learner, preparation, [known[i] for i in dict.fromkeys(ids.ravel().tolist()) if i in known])
    columns = [
        Column("topic", [str(k) if not j else "" for k in order for j in range(ids.shape[1])], numeric=True),
        Column("share", [percent(share) for share in shares.ravel()], numeric=True, bars=list(shares.ravel())),
        Column("document", [clipped(known.get(i, f"row {count(i)}")) for i in ids.ravel().tolist()]),
    ]
    note = "Of the documents that are held, those with the largest share of each topic."
    return [Section("Documents nearest to topics", [Table(columns, compact=True)], note)]


def _segments(learner: Any, preparation: Pixels, paths: list[str]) -> list[Section]:
    """Pictures beside the topics of their pixels."""
    shown = paths[:MOST_PICTURES]
    if not shown:
        return []
    segments = learner.predict_items(preparation.transform([{preparation.column_: path} for path in shown]))
    drawing = segment_images(shown, segments, size=preparation.size)
    caption = "Pictures, and their pixels in one colour for each topic."
    alt = f"Segmentations of {plural(len(shown), 'picture')}."
    return [Section("Segments", [figure(drawing, alt, caption, wide=True)])]


def _preparation(context: Context) -> Any:
    return None if context.pipeline is None else context.pipeline.preparation_


# ---- the stream --------------------------------------------------------------------------------------


def _over_stream(learner: Any) -> list[Section]:
    history = getattr(learner, "history_", {})
    if len(history.get("n_seen", ())) < 2:
        return []  # one point is no curve
    topics = history["topics"]
    alt = f"Curve: topics go from {count(topics[0])} to {count(topics[-1])}."
    drawn: list[Figure] = [figure(topics_over_stream(learner), alt, "Topics, and the time of each round of learning.")]
    captions = {
        "perplexity": "Perplexity of new documents, before they were learned.",
        "free_energy": "Free energy.",
        "clumps": "Clumps of items that are held.",
        "groups": "Groups of documents that are held.",
    }
    for name, caption in captions.items():
        if name in history and np.isfinite(history[name]).any():
            curve = history_over_stream(learner, name, name.replace("_", " "))
            drawn.append(figure(curve, f"Curve: {name.replace('_', ' ')} over the stream.", caption))
    return [Section("Over the stream", drawn)]
