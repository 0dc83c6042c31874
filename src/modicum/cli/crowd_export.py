"""`modicum crowd export answers|clusters|workers`: what a project holds, as a table."""

from typing import Annotated, Any

import typer

from modicum._optional import require
from modicum.cli import options as o
from modicum.cli.crowd_project import ProjectOption, files_of, open_project
from modicum.cli.output import writer
from modicum.cli.printing import say
from modicum.cli.safety import check_writing
from modicum.exceptions import DataError
from modicum.plot.formatting import plural

WHAT = ("answers", "clusters", "workers")

What = Annotated[
    str,
    typer.Argument(
        help="answers: who put what in which group; clusters: the cluster of each item, by the last fit; workers: "
        "names, and the codes by which they enter.",
        show_default=False,
    ),
]


def command(
    what: What,
    project: ProjectOption = None,
    output: o.Output = None,
    csv: o.Csv = False,
    table: o.Table = False,
) -> None:
    """Write the answers, the clusters or the workers of a project as a table.

    Answers have the columns that crowd fit and crowd import read: worker, task, item and group, and what else is known:
    the name that the worker gave the group, seconds and the time. Items that were left out have a blank group. In CSV,
    texts that spreadsheets would take for formulas have a ' before them, which crowd import takes off again.
    """
    require("sqlalchemy", "projects")
    from modicum.web.exports import without_formulas

    if what not in WHAT:
        raise ValueError(f"crowd export takes one of {', '.join(WHAT)}; got {what!r}.")
    with open_project(project).closing() as its:
        check_writing(files_of(its), output=output, csv=csv, table=table)
        columns = {"answers": _answers, "clusters": _clusters, "workers": _workers}[what](its)
    if csv or (output is not None and output.suffix.lower() == ".csv"):
        columns = without_formulas(columns)
    with writer(output, csv=csv, table=table) as write:
        write(columns)
    n_rows = len(next(iter(columns.values())))
    say(plural(n_rows, "row") + (f" in {output}" if output else ""))


def _answers(project: Any) -> dict[str, Any]:
    return project.answer_rows()


def _clusters(project: Any) -> dict[str, Any]:
    from modicum.web.exports import cluster_columns
    from modicum.web.store.fits import findings

    found = findings(project)
    if found is None:
        raise DataError(f"{project.name}: there are no clusters yet. Find them with: modicum crowd fit")
    return cluster_columns(found)


def _workers(project: Any) -> dict[str, Any]:
    from modicum.web.store.codes import spaced

    rows = project.invited()
    return {"worker": [row.name for row in rows], "code": [spaced(row.code) if row.code else "" for row in rows]}
