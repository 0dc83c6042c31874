"""The page of mixtures: components, outliers, and memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from modicum.plot.classifiers import column_names
from modicum.plot.curves import components_over_stream
from modicum.plot.formatting import about, count, measure, plural
from modicum.plot.gallery import Exhibit, gallery
from modicum.plot.mixtures import component_map
from modicum.plot.page import Column, Context, Figure, Section, Table
from modicum.plot.pages.shared import Content, at_a_glance, cluster_size_bars, costs, figure
from modicum.rows import bytes_of, n_rows, take
from modicum.rules.budget import format_bytes

MOST_WORDS = 8  # columns listed for a component of counts
MOST_OUTLIERS = 10


def memory_bounded_mixture(learner: Any, context: Context) -> Content:
    n, total = learner.n_components_, learner.clumps_["counts"].sum()
    sizes = cluster_size_bars(total * learner.weights_, "component")
    facts = [("components", count(n)), ("free energy per row", measure(learner.free_energy_ / total))]
    sections = [
        at_a_glance(learner, context, *facts),
        Section("Components", [_map(learner), *_growth(learner), sizes]),
        _means(learner, context),
        *_outliers(learner, context),
        _held(learner),
        costs(learner, context),
    ]
    return f"{plural(n, 'component')} found in {plural(learner.n_seen_, 'row')}. {_compression(learner)}", sections


def _compression(learner: Any) -> str:
    is_clump = learner.clumps_["is_clump"]
    if not is_clump.any():
        return "No rows have been compressed yet."
    clumps, rows = plural(is_clump.sum(), "clump"), plural((~is_clump).sum(), "single row")
    return f"The rows are represented by {clumps} and {rows}."


def _map(learner: Any) -> Figure:
    alt = f"Map: clumps and single rows, coloured by {plural(learner.n_components_, 'component')}."
    ellipses = " Ellipses: two standard deviations." if hasattr(learner, "covariances_") else ""
    caption = f"Clumps and single rows, with areas in proportion to their counts. Outlined: means.{ellipses}"
    return figure(component_map(learner), alt, caption, tall=True)


def _growth(learner: Any) -> list[Figure]:
    components = learner.history_["components"]
    if len(components) < 2:
        return []  # one point is no curve
    alt = f"Curve: components go from {count(components[0])} to {count(components[-1])}."
    return [figure(components_over_stream(learner), alt, "Components and free energy per row, after each round.")]


def _means(learner: Any, context: Context) -> Section:
    means, sizes = learner.means_, learner.clumps_["counts"].sum() * learner.weights_
    columns: dict[str, Any] = {"component": learner.component_names_}
    if context.image is None:
        columns |= _row_columns(learner, means)
    exhibit = Exhibit(means, weights=sizes, weight_name="component size")
    block, left_out = gallery(learner, exhibit, replace(context, picks=columns))
    return Section("Means of the components", [block], f"Largest component first. {left_out}")


def _row_columns(learner: Any, means: np.ndarray) -> dict[str, list[Any]]:
    """The columns of rows or means; for frequencies, the names of those that are higher than elsewhere."""
    names = column_names(learner)
    if hasattr(learner, "covariances_"):
        return {name: list(means[:, i]) for i, name in enumerate(names)}
    apart = means * np.log(means / (learner.weights_ @ means))  # what each adds to the divergence from all rows
    order = np.argsort(-apart, axis=1, kind="stable")[:, :MOST_WORDS]
    words = [", ".join(names[i] for i in some if of_one[i] > 0) for some, of_one in zip(order, apart, strict=True)]
    return {"more frequent than elsewhere": words}


def _outliers(learner: Any, context: Context) -> list[Section]:
    kept = learner.clumps_
    rows = kept["means"][~kept["is_clump"]]
    if not n_rows(rows) or not hasattr(learner, "covariances_"):
        return []  # of rows of counts, those with the highest totals would have the lowest density
    density = learner.score_samples(rows)
    lowest = np.argsort(density, kind="stable")[:MOST_OUTLIERS]
    nearest = learner.predict(rows[lowest])
    columns: dict[str, Any] = {"component": [learner.component_names_[k] for k in nearest]}
    columns["log-density"] = density[lowest].tolist()
    if context.image is None:
        columns |= _row_columns(learner, rows[lowest])
    block, left_out = gallery(learner, Exhibit(rows[lowest]), replace(context, picks=columns))
    return [Section("Outliers", [block], f"The held rows of lowest density, lowest first. {left_out}")]


def _held(learner: Any) -> Section:
    memory = learner._memory
    numbers = [len(memory.clump_counts), memory.n_singlets, memory.n_buffered]
    rows = [counts.sum() for counts in np.split(learner.clumps_["counts"], np.cumsum(numbers)[:-1])]
    sizes = [memory.nbytes_of_clumps]
    for part in (slice(0, memory.n_singlets), slice(memory.n_singlets, None)):
        sizes.append(bytes_of(take(memory.rows.values, part)) + memory.weights[part].nbytes)
    table = Table(
        [
            Column("held as", ["clumps", "single rows", "rows not yet compressed"]),
            Column("number", [count(n) for n in numbers], numeric=True),
            Column("rows represented", [about(n) for n in rows], numeric=True, bars=[n / max(rows) for n in rows]),
            Column("memory", [format_bytes(size) for size in sizes], numeric=True),
        ]
    )
    note = (
        "Rows of a clump stay in the same component from now on: only their count, mean and spread are held. "
        "All other rows are held unchanged."
    )
    return Section("Clumps and rows held", [table], note)
