"""The page of exemplar clustering."""

from typing import Any

import numpy as np

from modicum.kernels import as_dissimilarity
from modicum.plot.curves import utility_over_stream
from modicum.plot.formatting import count, measure, percent, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.maps import exemplar_map
from modicum.plot.page import Context, Figure, Section, describe
from modicum.plot.pages.shared import Content, at_a_glance, cluster_size_bars, costs, figure, guarantee
from modicum.rows import n_rows, take

MOST_COMPARED = 1000  # rows on which exemplars are compared with random rows
MOST_COMPARED_OBJECTS = 100  # a dissimilarity of objects may be slow Python
LEAST_GAIN = 0.005  # smaller gains over random rows are not reported

DISSIMILARITIES = {
    "sqeuclidean": "squared distance",
    "euclidean": "distance",
    "l2": "distance",
    "cosine": "cosine dissimilarity",
}

PHANTOMS = {"far": "a distant point", "mean": "the mean of all rows", "origin": "the origin"}


def exemplar_clustering(learner: Any, context: Context) -> Content:
    picks, exact = learner.picks(), learner.is_exact_
    block, left_out = gallery(learner, Exhibit.of(picks, exact=exact), context)
    n_validation = plural(n_rows(learner.validation_rows_), "validation row")
    estimated = "" if exact else f" Cluster sizes are estimated from {n_validation}."
    asked = "" if len(picks) == learner.n_exemplars else f" of {count(learner.n_exemplars)}"
    sections = [
        at_a_glance(learner, context, ("exemplars", count(len(picks)) + asked)),
        Section("Exemplars", [block], f"Largest cluster first.{estimated} {left_out}"),
        Section("Clusters", [_map(learner, context), cluster_size_bars(picks.weights), *_curve(learner)]),
        costs(learner, context, *_facts(learner)),
        *guarantee(learner),
    ]
    return _sentences(learner), sections


def _sentences(learner: Any) -> str:
    k = len(learner.picks())
    found = f"{plural(k, 'exemplar')} {'represents' if k == 1 else 'represent'} {plural(learner.n_seen_, 'row')}."
    loss = f"Mean {_dissimilarity_name(learner)} to the nearest exemplar: {measure(learner.loss_)}"
    gain = gain_over_random(learner)
    less = f", {percent(gain)} less than with as many random rows" if gain >= LEAST_GAIN else ""
    if learner.is_exact_:
        return f"{found} {loss}{less}."
    n_held_out = plural(n_rows(learner.held_out_rows_), "row")
    return f"{found} {loss}{less}; estimated from {n_held_out} on which the exemplars were not chosen."


def _dissimilarity_name(learner: Any) -> str:
    name = describe(learner.dissimilarity)
    unnamed = "dissimilarity" if name == "<lambda>" else f"dissimilarity ({name})"
    return DISSIMILARITIES.get(name, unnamed)


def gain_over_random(learner: Any) -> float:
    """The relative decrease of the loss from random validation rows to as many exemplars, on held-out rows.

    While the validation sample holds the whole stream, on validation rows. Those of a sample would be too optimistic:
    20% where new rows give 15% (MNIST, 100 exemplars, 5,000 validation rows).
    """
    rows, exemplars = learner.validation_rows_, learner.picks().rows
    compared = rows if learner.is_exact_ else learner.held_out_rows_
    most = MOST_COMPARED_OBJECTS if isinstance(rows, list) else MOST_COMPARED
    rng = np.random.default_rng(0)
    random = take(rows, rng.permutation(n_rows(rows))[: n_rows(exemplars)])
    some = take(compared, rng.permutation(n_rows(compared))[:most])
    dissimilarity = as_dissimilarity(learner.dissimilarity, objects=isinstance(rows, list))
    D_random, D_chosen = (dissimilarity(them, some).astype(np.float64) for them in (random, exemplars))
    at_random, chosen = D_random.min(axis=0).mean(), D_chosen.min(axis=0).mean()
    if at_random <= 1e-6 * D_random.mean():
        return 0.0  # nothing but rounding is left to gain
    return float(1 - chosen / at_random)


def _facts(learner: Any) -> list[tuple[str, str]]:
    spent, saved = learner.n_evaluations_, learner.n_evaluations_saved_
    facts = [
        ("validation rows", count(n_rows(learner.validation_rows_))),
        ("held-out rows", count(n_rows(learner.held_out_rows_))),
        ("candidates offered", count(learner.n_candidates_)),
        ("swaps", count(learner.n_swaps_)),
        ("dissimilarities computed", count(spent)),
    ]
    if learner.confidence is not None:
        facts.append(("saved by racing", percent(saved / max(saved + spent, 1))))
    return facts


def _map(learner: Any, context: Context) -> Figure:
    exemplars = plural(len(learner.picks()), "exemplar")
    alt = f"Map: validation rows as small dots coloured by cluster, and {exemplars}."
    drawn = "as pictures where there is room" if context.image else "with areas in proportion to their clusters"
    caption = f"{'Rows' if learner.is_exact_ else 'Validation rows'} and exemplars, {drawn}."
    return figure(exemplar_map(learner, image=context.image), alt, caption, tall=True)


def _curve(learner: Any) -> list[Figure]:
    history, phantom = learner.history_, learner.phantom if isinstance(learner.phantom, str) else ""
    if len(history["utility"]) < 2:
        return []  # one point is no curve
    name = "loss" if phantom == "far" else "utility"  # with a far phantom, utility is a constant minus the loss
    alt = f"Curve: {name} goes from {measure(history[name][0])} to {measure(history[name][-1])}."
    dissimilarity = _dissimilarity_name(learner)
    caption = f"Loss: mean {dissimilarity} of validation rows to the nearest exemplar."
    if name == "utility":
        reference = PHANTOMS.get(phantom, "the phantom")
        caption = f"Utility: mean {dissimilarity} to {reference}, minus that to the nearest exemplar."
    return [figure(utility_over_stream(learner, loss=name == "loss"), alt, caption)]
