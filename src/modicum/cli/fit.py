"""`modicum fit LEARNER SOURCE`: learn a stream and save the state. One command for every public learner."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import modicum
from modicum.cli import options as o
from modicum.cli.lazy import SETTINGS, LazyGroup, as_command
from modicum.cli.picks import picked_rows
from modicum.cli.printing import say
from modicum.cli.run import Job, Run
from modicum.cli.sources import Source
from modicum.cli.values import command_name
from modicum.contract.learner import Learner
from modicum.contract.loading import from_content, read_content
from modicum.exceptions import StateError

NAMES = {command_name(name): name for name in modicum.LEARNERS}
STATE = Path("state.mcm")
_HELP = f"State file to write. Default: {STATE}, or the file of --continue."
Output = Annotated[Path | None, typer.Option("-o", "--output", help=_HELP)]
Continue = Annotated[
    Path | None,
    typer.Option("--continue", help="State file to go on from: SOURCE is learned on top. LEARNER may be left out."),
]


class _Learners(LazyGroup):
    """A command for each learner. Any part of a name that no other has will do: `fit exemplar`, `fit svc`.

    With --continue the name may be left out: the state file has it.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        state = _continued(args)
        is_named = bool(args) and not args[0].startswith("-") and self.get_command(ctx, args[0]) is not None
        if state is not None and not is_named and "-h" not in args and "--help" not in args:
            args = [command_name(read_content(state)["class"]), *args]
        return super().parse_args(ctx, args)

    def summaries(self) -> Mapping[str, str]:
        return {name: _summary(getattr(modicum, learner)) for name, learner in NAMES.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        return list(NAMES)

    def alike(self, text: str) -> list[str]:
        containing = [name for name in NAMES if text.replace("-", "") in name.replace("-", "")]
        return super().alike(text) if text in NAMES or not containing else containing

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        alike = self.alike(cmd_name)
        is_meant = len(alike) == 1 and cmd_name.replace("-", "") in alike[0].replace("-", "")
        return self.make(alike[0]) if is_meant else None

    def make(self, name: str) -> Any:
        return as_command(fit_command(getattr(modicum, NAMES[name])), name)


command = typer.Typer(cls=_Learners, help="Learn a source and save what was learned.", no_args_is_help=True, **SETTINGS)


def fit_command(cls: type[Learner]) -> Any:
    """The command for one learner."""

    def fit(source: Source, output: Output = None, continue_: Continue = None, **given: Any) -> None:
        job = Job.take_from(given)
        save = output or continue_ or STATE
        learner = o.make_learner(cls, given)
        if continue_ is not None:
            if job.text is not None:
                raise ValueError("--text can't be used with --continue: rows of earlier sources can't be read again.")
            learner = _load(continue_, learner, o.changed(cls, given), is_output=output is None)
        n_before = learner.n_seen_ if learner._is_fitted() else 0

        def renew(run: Run) -> None:
            job.write_report(run, picked_rows(run.learner.picks(), run.rows) if job.report and job.text else None)

        run = job.learn(learner, source, save=save, renew=renew)
        total = f", {run.learner.n_seen_:,} in all," if n_before else ""
        n_new = run.learner.n_seen_ - n_before
        say(f"{n_new:,} rows learned{total} in {run.seconds:.1f} s; state in {save}")
        renew(run)

    fit.__doc__ = _summary(cls)
    return o.with_options(fit, [*o.constructor_options(cls), *Job.options()])


def _load(path: Path, asked: Learner, changed: list[str], *, is_output: bool) -> Learner:
    """The learner in a state file, if it is the one asked for: its class, and the parameters that are not default."""
    content = read_content(path)
    if is_output and "checkpoint" in content:
        raise StateError(f"{path} is a checkpoint, which --continue would replace. Name another file with -o.")
    learner: Learner = from_content(content, str(path))
    if type(learner) is not type(asked):
        raise StateError(f"{path} is of a {type(learner).__name__}, not of a {type(asked).__name__}.")
    for name in changed:
        ours, theirs = getattr(asked, name), getattr(learner, name)
        if repr(ours) != repr(theirs):
            flag = o.flags_of(name)[0]
            raise StateError(f"{path} was made with {flag} {theirs}, not {ours}. Leave {flag} out.")
    return learner


def _continued(args: list[str]) -> str | None:
    """The value of --continue among arguments."""
    for arg, following in zip(args, [*args[1:], None], strict=True):
        if arg == "--continue":
            return following
        if arg.startswith("--continue="):
            return arg.partition("=")[2]
    return None


def _summary(cls: type[Learner]) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]
