"""Figures of predictions: against true targets, and the coverage of predicted intervals."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from modicum.plot.formatting import percent, short
from modicum.plot.limits import Frame, note_beyond
from modicum.plot.style import FONT, LIGHT, WIDTH, format_ticks, name_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 4000  # more only overlap
NOMINAL = np.linspace(0.05, 0.99, 48)  # coverages at which the curve is drawn


def predicted_and_true(predicted: np.ndarray, true: np.ndarray) -> "Figure":
    """Predicted against true targets; on the diagonal they agree."""
    some = np.random.default_rng(0).permutation(len(true))[:MOST_POINTS]
    true, predicted = np.asarray(true)[some], np.asarray(predicted)[some]
    figure, axes = new_figure(WIDTH * 0.9)
    axes.grid(axis="x", color=LIGHT["line"], linewidth=0.7)
    axes.axline((true.mean(), true.mean()), slope=1, color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)))
    area = np.clip(20_000 / max(1, len(true)), 4, 18)
    points = np.column_stack([true, predicted])
    frame = Frame.of(points)
    frame.apply(axes, points)
    note_beyond(axes, frame.scatter(axes, points, area, LIGHT["accent"], alpha=0.45, linewidths=0, rasterized=True))
    name_axes(axes, "true target", "predicted target")
    for axis in (axes.xaxis, axes.yaxis):
        format_ticks(axis, short)
    return figure


def interval_coverage(errors: np.ndarray, std: np.ndarray) -> "Figure":
    """Actual against nominal coverage of predicted intervals.

    `errors` are those of rows that had not been learned yet, `std` the predicted standard deviations.
    """
    actual = coverage(errors, std, NOMINAL)
    figure, axes = new_figure(WIDTH * 0.9)
    axes.grid(axis="x", color=LIGHT["line"], linewidth=0.7)
    axes.plot([0, 1], [0, 1], color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)))
    axes.plot(NOMINAL, actual, color=LIGHT["accent"], linewidth=1.8)
    name_axes(axes, "nominal coverage", "actual coverage")
    for axis in (axes.xaxis, axes.yaxis):
        format_ticks(axis, percent)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for words, position, side in (("too wide", (0.06, 0.94), "left"), ("too narrow", (0.94, 0.06), "right")):
        axes.annotate(words, position, color=LIGHT["soft"], fontsize=FONT, ha=side, va="center")
    return figure


def coverage(errors: np.ndarray, std: np.ndarray, nominal: Any) -> np.ndarray:
    """The share of errors within the central interval of each nominal coverage, for normal predictions.

    >>> coverage(np.array([0.5, -1.5, 2.5]), np.ones(3), [0.68, 0.95]).round(2)
    array([0.33, 0.67])
    """
    ratio = np.abs(errors) / np.maximum(std, np.finfo(float).tiny)
    return (ratio[:, None] <= ndtri((1 + np.asarray(nominal)) / 2)).mean(axis=0)
