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
from modicum.cli.run import Job
from modicum.cli.sources import Source
from modicum.cli.values import command_name
from modicum.contract.learner import Learner

NAMES = {command_name(name): name for name in modicum.LEARNERS}
Output = Annotated[Path, typer.Option("-o", "--output", help="State file to write.")]


class _Learners(LazyGroup):
    """A command for each learner. Any part of a name that no other has will do: `fit exemplar`, `fit svc`."""

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

    def fit(source: Source, output: Output = Path("state.mcm"), **given: Any) -> None:
        job = Job.take_from(given)
        run = job.learn(o.make_learner(cls, given), source, save=output)
        say(f"{run.learner.n_seen_:,} rows learned in {run.seconds:.1f} s; state in {output}")
        job.write_report(run, picked_rows(run.learner.picks(), run.rows) if job.report and job.text else None)

    fit.__doc__ = _summary(cls)
    return o.with_options(fit, [*o.constructor_options(cls), *Job.options()])


def _summary(cls: type[Learner]) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]
