"""Which project a command is about."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modicum._optional import require
from modicum.exceptions import DataError

if TYPE_CHECKING:
    from modicum.web.store import Project

VARIABLE = "MODICUM_PROJECT"
ENDING = ".crowd"

ProjectOption = Annotated[
    str | None,
    typer.Option(
        metavar="PROJECT",
        help=f"A project that crowd new made: its file, or the URL of its database. Default: the only {ENDING} file in "
        "this folder.",
    ),
]


def files_of(project: "Project") -> list[str]:
    """What commands must not write to: the file of a project, if it is one."""
    return [str(project.file)] if project.file else []


def find_project(given: str | None) -> str | None:
    """The project that is meant; None if nothing says which, or several might be."""
    if named := given or os.environ.get(VARIABLE):
        return named
    here = sorted(Path().glob(f"*{ENDING}"))
    if len(here) > 1:
        raise DataError(f"there are several projects here: {', '.join(map(str, here))}. Choose one with --project.")
    return str(here[0]) if here else None


def open_project(given: str | None, instead: str = "") -> "Project":
    """The project that is meant; `instead` is what else a command could be given."""
    where = find_project(given)
    if where is None:
        words = f"Give {instead}, or make a project with: " if instead else "Make one with: "
        raise DataError(f"there is no project here. {words}modicum crowd new NAME --items FOLDER")
    require("sqlalchemy", "projects")
    from modicum.web.store import Project

    return Project.open(where)
