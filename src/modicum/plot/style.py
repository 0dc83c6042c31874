"""The style of all figures, and their SVG, which takes its colours from the page around it."""

import io
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum._optional import require
from modicum.plot.formatting import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The names are CSS variables in a report, each with a dark variant. Figures outside of reports are light.
LIGHT = {"ink": "#1d2730", "soft": "#5b6772", "line": "#dde2e7", "accent": "#0f6e8c", "paper": "#fefefe"}
DARK = {"ink": "#e7ebee", "soft": "#9aa7b2", "line": "#33404a", "accent": "#62b7d3", "paper": "#12181d"}

# Paul Tol's "bright": distinct for colour-blind readers, on light and dark backgrounds.
PALETTE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]

WIDTH = 4.8  # inches: text stays readable on a phone
FONT = 10
MOST_LETTERS = 48  # of the label of an axis: as wide as a figure
TAG = re.compile(r"<[^>]*>")
RASTER_DPI = 220  # of point clouds, which are rasterized within the SVG


def empty_figure(height: float, width: float = WIDTH) -> "Figure":
    """A figure without axes."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(width, height), dpi=150, layout="constrained")
    figure.set_facecolor(LIGHT["paper"])
    return figure


def new_figure(height: float = 2.7, width: float = WIDTH) -> tuple["Figure", Any]:
    """A figure and its axes, with a light grid and no frame but the bottom line."""
    figure = empty_figure(height, width)
    axes = figure.subplots()
    plain_axes(axes)
    return figure, axes


def plain_axes(axes: Any) -> None:
    """Give axes a light grid and no frame but the bottom line."""
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(LIGHT["line"])
    axes.grid(axis="y", color=LIGHT["line"], linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=LIGHT["soft"], labelsize=FONT, length=0, pad=5)


def name_axes(axes: Any, x: str, y: str) -> None:
    """Label the axes; names of columns are taken literally, and cut if they are long."""
    axes.set_xlabel(label(x, MOST_LETTERS), color=LIGHT["soft"], fontsize=FONT, labelpad=6, parse_math=False)
    axes.set_ylabel(label(y, MOST_LETTERS), color=LIGHT["soft"], fontsize=FONT, labelpad=6, parse_math=False)


def format_ticks(axis: Any, text: Callable[[float], str]) -> None:
    """A few ticks, labelled by `text`."""
    axis.set_major_locator(require("matplotlib.ticker", "plots").MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda value, _: text(value))


def shades(values: np.ndarray) -> np.ndarray:
    """Numbers from -1 to 1 as RGBA: blue above zero, red below, opaque in proportion to the magnitude.

    Zero is transparent, for light and dark backgrounds alike.
    """
    to_rgb = require("matplotlib.colors", "plots").to_rgb
    above, below = np.array(to_rgb(PALETTE[0])), np.array(to_rgb(PALETTE[1]))
    return np.concatenate([np.where(values[..., None] >= 0, above, below), np.abs(values)[..., None]], axis=-1)


def as_svg(figure: "Figure", alt: str) -> str:
    """The figure as an `<svg>` element for an HTML page, in the colours and the font of the page."""
    out = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": "modicum"}
    with require("matplotlib", "plots").rc_context(settings), any_script():
        figure.savefig(out, format="svg", transparent=True, dpi=RASTER_DPI)
    text = out.getvalue()
    opening = re.search(r"<svg[^>]*?(viewBox=\"[^\"]*\")[^>]*>", text)
    assert opening is not None
    drawing = re.sub(r"<metadata>.*?</metadata>", "", text[opening.end() :], flags=re.DOTALL)
    return f'<svg {opening[1]} role="img" aria-label="{escape(alt)}">{_for_page(drawing)}'


@contextmanager
def any_script() -> Iterator[None]:
    """Text in any script is fine: the page has other fonts than those that figures are measured with."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from|Matplotlib currently does not support")
        yield


def _for_page(drawing: str) -> str:
    """The drawing with colours of the page, and with ids that differ from those of other figures on it.

    Only tags are changed: texts may look like colours or ids.
    """
    tags = "".join(TAG.findall(drawing))
    used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", tags))
    prefix = f"f{zlib.crc32(drawing.encode('utf-8', 'replace')):08x}-"

    def changed(found: re.Match[str]) -> str:
        tag = found[0]
        for name, colour in LIGHT.items():
            tag = tag.replace(colour, f"var(--{name})")
        tag = re.sub(r" id=\"([^\"]+)\"", lambda own: own[0] if own[1] in used else "", tag)
        return re.sub(r"(id=\"|href=\"#|url\(#)(?=[^\")]+[\")])", rf"\1{prefix}", tag)

    return TAG.sub(changed, drawing)
