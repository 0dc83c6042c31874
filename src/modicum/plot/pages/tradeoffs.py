"""The page of a search: what a risk took, the rounds of the search, and what other risks take."""

from typing import Any

import numpy as np

from modicum.plot.formatting import about, count, duration, measure, plural
from modicum.plot.page import Column, Facts, Section, Table
from modicum.plot.pages.shared import Content, figure
from modicum.plot.tradeoffs import data_time, risk_by_points, risk_time, search_path
from modicum.rules.budget import format_bytes


def tradeoffs(tram: Any, found: Any) -> Content:
    """Of a fitted `Tram` and, if given, the measured `Tradeoff`."""
    sections = [_glance(tram), _search(tram)]
    if found is not None:
        sections.append(_curves(tram, found))
    return tram.summary(), sections


def _glance(tram: Any) -> Section:
    best = min(tram.path_, key=lambda made: made.risk)
    facts = [
        ("rows needed", about(best.n_rows)),
        ("points in the summary", count(best.n_points)),
        ("memory", format_bytes(best.nbytes)),
        ("time", duration(sum(made.seconds for made in tram.path_))),
        ("risk", measure(best.risk)),
    ]
    facts = facts if tram.reached_ else [("rows learned", count(best.n_rows)), *facts[1:]]
    return Section("", [Facts(facts, large=True)])


def _search(tram: Any) -> Section:
    risks = [made.risk for made in tram.path_]
    note = "Every round uses more rows and a larger summary. The risk is measured on held-out rows."
    if tram.reference_ is not None:
        runs = "one run" if tram.comparison_.n_runs == 1 else f"the best of {tram.comparison_.n_runs} runs"
        note += f" The best risk found, {measure(tram.reference_.risk)}, is that of {runs} on a large summary."
    if len(risks) == 1:
        return Section("Search", [_rounds(tram)], note)
    alt = f"Curve: the risk goes from {measure(risks[0])} to {measure(risks[-1])} in {plural(len(risks), 'round')}."
    drawing = figure(search_path(tram), alt, f"The risk after each round. Target: {measure(tram.target_)}.")
    return Section("Search", [_rounds(tram), drawing], note)


def _curves(tram: Any, found: Any) -> Section:
    rows = max(found.n_rows)
    drawings = [
        figure(
            risk_time(found, trams=[tram]),
            f"Curves: least time against risk, with {plural(rows, 'row')}.",
            "Time to reach a risk: of an oracle that knows the best numbers of rows and points, and of the search.",
        ),
        figure(
            risk_by_points(found),
            f"Curves: risk against the number of points chosen from {plural(rows, 'row')}, one per method.",
            "Risk by number of points: weighted points of a coreset, or a uniform sample of rows.",
        ),
    ]
    if any(np.isfinite(found.data_time(tram.target_, method).seconds).any() for method in found.methods):
        alt = f"Curves: least time to reach a risk of {measure(tram.target_)} against the rows available."
        caption = "Time to reach the target risk, by number of rows available."
        drawings.append(figure(data_time(found, tram.target_), alt, caption))
    note = (
        f"Measured on up to {plural(rows, 'row')}, without the time to read them. Bands are the 10% to 90% range of "
        "runs. A curve starts where the risk can be reached."
    )
    return Section("Tradeoff curves", drawings, note)


def _rounds(tram: Any) -> Table:
    path = tram.path_
    return Table(
        [
            Column("rows", [count(made.n_rows) for made in path], numeric=True),
            Column("points", [count(made.n_points) for made in path], numeric=True),
            Column("time", [duration(made.seconds) for made in path], numeric=True),
            Column("memory", [format_bytes(made.nbytes) for made in path], numeric=True),
            Column("held-out rows", [count(made.n_validation) for made in path], numeric=True),
            Column("risk", [measure(made.risk) for made in path], numeric=True),
        ]
    )
