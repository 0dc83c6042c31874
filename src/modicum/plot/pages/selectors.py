"""The page of selectors: what was chosen, how different it is, how it came to be chosen."""

from contextlib import suppress
from typing import Any

from modicum.plot.curves import value_over_stream
from modicum.plot.gallery import Kept, gallery
from modicum.plot.maps import prototype_map
from modicum.plot.numbers import count, fewer_digits, measure, plural
from modicum.plot.page import Context, Figure, Section, Text
from modicum.plot.pages.blocks import Content, at_a_glance, costs, figure
from modicum.plot.similarities import nearest_similarities, order_by_likeness, similarity_matrix
from modicum.rows import n_rows

VALUES = {  # what is told of an objective, and whether it is the value or minus the value
    "LogDet": ("log-determinant", 1.0),
    "PredictionError": ("squared error", -1.0),
    "ProjectedError": ("squared error", -1.0),
    "VarianceReduction": ("variance explained", 1.0),
}


def selector(learner: Any, context: Context) -> Content:
    n, (name, sign) = n_rows(learner.prototypes_), told_value(learner)
    value = measure(sign * learner.value_)
    chosen = f"{plural(n, 'prototype')} {'was' if n == 1 else 'were'} chosen from {plural(learner.n_seen_, 'row')}"
    facts = [("prototypes", count(n)), (name, value), (changes_name(learner), count(learner.n_swaps_))]
    sections = [
        Section("", [at_a_glance(learner, context, *facts)]),
        prototypes_section(learner, context),
        Section("How different they are", likeness(learner, context)),
        *along_the_stream(learner),
        Section("Memory and time", [costs(learner, context, ("kernel", fewer_digits(repr(learner.kernel_))))]),
    ]
    with suppress(ValueError):  # no theorem speaks of this objective
        sections.append(Section("What is guaranteed", [Text(str(learner.guarantee()))]))
    return f"{chosen}; the {name} is {value}.", sections


def prototypes_section(learner: Any, context: Context) -> Section:
    kept = Kept(learner.prototypes_, learner.indices_, order=order_by_likeness(learner))
    block, note = gallery(learner, kept, context)
    return Section("The prototypes", [block], f"Similar ones are next to each other. {note}")


def likeness(learner: Any, context: Context) -> list[Figure]:
    n = plural(n_rows(learner.prototypes_), "prototype")
    matrix = figure(
        similarity_matrix(learner),
        f"Matrix: similarities among {n}.",
        "Similarities of all to all. Full colour: the same; none: nothing in common.",
    )
    nearest = figure(
        nearest_similarities(learner),
        f"Histogram: similarity of each of {n} to the most similar other one.",
        "To the right, those that have a near twin among the others.",
    )
    if isinstance(learner.prototypes_, list):
        return [matrix, nearest]
    blocks = ", coloured by block" if hasattr(learner, "blocks_") else ""
    drawing = prototype_map(learner, image=context.image)
    place = figure(drawing, f"Map: {n}.", f"The prototypes on a plane{blocks}.", tall=True)
    return [place, matrix, nearest]


def along_the_stream(learner: Any) -> list[Section]:
    name, sign = told_value(learner)
    values = sign * learner.history_["value"]
    if len(values) < 2:
        return []  # one look at few rows is no curve
    drawing = value_over_stream(learner, name, changes_name(learner), sign=sign)
    alt = f"Curve: the {name} goes from {measure(values[0])} to {measure(values[-1])}."
    return [Section("Along the stream", [figure(drawing, alt)])]


def told_value(learner: Any) -> tuple[str, float]:
    return VALUES.get(type(learner._objective()).__name__, ("value", 1.0))


def changes_name(learner: Any) -> str:
    """Sieves never swap: what they count is who joined."""
    return "rows joined" if hasattr(learner, "n_sieves_") else "swaps"
