"""The command line: parse, call the library, print. Data goes to stdout, everything else to stderr."""

import sys

from modicum.exceptions import MissingExtraError, ModicumError


def main() -> None:
    """Entry point of `modicum`: an error is one helpful line and exit code 1."""
    try:
        from modicum._optional import require

        require("typer", "the command line")
        from modicum.cli.app import app

        app()
    except (ModicumError, ValueError, OSError, MissingExtraError) as error:
        sys.exit(_report(error))


def _report(error: BaseException) -> int:
    message = " ".join(str(error).split())
    print(f"modicum: {message}", file=sys.stderr)
    return 1
