"""Files behind URLs such as s3://bucket/table.parquet, through fsspec."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, BinaryIO

from modicum._optional import require
from modicum.exceptions import DataError, ModicumError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")  # "C:\\x" is a path


def is_url(name: str) -> bool:
    return _URL.match(name) is not None


class Remote:
    """A file behind a URL, with the few methods of a Path that readers use."""

    def __init__(self, url: str, system: Any, path: str):
        self._url, self._system, self._path = url, system, path
        self.name = path.rstrip("/").rpartition("/")[2]

    def __str__(self) -> str:
        return self._url

    def open(self, mode: str = "rb") -> BinaryIO:
        with answering(self._url):
            return self._system.open(self._path, mode)

    @cached_property
    def size(self) -> int | None:
        with answering(self._url):
            return self._system.info(self._path).get("size")


def remote_files(url: str) -> tuple[list[Remote], bool]:
    """The files that a URL names, sorted, and whether it names one file rather than a folder or a glob."""
    with answering(url):
        system, path = _file_system(url)
        if _has_magic(system, path):
            found, one = system.glob(path, detail=True).values(), False
        elif system.info(path)["type"] == "directory":
            found, one = system.ls(path, detail=True), False
        else:
            return [Remote(url, system, path)], True
        paths = sorted(file["name"] for file in found if file["type"] != "directory")
    return [Remote(system.unstrip_protocol(path), system, path) for path in paths], one


def _has_magic(system: Any, path: str) -> bool:
    """Whether a path is a glob. A ? starts the query of a web address, and [ may be part of a name that exists."""
    if "*" in path:
        return True
    return not path.startswith("http") and any(mark in path for mark in "?[") and not system.exists(path)


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path within it."""
    core: Any = require("fsspec.core", f"reading {url}")
    protocol = _URL.split(url, maxsplit=1)[0] or url.partition(":")[0]
    try:
        return core.url_to_fs(url)
    except ImportError as error:
        raise DataError(f"{url}: no package for {protocol}:// is installed. {error}.") from None
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
