"""`python -m modicum` is `modicum`."""

from modicum.cli import main

main()
