"""Groups of commands that are made when they are run: listing them loads nothing."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup

SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class LazyGroup(TyperGroup):
    """A group of commands that knows their names and summaries without having them."""

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
            alike = self.alike(name) or self.list_commands(ctx)
            ctx.fail(
                f"no command {name!r}. Did you mean {', '.join(alike[:-1])}{' or ' * (len(alike) > 1)}{alike[-1]}?"
            )
        return name, command, args[1:]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries().items()))


def as_command(function: Callable[..., Any], name: str) -> Any:
    """A single command from a function with typer's annotations."""
    app = typer.Typer(add_completion=False, **SETTINGS)
    app.command(name)(function)
    return typer.main.get_command(app)
