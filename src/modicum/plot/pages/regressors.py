"""The page of regressors: how good predictions are, whether their intervals hold, and which rows they rest on."""

from typing import Any

import numpy as np

from modicum.plot.curves import curve
from modicum.plot.gallery import Kept, gallery
from modicum.plot.numbers import count, fewer_digits, measure, percent, plural
from modicum.plot.page import Context, Figure, Section
from modicum.plot.pages.blocks import Content, at_a_glance, costs, figure
from modicum.plot.pages.selectors import along_the_stream, likeness
from modicum.plot.predictions import coverage, interval_coverage, predictions_and_truth
from modicum.rows import n_rows

CURVES = {  # columns of a history, and what they show
    "error": "Squared error of the latest rows, each predicted before it was learned.",
    "value": "What the choice of active rows raises.",
    "prototypes": "Rows in the dictionary.",
}


def sparse_gp(learner: Any, context: Context) -> Content:
    error = measure(np.sqrt(learner.mean_squared_error_))
    facts = [("active rows", count(n_rows(learner.active_))), ("root mean squared error", error)]
    sentence = (
        f"{_rest(learner, learner.active_, 'active row')}; the latest of them, each predicted before it was learned, "
        f"were missed by {error} (root mean square)."
    )
    kept = Kept(learner.active_, learner.active_indices_)
    sample = learner._set.sample, learner._set.sample_targets
    sections = [
        Section("", [at_a_glance(learner, context, *facts)]),
        Section(
            "Predictions",
            [_against_truth(learner, *sample), *_coverage(learner)],
        ),
        _along(learner, "error", "value"),
        _rows_section("The active rows", learner, kept, context),
        Section("Memory and time", [costs(learner, context, *_model(learner))]),
    ]
    return sentence, [section for section in sections if section.blocks]


def prototype_regressor(learner: Any, context: Context) -> Content:
    selector, sample = learner.selector_, learner._sample
    kept = Kept(selector.prototypes_, selector.indices_)
    taught = (selector.prototypes_, selector.targets_) if sample is None else (sample.rows_, sample.targets_)
    sections = [
        Section("", [at_a_glance(learner, context, ("prototypes", count(n_rows(selector.prototypes_))))]),
        Section("Predictions", [_against_truth(learner, *taught)]),
        _rows_section("The prototypes", learner, kept, context),
        Section("How different they are", likeness(selector, context)),
        *along_the_stream(selector),
        Section("Memory and time", [costs(learner, context, ("kernel", fewer_digits(repr(selector.kernel_))))]),
    ]
    return f"{_rest(learner, selector.prototypes_, 'prototype')}.", sections


def krls(learner: Any, context: Context) -> Content:
    kept = Kept(learner.prototypes_, learner.indices_)
    sections = [
        Section("", [at_a_glance(learner, context, ("prototypes", count(n_rows(learner.prototypes_))))]),
        _along(learner, "prototypes"),
        _rows_section("The prototypes", learner, kept, context),
        Section("Memory and time", [costs(learner, context, ("kernel", fewer_digits(repr(learner.kernel_))))]),
    ]
    return f"{_rest(learner, learner.prototypes_, 'prototype')}.", [s for s in sections if s.blocks]


def _rest(learner: Any, rows: Any, noun: str) -> str:
    return f"Predictions rest on {plural(n_rows(rows), noun)} and were learned from {plural(learner.n_seen_, 'row')}"


def _model(learner: Any) -> list[tuple[str, str]]:
    noise = measure(np.sqrt(learner.noise_))
    return [
        ("kernel", fewer_digits(repr(learner.kernel_))),
        ("noise, standard deviation", noise),
        ("swaps", count(learner.n_swaps_)),
    ]


def _rows_section(title: str, learner: Any, kept: Kept, context: Context) -> Section:
    block, note = gallery(learner, kept, context)
    return Section(title, [block], note)


def _against_truth(learner: Any, rows: Any, truth: np.ndarray) -> Figure:
    """On rows that are kept with their targets."""
    predicted = learner.predict(rows)
    r2 = 1 - np.mean((truth - predicted) ** 2) / max(np.var(truth), np.finfo(float).tiny)
    alt = f"Scatter: predicted against true targets of {plural(len(truth), 'row')}; R² is {r2:.3f}."
    caption = f"R² is {r2:.2f} on {plural(len(truth), 'kept row')}. They were learned from: new ones lie farther off."
    return figure(predictions_and_truth(truth, predicted), alt, caption)


def _coverage(learner: Any) -> list[Figure]:
    squared, *variances = learner._calibration.errors.T
    if not len(squared):
        return []
    errors, std = np.sqrt(squared), np.sqrt(np.dot(learner._calibration.factors(), variances))
    inside = float(coverage(errors, std, [0.95])[0])
    words = f"{percent(inside)} of targets lie within intervals made for 95%"
    caption = f"{words}. {plural(len(errors), 'row')}, each predicted before it was learned."
    return [figure(interval_coverage(errors, std), f"Curve: {words}.", caption)]


def _along(learner: Any, *names: str) -> Section:
    history = learner.history_
    shown = [name for name in names if np.isfinite(history.get(name, ())).sum() > 1]
    figures = [figure(curve(learner, name), f"Curve: {CURVES[name]}", CURVES[name]) for name in shown]
    return Section("Along the stream", figures)
