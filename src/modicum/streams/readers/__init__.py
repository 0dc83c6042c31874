"""One reader per kind of source; `open_reader` finds the one for a source."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from modicum.exceptions import DataError
from modicum.streams.readers.arrays import array_reader
from modicum.streams.readers.base import Reader
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.files import path_reader, paths_reader
from modicum.streams.readers.following import following_reader
from modicum.streams.readers.frames import frame_reader
from modicum.streams.readers.iterables import Chunks, sequence_reader
from modicum.streams.readers.paths import Paths, as_paths

_ARROW = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")

# Tests of a source, in this order, and the reader for it. A data frame also has two dimensions and can be iterated,
# so the narrower tests come first.
_KINDS: list[tuple[Callable[[Any], bool], Callable[[Any, Wanted], Reader]]] = [
    (lambda source: isinstance(source, str | PathLike), path_reader),
    (lambda source: isinstance(source, Paths), paths_reader),
    (lambda source: any(hasattr(source, name) for name in _ARROW), frame_reader),
    (lambda source: isinstance(source, np.ndarray) or hasattr(source, "tocsr"), array_reader),
    (lambda source: getattr(source, "ndim", 0) > 0 and hasattr(source, "shape"), array_reader),
    (lambda source: isinstance(source, list | tuple), sequence_reader),
    (lambda source: hasattr(source, "__iter__"), Chunks),
]


def open_reader(source: Any, wanted: Wanted, *, follow: bool = False, files: Sequence[str] = ()) -> Reader:
    """The reader of the `wanted` columns of `source`, of which `files` are read first."""
    if follow:
        return following_reader(source, wanted, files)
    if files:
        return paths_reader(as_paths(source), wanted, files)
    for is_kind, reader in _KINDS:
        if is_kind(source):
            if reader not in (path_reader, paths_reader):
                wanted.text.refuse("stream", f"of type {type(source).__name__}")
            return reader(source, wanted)
    raise DataError(
        f"stream: can't read rows from {type(source).__name__}. Give an array, a sparse matrix, a data frame, "
        "a list, an iterable of arrays, or the path of a file or folder."
    )
