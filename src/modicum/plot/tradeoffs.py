"""Figures of tradeoffs: time against rows and risk, risk against points (lucic2015, Figures 1 and 2), a search."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.plot.formatting import about, duration, measure, short
from modicum.plot.labels import PLACES, place_labels
from modicum.plot.style import FONT, LIGHT, PALETTE, format_ticks, name_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 3.2
BAND = 0.16  # opacity: bands may overlap
WIDE = 5  # ratio of largest to smallest from which ticks at 1, 2, 5, 10 are enough
FEW_ROUNDS = 7  # rounds that are all labelled; labels of more would hide the curve
LEVEL_PLACES = tuple(place for place in PLACES if place[0] < 0 and place[1])  # within the axes, beside the line
ROUND_PLACES = (PLACES[4], PLACES[5], PLACES[6], PLACES[7])
BACKGROUND = {"facecolor": LIGHT["paper"], "edgecolor": "none", "alpha": 0.85, "pad": 1}  # of labels over lines
NAMES = {"coreset": "oracle, coresets", "uniform": "oracle, uniform samples"}


def data_time(tradeoff: Any, risk: float, *, trams: Sequence[Any] = ()) -> "Figure":
    """Least time to reach one risk against the number of rows: the oracle of each method, and fitted `Tram`s.

    Bands are the 10% to 90% range of runs. A method has no curve where it does not reach the risk.
    """
    figure, axes = new_figure(HEIGHT)
    for method, colour in _with_colours(tradeoff.methods):
        _draw(axes, tradeoff.data_time(risk, method), _name(method), colour)
    _draw_trams(axes, trams, lambda tram: tram.n_rows_)
    _label(axes, "rows available", f"time to reach a risk of {measure(risk)}")
    _scale(axes, "x", short)
    _scale(axes, "y", duration)
    return figure


def risk_time(tradeoff: Any, max_rows: int | None = None, *, trams: Sequence[Any] = ()) -> "Figure":
    """Least time against the risk to reach with at most `max_rows` rows (by default all), as `data_time`.

    Risks up to twice the smallest one are shown.
    """
    max_rows = max(tradeoff.n_rows) if max_rows is None else max_rows
    best = min(cell.risk for cell in tradeoff.cells(max_rows=max_rows))
    figure, axes = new_figure(HEIGHT)
    for method, colour in _with_colours(tradeoff.methods):
        curve = tradeoff.risk_time(method, max_rows)
        shown = curve.x <= best + abs(best)
        _draw(axes, [column[shown] for column in curve], _name(method), colour)
    _draw_trams(axes, trams, lambda tram: tram.target_)
    _label(axes, "risk", f"time with {about(max_rows)} rows")
    _scale(axes, "x", short)
    _scale(axes, "y", duration)
    return figure


def risk_by_points(tradeoff: Any, n_rows: int | None = None) -> "Figure":
    """Risk against the number of points: of coresets of `n_rows` rows (by default all), and of uniform samples."""
    n_rows = max(tradeoff.n_rows) if n_rows is None else n_rows
    figure, axes = new_figure(HEIGHT)
    for method, colour in _with_colours(tradeoff.methods):
        cells = [cell for cell in tradeoff.cells(method, n_rows) if cell.n_rows in (n_rows, cell.n_points)]
        cells.sort(key=lambda cell: cell.n_points)
        points, risks = [cell.n_points for cell in cells], [cell.risk for cell in cells]
        low, high = np.reshape([cell.risk_range for cell in cells], (-1, 2)).T
        _draw(axes, (points, risks, low, high), _name(method).removeprefix("oracle, "), colour)
    _label(axes, f"points chosen from {about(n_rows)} rows", "risk")
    _scale(axes, "x", short)
    _scale(axes, "y", short)
    return figure


def search_path(tram: Any) -> "Figure":
    """The risk after each round of a `Tram` against the time spent, and the target."""
    seconds = np.cumsum([made.seconds for made in tram.path_])
    risks = [made.risk for made in tram.path_]
    figure, axes = new_figure(HEIGHT)
    axes.plot(seconds, risks, color=LIGHT["accent"], linewidth=1.8, marker="o", markersize=5)
    levels = {"target": tram.target_}
    if tram.reference_ is not None:
        levels["best found"] = tram.reference_.risk
    for level in levels.values():
        axes.axhline(level, color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)))
    name_axes(axes, "time spent", "risk on held-out rows")
    format_ticks(axes.xaxis, duration)
    format_ticks(axes.yaxis, short)
    axes.set_xlim(0, 1.25 * seconds[-1])
    axes.margins(y=0.16)
    axes.autoscale_view(scalex=False)
    if min(risks) > 0 and max(risks) > WIDE * min(risks):
        _scale(axes, "y", short)
    ends = [(axes.get_xlim()[1], level) for level in levels.values()]
    place_labels(axes, ends, levels, LEVEL_PLACES, color=LIGHT["soft"], fontsize=FONT)
    ends_of_path = [0, len(risks) - 1][: len(risks)]
    between = range(1, len(risks) - 1) if len(risks) <= FEW_ROUNDS else ()
    order = [*ends_of_path, *between]  # the ends matter most
    words = [f"{about(made.n_rows)} rows\n{about(made.n_points)} points" for made in tram.path_]
    look = {"color": LIGHT["soft"], "fontsize": 8, "bbox": BACKGROUND}
    place_labels(axes, [(seconds[i], risks[i]) for i in order], [words[i] for i in order], ROUND_PLACES, **look)
    return figure


def _with_colours(methods: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(methods, PALETTE, strict=False)


def _name(method: str) -> str:
    return NAMES.get(method, f"oracle, {method}")


def _draw(axes: Any, curve: Sequence[Any], name: str, colour: str) -> None:
    """A curve and the band around it."""
    x, middle, low, high = curve
    axes.plot(x, middle, color=colour, linewidth=1.8, marker="o", markersize=3.5, label=name)
    axes.fill_between(x, low, high, color=colour, linewidth=0, alpha=BAND)


def _draw_trams(axes: Any, trams: Sequence[Any], x_of: Callable[[Any], float]) -> None:
    """The time of searches; of those with the same x, the median and the 10% to 90% range."""
    times: dict[float, list[float]] = {}
    for tram in trams:
        if tram.reached_:
            times.setdefault(x_of(tram), []).append(tram.seconds_)
    if times:
        x = sorted(times)
        low, median, high = np.transpose([np.quantile(times[at], (0.1, 0.5, 0.9)) for at in x])
        _draw(axes, (x, median, low, high), "TRAM", LIGHT["ink"])


def _label(axes: Any, x: str, y: str) -> None:
    name_axes(axes, x, y)
    axes.legend(frameon=False, fontsize=FONT, labelcolor=LIGHT["soft"])


def _scale(axes: Any, which: str, text: Callable[[float], str]) -> None:
    """A logarithmic axis "x" or "y" if all numbers are positive; ticks are labelled by `text`."""
    axis = getattr(axes, f"{which}axis")
    low, high = axis.get_data_interval()
    format_ticks(axis, text)
    if low <= 0:
        return
    locator = axis.get_major_locator()
    locator.set_params(nbins=7)
    axes.set(**{f"{which}scale": "log"})  # brings its own ticks
    if high > WIDE * low:
        subs = (1.0, 2.0, 5.0) if high < 200 * low else (1.0,)
        locator = require("matplotlib.ticker", "plots").LogLocator(subs=subs)
    axis.set_major_locator(locator)
    axis.set_major_formatter(lambda value, _: text(value))
    axes.minorticks_off()
