"""Axes that a few far points do not squash: those are drawn at the border, as triangles, and counted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.plot.style import LIGHT

TRIMMED = 0.01  # share of the points on either side that may be far
FEWEST = 10  # points: of fewer, all are shown where they are
WIDER = 0.5  # of the range of the others, added to it on either side
MARGIN = 0.04  # of an axis, outside of the points at the border
FAR = 3.0  # times the distance from the median of all but the farthest 1%
TRIANGLE = 22.0  # area in square points
TRIANGLES = (("<", 0, -1), (">", 0, 1), ("v", 1, -1), ("^", 1, 1))  # marker, axis, side


@dataclass(frozen=True)
class Frame:
    """The part of a plane that is shown: `low` and `high` of both axes, infinite where nothing is cut off."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> "Frame":
        """The range of all points but a few far ones."""
        sides = [usual_range(column) for column in np.asarray(points, np.float64).T]
        return cls(*np.array(sides).T)

    @property
    def is_cut(self) -> bool:
        return bool(np.isfinite([self.low, self.high]).any())

    def beyond(self, points: np.ndarray) -> np.ndarray:
        """-1, 0 or 1 for each coordinate: below the frame, within it, or above."""
        return (points > self.high).astype(int) - (points < self.low)

    def apply(self, axes: Any, points: np.ndarray) -> None:
        """Set the limits of the axes; `points` are all that is drawn."""
        if not self.is_cut:
            return
        low, high = (np.clip(side(axis=0), self.low, self.high) for side in (points.min, points.max))
        room = MARGIN * (high - low)
        axes.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))

    def scatter(self, axes: Any, points: np.ndarray, sizes: Any, colours: Any, **look: Any) -> int:
        """Draw points; those beyond the frame as triangles at its border. Returns the number of the latter."""
        side = self.beyond(points)
        inside = ~side.any(axis=1)
        sizes = np.broadcast_to(sizes, len(points))
        colours = np.broadcast_to(colours, len(points))
        axes.scatter(*points[inside].T, s=sizes[inside], c=colours[inside], **look)
        at = np.clip(points, self.low, self.high)
        left = ~inside
        for marker, axis, sign in TRIANGLES:
            some = left & (side[:, axis] == sign)
            if some.any():
                visible = look | {"alpha": 1.0, "clip_on": False}
                axes.scatter(*at[some].T, s=TRIANGLE, c=colours[some], marker=marker, **visible)
            left &= ~some
        return int(np.count_nonzero(~inside))


def usual_range(values: np.ndarray) -> tuple[float, float]:
    """The range of all values but a few far ones on either side, widened; infinite on a side without far ones.

    >>> usual_range(np.arange(100.0)), usual_range(np.append(np.arange(99.0), 1e6))
    ((-inf, inf), (-inf, 146.5))
    """
    ordered = np.sort(values)
    few = math.ceil(TRIMMED * len(ordered))
    if len(ordered) < FEWEST or ordered[few] == ordered[-1 - few]:
        return -math.inf, math.inf
    low, high = float(ordered[few]), float(ordered[-1 - few])
    room = WIDER * (high - low)
    return (
        low - room if ordered[0] < low - room else -math.inf,
        high + room if ordered[-1] > high + room else math.inf,
    )


def are_usual(rows: np.ndarray) -> np.ndarray:
    """Whether rows are not far from the others: a few far ones would decide principal components alone."""
    if len(rows) < FEWEST:
        return np.ones(len(rows), bool)
    distance = np.sqrt(((rows - np.median(rows, axis=0)) ** 2).sum(axis=1, dtype=np.float64))
    usual = np.sort(distance)[-1 - math.ceil(TRIMMED * len(rows))]
    return distance <= FAR * usual if usual > 0 else np.ones(len(rows), bool)


def note_beyond(axes: Any, count: int) -> None:
    """State how many points were drawn at the border."""
    if count:
        words = f"{count:,} {'point' if count == 1 else 'points'} beyond the edges (triangles)"
        axes.set_title(words, loc="right", fontsize=8, color=LIGHT["soft"], pad=8)
