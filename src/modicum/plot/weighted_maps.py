"""Maps of weighted points, coloured by cluster, with centers and ellipses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.plot.labels import place_labels
from modicum.plot.limits import note_beyond
from modicum.plot.maps import EQUAL_DOT, draw_markers, new_map, spread_colours
from modicum.plot.projections import Plane, Projection
from modicum.plot.style import FONT, LIGHT, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 20_000  # drawn: more only overlap
USUAL_DOT = 10.0  # area of a point of mean weight, in square points
LARGEST_DOT, SMALLEST_DOT = 90.0, 1.5
DEVIATIONS = 2.0  # standard deviations of a component within its ellipse


@dataclass(frozen=True)
class Points:
    """Points, their weights, and the cluster of each if there are clusters."""

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
    """Points with areas in proportion to their weights, in the colours of the clusters whose centers are given.

    With `covariances` an ellipse is drawn two standard deviations around each center; `names` are written beside them.
    """
    plane = Plane.of(learner, points.rows, points.weights)
    if len(points.rows) > MOST_POINTS:
        points = points[np.random.default_rng(0).choice(len(points.rows), MOST_POINTS, replace=False)]
    points = points[np.argsort(-points.weights, kind="stable")]  # light ones in front of heavy ones
    at = np.empty((0, 2)) if centers is None else plane.project(centers)
    colours = np.array(PALETTE)[spread_colours(at, len(PALETTE))]
    shown = Projection(plane.project(points.rows), at, plane.names, plane.has_units)
    figure, axes, frame = new_map(shown)
    areas = np.clip(USUAL_DOT * points.weights / points.weights.mean(), SMALLEST_DOT, LARGEST_DOT)
    of_points = LIGHT["accent"] if points.labels is None else colours[points.labels]
    beyond = frame.scatter(axes, shown.rows, areas, of_points, alpha=0.45, linewidths=0, rasterized=True)
    note_beyond(axes, beyond)
    if centers is not None:
        draw_markers(axes, frame, at, np.full(len(at), EQUAL_DOT), colours)
    for center, covariance, colour in zip(at, () if covariances is None else covariances, colours, strict=False):
        axes.add_patch(_ellipse(center, plane.project_covariance(covariance), colour))
    if names and points.labels is not None:
        order = np.argsort(-np.bincount(points.labels, points.weights, len(at)), kind="stable")  # largest first
        within = np.clip(at, frame.low, frame.high)
        place_labels(axes, within[order], [names[i] for i in order], color=LIGHT["ink"], fontsize=FONT, zorder=4)
    return figure


def _ellipse(center: np.ndarray, covariance: np.ndarray, colour: str) -> Any:
    lengths, directions = np.linalg.eigh(covariance)
    short_axis, long_axis = 2 * DEVIATIONS * np.sqrt(np.maximum(lengths, 0))
    angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
    ellipse = require("matplotlib.patches", "plots").Ellipse
    return ellipse(center, long_axis, short_axis, angle=angle, fill=False, edgecolor=colour, linewidth=1.4, zorder=2.5)
