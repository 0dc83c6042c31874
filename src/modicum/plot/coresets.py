"""Figures of coresets: their points on a map, and the weights of the points."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.numeric.nearest import nearest
from modicum.plot.formatting import short
from modicum.plot.style import LIGHT, format_ticks, name_axes, new_figure
from modicum.plot.weighted_maps import Points, weighted_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 30


def coreset_map(learner: Any, centers: np.ndarray | None = None, covariances: np.ndarray | None = None) -> "Figure":
    """The points of a coreset on a plane, with areas in proportion to their weights.

    With `centers`, points have the colour of the nearest one. With `covariances` as well, an ellipse is drawn two
    standard deviations around each center.
    """
    points, weights = learner.as_sample()
    labels = None if centers is None else nearest(points, centers)[0]
    return weighted_map(learner, Points(points, weights, labels), centers, covariances)


def point_weights(learner: Any) -> "Figure":
    """A histogram of the weights of a coreset's points, on a logarithmic scale, and their mean as a dashed line."""
    weights = learner.as_sample()[1]
    low, high = weights.min(), weights.max()
    if high < 1.01 * low:  # all equal: one bar
        low, high = 0.5 * low, 2 * high
    figure, axes = new_figure()
    axes.set_xscale("log")
    axes.hist(weights, bins=np.geomspace(low, high, BINS + 1), color=LIGHT["accent"], rwidth=0.92)
    axes.axvline(weights.mean(), color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)))
    name_axes(axes, "weight of a point, in rows", "points")
    format_ticks(axes.yaxis, short)
    axes.yaxis.get_major_locator().set_params(integer=True)
    ticker = require("matplotlib.ticker", "plots")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if high < 50 * low else (1.0,)))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    return figure
