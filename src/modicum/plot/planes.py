"""Weighted points on a plane: their clusters in colour, centers and ellipses among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from modicum._optional import require
from modicum.plot.maps import EQUAL_DOT, Flat, draw_exemplars, paper, spread_colours
from modicum.plot.numbers import percent
from modicum.plot.style import FONT, LIGHT, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 20_000  # of those drawn: more only overlap
USUAL_DOT = 10.0  # area of the mean point, in square points
LARGEST_DOT, SMALLEST_DOT = 90.0, 1.5
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


@dataclass(frozen=True)
class Points:
    """Rows, what each stands for, and the cluster it is in, if there are any."""

    rows: np.ndarray
    weights: np.ndarray
    labels: np.ndarray | None = None

    def __getitem__(self, which: np.ndarray) -> "Points":
        labels = None if self.labels is None else self.labels[which]
        return Points(self.rows[which], self.weights[which], labels)


def weighted_map(
    learner: Any,
    points: Points,
    centers: np.ndarray | None = None,
    covariances: np.ndarray | None = None,
    names: Sequence[str] = (),
) -> "Figure":
    """Points as large as their weights, in the colours of the clusters whose centers are given.

    With `covariances` an ellipse is drawn two standard deviations around each center; `names` are written beside them.
    """
    plane = Plane.of(learner, points.rows, points.weights)
    if len(points.rows) > MOST_POINTS:
        points = points[np.random.default_rng(0).choice(len(points.rows), MOST_POINTS, replace=False)]
    points = points[np.argsort(-points.weights, kind="stable")]  # light ones in front of heavy ones
    at = np.empty((0, 2)) if centers is None else plane.place(centers)
    colours = np.array(PALETTE)[spread_colours(at, len(PALETTE))]
    flat = Flat(plane.place(points.rows), at, plane.names, plane.scaled)
    figure, axes = paper(flat)
    areas = np.clip(USUAL_DOT * points.weights / points.weights.mean(), SMALLEST_DOT, LARGEST_DOT)
    of_points = LIGHT["accent"] if points.labels is None else colours[points.labels]
    axes.scatter(*flat.rows.T, s=areas, c=of_points, alpha=0.45, linewidths=0, rasterized=True)
    if centers is not None:
        draw_exemplars(axes, flat, np.full(len(at), EQUAL_DOT), colours)
    for place, covariance, colour in zip(at, () if covariances is None else covariances, colours, strict=False):
        axes.add_patch(_ellipse(place, plane.shadow(covariance), colour))
    for place, name in zip(at, names, strict=False):
        look = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "parse_math": False}
        axes.annotate(name, place, color=LIGHT["ink"], fontsize=FONT, zorder=4, **look)
    return figure


def _ellipse(center: np.ndarray, covariance: np.ndarray, colour: str) -> Any:
    lengths, directions = np.linalg.eigh(covariance)
    short_axis, long_axis = 2 * DEVIATIONS * np.sqrt(np.maximum(lengths, 0))
    angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
    ellipse = require("matplotlib.patches", "plots").Ellipse
    return ellipse(center, long_axis, short_axis, angle=angle, fill=False, edgecolor=colour, linewidth=1.4, zorder=2.5)
