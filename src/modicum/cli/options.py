"""Command line options from a learner's constructor: names and defaults from its signature, help from its docstring.

A new learner needs no code here: whatever its constructor takes becomes an option.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli.values import parameter
from modicum.contract.learner import Learner

HOW_MANY = ("n_exemplars", "n_prototypes", "n_clusters", "n_components", "n_active")  # -k is the first of these
SHARED_HELP = {"random_state": "An int makes the result repeatable."}  # where a docstring has nothing to add

Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write; its ending gives the format.")]
Save = Annotated[Path | None, typer.Option(help="Also save the learner to this state file.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of JSON lines.")]
Table = Annotated[bool, typer.Option("--table", help="Print a table for people instead of JSON lines.")]


def with_options(command: Callable[..., Any], added: Iterable[inspect.Parameter]) -> Callable[..., Any]:
    """`command(..., **params)` with options in place of params."""
    signature = inspect.signature(command)
    fixed = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    taken = {p.name for p in fixed}
    new = [p for p in added if p.name not in taken]
    required = [p for p in fixed if p.default is inspect.Parameter.empty]
    optional = [p for p in fixed if p.default is not inspect.Parameter.empty]

    def run(**values: Any) -> Any:
        return command(**values)

    run.__doc__ = command.__doc__
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p.replace(kind=keyword) for p in (*required, *new, *optional)], return_annotation=None
    )
    return run


def constructor_options(cls: type[Any], *, short: str | None = None) -> list[inspect.Parameter]:
    """An option for each constructor parameter; -k is the one that says how many, or `short`."""
    help_texts = parameter_help(cls)
    short = how_many(cls) if short is None else short
    return [
        option(name, help_texts.get(name, ""), default_text(cls, name), short=name == short)
        for name in inspect.signature(cls).parameters
    ]


def option(name: str, text: str, default: str | None, *, short: bool) -> inspect.Parameter:
    """An option that takes a text."""
    flags = [*flags_of(name), *(["-k"] if short else [])]
    made = typer.Option(*flags, help=text, show_default=True, metavar="VALUE")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[str | None, made]
    )


def flags_of(name: str) -> list[str]:
    """--n-balls for n_balls; a name with capitals may be typed without them."""
    flag = f"--{name.replace('_', '-')}"
    return list(dict.fromkeys([flag.lower(), flag]))


def how_many(cls: type[Any]) -> str:
    """The constructor parameter that `-k` stands for, or nothing: a budget, if that is what comes first."""
    names = list(inspect.signature(cls).parameters)
    return next((name for name in HOW_MANY if name in names), "budget" if names[0] == "budget" else "")


def default_text(cls: type[Any], name: str) -> str | None:
    """A constructor's default as the text that would give it."""
    default = inspect.signature(cls).parameters[name].default
    return None if default is None else str(default)


def parameter_help(cls: type[Any]) -> dict[str, str]:
    """The first sentence or two on each parameter in the class docstring."""
    doc = inspect.getdoc(cls) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", doc, re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (section[1] if section else "").splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(":")[0].split(",")]
        elif line.strip():
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return SHARED_HELP | found


def make_learner(cls: type[Learner], texts: dict[str, str | None]) -> Learner:
    """A learner from option texts."""
    return cls(**{name: parameter(cls, name, texts[name]) for name in changed(cls, texts)})


def changed(cls: type[Learner], texts: dict[str, str | None]) -> list[str]:
    """The options that are not at their default."""
    return [name for name, text in texts.items() if text != default_text(cls, name)]
