"""The page of crowd clustering: the map of items, clusters, and workers."""

from typing import Any

import numpy as np

from modicum.plot.agreement import Agreement, summary_of
from modicum.plot.crowd import (
    agreement_matrix,
    confusion_matrices,
    item_map,
    principal_directions,
    reliability_bars,
    sureness,
)
from modicum.plot.formatting import clipped, count, duration, percent, plural
from modicum.plot.images import file_uri
from modicum.plot.page import Block, Card, Cards, Column, Context, Facts, Figure, Section, Table
from modicum.plot.pages.shared import Content, costs, figure

MOST_CLUSTERS = 40
SUREST, LEAST_SURE = 10, 5  # items of a cluster that are shown
FEW_NAMES = 6  # of the same, where they are names in a table
NAME_LETTERS = 30
SURE = 0.95  # from here on, the next cluster of an item does not matter
SHARE_OF_MAP = 0.08  # of the variance, from which a third direction is drawn
PICTURE_BYTES = 3_000_000  # all thumbnails together
MOST_ODD = 10  # random or adversarial workers whose confusion matrix is shown
MOST_ROWS = 200  # of the table of workers
MOST_PARTS = 10  # clusters, or pairs of them, in a cell of that table
ODD = ("adversarial", "random")


def crowd_learner(learner: Any, context: Context) -> Content:
    sections = [
        _at_a_glance(learner, context),
        *(_map(learner, context) if hasattr(learner, "embedding_") else ()),
        _clusters(learner, context),
        *_workers(learner),
        costs(learner, context),
    ]
    return _sentences(learner), sections


def _sentences(learner: Any) -> str:
    found = f"{plural(learner.n_clusters_, 'cluster')} of {plural(len(learner.items_), 'item')}"
    told = [f"{found}, as {plural(len(learner.workers_), 'worker')} sorted them."]
    if hasattr(learner, "worker_summary"):
        kinds = np.asarray(learner.worker_summary()["kind"])
        odd = [(int((kinds == "random").sum()), "at random"), (int((kinds == "adversarial").sum()), "adversarially")]
        said = [f"{plural(n, 'worker')} {'answers' if n == 1 else 'answer'} {how}" for n, how in odd if n]
        told += [f"{' and '.join(said)}."] if said else ["No worker seems to answer at random."]
    return " ".join(told)


def _at_a_glance(learner: Any, context: Context) -> Section:
    facts = [
        ("items", count(len(learner.items_))),
        ("workers", count(len(learner.workers_))),
        ("labels of pairs", count(learner.n_seen_)),
        ("clusters", count(learner.n_clusters_)),
    ]
    if context.seconds is not None:
        facts.append(("time", duration(context.seconds)))
    return Section("", [Facts(facts, large=True)])


# ---- items -------------------------------------------------------------------------------------------


def _map(learner: Any, context: Context) -> list[Section]:
    shares = principal_directions(learner)[1]
    planes = [(0, 1), (0, 2)] if len(shares) > 2 and shares[2] > SHARE_OF_MAP else [(0, 1)]
    drawn = []
    for plane in planes:
        words = " and ".join(f"{k + 1} ({percent(shares[k])} of the variance)" for k in plane if k < len(shares))
        caption = f"Directions {words}. Colours and numbers: clusters."
        alt = f"Map: {plural(len(learner.items_), 'item')}, coloured by {plural(learner.n_clusters_, 'cluster')}."
        drawing = item_map(learner, pictures=context.documents, directions=plane)
        drawn.append(figure(drawing, alt, caption, wide=True))
    return [Section("Map of the items", drawn, "Items that workers tend to put in one group are near each other.")]


def _clusters(learner: Any, context: Context) -> Section:
    shown = range(min(learner.n_clusters_, MOST_CLUSTERS))
    blocks = _galleries(learner, context.documents, shown) if context.documents else [_names(learner, shown)]
    more = learner.n_clusters_ - len(shown)
    note = (
        "Largest cluster first. The items that are surest of their cluster, and those that are least sure, with the "
        "probability of this cluster and of the next one."
    )
    return Section("Clusters", blocks, f"{note} {plural(more, 'smaller cluster')} not shown." if more else note)


def _ordered(learner: Any, cluster: int) -> np.ndarray:
    """The items of a cluster, the surest first."""
    members = np.flatnonzero(learner.clusters_ == cluster)
    return members[np.argsort(-sureness(learner)[members], kind="stable")]


def _galleries(learner: Any, pictures: Any, clusters: range) -> list[Block]:
    """Pictures of the surest and of the least sure items of each cluster."""
    blocks: list[Block] = []
    room = PICTURE_BYTES
    for k in clusters:
        order = _ordered(learner, k)
        parts = {"surest": order[:SUREST], "least sure": order[SUREST:][-LEAST_SURE:][::-1]}
        for words, some in parts.items():
            cards = [_card(learner, pictures, i) for i in some]
            room -= sum(len(card.picture) for card in cards)
            if room < 0:
                return blocks
            if cards:
                heading = f"Cluster {k}, {plural(len(order), 'item')}: {words}"
                blocks.append(Cards(cards, heading if words == "surest" else words.capitalize()))
    return blocks


def _card(learner: Any, pictures: Any, item: int) -> Card:
    name = learner.items_[item].item()
    shown = clipped(str(name), NAME_LETTERS)
    return Card([shown, *_doubt(learner, item)], picture=file_uri(str(pictures.get(name, "")), shown))


def _names(learner: Any, clusters: range) -> Table:
    """Names of the surest and of the least sure items of each cluster."""
    orders = [_ordered(learner, k) for k in clusters]
    sizes = np.array([len(order) for order in orders])
    surest = [", ".join(_name(learner, i) for i in order[:FEW_NAMES]) for order in orders]
    unsure = [order[FEW_NAMES:][-FEW_NAMES:][::-1] for order in orders]
    least = [", ".join(f"{_name(learner, i)} ({', '.join(_doubt(learner, i))})" for i in some) for some in unsure]
    return Table(
        [
            Column("cluster", [str(k) for k in clusters], numeric=True),
            Column("items", [count(n) for n in sizes], numeric=True, bars=list(sizes / max(1, sizes.max()))),
            Column("surest", surest),
            Column("least sure", least),
        ]
    )


def _name(learner: Any, item: int) -> str:
    return clipped(str(learner.items_[item]), NAME_LETTERS)


def _doubt(learner: Any, item: int) -> list[str]:
    """How sure an item is of its cluster, and the next one if it is not."""
    proba = learner.cluster_proba_[item]
    own = proba[learner.clusters_[item]]
    others = np.where(np.arange(len(proba)) == learner.clusters_[item], -1.0, proba)
    if len(proba) < 2 or own > SURE:
        return [percent(own)]
    return [percent(own), f"{percent(others.max())} in {others.argmax()}"]


# ---- workers -----------------------------------------------------------------------------------------


def _workers(learner: Any) -> list[Section]:
    found = Agreement.of(learner)
    is_known = hasattr(learner, "worker_summary")
    figures = [*_agreement(learner, found), *([_reliability(learner)] if is_known else ())]
    note = "Workers differ in reliability, and in what they sort by: those of one school sort alike."
    sections = [Section("Workers", figures, note), _confusions(learner, found)]
    return [*sections, _table(learner)] if is_known else sections


def _agreement(learner: Any, found: Agreement) -> list[Figure]:
    if len(found.workers) < 2:
        return []
    n, shown = len(learner.workers_), len(found.workers)
    alt = f"Matrix: agreement of {plural(shown, 'worker')}, in {plural(found.n_schools, 'school')}."
    of_these = f"the {shown:,} workers with the most labels" if shown < n else "workers"
    schools = "They are of one school." if found.n_schools < 2 else "Lines separate schools."
    odd = " Random and adversarial workers come last." if (found.schools < 0).any() else ""
    caption = (
        f"Agreement of {of_these}: how the probabilities with which they put pairs of items in one group correlate. "
        f"Blue: alike, red: opposite, no colour: unrelated. {schools}{odd}"
    )
    return [figure(agreement_matrix(learner, found), alt, caption, tall=True)]


def _reliability(learner: Any) -> Figure:
    values = np.asarray(learner.worker_summary()["reliability"])
    alt = f"Histogram: reliability of {plural(len(values), 'worker')}, {values.min():.2f} to {values.max():.2f}."
    caption = (
        "Reliability of workers: how much likelier they put two items of one cluster in one group than two of "
        "different clusters. 0 is random, below 0 adversarial."
    )
    return figure(reliability_bars(learner), alt, caption)


def _confusions(learner: Any, found: Agreement) -> Section:
    """Confusion matrices of the workers who tell most: typical ones of each school, and random or adversarial ones."""
    chosen = _telling(learner, found)
    drawing = confusion_matrices(learner, list(chosen), list(chosen.values()))
    alt = f"Confusion matrices of {plural(len(chosen), 'worker')}."
    caption = "Probability (dark: 100%) that the worker puts items of two clusters in one group."
    note = (
        "Dark cells off the diagonal: clusters that the worker lumps together. Light cells on it: clusters that the "
        "worker splits. Typical workers first, then random and adversarial ones."
    )
    return Section("What workers tell apart", [figure(drawing, alt, caption, wide=True)], note)


def _telling(learner: Any, found: Agreement) -> dict[Any, str]:
    """Names of the workers to show, with words on each."""
    summary = summary_of(learner)
    names, kinds = (np.asarray(summary[name]).tolist() for name in ("worker", "kind"))
    sizes = np.bincount(found.schools[found.schools >= 0])
    schools = [school for school, size in enumerate(sizes) if size > 1 or len(sizes) == 1]
    chosen = {found.typical(school).item(): _school(found, school) for school in schools}
    if len(chosen) < 2 and "reliability" in summary:  # workers differ in reliability alone
        ends = {int(np.argmax(summary["reliability"])): "most reliable", int(np.argmin(summary["reliability"])): ""}
        chosen |= {names[j]: words or f"least reliable, {kinds[j]}" for j, words in ends.items()} | chosen
    odd = [name for kind in ODD for name, of_worker in zip(names, kinds, strict=True) if of_worker == kind]
    return chosen | {name: kinds[names.index(name)] for name in odd[:MOST_ODD]}


def _school(found: Agreement, school: int) -> str:
    if found.n_schools == 1:
        return "most typical"
    return f"school {school + 1}, {plural((found.schools == school).sum(), 'worker')}"


def _table(learner: Any) -> Section:
    """All workers: random and adversarial ones first, then by reliability."""
    summary = learner.worker_summary()
    kinds = np.asarray(summary["kind"])
    order = np.lexsort((np.asarray(summary["reliability"]), ~np.isin(kinds, ODD)))[:MOST_ROWS]
    columns = [
        Column.of(name.removeprefix("n_").replace("_", " "), _cells(values, order)) for name, values in summary.items()
    ]
    left_out = len(kinds) - len(order)
    note = "Random and adversarial workers first, then the least reliable ones."
    return Section(
        "All workers" if not left_out else "Least reliable workers",
        [Table(columns, compact=True)],
        f"{note} {plural(left_out, 'more worker')} not shown." if left_out else note,
    )


def _cells(values: Any, order: np.ndarray) -> list[Any]:
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [_written(cells[i]) for i in order]


def _written(cell: Any) -> Any:
    """A cell as it is, or clusters as a text.

    >>> _written([[0, 1], [2, 3]]), _written([4, 5]), _written(0.5)
    ('0+1, 2+3', '4, 5', 0.5)
    """
    if not isinstance(cell, list):
        return cell
    parts = ["+".join(map(str, part)) if isinstance(part, list) else str(part) for part in cell]
    return ", ".join(
        parts[:MOST_PARTS] + ([f"and {len(parts) - MOST_PARTS:,} more"] if len(parts) > MOST_PARTS else [])
    )
