"""`modicum crowd report STATE`: a page on items, clusters and workers."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli.output import check_folder
from modicum.cli.printing import say
from modicum.cli.run import command_line
from modicum.cli.safety import check_writing
from modicum.contract.loading import load
from modicum.crowd.learner import CrowdLearner
from modicum.exceptions import DataError, StateError
from modicum.streams.readers.images import ENDINGS

StatePath = Annotated[Path, typer.Argument(help="A state file that crowd fit or merge wrote.", show_default=False)]
Images = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of pictures of the items, for the report: files with the names of items."),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Page to write. Default: the name of STATE with .html.")
]


def command(state: StatePath, output: Output = None, images: Images = None) -> None:
    """Write a report on what crowd fit learned: one HTML page with a map of the items, the clusters and the workers."""
    page = output or state.with_suffix(".html")
    check_writing(str(state), report=page)
    learner = load_crowd(state)
    write_crowd_report(page, learner, find_pictures(learner.items_, images), source=str(state))


def load_crowd(state: Path) -> CrowdLearner:
    """The learner in a state file of crowd clustering."""
    learner = load(state)
    if not isinstance(learner, CrowdLearner):
        raise StateError(f"{state} is of a {type(learner).__name__}, not of crowd clustering.")
    return learner


def write_crowd_report(page: Path, learner: CrowdLearner, pictures: dict[Any, str] | None, **told: Any) -> None:
    """Write a report, with pictures of the items where there are files."""
    from modicum.plot.report import write_report

    check_folder(page)
    write_report(page, learner, command=command_line(), documents=pictures, **told)
    say(f"report in {page}")


def find_pictures(items: Iterable[Any], folder: Path | None) -> dict[Any, str] | None:
    """Paths of pictures by item: the file in a folder, or below it, that has the name of the item.

    The ending may be left out, and of an item that is a path or URL, only its last part need be the same.
    """
    if folder is None:
        return None
    if not folder.is_dir():
        raise DataError(f"--images {folder}: there is no such folder.")
    files = _by_name(folder)
    names = list(dict.fromkeys(items.tolist() if hasattr(items, "tolist") else items))
    found = {name: path for name in names if (path := _path_of(str(name), files)) is not None}
    if not found:
        raise DataError(f"--images {folder}: no picture in it has the name of an item, such as {names[0]}.")
    if len(found) < len(names):
        missing = next(name for name in names if name not in found)
        say(f"{folder} has pictures of {len(found):,} of {len(names):,} items; it lacks {missing}")
    return found


def _by_name(folder: Path) -> dict[str, str]:
    """Paths of all pictures by their path within the folder and by their file name, both also without the ending."""
    names = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    paths = sorted(path for path in names if path.lower().endswith(ENDINGS))
    within = [os.path.relpath(path, folder) for path in paths]
    found: dict[str, str] = {}
    for full in (within, [os.path.basename(path) for path in paths]):
        for forms in (full, [os.path.splitext(name)[0] for name in full]):
            for name, path in zip(forms, paths, strict=True):
                found.setdefault(_normal(name), path)
    return found


def _path_of(name: str, files: dict[str, str]) -> str | None:
    last = name.partition("?")[0].rstrip("/").rpartition("/")[2]
    return files.get(_normal(name)) or files.get(_normal(last))


def _normal(name: str) -> str:
    """A name whose accents are written in one of the two ways that there are."""
    return unicodedata.normalize("NFC", name)
