"""The page of mixtures that find their components: what they are, how they came to be, and what is held."""

from dataclasses import replace
from typing import Any

import numpy as np

from modicum.plot.classes import column_names
from modicum.plot.curves import components_over_stream
from modicum.plot.gallery import Kept, gallery
from modicum.plot.mixtures import component_map
from modicum.plot.numbers import about, count, measure, plural
from modicum.plot.page import Column, Context, Figure, Section, Table
from modicum.plot.pages.blocks import Content, at_a_glance, cluster_size_bars, costs, figure
from modicum.rules.budget import format_bytes

MOST_WORDS = 8  # columns told for a component of counts
MOST_STRANGE = 10  # rows to look at


def memory_bounded_mixture(learner: Any, context: Context) -> Content:
    n, total = learner.n_components_, learner.clumps_["counts"].sum()
    facts = [("components", count(n)), ("free energy per row", measure(learner.free_energy_ / total))]
    sections = [
        Section("", [at_a_glance(learner, context, *facts)]),
        Section("The components", [_map(learner), *_growth(learner), cluster_size_bars(total * learner.weights_)]),
        _means(learner, context),
        *_strange_rows(learner, context),
        _held(learner),
        Section("Memory and time", [costs(learner, context)]),
    ]
    found = f"{plural(n, 'component')} {'was' if n == 1 else 'were'} found in {plural(learner.n_seen_, 'row')}."
    return f"{found} {_what_stands_for_them(learner)}", sections


def _what_stands_for_them(learner: Any) -> str:
    is_clump = learner.clumps_["is_clump"]
    if not is_clump.any():
        return "All rows are still held, each as it is."
    clumps, rows = plural(is_clump.sum(), "clump"), plural((~is_clump).sum(), "single row")
    return f"{clumps} and {rows} stand for all of them."


def _map(learner: Any) -> Figure:
    alt = f"Map: what is kept of the rows, coloured by {plural(learner.n_components_, 'component')}."
    ellipses = " Ellipses: two standard deviations." if hasattr(learner, "covariances_") else ""
    caption = f"Clumps and single rows, as large as their counts. Dots with a rim: means of components.{ellipses}"
    return figure(component_map(learner), alt, caption, tall=True)


def _growth(learner: Any) -> list[Figure]:
    components = learner.history_["components"]
    if len(components) < 2:
        return []  # one round is no curve
    alt = f"Curve: components go from {count(components[0])} to {count(components[-1])}."
    return [figure(components_over_stream(learner), alt, "Components after each round, and the free energy per row.")]


def _means(learner: Any, context: Context) -> Section:
    means, sizes = learner.means_, learner.clumps_["counts"].sum() * learner.weights_
    told: dict[str, Any] = {"component": learner.component_names_}
    if context.image is None:
        told |= _in_words(learner, means)
    block, left_out = gallery(learner, Kept(means, sizes=sizes, exact=False), replace(context, picks=told))
    return Section("Their means", [block], f"The component that stands for most rows comes first. {left_out}")


def _in_words(learner: Any, means: np.ndarray) -> dict[str, list[Any]]:
    """Columns that tell the means: as they are, or those that set frequencies apart."""
    names = column_names(learner)
    if hasattr(learner, "covariances_"):
        return {name: list(means[:, i]) for i, name in enumerate(names)}
    apart = means * np.log(means / (learner.weights_ @ means))  # what each adds to the divergence from all rows
    order = np.argsort(-apart, axis=1, kind="stable")[:, :MOST_WORDS]
    words = [", ".join(names[i] for i in some if of_one[i] > 0) for some, of_one in zip(order, apart, strict=True)]
    return {"more frequent than elsewhere": words}


def _strange_rows(learner: Any, context: Context) -> list[Section]:
    kept = learner.clumps_
    rows = kept["means"][~kept["is_clump"]]
    if not len(rows) or not hasattr(learner, "covariances_"):
        return []  # of rows of counts the longest would be the strangest
    density = learner.score_samples(rows)
    strange = np.argsort(density, kind="stable")[:MOST_STRANGE]
    nearest = learner.predict(rows[strange])
    told: dict[str, Any] = {"component": [learner.component_names_[k] for k in nearest]}
    told["log-density"] = density[strange].tolist()
    if context.image is None:
        told |= _in_words(learner, rows[strange])
    block, left_out = gallery(learner, Kept(rows[strange]), replace(context, picks=told))
    return [Section("The strangest rows held", [block], f"The one of the lowest density comes first. {left_out}")]


def _held(learner: Any) -> Section:
    memory = learner._memory
    numbers = [len(memory.clump_counts), memory.n_singlets, memory.n_waiting]
    rows = [part.sum() for part in np.split(learner.clumps_["counts"], np.cumsum(numbers)[:-1])]
    clumps, row = memory.clump_counts.nbytes + memory.clump_sums.nbytes, 8 + memory.rows.values[:1].nbytes
    sizes = [clumps, memory.n_singlets * row, memory.n_waiting * row]
    table = Table(
        [
            Column("held as", ["clumps", "single rows", "rows of this epoch"]),
            Column("number", [count(n) for n in numbers], numeric=True),
            Column("stand for", [about(n) for n in rows], numeric=True, bars=[float(n / max(rows)) for n in rows]),
            Column("memory", [format_bytes(size) for size in sizes], numeric=True),
        ]
    )
    note = (
        "Rows of a clump stay together from now on: only their count, mean and spread are held. "
        "Rows that are in no clump are held as they are."
    )
    return Section("What is held", [table], note)
