"""The pages of regressors: predictions, coverage of intervals, and the rows that predictions are made from."""

import re
import warnings
from typing import Any

import numpy as np

from modicum.plot.curves import history_over_stream
from modicum.plot.formatting import count, fewer_digits, measure, percent, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.page import Context, Figure, Section
from modicum.plot.pages.relevance import column_relevance, relevant_columns
from modicum.plot.pages.selectors import prototypes, similarity_figures, value_section
from modicum.plot.pages.shared import Content, at_a_glance, costs, figure
from modicum.plot.predictions import coverage, interval_coverage, predicted_and_true

WIDTHS = re.compile(r"\(\[[^\]]*\]\)")  # of a kernel's text
CURVES = {  # columns of a history, with the labels of their axes and their captions
    "error": ("mean squared error", "Prequential error of the latest rows; at first, the variance of targets."),
    "value": ("objective", "Value of the objective that active rows are chosen by."),
    "prototypes": ("prototypes", "Prototypes in the dictionary."),
}


def sparse_gp(learner: Any, context: Context) -> Content:
    error, active = measure(np.sqrt(learner.mean_squared_error_)), learner._model.active
    scatter = _scatter(learner, active.validation_rows, active.validation_targets)
    sections = [
        at_a_glance(learner, context, ("active rows", count(len(learner.picks()))), ("prequential RMSE", error)),
        Section("Predictions", [scatter, *_coverage(learner)]),
        *relevant_columns(learner, active.validation_rows),
        _curves(learner, "error", "value"),
        _chosen_rows("Active rows", learner, context),
        costs(learner, context, *_hyperparameters(learner)),
    ]
    sentence = f"Gaussian process with {_learned(learner)}. {_accuracy(error)}"
    return sentence, [section for section in sections if section.blocks]


def prototype_regressor(learner: Any, context: Context) -> Content:
    selector, sample = learner.selector_, learner._sample
    chooser = learner if selector is None else selector
    picks = chooser.picks() if sample is None else sample.picks()
    sections = [
        at_a_glance(learner, context, ("prototypes", count(len(learner.picks())))),
        Section("Predictions", [_scatter(learner, picks.rows, picks.targets)]),
        prototypes(learner, chooser, context),
        Section("Similarity of the prototypes", similarity_figures(chooser, context)),
        *(relevant_columns(learner, picks.rows) if selector is None else value_section(selector)),
        costs(learner, context, _kernel(chooser)),
    ]
    return f"Kernel regression with {_learned(learner)}.", sections


def krls(learner: Any, context: Context) -> Content:
    error = measure(np.sqrt(learner.mean_squared_error_))
    sections = [
        at_a_glance(learner, context, ("prototypes", count(len(learner.picks()))), ("prequential RMSE", error)),
        _curves(learner, "error", "prototypes"),
        _chosen_rows("Prototypes", learner, context),
        costs(learner, context, _kernel(learner)),
    ]
    sentence = f"Kernel recursive least squares with {_learned(learner)}. {_accuracy(error)}"
    return sentence, [section for section in sections if section.blocks]


def _accuracy(error: str) -> str:
    return f"Root mean squared error: {error} on the latest rows, each predicted before it was learned."


def _learned(learner: Any) -> str:
    picks = learner.picks()
    return f"{plural(len(picks), picks.kind)}, learned from {plural(learner.n_seen_, 'row')}"


def _kernel(learner: Any) -> tuple[str, str]:
    return "kernel", fewer_digits(repr(learner.kernel_))


def _hyperparameters(learner: Any) -> list[tuple[str, str]]:
    noise = measure(np.sqrt(learner.noise_))
    has_widths = column_relevance(learner.kernel_, learner._model.active.validation_rows) is not None
    kernel = ("kernel", WIDTHS.sub("(one width per column)", _kernel(learner)[1])) if has_widths else _kernel(learner)
    return [kernel, ("standard deviation of the noise", noise), ("swaps", count(learner.n_swaps_))]


def _chosen_rows(title: str, learner: Any, context: Context) -> Section:
    block, left_out = gallery(learner, Exhibit.of(learner.picks()), context)
    return Section(title, [block], left_out)


def _scatter(learner: Any, rows: Any, true: np.ndarray) -> Figure:
    """Predictions for rows that are kept with their targets."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # the rows are the learner's own
        predicted = learner.predict(rows)
    r2 = 1 - np.mean((true - predicted) ** 2) / max(np.var(true), np.finfo(float).tiny)
    kept = plural(len(true), "kept row")
    alt = f"Scatter plot: predicted against true targets of {kept}; R² is {r2:.3f}."
    caption = f"R² is {r2:.2f} on {kept}. They are training rows: expect a lower R² on new rows."
    return figure(predicted_and_true(predicted, true), alt, caption)


def _coverage(learner: Any) -> list[Figure]:
    squared, *variances = learner._model.calibration.errors.T
    if not len(squared):
        return []
    errors, std = np.sqrt(squared), np.sqrt(np.dot(learner._model.solve()[1], variances))
    inside = float(coverage(errors, std, [0.95])[0])
    words = f"{percent(inside)} of targets lie within the predicted 95% intervals"
    caption = f"{words}, on the latest {plural(len(errors), 'row')}, each predicted before it was learned."
    return [figure(interval_coverage(errors, std), f"Curve: {words}.", caption)]


def _curves(learner: Any, *columns: str) -> Section:
    history = learner.history_
    shown = [name for name in columns if np.isfinite(history[name]).sum() > 1]
    figures = []
    for column in shown:
        name, caption = CURVES[column]
        figures.append(figure(history_over_stream(learner, column, name), f"Curve: {caption}", caption))
    return Section("Over the stream", figures)
