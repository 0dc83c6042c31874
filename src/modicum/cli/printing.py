"""Words for people, on a terminal."""

import sys
from typing import Any


def printable(text: str) -> str:
    """The text with control characters spelled out: labels and names come from files, which must not steer a terminal.

    >>> printable("red \\x1b[31m herring")
    'red \\\\x1b[31m herring'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def say(message: str) -> None:
    """A line on stderr."""
    print(printable(message), file=sys.stderr)


class Terminal:
    """A file that is looked at, so that only printable text is written to it."""

    def __init__(self, file: Any):
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(printable(text.replace("\r\n", "\n")))
