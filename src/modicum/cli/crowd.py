"""`modicum crowd new|plan|serve|...`: clusters of items that people sort."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer

from modicum.cli.grouping import CROWD_EXAMPLES, EXAMPLES
from modicum.cli.lazy import SETTINGS, LazyGroup, as_command

COMMANDS = {
    "new": "Make a project of pictures, texts or sounds for people to sort.",
    "plan": "Make tasks: which items which workers should sort next.",
    "serve": "Show the pages of a project: workers sort, the owner watches.",
    "fit": "Learn how workers sorted items: clusters, a map of the items, and what each worker sees.",
    "import": "Add answers that were gathered elsewhere to a project.",
    "export": "Write the answers, clusters or workers of a project as a table.",
    "report": "Write a report on what was learned: items, clusters and workers.",
    "demo": "Try the pages: Greebles that simulated workers sort, and you.",
}


class _Commands(LazyGroup):
    examples = EXAMPLES["crowd"]

    def summaries(self) -> Mapping[str, str]:
        return COMMANDS

    def make(self, name: str) -> Any:
        return as_command(import_module(f"modicum.cli.crowd_{name}").command, name, CROWD_EXAMPLES[name])


command = typer.Typer(
    cls=_Commands,
    help="Cluster items that people sort: many workers each put a few items in groups, as they see fit.",
    no_args_is_help=True,
    **SETTINGS,
)
