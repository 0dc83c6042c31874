"""Figures of segmentations: pictures next to the topics of their pixels."""

import colorsys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from modicum._optional import require
from modicum.pipeline.pixels import as_bytes
from modicum.plot.style import FONT, LIGHT, PALETTE, WIDTH, empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOLDEN = 0.618033988749895  # of the circle of hues: steps of this keep all colours apart, however many there are
LIGHTNESS = (0.45, 0.65, 0.8)  # further colours take these in turn
SATURATION = 0.6
MOST_BESIDE = 8  # panels beside each other
INCH_PER_PANEL = 1.1


def segment_images(
    pictures: Sequence[Any], *segmentations: Sequence[np.ndarray], names: Sequence[str] = (), size: int | None = None
) -> "Figure":
    """Pictures next to their segmentations, with one colour for each topic in all pictures.

    The largest topics have the most distinct colours. Topics of a second segmentation take the colours of the topics
    of the first that they overlap most, so that the two can be compared.

    Parameters
    ----------
    pictures : arrays of bytes, Pillow images or paths, as for `modicum.pipeline.pixels.pixels`
    *segmentations : a list each, with the topics of the pixels of each picture, row by row, as `predict_items` returns
        them
    names : titles of the segmentations
    size : as for `pixels`; the same as it was there
    """
    shown = [as_bytes(picture, size) for picture in pictures]
    for labels in segmentations:
        _check(shown, labels)
    columns = [shown, *_coloured(shown, segmentations)]
    sets = max(1, min(len(shown), MOST_BESIDE // len(columns)))  # pictures beside each other
    rows = -(-len(shown) // sets)
    tallest = max(picture.shape[0] / picture.shape[1] for picture in shown)
    width = max(WIDTH, INCH_PER_PANEL * sets * len(columns))
    figure = empty_figure(rows * (tallest * width / (sets * len(columns)) + 0.05) + 0.25 * bool(names), width)
    panels = figure.subplots(rows, sets * len(columns), squeeze=False)
    for place, axes in enumerate(panels.reshape(-1, len(columns))):
        for column, panel in zip(columns, axes, strict=True):
            panel.set_axis_off()
            if place < len(shown):
                panel.imshow(column[place], interpolation="nearest")
    for i, name in enumerate(names):
        for first in range(0, sets * len(columns), len(columns)):
            look = {"color": LIGHT["soft"], "fontsize": FONT, "parse_math": False}
            panels[0, first + 1 + i].set_title(name, **look)
    return figure


def topic_colours(n: int) -> np.ndarray:
    """Distinct colours for n topics as (n, 3) bytes: the palette of all figures first, then hues far from the last."""
    to_rgb = require("matplotlib.colors", "plots").to_rgb
    colours = [to_rgb(colour) for colour in PALETTE[:n]]
    for i in range(n - len(colours)):
        colours.append(colorsys.hls_to_rgb(i * GOLDEN % 1, LIGHTNESS[i % len(LIGHTNESS)], SATURATION))
    return np.round(255 * np.array(colours).reshape(-1, 3)).astype(np.uint8)


def _check(pictures: list[np.ndarray], segmentation: Sequence[np.ndarray]) -> None:
    if not pictures or len(segmentation) != len(pictures):
        raise ValueError(f"there are {len(pictures)} pictures, but {len(segmentation)} segmentations of pictures.")
    for i, (picture, labels) in enumerate(zip(pictures, segmentation, strict=True)):
        height, width = picture.shape[:2]
        if np.size(labels) != height * width:
            raise ValueError(f"picture {i} has {height} x {width} pixels, but {np.size(labels)} topics; give its size.")


def _coloured(pictures: list[np.ndarray], segmentations: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    flat = [np.concatenate([np.ravel(labels) for labels in segmentation]) for segmentation in segmentations]
    ranks = [_ranks(labels, flat[0]) for labels in flat]
    colours = topic_colours(max((int(rank.max()) + 1 for rank in ranks), default=0))
    ends = np.cumsum([picture.shape[0] * picture.shape[1] for picture in pictures])[:-1]
    return [
        [part.reshape(picture.shape) for part, picture in zip(np.split(colours[rank], ends), pictures, strict=True)]
        for rank in ranks
    ]


def _ranks(labels: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Which colour each pixel has: that of its topic in the first segmentation, whose topics are ranked by size."""
    _, first = np.unique(first, return_inverse=True)
    by_size = np.argsort(-np.bincount(first), kind="stable")
    rank_of_first = np.empty(len(by_size), np.intp)
    rank_of_first[by_size] = np.arange(len(by_size))
    _, labels = np.unique(labels, return_inverse=True)
    overlap = np.zeros((labels.max() + 1, len(by_size)))
    np.add.at(overlap, (labels, first), 1.0)
    own, matched = linear_sum_assignment(-overlap)
    rank = np.full(len(overlap), -1)
    rank[own] = rank_of_first[matched]
    others = np.flatnonzero(rank < 0)
    rank[others] = len(by_size) + np.arange(len(others))
    return rank[labels]
