"""The page of selectors: the prototypes, how similar they are, and the objective over the stream."""

from typing import Any

from modicum.plot.curves import value_over_stream
from modicum.plot.formatting import count, fewer_digits, measure, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.maps import prototype_map
from modicum.plot.page import Context, Figure, Section
from modicum.plot.pages.shared import Content, at_a_glance, costs, figure, guarantee
from modicum.plot.similarities import nearest_similarities, order_by_similarity, similarity_matrix
from modicum.select import BlockGreedy
from modicum.select.sieves import SieveSelector

OBJECTIVES = {  # the name of what is reported for an objective, and whether it is the value or minus the value
    "LogDet": ("log-determinant", 1.0),
    "PredictionError": ("squared error", -1.0),
    "ProjectedError": ("squared error", -1.0),
    "VarianceReduction": ("explained variance", 1.0),
}


def selector(learner: Any, context: Context) -> Content:
    n, (name, sign) = len(learner.picks()), reported_value(learner)
    value = measure(sign * learner.value_)
    facts = [("prototypes", count(n)), (name, value), (changes_name(learner), count(learner.n_swaps_))]
    sections = [
        at_a_glance(learner, context, *facts),
        prototypes(learner, learner, context),
        Section("Similarity of the prototypes", similarity_figures(learner, context)),
        *value_section(learner),
        costs(learner, context, ("kernel", fewer_digits(repr(learner.kernel_)))),
        *guarantee(learner),
    ]
    chosen = f"{plural(n, 'prototype')} chosen from {plural(learner.n_seen_, 'row')}"
    return f"{chosen}. {name[0].upper()}{name[1:]}: {value}.", sections


def prototypes(learner: Any, selector: Any, context: Context) -> Section:
    """The prototypes of a selector, which may be that of a regressor."""
    order = order_by_similarity(selector)
    block, left_out = gallery(learner, Exhibit.of(selector.picks()), context, order=order)
    return Section("Prototypes", [block], f"Similar prototypes are next to each other. {left_out}")


def similarity_figures(learner: Any, context: Context) -> list[Figure]:
    picks = learner.picks()
    n = plural(len(picks), "prototype")
    matrix = figure(
        similarity_matrix(learner),
        f"Heat map: similarities among {n}.",
        "Pairwise similarities, in the order above. Full colour is 1, no colour 0.",
    )
    nearest = figure(
        nearest_similarities(learner),
        f"Histogram: similarity of each of {n} to the nearest other one.",
        "Similarity of each prototype to its nearest neighbour. Those near 1 are almost duplicates.",
    )
    if isinstance(picks.rows, list):
        return [matrix, nearest]
    blocks = ", coloured by block" if isinstance(learner, BlockGreedy) else ""
    drawing = prototype_map(learner, image=context.image)
    return [figure(drawing, f"Map: {n}.", f"Map of the prototypes{blocks}.", tall=True), matrix, nearest]


def value_section(learner: Any) -> list[Section]:
    name, sign = reported_value(learner)
    values = sign * learner.history_["value"]
    if len(values) < 2:
        return []  # one point is no curve
    drawing = value_over_stream(learner, name, changes_name(learner), sign=sign)
    alt = f"Curve: the {name} goes from {measure(values[0])} to {measure(values[-1])}."
    return [Section("Over the stream", [figure(drawing, alt)])]


def reported_value(learner: Any) -> tuple[str, float]:
    """The name of what is reported for the learner's objective, and the sign of the value in it."""
    return OBJECTIVES.get(type(learner._given_objective()).__name__, ("value", 1.0))


def changes_name(learner: Any) -> str:
    """What `n_swaps_` counts: sieves only add rows."""
    return "rows added" if isinstance(learner, SieveSelector) else "swaps"
