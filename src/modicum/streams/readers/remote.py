"""Files behind URLs such as s3://bucket/table.parquet, through fsspec."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, BinaryIO

from modicum._optional import require
from modicum.exceptions import DataError, MissingExtraError, ModicumError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(::[A-Za-z][A-Za-z0-9+.-]+)*://")  # "C:\\x" is a path


def is_url(name: str) -> bool:
    return _URL.match(name) is not None


class Remote:
    """A file behind a URL, with the few methods of a Path that readers use."""

    def __init__(self, url: str, system: Any, path: str):
        self._url, self._system, self._path = url, system, path
        self.name = (path.partition("?")[0] if path.startswith("http") else path).rpartition("/")[2]

    def __str__(self) -> str:
        return self._url

    def open(self, mode: str = "rb") -> BinaryIO:
        with answering(self._url):
            return self._system.open(self._path, mode)

    @cached_property
    def size(self) -> int | None:
        with answering(self._url):
            return self._system.info(self._path).get("size")


def remote_files(url: str) -> tuple[list[Remote], str]:
    """The files that a URL names, sorted, and what it is: "file", "folder" or "glob"."""
    with answering(url):
        system, path = _file_system(url)
        if _has_magic(system, path):
            return _remotes(system, system.glob(path, detail=True).values()), "glob"
        if system.info(path)["type"] == "directory":
            return _remotes(system, system.ls(path, detail=True)), "folder"
    return [Remote(url, system, path)], "file"


def remote_tree(url: str) -> list[Remote]:
    """All files below a folder."""
    with answering(url):
        system, path = _file_system(url)
        return _remotes(system, system.find(path, detail=True).values())


def _remotes(system: Any, found: Iterable[dict[str, Any]]) -> list[Remote]:
    paths = sorted(file["name"] for file in found if file["type"] != "directory")
    return [Remote(system.unstrip_protocol(path), system, path) for path in paths]


def _has_magic(system: Any, path: str) -> bool:
    """Whether a path is a glob. A ? starts the query of a web address, and [ may be part of a name that exists."""
    if "*" in path:
        return True
    return not path.startswith("http") and any(mark in path for mark in "?[") and not system.exists(path)


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path within it."""
    core: Any = require("fsspec.core", f"reading {url}")
    try:
        return core.url_to_fs(url)
    except ImportError as error:  # of the package for its protocol, which the message names
        raise MissingExtraError(f"{url}: {error}.") from None
    except ValueError as error:
        raise DataError(f"{url}: {error}.") from None


@contextmanager
def answering(url: str) -> Iterator[None]:
    """Turn what file systems raise into one error that names the URL; each has exceptions of its own."""
    try:
        yield
    except ModicumError:
        raise
    except FileNotFoundError:
        raise DataError(f"{url}: no such file.") from None
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataError(f"{url}: it can't be reached: {reason}") from error
