"""Curves of `history_`: what a learner recorded over the stream."""

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.evaluate import Prequential
from modicum.plot.formatting import label as short_label
from modicum.plot.formatting import short
from modicum.plot.labels import PLACES, place_labels
from modicum.plot.style import FONT, LIGHT, MOST_LETTERS, PALETTE, format_ticks, name_axes, new_figure
from modicum.select import BlockGreedy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXIS = "rows seen"
BESIDE_END = (PLACES[7], PLACES[6], PLACES[1])  # off the curve, which comes from the left
ABOVE = (PLACES[2], PLACES[0], PLACES[1])
ORDERS = 50  # ratio of the largest to the smallest value from which an axis is logarithmic


def utility_over_stream(learner: Any, *, loss: bool = False) -> "Figure":
    """Utility (or loss) of an exemplar clustering, and its swaps as a faint second curve."""
    history, name = learner.history_, "loss" if loss else "utility"
    figure, axes = curve(history["n_seen"], history[name], name)
    second_curve(axes, history["n_seen"], history["swaps"], "swaps")
    return figure


def value_over_stream(selector: Any, name: str = "value", changes: str = "swaps", *, sign: float = 1.0) -> "Figure":
    """The value of a selector's objective, and its changes as a faint second curve.

    With a `sign` of -1, minus the value. `BlockGreedy` with a number of neighbors decides by an estimate: the curve is
    the estimate, and a dot at its end the true value.
    """
    history, estimated = selector.history_, isinstance(selector, BlockGreedy) and selector.neighbors is not None
    n_seen = history["n_seen"]
    figure, axes = curve(n_seen, sign * history["value"], f"{name} (estimate)" if estimated else name)
    second_curve(axes, n_seen, history["swaps"], changes)
    if estimated:
        end = n_seen[-1], sign * selector.value_
        axes.plot(*end, "o", color=LIGHT["accent"], markersize=6)
        place_labels(axes, [end], ["true value"], BESIDE_END, color=LIGHT["accent"], fontsize=FONT)
    return figure


def components_over_stream(mixture: Any) -> "Figure":
    """The number of components, and the free energy per row as a faint second curve."""
    history = mixture.history_
    n_seen = history["n_seen"]
    figure, axes = count_curve(n_seen, history["components"], "components")
    second_curve(axes, n_seen, history["free_energy"] / n_seen, "free energy per row", filled=False)
    return figure


def clusters_over_stream(learner: Any) -> "Figure":
    """The number of clusters that RIM found, and the information as a faint second curve."""
    history = learner.history_
    figure, axes = count_curve(history["n_seen"], history["clusters"], "clusters")
    second_curve(axes, history["n_seen"], history["information"], "information", filled=False)
    return figure


def history_over_stream(learner: Any, column: str, name: str | None = None) -> "Figure":
    """One column of `history_`, labelled with `name`; on a logarithmic axis if it varies over orders of magnitude."""
    n_seen, y = learner.history_["n_seen"], learner.history_[column]
    figure, axes = curve(n_seen, y, name or column)
    known = y[np.isfinite(y)]
    if len(known) and known.min() > 0 and known.max() > ORDERS * known.min():
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: short(value))
    return figure


def changes_over_stream(learner: Any) -> "Figure":
    """Where a learner with `half_life="auto"` found changes: a stem for each, as high as the error rose.

    A band reaches from where the change was to where it was noticed.
    """
    changes = learner.changes_
    figure, axes = new_figure(height=1.9)
    since = [change.since for change in changes]
    rises = [change.difference for change in changes]
    for change in changes:
        axes.axvspan(change.since, change.row, color=LIGHT["line"], linewidth=0)
    axes.vlines(since, 0, rises, color=LIGHT["accent"], linewidth=1.4)
    axes.plot(since, rises, "o", color=LIGHT["accent"], markersize=5)
    name_axes(axes, AXIS, "rise of the error")
    format_ticks(axes.xaxis, short)
    axes.yaxis.get_major_locator().set_params(nbins=3)
    axes.set_xlim(0, learner.n_seen_)
    axes.set_ylim(0, 1.25 * max(rises, default=1.0))
    largest = sorted(zip(rises, since, strict=True), reverse=True)
    texts = [f"{at:,}" for _, at in largest]
    place_labels(axes, [(at, rise) for rise, at in largest], texts, ABOVE, color=LIGHT["soft"], fontsize=FONT - 1)
    return figure


def scores_over_stream(scores: Prequential | Mapping[str, Prequential]) -> "Figure":
    """The score of recent rows and, faint, of all rows, by `evaluate.prequential`; dotted where errors rose.

    Of several learners by name, the score of recent rows, with a mark on the curve where the errors of each rose.
    """
    if not isinstance(scores, Prequential):
        return _scores_of_several(scores)
    figure, axes = curve(scores.n_seen, scores.recent, scores.metric)
    axes.lines[0].set_label("recent rows")
    axes.plot(scores.n_seen, scores.overall, color=LIGHT["soft"], linewidth=0.8, label="all rows")
    for number, change in enumerate(scores.changes):
        label = None if number else "errors rose"
        axes.axvline(change.since, color=LIGHT["ink"], linestyle=":", linewidth=1, label=label)
    axes.legend(frameon=False, fontsize=FONT)
    return figure


def _scores_of_several(scores: Mapping[str, Prequential]) -> "Figure":
    figure, axes = new_figure(height=2.7 + 0.2 * len(scores))
    for (name, its), color in zip(scores.items(), cycle(PALETTE), strict=False):
        axes.plot(its.n_seen, its.recent, color=color, linewidth=1.4, label=short_label(name, MOST_LETTERS))
        at = np.array([change.since for change in its.changes], float)
        axes.plot(at, np.interp(at, its.n_seen, its.recent), "v", color=color, markersize=6, label="_")
    name_axes(axes, AXIS, next(iter(scores.values())).metric)
    format_ticks(axes.xaxis, short)
    axes.margins(x=0.02)
    axes.plot([], [], "v", color=LIGHT["soft"], markersize=6, label="errors rose")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", frameon=False, fontsize=FONT)
    return figure


def curve(n_seen: np.ndarray, y: np.ndarray, name: str) -> tuple["Figure", Any]:
    figure, axes = new_figure()
    axes.plot(n_seen, y, color=LIGHT["accent"], linewidth=1.8, label=name, marker="o" if len(y) == 1 else None)
    name_axes(axes, AXIS, name)
    format_ticks(axes.xaxis, short)
    format_ticks(axes.yaxis, lambda value: short(value) if abs(value) >= 1e6 else f"{value:,.8g}")
    axes.margins(x=0.02)
    return figure, axes


def count_curve(n_seen: np.ndarray, y: np.ndarray, name: str) -> tuple["Figure", Any]:
    """A curve of whole numbers."""
    figure, axes = curve(n_seen, y, name)
    axes.yaxis.get_major_locator().set_params(integer=True)
    if np.ptp(y) == 0:
        axes.set_ylim(y[0] - 1, y[0] + 1)  # room for ticks at integers
    return figure, axes


def second_curve(axes: Any, n_seen: np.ndarray, y: np.ndarray, name: str, *, filled: bool = True) -> None:
    """A faint curve behind the first, with an axis on the right; filled down to zero unless told otherwise."""
    second = axes.twinx()
    second.plot(n_seen, y, color=LIGHT["soft"], linewidth=0.8, alpha=0.6, label=name)
    for spine in second.spines.values():
        spine.set_visible(False)
    second.tick_params(colors=LIGHT["soft"], labelsize=FONT, length=0, pad=5)
    if filled:
        second.fill_between(n_seen, y, color=LIGHT["soft"], linewidth=0, alpha=0.13)
        second.set_ylim(bottom=0)
    format_ticks(second.yaxis, short)
    second.set_ylabel(name, color=LIGHT["soft"], fontsize=FONT, labelpad=6)
    axes.yaxis.label.set_color(LIGHT["accent"])
    axes.set_zorder(second.get_zorder() + 1)
