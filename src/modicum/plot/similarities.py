"""Similarities among prototypes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.plot.formatting import short
from modicum.plot.style import PALETTE, WIDTH, format_ticks, name_axes, new_figure, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SHOWN = 300  # prototypes in a matrix; with more, cells are too small to see
BINS = 25


def similarity_matrix(selector: Any) -> "Figure":
    """Similarities among the prototypes as a heat map, similar ones next to each other.

    Blue is positive, red negative (a kernel may be), no colour zero.
    """
    order = order_by_similarity(selector)
    order = order[np.linspace(0, len(order) - 1, min(len(order), MOST_SHOWN)).astype(int)]
    figure, axes = new_figure(WIDTH * 0.9)
    axes.imshow(shades(similarities(selector)[np.ix_(order, order)]), interpolation="nearest")
    axes.grid(visible=False)
    axes.set(xticks=[], yticks=[])
    axes.spines["bottom"].set_visible(False)
    return figure


def nearest_similarities(selector: Any) -> "Figure":
    """A histogram of the similarity of each prototype to its nearest neighbour among the others."""
    K = similarities(selector)
    np.fill_diagonal(K, -np.inf)
    nearest = K.max(axis=1) if len(K) > 1 else np.zeros(0)
    figure, axes = new_figure()
    axes.hist(nearest, bins=BINS, range=(min(0.0, nearest.min(initial=0.0)), 1.0), color=PALETTE[0], rwidth=0.92)
    name_axes(axes, "similarity to the nearest other prototype", "prototypes")
    format_ticks(axes.yaxis, short)
    axes.yaxis.get_major_locator().set_params(integer=True)
    return figure


def similarities(selector: Any) -> np.ndarray:
    """The normalized kernel matrix of the prototypes, k(a, b) / sqrt(k(a, a) k(b, b))."""
    prototypes, kernel = selector.picks().rows, selector.kernel_
    own = np.sqrt(np.maximum(kernel.diagonal(prototypes), np.finfo(float).tiny))
    return np.clip(kernel(prototypes, prototypes) / own / own[:, None], -1.0, 1.0)


def order_by_similarity(selector: Any) -> np.ndarray:
    """An order of the prototypes in which neighbours are similar: the leaves of a hierarchical clustering."""
    hierarchy = require("scipy.cluster.hierarchy", "plots")
    K = similarities(selector)
    if len(K) < 3:
        return np.arange(len(K))
    apart = 1.0 - (K + K.T)[np.triu_indices(len(K), 1)] / 2
    tree = hierarchy.linkage(apart, "average", optimal_ordering=len(K) <= MOST_SHOWN)
    return hierarchy.leaves_list(tree)
