"""Groups of commands that are made when they are run, and help in groups: listing commands loads nothing."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from modicum.cli.grouping import EXPERT, GROUPS, OTHERS, PLACES

SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
USAGE_ERROR: Any = typer.BadParameter.__bases__[0]  # which typer does not export
KINDS = {"<str>": "TEXT", "<int>": "NUMBER", "<float>": "NUMBER", "<path>": "FILE", "INTEGER": "NUMBER", "PATH": "FILE"}


class Command(TyperCommand):
    """A command whose help lists options by what they are for, basics first, and ends with examples."""

    examples: tuple[str, ...] = ()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_argument(param) for param in self.params if param.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = {param.name: _record(param, ctx) for param in self.get_params(ctx)}
        for title, names in by_group(self.get_params(ctx)).items():
            with formatter.section(title):
                formatter.write_dl([records[name] for name in names])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.examples, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return _suggesting(ctx, super().parse_args, with_bare_options(args))


class LazyGroup(TyperGroup):
    """A group of commands that knows their names and summaries without having them."""

    examples: tuple[str, ...] = ()

    @abstractmethod
    def summaries(self) -> Mapping[str, str]:
        """One line about each command, by name."""

    @abstractmethod
    def make(self, name: str) -> Any:
        """The command of that name."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.summaries())

    def alike(self, text: str) -> list[str]:
        """Commands that a text may mean; the command itself if it is one."""
        names = self.list_commands(None)
        return [text] if text in names else get_close_matches(text, names)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.make(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command = args[0], self.get_command(ctx, args[0])
        if command is None:
            ctx.fail(f"no command {name!r}. {_did_you_mean(self.alike(name) or self.list_commands(ctx))}")
        return name, command, args[1:]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return _suggesting(ctx, super().parse_args, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries().items()))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.examples, formatter)


def as_command(function: Callable[..., Any], name: str, examples: Iterable[str] = ()) -> Any:
    """A single command from a function with typer's annotations."""
    app = typer.Typer(add_completion=False, **SETTINGS)
    app.command(name, cls=Command)(function)
    made: Any = typer.main.get_command(app)
    made.examples = tuple(examples)
    return made


BARE = {"--dask": ("local", re.compile(r"(tcp|tls|ucx|wss?)://\S+|[\w.-]+:\d+|local"))}  # what they are alone, or take


def with_bare_options(args: list[str]) -> list[str]:
    """Arguments in which an option that may stand alone has a value.

    >>> with_bare_options(["--dask", "rows.csv", "--dask", "tcp://there:8786"])
    ['--dask', 'local', 'rows.csv', '--dask', 'tcp://there:8786']
    """
    given = []
    for arg, following in pairwise([*args, ""]):
        alone, form = BARE.get(arg, ("", None))
        given += [arg, alone] if form is not None and not form.fullmatch(following) else [arg]
    return given


def by_group(params: Iterable[Any]) -> dict[str, list[str]]:
    """Names of parameters by the title of their group, in the order in which help lists them."""
    found: dict[str, list[tuple[int, str]]] = {title: [] for title in [*GROUPS, "Other"]}
    for param in params:
        if not getattr(param, "hidden", False):
            title, place = group_of(param)
            found[title].append((place, param.name))
    return {title: [name for _, name in sorted(members, key=_place)] for title, members in found.items() if members}


def group_of(param: Any) -> tuple[str, int]:
    """The group of a parameter and its place there; those without a place of their own come last."""
    if param.name in OTHERS:
        return "Other", OTHERS.index(param.name)
    title, place = PLACES.get(param.name, (EXPERT, len(PLACES)))
    panel = getattr(param, "rich_help_panel", None)
    return (title, place) if panel in (title, None) else (panel, len(PLACES))


def write_examples(examples: Iterable[str], formatter: Any) -> None:
    """Examples, one a line, as they can be copied."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def _place(member: tuple[int, str]) -> int:
    return member[0]


def _record(param: Any, ctx: Any) -> tuple[str, str]:
    """The flags of an option and its help, with names of kinds that are not Python's."""
    if param.param_type_name == "argument":
        return _argument(param), param.help or ""
    flags, text = param.get_help_record(ctx) or ("", "")
    for kind, word in KINDS.items():
        flags = flags.removesuffix(f" {kind}") + f" {word}" if flags.endswith(f" {kind}") else flags
    return flags, text


def _argument(param: Any) -> str:
    return f"{param.name.upper()}{'...' * (param.nargs != 1)}"


def _suggesting(ctx: Any, parse: Callable[..., list[str]], args: list[str]) -> list[str]:
    """The parsed arguments; an unknown option is refused with the options it may mean."""
    try:
        return parse(ctx, args)
    except USAGE_ERROR as error:
        wrong = getattr(error, "option_name", None)
        if wrong is None or not hasattr(error, "possibilities"):
            raise
        known = [flag.strip("-") for param in ctx.command.params for flag in param.opts if flag.startswith("--")]
        alike = [f"--{flag}" for flag in get_close_matches(wrong.strip("-"), known, cutoff=0.7)]
        hint = _did_you_mean(alike) if alike else f"{ctx.command_path} --help lists all."
        ctx.fail(f"no option {wrong}. {hint}")
        raise


def _did_you_mean(alike: list[str]) -> str:
    return f"Did you mean {', '.join(alike[:-1])}{' or ' * (len(alike) > 1)}{alike[-1]}?"
