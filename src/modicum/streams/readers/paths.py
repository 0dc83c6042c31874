"""Several paths as one source."""

import os
from typing import Any

from modicum.exceptions import DataError


class Paths:
    """Several files, folders, globs or URLs as one source, read in the given order.

    All files must have one format. A file that is named twice is read once.

    Parameters
    ----------
    *sources : str or path
        As for `stream`, at least one; the files of each folder and glob are read in sorted order.

    Examples
    --------
    >>> from modicum.streams import Paths
    >>> Paths("2024/*.parquet", "2025/january.parquet")
    Paths('2024/*.parquet', '2025/january.parquet')
    """

    def __init__(self, *sources: str | os.PathLike[str]):
        self.sources = tuple(_as_text(source) for source in sources)
        if not sources:
            raise DataError("Paths: expected at least one path; got none.")
        if "-" in self.sources and len(sources) > 1:
            raise DataError("Paths: - (standard input) can't be read together with other sources.")

    @property
    def name(self) -> str:
        """The sources in messages, shortened if there are several."""
        if len(self.sources) == 1:
            return self.sources[0]
        first = self.sources[0]
        return f"{len(self.sources):,} sources ({os.path.basename(first) or first}, ...)"

    def __repr__(self) -> str:
        return f"Paths({', '.join(map(repr, self.sources))})"


def as_paths(source: Any) -> Paths:
    """A path as Paths."""
    return source if isinstance(source, Paths) else Paths(source)


def _as_text(source: Any) -> str:
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise DataError(f"Paths: expected paths, each an argument of its own: Paths(*paths); got {source!r}.")
    return path
