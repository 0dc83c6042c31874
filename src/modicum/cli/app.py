"""All commands. Each is in the module of its name, which is loaded when the command is run."""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

import typer

from modicum._version import __version__
from modicum.cli.grouping import EXAMPLES
from modicum.cli.lazy import SETTINGS, LazyGroup, as_command

COMMANDS = {
    "select": "Choose the rows of a source that represent all of it best.",
    "fit": "Learn a source and save what was learned.",
    "predict": "Predict for every row of a source with a saved learner.",
    "evaluate": "Predict, score, then learn every row of a source: errors over time.",
    "similar": "Find similar texts or pictures with a saved topic model.",
    "certify": "Bound how much better than the picks of a saved learner any rows are.",
    "picks": "Print the rows, points or centers that a saved learner holds.",
    "coreset": "Summarize a source by weighted points.",
    "tradeoff": "Find how many rows, how much memory and time a wanted risk takes.",
    "crowd": "Cluster items that people sort, and plan what they sort next.",
    "suggest-c": "Find a good C for a classifier in one pass.",
    "merge": "Merge saved learners into one.",
    "name": "Name the components of a saved mixture.",
    "show": "Show what a state file holds.",
    "papers": "List the papers behind modicum and the files that implement them.",
    "demo": "Learn three sources and write a report on each.",
}


class _Commands(LazyGroup):
    examples = EXAMPLES[""]

    def summaries(self) -> Mapping[str, str]:
        return COMMANDS

    def make(self, name: str) -> Any:
        command = import_module(f"modicum.cli.{name.replace('-', '_')}").command
        if isinstance(command, typer.Typer):
            return typer.main.get_group(command)
        return as_command(command, name, EXAMPLES.get(name, ()))


app = typer.Typer(
    name="modicum", cls=_Commands, help="Learn from more data than you can keep.", no_args_is_help=True, **SETTINGS
)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit
