"""The command line: parse, call the library, print. Data goes to stdout, everything else to stderr."""

import sys
import warnings

from modicum.cli.printing import in_shell_words, say
from modicum.exceptions import MissingExtraError, ModicumError


def main() -> None:
    """Entry point of `modicum`: an error is one helpful line and exit code 1, a warning one line."""
    try:
        from modicum._optional import require

        require("typer", "the command line")
        from modicum.cli.app import app

        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *where, **more: _tell(f"warning: {message}")
            app()
    except (ModicumError, ValueError, OSError, MissingExtraError) as error:
        _tell(error)
        sys.exit(1)
    except MemoryError as error:
        _tell(f"there is not enough memory. {error}")
        sys.exit(1)


def _tell(message: object) -> None:
    say(f"modicum: {in_shell_words(' '.join(str(message).split()))}")
