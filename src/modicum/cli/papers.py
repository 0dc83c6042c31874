"""`modicum papers`: which paper is carried by which file."""

from modicum.papers import as_markdown


def command() -> None:
    """List the papers behind modicum, and the files that carry them."""
    print(as_markdown(), end="")
