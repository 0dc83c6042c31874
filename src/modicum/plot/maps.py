"""Where the exemplars lie among the rows: a map of the validation sample on a plane."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.kernels import as_dissimilarity
from modicum.plot.images import as_pictures
from modicum.plot.numbers import percent, short
from modicum.plot.style import LIGHT, PALETTE, WIDTH, format_ticks, name_axes, new_figure
from modicum.rows import is_sparse, n_rows, take

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 4000  # validation rows drawn: more only overlap
MOST_OBJECTS = 200  # objects that are all compared with each other, perhaps by slow Python
MOST_PICTURES = 60
MOST_DOTS = 500  # exemplars drawn as shapes of their own; beyond that as pixels, to keep files small
PICTURE_POINTS = 22.0  # width of a picture on the map, in points
LARGEST_DOT = 160.0  # area of the largest exemplar's dot, in square points
EQUAL_DOT = 26.0  # area of dots without a size


@dataclass(frozen=True)
class Flat:
    """Rows and exemplars on a plane, and what the two directions are. Only `scaled` ones have units."""

    rows: np.ndarray
    exemplars: np.ndarray
    names: tuple[str, str]
    scaled: bool = False


def sample_map(learner: Any, *, image: tuple[int, ...] | None = None) -> "Figure":
    """Validation rows coloured by cluster on a plane, exemplars on top, sized by cluster.

    Two columns are drawn as they are, more by their two principal directions (of rows of length one for the cosine
    dissimilarity), Python objects by classical scaling of their dissimilarities. With `image`, the shape of the
    pictures that rows are, exemplars are drawn as pictures where there is room.
    """
    rows, labels = _some_rows(learner)
    flat = _flatten(learner, rows)
    order = np.argsort(-learner.cluster_sizes_, kind="stable")
    hue = np.empty(len(order), int)
    hue[order] = spread_colours(flat.exemplars[order], len(PALETTE))
    colours = np.array(PALETTE)[hue]
    figure, axes = paper(flat)
    area = np.clip(20_000 / len(flat.rows), 6, 18)
    axes.scatter(*flat.rows.T, s=area, c=colours[labels], alpha=0.5, linewidths=0, rasterized=True)
    sizes = learner.cluster_sizes_ / max(learner.cluster_sizes_.max(), 1e-300)
    draw_exemplars(axes, flat, LARGEST_DOT * np.maximum(sizes, 0.06), colours)
    if image is not None:
        _draw_pictures(axes, as_pictures(learner.exemplars_, image)[order], flat.exemplars[order], colours[order])
    return figure


def prototype_map(selector: Any, *, image: tuple[int, ...] | None = None) -> "Figure":
    """Prototypes on a plane, coloured by block where they are in blocks; pictures as in `sample_map`."""
    prototypes = selector.prototypes_
    flat = _flatten_numbers(selector, prototypes, prototypes)
    blocks = getattr(selector, "blocks_", np.zeros(n_rows(prototypes), int))
    colours = np.array(PALETTE)[blocks % len(PALETTE)]
    figure, axes = paper(flat)
    draw_exemplars(axes, flat, np.full(len(colours), EQUAL_DOT), colours)
    if image is not None:
        _draw_pictures(axes, as_pictures(prototypes, image), flat.exemplars, colours)
    return figure


def paper(flat: Flat) -> tuple["Figure", Any]:
    """A square to draw on, with the names of the two directions."""
    figure, axes = new_figure(WIDTH * 1.2)
    axes.grid(axis="x", color=LIGHT["line"], linewidth=0.7)
    name_axes(axes, *flat.names)
    for axis in (axes.xaxis, axes.yaxis):
        format_ticks(axis, short)
    if not flat.scaled:
        axes.spines["bottom"].set_visible(False)
        axes.set(xticks=[], yticks=[])
    return figure, axes


def draw_exemplars(axes: Any, flat: Flat, areas: np.ndarray, colours: np.ndarray) -> None:
    """Exemplars, or what else a plane has few of, as dots with a rim."""
    look = {"linewidths": 1.1, "edgecolors": LIGHT["ink"], "rasterized": len(areas) > MOST_DOTS}
    axes.scatter(*flat.exemplars.T, s=areas, c=colours, zorder=3, **look)


def _draw_pictures(axes: Any, pictures: np.ndarray, places: np.ndarray, colours: np.ndarray) -> None:
    """The first pictures that find room; the dots of the others stay to be seen."""
    box = require("matplotlib.offsetbox", "plots")
    figure = axes.get_figure()
    figure.draw_without_rendering()  # the layout decides where data lie on the paper
    points = axes.transData.transform(places) * 72 / figure.dpi
    for i in _apart(points, 1.2 * PICTURE_POINTS)[:MOST_PICTURES]:
        zoom = PICTURE_POINTS / pictures.shape[2]
        picture = box.OffsetImage(pictures[i], zoom=zoom, cmap="gray", interpolation="nearest")
        picture.image.set_clim(0, 255)
        frame = {"edgecolor": colours[i], "linewidth": 1.4, "facecolor": "none"}
        axes.add_artist(box.AnnotationBbox(picture, places[i], pad=0, bboxprops=frame, zorder=4))


def _apart(points: np.ndarray, least: float) -> list[int]:
    """Indices of points, first come first served, no two of them closer than `least` in both directions."""
    kept: list[int] = []
    for i, point in enumerate(points):
        if not kept or (np.abs(points[kept] - point).max(axis=1) >= least).all():
            kept.append(i)
    return kept


def spread_colours(points: np.ndarray, n_colours: int) -> np.ndarray:
    """One of `n_colours` per point, each the colour whose nearest bearer so far is farthest away."""
    nearest = np.full((len(points), n_colours), np.inf)
    colours = np.empty(len(points), int)
    for i, point in enumerate(points):
        colours[i] = nearest[i].argmax()
        distances = ((points - point) ** 2).sum(axis=1)
        nearest[:, colours[i]] = np.minimum(nearest[:, colours[i]], distances)
    return colours


def _some_rows(learner: Any) -> tuple[Any, np.ndarray]:
    rows, labels = learner.validation_rows_, learner.validation_labels_
    most = MOST_OBJECTS if isinstance(rows, list) else MOST_POINTS
    if n_rows(rows) <= most:
        return rows, labels
    some = np.random.default_rng(0).choice(n_rows(rows), most, replace=False)
    return take(rows, some), labels[some]


def _flatten(learner: Any, rows: Any) -> Flat:
    if isinstance(rows, list):
        return _scale(learner, rows)
    return _flatten_numbers(learner, rows, learner.exemplars_)


def _flatten_numbers(learner: Any, rows: Any, exemplars: Any) -> Flat:
    if is_sparse(rows) and (rows.shape[1] <= 50 or rows.shape[0] <= 3):  # too few for a sparse decomposition
        rows, exemplars = rows.toarray(), exemplars.toarray()
    if rows.shape[1] <= 2:
        names = [*(learner.column_names_ or ["x0", "x1"][: rows.shape[1]]), ""]
        return Flat(_two_columns(rows), _two_columns(exemplars), (str(names[0]), str(names[1])), scaled=True)
    if getattr(learner, "dissimilarity", None) == "cosine":
        from sklearn.preprocessing import normalize

        rows, exemplars = normalize(rows), normalize(exemplars)
    return _principal(rows, exemplars)


def _principal(rows: Any, exemplars: Any) -> Flat:
    """The two directions in which the rows vary most."""
    from sklearn.decomposition import PCA

    if n_rows(rows) < 2:
        return Flat(np.zeros((1, 2)), np.zeros((n_rows(exemplars), 2)), ("", ""))
    with np.errstate(invalid="ignore"):  # rows that are all the same have no variance to share out
        pca = PCA(2, random_state=0).fit(rows)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    names = f"first direction, {percent(shares[0])} of the variance", f"second, {percent(shares[1])}"
    return Flat(pca.transform(rows), pca.transform(exemplars), names)


def _scale(learner: Any, rows: list[Any]) -> Flat:
    """Classical scaling of the rows; exemplars are placed by their dissimilarities to them."""
    dissimilarity = as_dissimilarity(learner.dissimilarity, objects=True)
    d = dissimilarity(rows, rows)
    between = ((d + d.T) / 2) ** 2  # (n, n)
    to_exemplars = dissimilarity(learner.exemplars_, rows) ** 2  # (k, n)
    center = between.mean(axis=0)
    values, vectors = np.linalg.eigh(-(between - center - center[:, None] + center.mean()) / 2)
    values, vectors = values[-1:-3:-1], vectors[:, -1:-3:-1]
    inverse = np.divide(vectors, np.sqrt(np.maximum(values, 0)), out=np.zeros_like(vectors), where=values > 0)
    rows_at, exemplars_at = ((center - squares) @ inverse / 2 for squares in (between, to_exemplars))
    names = f"classical scaling of {len(rows)} rows' dissimilarities", ""
    return Flat(_two_columns(rows_at), _two_columns(exemplars_at), names)


def _two_columns(points: np.ndarray) -> np.ndarray:
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
