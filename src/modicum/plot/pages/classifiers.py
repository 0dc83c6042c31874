"""The page of classifiers: how often they are right, what they confuse, and what speaks for a class."""

from typing import Any

import numpy as np

from modicum.plot.classes import (
    MOST_CLASSES,
    accuracy_curve,
    accuracy_over_stream,
    column_names,
    confusion_matrix,
    largest_weights,
    machine_names,
    weight_images,
)
from modicum.plot.gallery import MOST_ROWS
from modicum.plot.numbers import clipped, count, fewer_digits, percent, plural, rate
from modicum.plot.page import Column, Context, Figure, Section, Table, Text
from modicum.plot.pages.blocks import Content, at_a_glance, costs, figure

LATELY = 0.75  # of the stream had gone by
MOST_LOW = 4  # classes whose matrix is as low as a curve
MOST_WORDS = 5  # columns told for a class, and against it


def stream_svc(learner: Any, context: Context) -> Content:
    n, (lately, rows) = len(learner.classes_), _lately(learner)
    facts = [("classes", count(n)), ("right so far", rate(learner.accuracy_)), ("right lately", rate(lately))]
    several = [
        Section("The classes", [_by_class(learner)], _left_out(n, MOST_ROWS)),
        *([_weights(learner, context)] if hasattr(learner, "coef_") else []),
    ]
    sections = [
        Section("", [at_a_glance(learner, context, *facts)]),
        Section("How often it is right", _success(learner), "Every row was classified before it was learned."),
        *(several if n > 1 else []),
        _settings(learner),
        Section("Memory and time", [costs(learner, context, *_machine(learner))]),
        *([_guarantee(learner)] if len(learner.radius_) else []),
    ]
    sentence = (
        f"{plural(learner.n_seen_, 'row')} of {plural(n, 'class', 'classes')} came by. {rate(learner.accuracy_)} of "
        f"them were classified rightly before they were learned, and {rate(lately)} of the last {count(rows)}."
    )
    return sentence, sections


def _lately(learner: Any) -> tuple[float, int]:
    """The accuracy over the last quarter of the stream, and its rows."""
    rows, _, so_far = accuracy_curve(learner)
    before = int(np.searchsorted(rows, LATELY * rows[-1], side="right")) - 1
    if before < 0:
        return float(so_far[-1]), int(rows[-1])
    n = int(rows[-1] - rows[before])
    return float((so_far[-1] * rows[-1] - so_far[before] * rows[before]) / n), n


def _success(learner: Any) -> list[Figure]:
    n = len(learner.classes_)
    rows, accuracy, _ = accuracy_curve(learner)
    alt = f"Curve: accuracy goes from {rate(accuracy[0])} to {rate(accuracy[-1])} over {plural(rows[-1], 'row')}."
    caption = "Accuracy: of the rows since the point before, and of all so far."
    curve = figure(accuracy_over_stream(learner), alt, caption)
    if n == 1:
        return [curve]
    matrix = figure(
        confusion_matrix(learner),
        f"Matrix: which part of the rows of {plural(min(n, MOST_CLASSES), 'class', 'classes')} was taken for which.",
        f"Blue: rightly; red: mistaken. Each line is the rows of one class. {_left_out(n, MOST_CLASSES)}".rstrip(),
        tall=n > MOST_LOW,
    )
    return [matrix, curve] if len(rows) > 1 else [matrix]


def _by_class(learner: Any) -> Table:
    counts, names = learner.confusion_, [str(label) for label in learner.classes_]
    right, true, chosen = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    found, trusted = right / np.maximum(true, 1), right / np.maximum(chosen, 1)
    wrong = counts - np.diag(right)
    shown = range(min(len(names), MOST_ROWS))
    return Table(
        [
            Column("class", [clipped(names[i]) for i in shown]),
            Column("rows", [count(true[i]) for i in shown], numeric=True),
            Column("found", [rate(found[i]) for i in shown], numeric=True, bars=[float(found[i]) for i in shown]),
            Column("right when chosen", [rate(trusted[i]) if chosen[i] else "" for i in shown], numeric=True),
            Column("most often taken for", [_mistaken(wrong[i], true[i], names) for i in shown]),
        ]
    )


def _mistaken(wrong: np.ndarray, rows: int, names: list[str]) -> str:
    other = int(wrong.argmax())
    return f"{clipped(names[other])} ({percent(wrong[other] / rows)})" if wrong[other] else ""


def _weights(learner: Any, context: Context) -> Section:
    names = machine_names(learner)
    what = "class" if len(names) > 1 else f"class {clipped(names[0])}"
    note = f"Blue speaks for the {what}, red against it. They are weights of rows as they were prepared."
    if context.image is not None:
        alt = f"Pictures: weights of {plural(len(names), 'class', 'classes')}, pixel by pixel."
        drawing = figure(weight_images(learner, context.image), alt, tall=True)
        return Section("What speaks for a class", [drawing], f"{note} {_left_out(len(names), MOST_CLASSES)}")
    if len(names) == 1:
        alt = f"Bars: the columns that speak most for and against {names[0]}."
        return Section("What speaks for a class", [figure(largest_weights(learner), alt)], note)
    shown = slice(None, MOST_ROWS)
    columns = column_names(learner)
    for_it, against = (
        [_words(sign * weights, columns, sign) for weights in learner.coef_[shown]] for sign in (1.0, -1.0)
    )
    table = Table([Column("class", names[shown]), Column("for it", for_it), Column("against it", against)])
    return Section("What speaks for a class", [table], "The largest weights of rows as they were prepared.")


def _words(weights: np.ndarray, columns: list[str], sign: float) -> str:
    """The columns with the largest weights above zero."""
    order = np.argsort(-weights, kind="stable")[:MOST_WORDS]
    return ", ".join(f"{columns[i]}: {sign * weights[i]:.2g}" for i in order if weights[i] > 0)


def _settings(learner: Any) -> Section:
    candidates = learner.candidates_
    columns = [Column.of("C", [one["C"] for one in candidates])]
    for name, words in (("center", "centered"), ("scale", "scaled"), ("normalize", "of unit length")):
        if name in candidates[0]:
            columns.append(Column(words, ["yes" if one[name] else "no" for one in candidates]))
    columns.append(Column("mistakes", [count(one["mistakes"]) for one in candidates], numeric=True))
    others = " The first is asked; the others learn beside it until they leave." if len(candidates) > 1 else ""
    return Section("Settings in use", [Table(columns)], f"Mistakes were made on rows not learned yet.{others}")


def _machine(learner: Any) -> list[tuple[str, str]]:
    facts = [("updates, all machines", count(learner.n_core_))]
    if not len(learner.radius_):
        return [("machine", "ellipsoid"), *facts]
    balls = "ball" if learner.n_balls == 1 else plural(learner.n_balls, "ball")
    facts = [("machine", balls), *facts]
    kernels = [("kernel", fewer_digits(repr(ball.kernel))) for ball in learner._kernel_balls()[:1]]
    return [*facts, *kernels]


def _guarantee(learner: Any) -> Section:
    found = learner.guarantee()
    if len(found.names) == 1:
        return Section("What is guaranteed", [Text(str(found))])
    numbers = {
        "radius of the ball": found.radius,
        "the smallest has at least": found.least_radius,
        "margin": np.maximum(found.margin, 0.0),
        "the largest is at most": found.largest_margin,
    }
    columns = [Column("machine", found.names), *(Column.of(name, list(values)) for name, values in numbers.items())]
    note = "Balls around all rows, and the margin that all of them have, with their slack."
    return Section("What is guaranteed", [Table(columns)], note)


def _left_out(n: int, most: int) -> str:
    return "" if n <= most else f"{count(most)} of {count(n)} classes are shown."
