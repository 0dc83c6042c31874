"""Figures of information maximisation: what was found along a path of regularisations (gomes2010rim)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.plot.formatting import short
from modicum.plot.style import FONT, LIGHT, PALETTE, WIDTH, empty_figure, format_ticks, name_axes, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = {  # name and look
    "stability": ("stability", {"color": LIGHT["accent"], "linewidth": 1.8}),
    "null": ("of rows without clusters", {"color": LIGHT["soft"], "linewidth": 1.2, "linestyle": (0, (4, 3))}),
    "score": ("score", {"color": PALETTE[1], "linewidth": 1.2}),
}
BELOW = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.32), "borderaxespad": 0.0}  # the axes, where curves are not
MANY = 4  # clusters from which their axis is logarithmic


def regularization_path(path: Any, *, chosen: float | None = None) -> "Figure":
    """Clusters, their stability, that of rows without clusters, and the score, against the regularisation.

    `path` is a fitted RIM or KernelRIM, or what its `path` method returns. A dotted line marks the regularisation that
    was chosen: `chosen`, or that of the learner.
    """
    columns, chosen = _columns(path), getattr(path, "regularization_", None) if chosen is None else chosen
    judged = [name for name in CURVES if name in columns]
    heights = [1.0, 1.3][: 1 + bool(judged)]
    figure = empty_figure(1.7 * sum(heights), WIDTH)
    panels = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes in panels:
        plain_axes(axes)
        axes.set_xscale("log")
        axes.minorticks_off()
    _draw_clusters(panels[0], columns)
    if judged:
        _draw_stability(panels[-1], columns, judged)
    panels[-1].set_xlabel("regularization", color=LIGHT["soft"], fontsize=FONT, labelpad=6)
    panels[-1].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if chosen is not None:
        for axes in panels:
            axes.axvline(chosen, color=LIGHT["ink"], linewidth=1, linestyle=(0, (1, 2)))
        _name_chosen(panels[0], chosen)
    return figure


def _columns(path: Any) -> dict[str, np.ndarray]:
    """What is known of a path, by name."""
    found = path if isinstance(path, Mapping) else path.choice_
    if found is None:
        raise ValueError("regularization_path: the regularization was given, or chosen by labels. Draw model.path().")
    return {name: np.asarray(values) for name, values in found.items()}


def _draw_clusters(axes: Any, columns: Mapping[str, np.ndarray]) -> None:
    counts = columns["n_clusters"]
    axes.step(columns["regularization"], counts, where="mid", color=LIGHT["accent"], linewidth=1.8)
    name_axes(axes, "", "clusters")
    if counts.max() <= MANY:
        axes.set_ylim(0, counts.max() + 0.5)
        axes.yaxis.get_major_locator().set_params(integer=True)
        return
    axes.set_yscale("log")
    axes.set_ylim(0.9, 1.25 * counts.max())
    axes.yaxis.set_major_locator(require("matplotlib.ticker", "plots").LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: short(value))
    axes.minorticks_off()


def _draw_stability(axes: Any, columns: Mapping[str, np.ndarray], judged: list[str]) -> None:
    for name in judged:
        words, look = CURVES[name]
        axes.plot(columns["regularization"], columns[name], label=words, **look)
    axes.set_ylim(bottom=-0.03)  # how far scores are below zero says nothing
    format_ticks(axes.yaxis, short)
    name_axes(axes, "", "agreement")
    axes.legend(frameon=False, fontsize=FONT - 1, labelcolor=LIGHT["soft"], ncols=len(judged), **BELOW)


def _name_chosen(axes: Any, chosen: float) -> None:
    """Write the chosen regularisation below the curve, which falls from left to right."""
    low, high = axes.get_xlim()
    is_right = chosen > (low * high) ** 0.5
    axes.annotate(
        f"chosen: {chosen:.3g}",
        (chosen, 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if is_right else 4, 3),
        textcoords="offset points",
        color=LIGHT["ink"],
        fontsize=FONT - 1,
        ha="right" if is_right else "left",
        va="bottom",
    )
