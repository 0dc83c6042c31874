"""Figures of clusters: their sizes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.formatting import short
from modicum.plot.style import FONT, LIGHT, format_ticks, name_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 150  # more are drawn as one outline: each bar would be a few pixels wide and 200 bytes of SVG


def cluster_sizes(learner: Any) -> "Figure":
    """Rows in each cluster, largest first, and their mean as a dashed line."""
    return size_bars(learner.cluster_sizes_, "clusters")


def size_bars(sizes: np.ndarray, nouns: str) -> "Figure":
    """Bars of the sizes of clusters or components, given in any order."""
    sizes = np.sort(sizes)[::-1]
    ranks = np.arange(1, len(sizes) + 1)
    figure, axes = new_figure()
    if len(sizes) <= MOST_BARS:
        axes.bar(ranks, sizes, color=LIGHT["accent"], width=0.8)
    else:
        axes.stairs(sizes, np.append(ranks, len(sizes) + 1) - 0.5, color=LIGHT["accent"], fill=True)
    axes.axhline(sizes.mean(), color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate(
        "mean",
        (1, sizes.mean()),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        color=LIGHT["soft"],
        fontsize=FONT,
        ha="right",
    )
    name_axes(axes, f"{nouns}, largest first", "rows")
    format_ticks(axes.yaxis, short)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.margins(x=0.01)
    axes.set_xlim(0.4, len(sizes) + 0.6)
    return figure
