"""The page of classifiers: accuracy, confusions, weights, settings and guarantee."""

from typing import Any

import numpy as np

from modicum.plot.classifiers import (
    MOST_CLASSES,
    accuracy_curve,
    accuracy_over_stream,
    column_names,
    confusion_matrix,
    largest_weights,
    machine_names,
    weight_images,
)
from modicum.plot.formatting import clipped, count, fewer_digits, label, percent, plural, rate
from modicum.plot.gallery import MOST_ROWS
from modicum.plot.page import Column, Context, Figure, Section, Table
from modicum.plot.pages.shared import Content, at_a_glance, costs, figure, guarantee

LATEST = 0.25  # share of the stream over which the latest accuracy is measured
MOST_LOW = 4  # classes up to which the matrix is no taller than a curve
MOST_LETTERS = 40  # of a column in a list
MOST_WORDS = 5  # columns listed for a class, and against it


def stream_svc(learner: Any, context: Context) -> Content:
    n, (latest, rows) = len(learner.classes_), _latest_accuracy(learner)
    facts = [("classes", count(n)), ("accuracy", rate(learner.accuracy_)), ("latest accuracy", rate(latest))]
    several = [
        Section("Classes", [_by_class(learner)], _left_out(n, MOST_ROWS)),
        *([_weights(learner, context)] if hasattr(learner, "coef_") else []),  # only linear machines have weights
    ]
    sections = [
        at_a_glance(learner, context, *facts),
        Section("Prequential accuracy", _accuracy(learner), "Each row was classified before it was learned."),
        *(several if n > 1 else []),
        _settings(learner),
        costs(learner, context, *_machine(learner)),
        *_guarantee(learner),
    ]
    classes = plural(n, "class", "classes")
    sentence = (
        f"Classifier of {classes}, learned from {plural(learner.n_seen_, 'row')}. Prequential accuracy: "
        f"{rate(learner.accuracy_)}, and {rate(latest)} on the last {count(rows)} rows."
    )
    return sentence, sections


def _latest_accuracy(learner: Any) -> tuple[float, int]:
    """The accuracy over the last quarter of the stream, and its number of rows."""
    n_seen, _, so_far = accuracy_curve(learner)
    before = int(np.searchsorted(n_seen, (1 - LATEST) * n_seen[-1], side="right")) - 1
    if before < 0:
        return float(so_far[-1]), int(n_seen[-1])
    n = int(n_seen[-1] - n_seen[before])
    return float((so_far[-1] * n_seen[-1] - so_far[before] * n_seen[before]) / n), n


def _accuracy(learner: Any) -> list[Figure]:
    n = len(learner.classes_)
    n_seen, accuracy, _ = accuracy_curve(learner)
    alt = f"Curve: accuracy goes from {rate(accuracy[0])} to {rate(accuracy[-1])} over {plural(n_seen[-1], 'row')}."
    caption = "Accuracy of the rows since the previous point, and of all rows so far."
    curve = figure(accuracy_over_stream(learner), alt, caption)
    if n == 1:
        return [curve]
    matrix = figure(
        confusion_matrix(learner),
        f"Confusion matrix of {plural(min(n, MOST_CLASSES), 'class', 'classes')}.",
        f"Confusion matrix; each line adds up to 100%. {_left_out(n, MOST_CLASSES)}".rstrip(),
        tall=n > MOST_LOW,
    )
    return [matrix, curve] if len(n_seen) > 1 else [matrix]


def _by_class(learner: Any) -> Table:
    counts, names = learner.confusion_, [str(label) for label in learner.classes_]
    correct, true, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    recall, precision = correct / np.maximum(true, 1), correct / np.maximum(predicted, 1)
    wrong = counts - np.diag(correct)
    shown = range(min(len(names), MOST_ROWS))
    return Table(
        [
            Column("class", [clipped(names[i]) for i in shown]),
            Column("rows", [count(true[i]) for i in shown], numeric=True),
            Column("recall", [rate(recall[i]) for i in shown], numeric=True, bars=[float(recall[i]) for i in shown]),
            Column("precision", [rate(precision[i]) if predicted[i] else "" for i in shown], numeric=True),
            Column("most often confused with", [_confused(wrong[i], true[i], names) for i in shown]),
        ]
    )


def _confused(wrong: np.ndarray, rows: int, names: list[str]) -> str:
    other = int(wrong.argmax())
    return f"{clipped(names[other])} ({percent(wrong[other] / rows)})" if wrong[other] else ""


def _weights(learner: Any, context: Context) -> Section:
    names = machine_names(learner)
    what = "class" if len(names) > 1 else f"class {clipped(names[0])}"
    note = f"Blue: evidence for the {what}; red: against it. Weights apply to rows after preparation."
    if context.image is not None:
        alt = f"Pictures: weights of {plural(len(names), 'class', 'classes')}, pixel by pixel."
        drawing = figure(weight_images(learner, context.image), alt, tall=True)
        return Section("Weights", [drawing], f"{note} {_left_out(len(names), MOST_CLASSES)}")
    if len(names) == 1:
        alt = f"Bars: the largest weights for and against {names[0]}."
        return Section("Weights", [figure(largest_weights(learner), alt)], note)
    shown = slice(None, MOST_ROWS)
    columns = column_names(learner)
    for_it, against = (
        [_words(sign * weights, columns, sign) for weights in learner.coef_[shown]] for sign in (1.0, -1.0)
    )
    table = Table([Column("class", names[shown]), Column("for the class", for_it), Column("against it", against)])
    return Section("Weights", [table], "The largest weights of each class. They apply to rows after preparation.")


def _words(weights: np.ndarray, columns: list[str], sign: float) -> str:
    """The columns with the largest positive weights."""
    order = np.argsort(-weights, kind="stable")[:MOST_WORDS]
    return ", ".join(f"{label(columns[i], MOST_LETTERS)}: {sign * weights[i]:.2g}" for i in order if weights[i] > 0)


def _rows_learned(candidate: dict[str, Any]) -> str:
    return "uncertain" if candidate["skips_certain"] else "margin violations"


def _settings(learner: Any) -> Section:
    candidates = learner.candidates_
    columns = [Column.of("C", [one["C"] for one in candidates])]
    if any(one.get("skips_certain") for one in candidates):
        columns.append(Column("rows learned", [_rows_learned(one) for one in candidates]))
    for name, words in (("center", "centered"), ("scale", "standardized"), ("normalize", "scaled to unit length")):
        if name in candidates[0]:
            columns.append(Column(words, ["yes" if one[name] else "no" for one in candidates]))
    if any(half_lives := [one.get("half_life") for one in candidates]):
        columns.append(Column("half-life", ["none" if rows is None else count(rows) for rows in half_lives]))
    columns.append(Column("errors", [count(one["mistakes"]) for one in candidates], numeric=True))
    others = " The first predicts; the others are trained along with it until they are dropped."
    note = f"Errors are prequential.{others if len(candidates) > 1 else ''}"
    return Section("Candidate settings", [Table(columns)], note)


def _machine(learner: Any) -> list[tuple[str, str]]:
    facts = [("updates of all machines", count(learner.n_core_))]
    if not len(learner.radius_):
        return [("machine", "ellipsoid"), *facts]
    balls = "ball" if learner.n_balls == 1 else plural(learner.n_balls, "ball")
    kernels = [("kernel", fewer_digits(repr(learner.kernel_)))] if hasattr(learner, "kernel_") else []
    return [("machine", balls), *facts, *kernels]


def _guarantee(learner: Any) -> list[Section]:
    if len(learner.radius_) < 2:
        return guarantee(learner)
    found = learner.guarantee()
    if not found.says_something:
        return []
    numbers = {
        "radius": found.radius,
        "smallest possible": found.least_radius,
        "margin": np.maximum(found.margin, 0.0),
        "largest possible": found.largest_margin,
    }
    columns = [Column("machine", found.names), *(Column.of(name, list(values)) for name, values in numbers.items())]
    note = (
        "Radius of each ball, and a lower bound on that of the smallest ball around all rows; lower bound on the "
        "margin of all rows, slack included, and an upper bound on the largest possible one."
    )
    return [Section("Guarantee", [Table(columns)], note)]


def _left_out(n: int, most: int) -> str:
    return "" if n <= most else f"{count(most)} of {count(n)} classes are shown."
