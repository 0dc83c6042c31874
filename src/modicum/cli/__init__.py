"""The command line: parse, call the library, print. Data goes to stdout, everything else to stderr."""

import sys
import warnings
from typing import Any

from modicum.exceptions import MissingExtraError, ModicumError


def main() -> None:
    """Entry point of `modicum`: an error is one helpful line and exit code 1, a warning one line."""
    try:
        from modicum._optional import require

        require("typer", "the command line")
        from modicum.cli.app import app

        with warnings.catch_warnings():
            warnings.showwarning = _warn
            app()
    except (ModicumError, ValueError, OSError, MissingExtraError) as error:
        sys.exit(_report(error))


def _report(error: BaseException) -> int:
    _tell(error)
    return 1


def _warn(message: Warning | str, *where: Any) -> None:
    """A warning for people, who have no use for the line of code that gave it."""
    _tell(message)


def _tell(message: object) -> None:
    print(f"modicum: {' '.join(str(message).split())}", file=sys.stderr)
