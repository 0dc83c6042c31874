"""`modicum fit LEARNER SOURCE`: learn a stream and save the state. One command for every public learner."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import typer

from modicum.cli.grouping import EXAMPLES
from modicum.cli.lazy import SETTINGS, LazyGroup, as_command
from modicum.cli.learners import ALIASES, ENTRIES, NAMES, WISHES, command_name, fit_examples, names_like


class _Learners(LazyGroup):
    """A command for each learner. Its alias, or any part of its name that no other has, will do: `fit exemplar`.

    With --continue the name may be left out: the state file has it.
    """

    examples = EXAMPLES["fit"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        state = _continued(args)
        is_named = bool(args) and not args[0].startswith("-") and self.get_command(ctx, args[0]) is not None
        if state is not None and not is_named and "-h" not in args and "--help" not in args:
            from modicum.cli.fitting import learner_in

            args = [command_name(learner_in(state)), *args]
        return super().parse_args(ctx, args)

    def summaries(self) -> Mapping[str, str]:
        return {name: ENTRIES[learner].summary for name, learner in NAMES.items()}

    def alike(self, text: str) -> list[str]:
        return names_like(text) or get_close_matches(text, [*NAMES, *ALIASES], cutoff=0.5)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        alike = self.alike(cmd_name)
        is_part = len(alike) == 1 and cmd_name.replace("-", "") in alike[0].replace("-", "")
        return self.make(alike[0]) if cmd_name in ALIASES or is_part else None

    def make(self, name: str) -> Any:
        import modicum
        from modicum.cli.fitting import fit_command

        return as_command(fit_command(getattr(modicum, NAMES[name])), name, fit_examples(name))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(len(_shown(learner)) for learner in ENTRIES)
        for wish, learners in WISHES.items():
            with formatter.section(wish):
                formatter.write_dl(
                    [(f"{_shown(name):{width}}", entry.summary) for name, entry in learners.items()], col_max=width
                )


def _shown(learner: str) -> str:
    """A learner's name and, after it, its aliases."""
    return ", ".join([command_name(learner), *ENTRIES[learner].aliases])


def _continued(args: list[str]) -> str | None:
    """The value of --continue among arguments."""
    for arg, following in zip(args, [*args[1:], None], strict=True):
        if arg == "--continue":
            return following
        if arg.startswith("--continue="):
            return arg.partition("=")[2]
    return None


command = typer.Typer(
    cls=_Learners,
    help="Learn a source and save what was learned. Any part of a learner's name that no other has will do.",
    no_args_is_help=True,
    **SETTINGS,
)
