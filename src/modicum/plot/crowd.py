"""Figures of crowd clustering: the map of items, and how workers agree, differ and confuse (gomes2011, section 7.5)."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.exceptions import DataError
from modicum.pipeline.images import load_picture
from modicum.plot.agreement import Agreement
from modicum.plot.formatting import label, short
from modicum.plot.labels import place_labels
from modicum.plot.limits import Frame, note_beyond
from modicum.plot.maps import apart, spread_colours
from modicum.plot.style import (
    FONT,
    LIGHT,
    PALETTE,
    WIDTH,
    any_script,
    empty_figure,
    format_ticks,
    name_axes,
    new_figure,
    shades,
)
from modicum.streams.readers.images import ENDINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP_SIZE = 1.1 * WIDTH, 1.6 * WIDTH  # height and width in inches
MOST_PICTURES = 150  # on a map
PICTURE_POINTS = 24.0  # the longer side of a picture on a map
PICTURE_PIXELS = 64  # of the same side, in the file
MOST_NAMES = 60  # on a map
MOST_TICKS = 40  # workers that are named beside a matrix
MOST_LETTERS = 14  # of the name of a worker
BESIDE = 4  # confusion matrices in a row
MOST_NUMBERS = 5  # clusters up to which a confusion matrix has numbers in its cells
BINS = 24  # of reliabilities
KINDS = {"usual": PALETTE[0], "random": PALETTE[3], "adversarial": PALETTE[1]}


def item_map(
    learner: Any, *, pictures: Mapping[Any, str] | None = None, directions: tuple[int, int] = (0, 1)
) -> "Figure":
    """Items on the plane of two principal directions of their embedding, coloured by cluster.

    Items that are surest of their cluster are drawn as pictures, if `pictures` has the paths of their files, or named,
    where there is room. A number stands in the middle of each cluster.
    """
    everywhere = principal_directions(learner)[0]
    positions = everywhere[:, list(directions)]
    hues = cluster_colours(learner, everywhere)
    colours = hues[learner.clusters_]
    figure, axes = new_figure(*MAP_SIZE)
    name_axes(axes, *(f"direction {k + 1}" for k in directions))
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.set(xticks=[], yticks=[])
    frame = Frame.of(positions)
    frame.apply(axes, positions)
    axes.set_aspect("equal", adjustable="datalim")  # distances count, in all directions alike
    area = float(np.clip(6_000 / len(positions), 8, 40))
    beyond = frame.scatter(axes, positions, area, colours, alpha=0.75, linewidths=0, rasterized=len(positions) > 1000)
    note_beyond(axes, beyond)
    order = surest_in_turn(learner)
    order = order[~frame.beyond(positions[order]).any(axis=1)]
    if pictures:
        _draw_pictures(axes, learner, pictures, positions, colours, order)
    _number_clusters(axes, learner, positions, hues)
    if not pictures:
        named = order[:MOST_NAMES]
        texts = map(short_name, learner.items_[named].tolist())
        place_labels(axes, positions[named], texts, fontsize=FONT - 3, color=LIGHT["ink"])
    return figure


def agreement_matrix(learner: Any, found: Agreement | None = None) -> "Figure":
    """How alike workers sort, as a heat map in which workers of one school are next to each other.

    Blue workers put the same pairs of items in one group, red ones opposite pairs; no colour: neither. Lines separate
    schools, and at the end random and adversarial workers. `found` is the agreement, if it is known already.
    """
    found = Agreement.of(learner) if found is None else found
    figure, axes = new_figure(WIDTH * 0.95)
    axes.imshow(shades(found.matrix), interpolation="nearest")
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    is_end = (np.diff(found.schools) != 0) | (found.kinds[1:] != found.kinds[:-1])
    for place in np.flatnonzero(is_end) + 0.5:
        axes.axhline(place, color=LIGHT["ink"], linewidth=0.8)
        axes.axvline(place, color=LIGHT["ink"], linewidth=0.8)
    names = [label(str(name), MOST_LETTERS) for name in found.workers.tolist()]
    if len(names) <= MOST_TICKS:
        size = min(FONT - 1.0, 230 / len(names))
        axes.set_yticks(range(len(names)), names, fontsize=size, color=LIGHT["soft"], parse_math=False)
    else:
        axes.set_yticks([])
    axes.set_xticks([])
    return figure


def reliability_bars(learner: Any) -> "Figure":
    """How many workers have which reliability, coloured by what kind of workers they are."""
    summary = learner.worker_summary()
    reliability, kind = np.asarray(summary["reliability"], np.float64), np.asarray(summary["kind"])
    figure, axes = new_figure()
    shown = [name for name in KINDS if (kind == name).any()]
    values = [reliability[kind == name] for name in shown]
    ends = min(0.0, float(reliability.min())), max(1.0, float(reliability.max()))
    edges = np.linspace(*ends, BINS + 1)
    axes.hist(values, bins=edges, stacked=True, color=[KINDS[name] for name in shown], rwidth=0.92, label=shown)
    name_axes(axes, "reliability", "workers")
    format_ticks(axes.xaxis, short)
    format_ticks(axes.yaxis, short)
    axes.yaxis.get_major_locator().set_params(integer=True)
    if len(shown) > 1:
        axes.legend(frameon=False, fontsize=FONT - 1, labelcolor=LIGHT["soft"])
    return figure


def confusion_matrices(learner: Any, workers: Sequence[Any], words: Sequence[str] | None = None) -> "Figure":
    """How probably each of some workers puts items of two clusters in one group (section 7.3.11).

    Dark cells are probable. Who tells clusters apart has a dark diagonal; other dark cells are clusters that a worker
    lumps, light ones on the diagonal clusters that are split. `words` are second lines of the titles.
    """
    n = learner.n_clusters_
    rows = math.ceil(len(workers) / BESIDE)
    figure = empty_figure(rows * 0.5 * WIDTH, 1.6 * WIDTH)
    panels = figure.subplots(rows, BESIDE, squeeze=False).ravel()
    below = [""] * len(workers) if words is None else words
    for worker, more, axes in zip(workers, below, panels, strict=False):
        _draw_confusion(axes, learner.confusion_[worker][:n, :n])  # others are empty
        title = f"{label(str(worker), MOST_LETTERS + 6)}\n{more}".strip()
        axes.set_title(title, fontsize=FONT - 1, color=LIGHT["ink"], pad=8, parse_math=False)
    for axes in panels[len(workers) :]:
        axes.set_axis_off()
    return figure


def short_name(item: Any) -> str:
    """The name of an item without folders and the ending of a picture.

    >>> short_name("photos/dog 1.jpeg"), short_name("v1.2"), short_name(7)
    ('dog 1', 'v1.2', '7')
    """
    stem, ending = os.path.splitext(str(item))
    name = stem if ending.lower() in ENDINGS else str(item)
    return name.rstrip("/").rpartition("/")[2] or name


def principal_directions(learner: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of items in the principal directions of their embedding, at least two, and shares of the variance."""
    centered = learner.embedding_ - learner.embedding_.mean(axis=0)
    U, s, _ = np.linalg.svd(centered, full_matrices=False)
    positions = U * s
    positions *= np.where(positions.sum(axis=0) + positions.max(axis=0) + positions.min(axis=0) < 0, -1.0, 1.0)
    if positions.shape[1] == 1:  # items in a row would hide each other
        strip = np.random.default_rng(0).uniform(-0.1, 0.1, len(positions)) * s[0] / math.sqrt(len(positions))
        positions = np.column_stack([positions, strip])
    return positions, s**2 / max(float((s**2).sum()), 1e-300)


def sureness(learner: Any) -> np.ndarray:
    """How probable the cluster of each item is."""
    return learner.cluster_proba_[np.arange(len(learner.items_)), learner.clusters_]


def surest_in_turn(learner: Any) -> np.ndarray:
    """All items: the surest one of each cluster, then the second of each, and so on."""
    order = np.lexsort((-sureness(learner), learner.clusters_))
    sizes = np.bincount(learner.clusters_, minlength=learner.n_clusters_)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.argsort(rank, kind="stable")]


def cluster_colours(learner: Any, positions: np.ndarray) -> np.ndarray:
    """The colour of each cluster; if there are more clusters than colours, those of one colour are far apart."""
    n = learner.n_clusters_
    if n <= len(PALETTE):
        return np.array(PALETTE)[:n]
    return np.array(PALETTE)[spread_colours(cluster_middles(learner, positions), len(PALETTE))]


def cluster_middles(learner: Any, positions: np.ndarray) -> np.ndarray:
    """Medians of clusters, in the order of their numbers; of an empty cluster, that of all items."""
    of_each = (positions[learner.clusters_ == k] for k in range(learner.n_clusters_))
    return np.array([np.median(some if len(some) else positions, axis=0) for some in of_each])


def _draw_pictures(
    axes: Any, learner: Any, pictures: Mapping[Any, str], positions: np.ndarray, colours: np.ndarray, order: np.ndarray
) -> None:
    """Draw items as pictures, in this order, where they do not overlap; the others remain dots."""
    box = require("matplotlib.offsetbox", "plots")
    figure = axes.get_figure()
    with any_script():
        figure.draw_without_rendering()  # positions on paper are known once the layout is
    names = learner.items_.tolist()
    order = np.array([i for i in order if names[i] in pictures], int)
    points = axes.transData.transform(positions[order]) * 72 / figure.dpi
    for i in order[apart(points, 1.1 * PICTURE_POINTS)[:MOST_PICTURES]]:
        try:
            picture = np.asarray(load_picture(pictures[names[i]], PICTURE_PIXELS).convert("RGB"))
        except DataError:
            continue
        image = box.OffsetImage(picture, zoom=PICTURE_POINTS / max(picture.shape[:2]))
        border = {"edgecolor": colours[i], "linewidth": 1.6, "facecolor": "none"}
        axes.add_artist(box.AnnotationBbox(image, positions[i], pad=0, bboxprops=border, zorder=4))


def _number_clusters(axes: Any, learner: Any, positions: np.ndarray, hues: np.ndarray) -> None:
    outline = require("matplotlib.patheffects", "plots").withStroke(linewidth=4, foreground=LIGHT["paper"])
    for k, (middle, hue) in enumerate(zip(cluster_middles(learner, positions), hues, strict=True)):
        look = {"fontsize": FONT + 6, "fontweight": "bold", "color": hue, "ha": "center", "va": "center"}
        axes.text(*middle, str(k), path_effects=[outline], zorder=6, **look)


def _draw_confusion(axes: Any, confusion: np.ndarray) -> None:
    n = len(confusion)
    axes.imshow(shades(confusion), interpolation="nearest")
    axes.set_facecolor("none")
    axes.tick_params(length=0, pad=2, labelsize=FONT - 3, colors=LIGHT["soft"])
    places = range(0, n, math.ceil(n / 10))
    axes.set_xticks(places)
    axes.set_yticks(places)
    for spine in axes.spines.values():
        spine.set_color(LIGHT["line"])
    for row, column in np.ndindex(n, n) if n <= MOST_NUMBERS else ():
        share = confusion[row, column]
        colour = LIGHT["paper"] if share > 0.6 else LIGHT["ink"]
        axes.text(column, row, f"{share:.0%}".removesuffix("%"), ha="center", va="center", color=colour, size=FONT - 2)
