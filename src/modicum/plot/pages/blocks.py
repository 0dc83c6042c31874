"""Blocks that pages of several kinds of learners share."""

from typing import Any

import numpy as np

from modicum.plot.numbers import about, count, duration, percent
from modicum.plot.page import Context, Facts, Figure, Section
from modicum.plot.sizes import size_bars
from modicum.plot.style import as_svg
from modicum.rules.budget import as_budget, format_bytes

Content = tuple[str, list[Section]]


def at_a_glance(learner: Any, context: Context, *items: tuple[str, str]) -> Facts:
    facts = [("rows learned", count(learner.n_seen_)), *items, ("held in memory", format_bytes(learner.nbytes_))]
    if context.seconds is not None:
        facts.append(("time", duration(context.seconds)))
    return Facts(facts, large=True)


def costs(learner: Any, context: Context, *items: tuple[str, str]) -> Facts:
    facts = [("rows held", count(learner.n_retained_)), ("memory held", format_bytes(learner.nbytes_))]
    if getattr(learner, "budget", None) is not None:
        facts.append(("budget", str(as_budget(learner.budget))))
    if context.seconds:
        facts.append(("rows per second", about(learner.n_seen_ / context.seconds)))
    return Facts([*facts, *items])


def figure(drawing: Any, alt: str, caption: str = "", *, tall: bool = False) -> Figure:
    return Figure(as_svg(drawing, alt), caption, tall)


def cluster_size_bars(sizes: np.ndarray) -> Figure:
    sizes = np.sort(sizes)[::-1]
    shares = np.cumsum(sizes) / sizes.sum()
    few = int(np.searchsorted(shares, 0.5)) + 1
    held = (
        f"The largest holds {percent(shares[0])}"
        if few == 1
        else f"The {few:,} largest hold {percent(shares[few - 1])}"
    )
    alt = f"Bars: sizes of {len(sizes):,} clusters, from {about(sizes[0])} down to {about(sizes[-1])} rows."
    return figure(size_bars(sizes), alt, f"{held} of the rows.")
