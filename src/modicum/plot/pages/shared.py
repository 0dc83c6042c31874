"""Blocks and sections that pages of several kinds of learners share."""

from contextlib import suppress
from typing import Any

import numpy as np

from modicum.plot.clusters import size_bars
from modicum.plot.formatting import about, count, duration, percent
from modicum.plot.page import Context, Facts, Figure, Section, Text
from modicum.plot.style import as_svg
from modicum.rules.budget import as_budget, format_bytes

Content = tuple[str, list[Section]]  # the first sentences of a page, and its sections


def at_a_glance(learner: Any, context: Context, *items: tuple[str, str]) -> Section:
    """The headline figures of a page, without a title."""
    facts = [("rows seen", count(learner.n_seen_)), *items, ("memory", format_bytes(_whole(learner, context).nbytes_))]
    if context.seconds is not None:
        facts.append(("time", duration(context.seconds)))
    return Section("", [Facts(facts, large=True)])


def costs(learner: Any, context: Context, *items: tuple[str, str]) -> Section:
    """Rows and memory held, the budget, and the speed."""
    facts = [("rows held", count(learner.n_retained_)), ("memory held", format_bytes(_whole(learner, context).nbytes_))]
    asked = learner if context.pipeline is None else context.pipeline.steps[-1][1]
    budget = asked.get_params(deep=False).get("budget")
    if budget is not None:
        facts.append(("budget", str(as_budget(budget))))
    if context.seconds:
        facts.append(("rows per second", about(learner.n_seen_ / context.seconds)))
    return Section("Memory and time", [Facts([*facts, *items])])


def _whole(learner: Any, context: Context) -> Any:
    """What the budget is for: the learner, or the pipeline of which it is the last step."""
    return learner if context.pipeline is None else context.pipeline


def guarantee(learner: Any) -> list[Section]:
    """What a theorem says about the learner, if one applies and its bound is not vacuous."""
    with suppress(ValueError):  # no theorem applies to these parameters or weights
        found = learner.guarantee()
        return [Section("Guarantee", [Text(str(found))])] if found.says_something else []
    return []


def figure(drawing: Any, alt: str, caption: str = "", *, tall: bool = False, wide: bool = False) -> Figure:
    return Figure(as_svg(drawing, alt), caption, tall, wide)


def cluster_size_bars(sizes: np.ndarray, noun: str = "cluster") -> Figure:
    """The sizes of clusters or components as bars."""
    sizes = np.sort(sizes)[::-1]
    shares = np.cumsum(sizes) / sizes.sum()
    few = int(np.searchsorted(shares, 0.5)) + 1
    largest = f"largest {noun} holds" if few == 1 else f"{few:,} largest {noun}s hold"
    alt = f"Bars: sizes of {len(sizes):,} {noun}s, from {about(sizes[0])} down to {about(sizes[-1])} rows."
    caption = f"{noun.capitalize()} sizes. The {largest} {percent(shares[few - 1])} of the rows."
    return figure(size_bars(sizes, f"{noun}s"), alt, caption)
