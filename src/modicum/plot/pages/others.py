"""The pages of means and samples, and of any learner without a page of its own."""

from typing import Any

import numpy as np

from modicum.plot.curves import curve
from modicum.plot.gallery import Kept, gallery
from modicum.plot.numbers import count, percent, plural
from modicum.plot.page import Context, Section
from modicum.plot.pages.blocks import Content, at_a_glance, cluster_size_bars, costs, figure
from modicum.rules.budget import format_bytes


def online_kmeans(learner: Any, context: Context) -> Content:
    sizes = learner.cluster_sizes_
    block, note = gallery(learner, Kept(learner.cluster_centers_, sizes=sizes), context)
    largest = percent(sizes.max() / sizes.sum())
    rows = plural(learner.n_seen_, "row")
    sentence = f"{plural(len(sizes), 'mean')} followed {rows}; the largest stands for {largest} of them."
    sections = [
        Section("", [at_a_glance(learner, context, ("means", count(len(sizes))))]),
        Section("The means", [block], f"The one that stands for most rows comes first. {note}"),
        Section("The clusters", [cluster_size_bars(sizes)]),
        Section("Memory and time", [costs(learner, context)]),
    ]
    return sentence, sections


def reservoir(learner: Any, context: Context) -> Content:
    n, seen = learner.n_retained_, plural(learner.n_seen_, "row")
    block, note = gallery(learner, Kept(learner.rows_, learner.indices_), context)
    if learner.is_exact_:
        sentence = f"All {seen} seen so far are kept."
    elif np.allclose(learner.weights_, 1 / n):
        sentence = f"{plural(n, 'row')} drawn from {seen}, each as likely to be here as any other."
    else:
        sentence = f"{plural(n, 'row')} drawn from {seen}, each in proportion to its weight."
    sections = [
        Section("", [at_a_glance(learner, context, ("kept", count(n)))]),
        Section("The sample", [block], note),
        Section("Memory and time", [costs(learner, context)]),
    ]
    return sentence, sections


def any_learner(learner: Any, context: Context) -> Content:
    held = format_bytes(learner.nbytes_)
    sentence = f"{type(learner).__name__} learned from {plural(learner.n_seen_, 'row')} and holds {held}."
    sections = [Section("", [at_a_glance(learner, context)])]
    if history := getattr(learner, "history_", None):
        first, *others = history
        figures = [figure(curve(learner, name), f"{name} against {first}") for name in others]
        sections.append(Section("Along the stream", figures))
    return sentence, [*sections, Section("Memory and time", [costs(learner, context)])]
