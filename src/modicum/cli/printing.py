"""Words for people, on a terminal."""

import re
import sys
from typing import Any

OPTIONS = (  # of Python's functions that errors mention, and of the command line
    *("budget", "columns", "ellipsoid", "kernel", "n_balls", "n_components", "n_prototypes", "n_validation", "noise"),
    *("adapt", "passes", "predictor", "target", "weight", "chunk_size", "fit_on", "start", "skip_bad_rows"),
)
PHRASES = {"`stream(target=)`": "--target", 'unlabelled="drop"': "--missing drop", "`": ""}
_ARGUMENT = re.compile(rf"(?<![\w'\"])({'|'.join(OPTIONS)})=(?=(\S?))")
_CONSTANT = re.compile(r"(?<![\w'\"])(None|True|False)(?![\w'\"])")


def printable(text: str) -> str:
    """The text with control characters spelled out: labels and names come from files, which must not steer a terminal.

    >>> printable("red \\x1b[31m herring")
    'red \\\\x1b[31m herring'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def in_shell_words(text: str) -> str:
    """A message of the library in the words of the command line; what is quoted stays as it is.

    >>> in_shell_words("n_prototypes=None needs a `budget`; leave 'None' out of columns=.")
    "--n-prototypes none needs a budget; leave 'None' out of --columns."
    """
    for said, meant in PHRASES.items():
        text = text.replace(said, meant)
    text = _CONSTANT.sub(lambda found: found[0].lower(), text)
    return _ARGUMENT.sub(lambda found: f"--{found[1].replace('_', '-')}{' ' * (found[2] not in {'.', ',', ')'})}", text)


def say(message: str) -> None:
    """A line on stderr."""
    print(printable(message), file=sys.stderr)


class Terminal:
    """A file that is looked at, so that only printable text is written to it."""

    def __init__(self, file: Any):
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(printable(text.replace("\r\n", "\n")))
