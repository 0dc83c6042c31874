"""Maps: exemplars among validation rows, and prototypes, on a plane."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.plot.formatting import short
from modicum.plot.images import as_pictures
from modicum.plot.limits import Frame, note_beyond
from modicum.plot.projections import Projection, project, scale
from modicum.plot.style import LIGHT, PALETTE, WIDTH, any_script, format_ticks, name_axes, new_figure
from modicum.rows import n_rows, take
from modicum.select import BlockGreedy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 4000  # validation rows drawn: more only overlap
MOST_OBJECTS = 200  # objects that are all compared with each other, perhaps by slow Python
MOST_PICTURES = 60
MOST_DOTS = 500  # markers drawn as vectors; more are rasterized, to keep files small
PICTURE_POINTS = 22.0  # width of a picture on the map, in points
LARGEST_DOT = 160.0  # area of the largest exemplar's dot, in square points
EQUAL_DOT = 26.0  # area of dots that are all equal


def exemplar_map(learner: Any, *, image: tuple[int, ...] | None = None) -> "Figure":
    """Validation rows on a plane, coloured by cluster, and exemplars as large as their clusters.

    Two columns are drawn as they are, more by their first two principal components (of rows scaled to unit length for
    the cosine dissimilarity), Python objects by classical scaling. With `image`, the shape of the pictures that rows
    are, exemplars are drawn as pictures where there is room.
    """
    picks, (rows, labels) = learner.picks(), _some_validation_rows(learner)
    if isinstance(rows, list):
        shown = scale(learner.dissimilarity, rows, picks.rows)
    else:
        is_cosine = isinstance(learner.dissimilarity, str) and learner.dissimilarity == "cosine"
        shown = project(learner, rows, picks.rows, unit_length=is_cosine)
    order = np.argsort(-picks.weights, kind="stable")
    hue = np.empty(len(order), int)
    hue[order] = spread_colours(shown.markers[order], len(PALETTE))
    colours = np.array(PALETTE)[hue]
    figure, axes, frame = new_map(shown)
    area = np.clip(20_000 / len(shown.rows), 6, 18)
    look = {"alpha": 0.5, "linewidths": 0, "rasterized": True}
    beyond = frame.scatter(axes, shown.rows, area, colours[labels], **look)
    sizes = picks.weights / max(picks.weights.max(), 1e-300)
    draw_markers(axes, frame, shown.markers, LARGEST_DOT * np.maximum(sizes, 0.06), colours)
    note_beyond(axes, beyond)
    if image is not None:
        _draw_pictures(axes, frame, as_pictures(picks.rows, image)[order], shown.markers[order], colours[order])
    return figure


def prototype_map(selector: Any, *, image: tuple[int, ...] | None = None) -> "Figure":
    """Prototypes on a plane, those of `BlockGreedy` coloured by block; projection and pictures as in `exemplar_map`."""
    prototypes = selector.picks().rows
    shown = project(selector, prototypes, prototypes)
    blocks = selector.blocks_ if isinstance(selector, BlockGreedy) else np.zeros(len(shown.markers), int)
    colours = np.array(PALETTE)[blocks % len(PALETTE)]
    figure, axes, frame = new_map(shown)
    note_beyond(axes, draw_markers(axes, frame, shown.markers, np.full(len(colours), EQUAL_DOT), colours))
    if image is not None:
        _draw_pictures(axes, frame, as_pictures(prototypes, image), shown.markers, colours)
    return figure


def new_map(shown: Projection) -> tuple["Figure", Any, Frame]:
    """A square figure with named axes, and the part of the plane that it shows: a few far rows are left out."""
    figure, axes = new_figure(WIDTH * 1.2)
    axes.grid(axis="x", color=LIGHT["line"], linewidth=0.7)
    name_axes(axes, *shown.names)
    for axis in (axes.xaxis, axes.yaxis):
        format_ticks(axis, short)
    if not shown.has_units:
        axes.spines["bottom"].set_visible(False)
        axes.set(xticks=[], yticks=[])
    frame = Frame.of(shown.rows)
    frame.apply(axes, np.concatenate([shown.rows, shown.markers]))
    return figure, axes, frame


def draw_markers(axes: Any, frame: Frame, positions: np.ndarray, areas: np.ndarray, colours: np.ndarray) -> int:
    """Outlined dots, or triangles at the border of the frame; returns the number of the latter."""
    look = {"linewidths": 1.1, "edgecolors": LIGHT["ink"], "rasterized": len(areas) > MOST_DOTS}
    return frame.scatter(axes, positions, areas, colours, zorder=3, **look)


def _draw_pictures(axes: Any, frame: Frame, pictures: np.ndarray, positions: np.ndarray, colours: np.ndarray) -> None:
    """Draw pictures in their order where they do not overlap; the others remain dots."""
    inside = ~frame.beyond(positions).any(axis=1)
    pictures, positions, colours = pictures[inside], positions[inside], colours[inside]
    box = require("matplotlib.offsetbox", "plots")
    figure = axes.get_figure()
    with any_script():
        figure.draw_without_rendering()  # positions on paper are known once the layout is
    points = axes.transData.transform(positions) * 72 / figure.dpi
    for i in apart(points, 1.2 * PICTURE_POINTS)[:MOST_PICTURES]:
        zoom = PICTURE_POINTS / pictures.shape[2]
        picture = box.OffsetImage(pictures[i], zoom=zoom, cmap="gray", interpolation="nearest")
        picture.image.set_clim(0, 255)
        border = {"edgecolor": colours[i], "linewidth": 1.4, "facecolor": "none"}
        axes.add_artist(box.AnnotationBbox(picture, positions[i], pad=0, bboxprops=border, zorder=4))


def apart(points: np.ndarray, least: float) -> list[int]:
    """Indices of points, chosen greedily in their order, no two closer than `least` in both directions."""
    kept: list[int] = []
    for i, point in enumerate(points):
        if not kept or (np.abs(points[kept] - point).max(axis=1) >= least).all():
            kept.append(i)
    return kept


def spread_colours(points: np.ndarray, n_colours: int) -> np.ndarray:
    """One of `n_colours` per point, each time the colour whose nearest point so far is farthest away."""
    nearest = np.full((len(points), n_colours), np.inf)
    colours = np.empty(len(points), int)
    for i, point in enumerate(points):
        colours[i] = nearest[i].argmax()
        distances = ((points - point) ** 2).sum(axis=1)
        nearest[:, colours[i]] = np.minimum(nearest[:, colours[i]], distances)
    return colours


def _some_validation_rows(learner: Any) -> tuple[Any, np.ndarray]:
    rows, labels = learner.validation_rows_, learner.validation_labels_
    most = MOST_OBJECTS if isinstance(rows, list) else MOST_POINTS
    if n_rows(rows) <= most:
        return rows, labels
    some = np.random.default_rng(0).choice(n_rows(rows), most, replace=False)
    return take(rows, some), labels[some]
