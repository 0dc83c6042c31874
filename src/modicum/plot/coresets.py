"""Coresets: where the weighted points lie, and how much each stands for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from modicum._optional import require
from modicum.nearest import nearest
from modicum.plot.maps import EQUAL_DOT, Flat, draw_exemplars, paper, spread_colours
from modicum.plot.numbers import percent, short
from modicum.plot.style import LIGHT, PALETTE, format_ticks, name_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 20_000  # of those drawn: more only overlap
USUAL_DOT = 10.0  # area of the mean point, in square points
LARGEST_DOT, SMALLEST_DOT = 90.0, 1.5
BINS = 30
DEVIATIONS = 2.0  # of a component are within its ellipse


@dataclass(frozen=True)
class Plane:
    """Two directions to look at rows along: their columns if they have no more, else those in which they vary most."""

    origin: np.ndarray
    directions: np.ndarray  # (2, d)
    names: tuple[str, str]
    scaled: bool

    @classmethod
    def of(cls, learner: Any, points: np.ndarray, weights: np.ndarray) -> "Plane":
        d = points.shape[1]
        if d <= 2:
            first, second, *_ = [*map(str, learner.column_names_ or ["x0", "x1"][:d]), ""]
            return cls(np.zeros(d), np.eye(2, d), (first, second), scaled=True)
        mean = weights @ points / weights.sum()
        away = (points - mean) * np.sqrt(weights)[:, None]
        _, lengths, directions = randomized_svd(away, 2, random_state=0)
        shares = lengths**2 / max((away**2).sum(), np.finfo(float).tiny)
        names = f"first direction, {percent(shares[0])} of the variance", f"second, {percent(shares[-1])}"
        return cls(mean, np.resize(directions, (2, d)), names, scaled=False)  # a single point has only one

    def place(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.origin) @ self.directions.T

    def shadow(self, covariance: np.ndarray) -> np.ndarray:
        """A covariance matrix, or the variances of columns, as it is seen on the plane."""
        full = covariance if np.ndim(covariance) == 2 else np.diag(np.resize(covariance, len(self.origin)))
        return self.directions @ full @ self.directions.T


def coreset_map(learner: Any, centers: np.ndarray | None = None, covariances: np.ndarray | None = None) -> "Figure":
    """The points of a coreset on a plane, as large as their weights.

    With `centers`, points have the colour of the nearest one. With the `covariances` of a mixture as well, an ellipse
    is drawn two standard deviations around each.
    """
    points, weights = learner.as_sample()
    plane = Plane.of(learner, points, weights)
    if len(points) > MOST_POINTS:
        some = np.random.default_rng(0).choice(len(points), MOST_POINTS, replace=False)
        points, weights = points[some], weights[some]
    order = np.argsort(-weights, kind="stable")  # light ones in front of heavy ones
    points, weights = points[order], weights[order]
    colours, dots = np.array([LIGHT["accent"]]), np.zeros(len(points), int)
    at = np.empty((0, 2))
    if centers is not None:
        at, dots = plane.place(centers), nearest(points, centers)[0]
        colours = np.array(PALETTE)[spread_colours(at, len(PALETTE))]
    flat = Flat(plane.place(points), at, plane.names, plane.scaled)
    figure, axes = paper(flat)
    areas = np.clip(USUAL_DOT * weights / weights.mean(), SMALLEST_DOT, LARGEST_DOT)
    axes.scatter(*flat.rows.T, s=areas, c=colours[dots], alpha=0.45, linewidths=0, rasterized=True)
    if centers is not None:
        draw_exemplars(axes, flat, np.full(len(at), EQUAL_DOT), colours)
    for place, covariance, colour in zip(at, () if covariances is None else covariances, colours, strict=False):
        axes.add_patch(_ellipse(place, plane.shadow(covariance), colour))
    return figure


def _ellipse(center: np.ndarray, covariance: np.ndarray, colour: str) -> Any:
    lengths, directions = np.linalg.eigh(covariance)
    short_axis, long_axis = 2 * DEVIATIONS * np.sqrt(np.maximum(lengths, 0))
    angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
    ellipse = require("matplotlib.patches", "plots").Ellipse
    return ellipse(center, long_axis, short_axis, angle=angle, fill=False, edgecolor=colour, linewidth=1.4, zorder=2.5)


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
