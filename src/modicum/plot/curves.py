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
    swaps = axes.twinx()
    swaps.plot(history["candidates"], history["swaps"], color=LIGHT["soft"], linewidth=0.8, alpha=0.6, label="swaps")
    swaps.fill_between(history["candidates"], history["swaps"], color=LIGHT["soft"], linewidth=0, alpha=0.13)
    for spine in swaps.spines.values():
        spine.set_visible(False)
    swaps.tick_params(colors=LIGHT["soft"], labelsize=FONT, length=0, pad=5)
    swaps.set_ylim(bottom=0)
    format_ticks(swaps.yaxis, short)
    swaps.set_ylabel("swaps", color=LIGHT["soft"], fontsize=FONT, labelpad=6)
    axes.yaxis.label.set_color(LIGHT["accent"])
    axes.set_zorder(swaps.get_zorder() + 1)
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
