"""`modicum papers`: which file implements which paper."""

from modicum.papers import as_markdown


def command() -> None:
    """List the papers behind modicum, and the files that implement them."""
    print(as_markdown(), end="")
