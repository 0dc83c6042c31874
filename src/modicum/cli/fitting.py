"""The command that fits one learner."""

from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.learners import ENTRIES
from modicum.cli.picks import picked_rows
from modicum.cli.printing import say
from modicum.cli.run import Job
from modicum.cli.safety import check_writing
from modicum.cli.sources import Source
from modicum.contract.learner import Learner

Output = Annotated[Path, typer.Option("-o", "--output", help="State file to write.")]


def fit_command(cls: type[Learner]) -> Any:
    """The command for one learner."""

    def fit(source: Source, output: Output = Path("state.mcm"), force: o.Force = False, **given: Any) -> None:
        job = Job.take_from(given)
        learner = o.make_learner(cls, given)
        check_writing(source, learner, save=output, report=job.report, other=job.checkpoint, force=force)
        run = job.learn(learner, source, save=output)
        say(f"{run.learner.n_seen_:,} rows learned in {run.seconds:.1f} s; state in {output}")
        job.write_report(run, picked_rows(run.learner.picks(), run.rows) if job.report and job.text else None)

    fit.__doc__ = ENTRIES[cls.__name__].summary
    return o.with_options(fit, [*o.constructor_options(cls), *Job.options()])
