"""Figures of topic models: the words of topics, and their number over the stream."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.curves import curve, second_curve
from modicum.plot.formatting import label, percent
from modicum.plot.style import FONT, LIGHT, WIDTH, empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BESIDE = 3  # panels in a row
INCH_PER_WORD = 0.19
MOST_LETTERS = 16  # of a word


def topic_words(model: Any, n_topics: int = 9) -> "Figure":
    """The words of the largest topics, with bars in proportion to their frequencies in the topic."""
    topics, weights = model.topics_, model.weights_
    shown = np.argsort(-weights, kind="stable")[:n_topics]
    names = model.column_names_ or [f"word {at}" for at in range(model.components_.shape[1])]
    places = {name: at for at, name in enumerate(names)}
    rows = math.ceil(len(shown) / BESIDE)
    n_words = max(len(topics[k]) for k in shown)
    figure = empty_figure(rows * (INCH_PER_WORD * n_words + 0.5), 1.5 * WIDTH)
    panels = figure.subplots(rows, BESIDE, squeeze=False).ravel()
    for k, axes in zip(shown, panels, strict=False):
        words = topics[k]
        axes.barh(range(len(words)), model.components_[k, [places[word] for word in words]], color=LIGHT["accent"])
        written = [label(word, MOST_LETTERS) for word in words]
        axes.set_yticks(range(len(words)), written, fontsize=FONT - 1, color=LIGHT["ink"], parse_math=False)
        axes.set_title(f"topic {k}: {percent(weights[k])}", fontsize=FONT, color=LIGHT["soft"], loc="left")
        axes.set_ylim(n_words - 0.4, -0.6)
    for axes in panels:
        axes.set_facecolor("none")
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    return figure


def topics_over_stream(model: Any) -> "Figure":
    """The number of topics, and the seconds that each round took as a faint second curve (Figure 3.4)."""
    history = model.history_
    figure, axes = curve(history["n_seen"], history["topics"], "topics")
    axes.yaxis.get_major_locator().set_params(integer=True)
    if np.ptp(history["topics"]) == 0:
        axes.set_ylim(history["topics"][0] - 1, history["topics"][0] + 1)  # room for ticks at integers
    second_curve(axes, history["n_seen"], history["seconds"], "seconds per round")
    return figure
