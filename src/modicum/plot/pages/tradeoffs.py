"""The page of a search: what a risk took, how that was found, and what other risks would take."""

from typing import Any

import numpy as np

from modicum.plot.numbers import about, count, duration, measure, plural
from modicum.plot.page import Column, Facts, Section, Table
from modicum.plot.pages.blocks import Content, figure
from modicum.plot.tradeoffs import data_time, risk_by_size, risk_time, search_path
from modicum.rules.budget import format_bytes


def tradeoffs(tram: Any, found: Any) -> Content:
    """About a fitted `Tram` and, if they were measured, the `Tradeoff` curves around it."""
    sections = [Section("", [_glance(tram)]), _search(tram)]
    if found is not None:
        sections.append(_curves(tram, found))
    return tram.summary(), sections


def _glance(tram: Any) -> Facts:
    best = min(tram.path_, key=lambda made: made.risk)
    facts = [
        ("rows needed", about(best.rows)),
        ("points in the summary", count(best.size)),
        ("held in memory", format_bytes(best.nbytes)),
        ("time", duration(sum(made.seconds for made in tram.path_))),
        ("risk", measure(best.risk)),
    ]
    return Facts(facts if tram.reached_ else [("rows learned", count(best.rows)), *facts[1:]], large=True)


def _search(tram: Any) -> Section:
    risks = [made.risk for made in tram.path_]
    note = "Every round takes more rows and a larger summary. The risk is that of rows held out"
    note += "." if tram.reference_ is None else f"; the best one is taken to be {measure(tram.reference_.risk)}."
    if len(risks) == 1:
        return Section("How it was found", [_rounds(tram)], note)
    alt = f"Curve: the risk goes from {measure(risks[0])} to {measure(risks[-1])} in {plural(len(risks), 'round')}."
    drawing = figure(search_path(tram), alt, f"The risk after each round. Wanted is {measure(tram.target_)}.")
    return Section("How it was found", [_rounds(tram), drawing], note)


def _curves(tram: Any, found: Any) -> Section:
    rows = max(found.rows)
    drawings = [
        figure(
            risk_time(found, trams=[tram]),
            f"Curves: least time against the risk that is wanted, with {plural(rows, 'row')}.",
            "The time for a risk with the best choice of rows and points, had one known it; and that of the search.",
        ),
        figure(
            risk_by_size(found),
            f"Curves: risk against the size of summaries of {plural(rows, 'row')}, one for each way to make them.",
            "The risk for so many points: those of a coreset, and as many rows drawn at random.",
        ),
    ]
    if any(np.isfinite(found.data_time(tram.target_, method).seconds).any() for method in found.methods):
        alt = f"Curves: least time for a risk of {measure(tram.target_)} against the rows there are."
        caption = "The time for the wanted risk, by how many rows there are to choose from."
        drawings.append(figure(data_time(found, tram.target_), alt, caption))
    note = (
        f"Measured on up to {plural(rows, 'row')}, without the time to read them. Bands hold four runs in five; a "
        "curve begins where rows and points are enough."
    )
    return Section("What other risks would take", drawings, note)


def _rounds(tram: Any) -> Table:
    path = tram.path_
    return Table(
        [
            Column("rows", [count(made.rows) for made in path], numeric=True),
            Column("points", [count(made.size) for made in path], numeric=True),
            Column("time", [duration(made.seconds) for made in path], numeric=True),
            Column("held", [format_bytes(made.nbytes) for made in path], numeric=True),
            Column("rows held out", [count(made.validation_rows) for made in path], numeric=True),
            Column("risk", [measure(made.risk) for made in path], numeric=True),
        ]
    )
