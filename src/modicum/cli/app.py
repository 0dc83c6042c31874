"""All commands."""

from typing import Annotated

import typer

import modicum
from modicum.cli import coreset, demo, fit, merge, name, papers, predict, select, show, suggest, tradeoff

app = typer.Typer(
    name="modicum",
    help="Learn from more data than you can keep.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(modicum.__version__)
        raise typer.Exit


app.command("select")(select.command)
app.command("coreset")(coreset.command)
app.command("tradeoff")(tradeoff.command)
app.add_typer(fit.app, name="fit")
app.command("predict")(predict.command)
app.command("suggest-c")(suggest.command)
app.command("merge")(merge.command)
app.command("name")(name.command)
app.command("show")(show.command)
app.command("papers")(papers.command)
app.command("demo")(demo.command)
