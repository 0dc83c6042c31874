"""Names of items or workers in files: a folder of pictures, a text with a name per line, or a table."""

import os
from collections.abc import Sequence

import numpy as np

from modicum.cli.sources import as_paths, has_no_types, is_pictures, is_stdin
from modicum.crowd.cells import as_cells
from modicum.exceptions import DataError
from modicum.streams import stream
from modicum.streams.readers.base import join


def read_names(source: Sequence[str], what: str) -> np.ndarray:
    """Distinct names in their order; those of a table are in the column `what`, or in its only one.

    Pictures are named by their paths within the folder.
    """
    paths = as_paths(source)
    if is_pictures(source):
        found = [path for chunk in stream(paths, raw=True) for path in chunk.X.column("path").to_pylist()]
        return np.array([_within(path, paths.sources) for path in found], np.str_)
    rows = stream(paths, raw=True, documents="lines" if is_stdin(source) else None)
    known = rows.table_columns or []
    column = what if what in known else known[0] if len(known) == 1 else None
    if column is None:
        told = f"It has: {', '.join(known)}." if known else "It has no names of columns."
        raise DataError(f"{rows.name}: no column {what!r}. {told} Give a table with that column, or a text of names.")
    if has_no_types(source):
        rows = stream(paths, raw=True, as_text=[column])
    cells = as_cells(join([chunk.X for chunk in rows]).column(column), f"{rows.name}: column {column!r}")
    first = np.sort(np.unique(cells.codes, return_index=True)[1])
    cells = cells.take(first[~cells.take(first).are_blank()])
    if not len(cells):
        raise DataError(f"{rows.name}: there are no names in it.")
    names = cells.names()
    return names[np.sort(np.unique(names, return_index=True)[1])]  # two cells may be one name without blanks around it


def _within(path: str, folders: Sequence[str]) -> str:
    """A path without the folder that was given, or without all folders."""
    for folder in folders:
        inner = os.path.relpath(path, folder)
        if os.path.isdir(folder) and not inner.startswith(".."):
            return inner
    return os.path.basename(path)
