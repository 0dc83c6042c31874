"""How learning went: what a learner recorded along the stream."""

from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.numbers import short
from modicum.plot.style import FONT, LIGHT, format_ticks, name_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def utility_over_stream(learner: Any, *, loss: bool = False) -> "Figure":
    """Utility (or the loss whose fall it is) against the candidates offered, swaps as a faint second curve."""
    history, name = learner.history_, "loss" if loss else "utility"
    figure, axes = _curve(history["candidates"], history[name], "candidates offered", name)
    _behind(axes, history["candidates"], history["swaps"], "swaps")
    return figure


def value_over_stream(selector: Any, name: str = "value", changes: str = "swaps", *, sign: float = 1.0) -> "Figure":
    """What a selector raises, against the rows offered, and the changes it took as a faint second curve.

    Where decisions rest on an estimate (`BlockGreedy`) the curve is the estimate, and a dot at its end the true value.
    A `sign` of -1 draws what it lowers instead.
    """
    history = selector.history_
    estimated = hasattr(selector, "estimate_")
    figure, axes = _curve(
        history["rows"], history["value"], "rows offered", f"{name}, estimated" if estimated else name
    )
    _behind(axes, history["rows"], history["swaps"], changes)
    if estimated:
        end = history["rows"][-1], sign * selector.value_
        axes.plot(*end, "o", color=LIGHT["accent"], markersize=6)
        look = {"xytext": (-8, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
        axes.annotate("true value", end, color=LIGHT["accent"], fontsize=FONT, **look)
    return figure


def components_over_stream(mixture: Any) -> "Figure":
    """The number of components after each round, against the rows seen, and the free energy per row behind it."""
    history = mixture.history_
    rows = history["n_seen"]
    figure, axes = _curve(rows, history["components"], "rows seen", "components")
    axes.yaxis.get_major_locator().set_params(integer=True)
    _behind(axes, rows, history["free_energy"] / rows, "free energy per row", filled=False)
    return figure


def curve(learner: Any, name: str) -> "Figure":
    """One column of `history_` against its first column."""
    history = learner.history_
    first = next(iter(history))
    return _curve(history[first], history[name], first, name)[0]


def _curve(x: np.ndarray, y: np.ndarray, x_name: str, y_name: str) -> tuple["Figure", Any]:
    figure, axes = new_figure()
    axes.plot(x, y, color=LIGHT["accent"], linewidth=1.8, label=y_name, marker="o" if len(x) == 1 else None)
    name_axes(axes, x_name, y_name)
    format_ticks(axes.xaxis, short)
    format_ticks(axes.yaxis, lambda value: short(value) if abs(value) >= 1e6 else f"{value:,.8g}")
    axes.margins(x=0.02)
    return figure, axes


def _behind(axes: Any, x: np.ndarray, y: np.ndarray, name: str, *, filled: bool = True) -> None:
    """A faint second curve with an axis of its own on the right; filled down to zero, or alone."""
    second = axes.twinx()
    second.plot(x, y, color=LIGHT["soft"], linewidth=0.8, alpha=0.6, label=name)
    for spine in second.spines.values():
        spine.set_visible(False)
    second.tick_params(colors=LIGHT["soft"], labelsize=FONT, length=0, pad=5)
    if filled:
        second.fill_between(x, y, color=LIGHT["soft"], linewidth=0, alpha=0.13)
        second.set_ylim(bottom=0)
    format_ticks(second.yaxis, short)
    second.set_ylabel(name, color=LIGHT["soft"], fontsize=FONT, labelpad=6)
    axes.yaxis.label.set_color(LIGHT["accent"])
    axes.set_zorder(second.get_zorder() + 1)
