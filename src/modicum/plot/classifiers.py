"""Figures of classifiers: accuracy over the stream, confusion matrix, weights."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.plot.curves import AXIS
from modicum.plot.formatting import label, percent, short
from modicum.plot.images import check_image
from modicum.plot.style import FONT, LIGHT, PALETTE, WIDTH, empty_figure, format_ticks, name_axes, new_figure, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 40  # of a curve
ROWS_PER_POINT = 50  # at least; fewer would be noisy
MOST_CLASSES = 30  # in a matrix; names of more can't be read
MOST_WRITTEN = 12  # classes up to which cells have room for a number
MOST_WEIGHTS = 20  # bars
FAINT = 0.55  # opacity of the strongest shade on which text can be read
NAME = 18  # characters of the name of a class or column
OUTLIERS = 99.5  # percentile of weights that gets the strongest shade


def accuracy_over_stream(classifier: Any) -> "Figure":
    """Prequential accuracy: of the rows since the previous point, and of all rows so far."""
    n_seen, accuracy, so_far = accuracy_curve(classifier)
    figure, axes = new_figure()
    axes.plot(n_seen, so_far, color=LIGHT["soft"], linewidth=1, linestyle=(0, (4, 3)), label="all rows so far")
    marker = "o" if len(n_seen) == 1 else None
    axes.plot(n_seen, accuracy, color=LIGHT["accent"], linewidth=1.8, marker=marker, label="latest rows")
    name_axes(axes, AXIS, "accuracy")
    format_ticks(axes.xaxis, short)
    format_ticks(axes.yaxis, lambda share: f"{100 * share:.4g}%")
    axes.set_ylim(top=min(1.0, axes.get_ylim()[1]))
    axes.margins(x=0.02)
    axes.legend(frameon=False, fontsize=FONT, labelcolor=LIGHT["soft"], loc="best")
    return figure


def accuracy_curve(classifier: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows seen at the end of each interval of the stream, the accuracy within it, and that of all rows so far."""
    n_seen, accuracy = classifier.history_["n_seen"], classifier.history_["accuracy"]
    correct = np.cumsum(accuracy * np.diff(n_seen, prepend=0))
    points = min(MOST_POINTS, max(1, n_seen[-1] // ROWS_PER_POINT))
    ends = np.searchsorted(n_seen, n_seen[-1] * np.arange(1, points + 1) / points)
    n_seen, correct = n_seen[ends], correct[ends]
    return n_seen, np.diff(correct, prepend=0) / np.diff(n_seen, prepend=0), correct / n_seen


def confusion_matrix(classifier: Any) -> "Figure":
    """The prequential confusion matrix as shares of each true class: correct ones blue, errors red.

    Of more than 30 classes, the largest are shown.
    """
    counts, names = _largest(classifier)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = len(shares)
    figure, axes = new_figure(min(WIDTH * 0.95, 1.8 + 0.4 * side))
    signed = np.where(np.eye(side, dtype=bool), shares, -np.sqrt(shares))  # a few percent of errors should be visible
    axes.imshow(shades(FAINT * signed), interpolation="nearest")
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    turn = 90 if side > 4 and max(map(len, names)) > 2 else 0
    size = FONT if side <= MOST_WRITTEN else 7
    axes.set_xticks(range(side), names, rotation=turn, fontsize=size, parse_math=False)
    axes.set_yticks(range(side), names, fontsize=size, parse_math=False)
    name_axes(axes, "predicted class", "true class")
    if side <= MOST_WRITTEN:
        for (i, j), share in np.ndenumerate(shares):
            if share:
                look = {"ha": "center", "va": "center", "color": LIGHT["ink"]}
                axes.text(j, i, percent(share), fontsize=FONT if side <= 6 else 7, **look)
    return figure


def _largest(classifier: Any) -> tuple[np.ndarray, list[str]]:
    """Counts and names of the classes with the most rows, in the order of `classes_`."""
    counts = classifier.confusion_
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    return counts[np.ix_(shown, shown)], [label(str(classifier.classes_[i]), NAME) for i in shown]


def weight_images(classifier: Any, image: tuple[int, ...]) -> "Figure":
    """The weights of each class as a picture: blue is evidence for the class, red against it.

    `image` is as for `exemplar_images`; the weights of a pixel's colours are added up. Two classes have one picture,
    of the weights for the second.
    """
    weights = np.asarray(classifier.coef_)[:MOST_CLASSES]
    check_image(weights, image)
    pictures = weights.reshape(len(weights), *image[:2], -1).sum(axis=3)
    top = np.percentile(np.abs(pictures), OUTLIERS) or np.abs(pictures).max() or 1.0
    columns = math.ceil(math.sqrt(len(pictures) * 2))  # a single one should not fill the page
    lines = math.ceil(len(pictures) / columns)
    figure = empty_figure(WIDTH * lines / columns * image[0] / image[1] + 0.3 * lines)
    names = machine_names(classifier)
    for i, picture in enumerate(pictures):
        axes = figure.add_subplot(lines, columns, i + 1)
        axes.imshow(shades(np.clip(picture / top, -1, 1)), interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_color(LIGHT["line"])
        axes.set_title(label(names[i], NAME), fontsize=FONT, color=LIGHT["soft"], parse_math=False)
    return figure


def largest_weights(classifier: Any, machine: int = 0) -> "Figure":
    """The largest weights as bars: evidence for the class to the right, against it to the left."""
    weights = classifier.coef_[machine]
    order = np.argsort(-np.abs(weights), kind="stable")[:MOST_WEIGHTS]
    order = order[np.argsort(weights[order], kind="stable")]
    names = column_names(classifier)
    figure, axes = new_figure(0.9 + 0.2 * len(order))
    colours = [PALETTE[0] if weight >= 0 else PALETTE[1] for weight in weights[order]]
    axes.barh(range(len(order)), weights[order], color=colours, height=0.7)
    axes.set_yticks(range(len(order)), [label(names[i], NAME) for i in order], parse_math=False)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=LIGHT["line"], linewidth=0.7)
    axes.axvline(0, color=LIGHT["soft"], linewidth=0.8)
    name_axes(axes, "weight", "")
    format_ticks(axes.xaxis, short)
    axes.margins(y=0.02)
    return figure


def machine_names(classifier: Any) -> list[str]:
    """The class that each row of `coef_` is for: of two classes, the second."""
    names = [str(name) for name in classifier.classes_]
    return names if len(names) > 2 else names[-1:]


def column_names(learner: Any) -> list[str]:
    """The names of columns, or x0, x1 and so on."""
    return [str(name) for name in learner.column_names_ or (f"x{i}" for i in range(learner.n_features_in_))]
