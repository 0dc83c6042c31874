"""Coresets: where the weighted points lie, and how much each stands for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.numeric.nearest import nearest
from modicum.plot.numbers import short
from modicum.plot.planes import Points, weighted_map
from modicum.plot.style import LIGHT, format_ticks, name_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 30


def coreset_map(learner: Any, centers: np.ndarray | None = None, covariances: np.ndarray | None = None) -> "Figure":
    """The points of a coreset on a plane, as large as their weights.

    With `centers`, points have the colour of the nearest one. With the `covariances` of a mixture as well, an ellipse
    is drawn two standard deviations around each.
    """
    points, weights = learner.as_sample()
    labels = None if centers is None else nearest(points, centers)[0]
    return weighted_map(learner, Points(points, weights, labels), centers, covariances)


def point_weights(learner: Any) -> "Figure":
    """How many rows the points of a coreset stand for: a histogram, each step to the right a multiple."""
    weights = learner.as_sample()[1]
    low, high = weights.min(), weights.max()
    if high < 1.01 * low:  # all the same: one bar
        low, high = 0.5 * low, 2 * high
    figure, axes = new_figure()
    axes.set_xscale("log")
    axes.hist(weights, bins=np.geomspace(low, high, BINS + 1), color=LIGHT["accent"], rwidth=0.92)
    axes.axvline(weights.mean(), color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)))
    name_axes(axes, "rows that a point stands for", "points")
    format_ticks(axes.yaxis, short)
    axes.yaxis.get_major_locator().set_params(integer=True)
    ticker = require("matplotlib.ticker", "plots")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0) if high < 50 * low else (1.0,)))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    return figure
