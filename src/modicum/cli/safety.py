"""What is refused before a long run: files that can't be written, and files that would be lost."""

from collections.abc import Iterable
from glob import glob
from pathlib import Path
from typing import Any

from modicum._optional import require
from modicum.cli.output import ENDINGS, check_folder, check_output
from modicum.contract.loading import read_content
from modicum.exceptions import DataError, StateError
from modicum.pipeline import StreamPipeline, final_learner

WAY_OUT = "choose another name, or replace it with --force"


def check_writing(
    source: str | Iterable[str],
    learner: Any = None,
    *,
    output: Path | None = None,
    save: Path | None = None,
    report: Path | None = None,
    other: Path | None = None,
    force: bool = False,
    csv: bool = False,
    table: bool = False,
) -> None:
    """Refuse, before anything is learned, to write where it is not possible or where data would be lost.

    Parameters
    ----------
    output : where a table is written, with the flags `csv` and `table`
    save : where the state of the learner is written; `force` replaces any file there
    report : where a page is written, for which extras are needed
    other : one more file, such as a checkpoint
    """
    if csv and table:
        raise DataError("--csv and --table exclude each other: give one of them.")
    check_output(output)
    for path in (save, report, other):
        check_folder(path)
    for path in (output, save, report, other):
        check_not_read(path, source)
    for package in ("jinja2", "matplotlib") if report is not None else ():
        require(package, "reports")
    check_replaced(save, learner, force=force)


def check_not_read(path: Path | None, source: str | Iterable[str]) -> None:
    """Refuse to write to a file that is read."""
    sources = [source] if isinstance(source, str) else list(source)
    if path is None or not path.exists():
        return
    written = path.resolve()
    for name in sources:
        read = [Path(found).resolve() for found in [name, *glob(name, recursive=True)]]
        in_folder = path.suffix.lower() in ENDINGS and any(file.is_dir() and file in written.parents for file in read)
        if written in read or in_folder:
            raise DataError(f"can't write {path}: it is read as part of {name}. Choose another name.")


def class_of(content: dict[str, Any]) -> str:
    """The class of the learner in a state file, of a pipeline that of its last step."""
    steps = content["params"].get("steps") if content["class"] == StreamPipeline.__name__ else None
    return content["class"] if steps is None else type(steps[-1][1]).__name__


def check_replaced(path: Path | None, learner: Any, *, force: bool) -> None:
    """Refuse to replace a file that is no state, or the state of another kind of learner."""
    if path is None or force or not path.exists() or not path.stat().st_size:
        return
    try:
        held = class_of(read_content(path))
    except (StateError, KeyError):
        raise DataError(f"{path} exists and is not a state file of modicum: {WAY_OUT}.") from None
    kind = type(final_learner(learner)).__name__
    if held != kind:
        raise DataError(f"{path} is the state of {held}, not of {kind}: {WAY_OUT}.")
