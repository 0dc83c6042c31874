"""The command that fits one learner."""

from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.learners import ENTRIES
from modicum.cli.picks import picked_rows
from modicum.cli.preparing import groups_rows
from modicum.cli.printing import say
from modicum.cli.run import Job, Run
from modicum.cli.safety import check_writing, class_of
from modicum.cli.sources import Source
from modicum.cli.topics import shown_documents, with_family
from modicum.contract.learner import Learner
from modicum.contract.loading import from_content, read_content
from modicum.exceptions import StateError
from modicum.pipeline import StreamPipeline

STATE = Path("state.mcm")
_HELP = f"State file to write. Default: {STATE}, or the file of --continue."
Output = Annotated[Path | None, typer.Option("-o", "--output", help=_HELP)]
Continue = Annotated[
    Path | None,
    typer.Option("--continue", help="State file to go on from: SOURCE is learned on top. LEARNER may be left out."),
]


def fit_command(cls: type[Learner]) -> Any:
    """The command for one learner."""

    def fit(
        source: Source, output: Output = None, continue_: Continue = None, force: o.Force = False, **given: Any
    ) -> None:
        own = o.own_values(cls, given, Job)
        job = Job.take_from(given)
        given |= own
        save = output or continue_ or STATE
        learner = o.make_learner(cls, given)
        if continue_ is not None:
            if job.text is not None:
                raise ValueError("--text can't be used with --continue: rows of earlier sources can't be read again.")
            learner = _load(continue_, learner, o.changed(cls, given), is_output=output is None)
        elif groups_rows(learner):
            learner = with_family(learner, job, source, is_told="family" in o.changed(cls, given))
        check_writing(source, learner, save=save, report=job.report, other=job.checkpoint_file, force=force)
        n_before = learner.n_seen_ if learner._is_fitted() else 0

        def renew(run: Run) -> None:
            if job.report is None:
                return
            rows = picked_rows(run.learner.picks(), run.rows) if job.text else None
            documents = shown_documents(run.learner, run.rows, job.document) if groups_rows(run.learner) else None
            job.write_report(run, rows, documents)

        run = job.learn(learner, source, save=save, renew=renew)
        total = f", {run.learner.n_seen_:,} in all," if n_before else ""
        n_new = run.learner.n_seen_ - n_before
        say(f"{n_new:,} rows learned{total} in {run.seconds:.1f} s; state in {save}")
        renew(run)

    fit.__doc__ = ENTRIES[cls.__name__].summary
    of_job = Job.options(without=o.told_in_shell_words(cls), documents=cls._counts_words is not False)
    return o.with_options(fit, [*o.constructor_options(cls), *of_job])


def learner_in(path: str) -> str:
    """The class of the learner in a state file, of a pipeline that of its last step."""
    return class_of(read_content(path))


def _load(path: Path, asked: Learner, changed: list[str], *, is_output: bool) -> Learner:
    """The learner in a state file, if it is the one asked for: its class, and the parameters that are not default."""
    content = read_content(path)
    if is_output and "checkpoint" in content:
        raise StateError(f"{path} is a checkpoint, which --continue would replace. Name another file with -o.")
    learner: Learner = from_content(content, str(path))
    made = learner.steps[-1][1] if isinstance(learner, StreamPipeline) else learner
    if type(made) is not type(asked):
        raise StateError(f"{path} is of a {type(made).__name__}, not of a {type(asked).__name__}.")
    for name in changed:
        ours, theirs = getattr(asked, name), getattr(made, name)
        if repr(ours) != repr(theirs):
            flag = o.flags_of(name)[0]
            raise StateError(f"{path} was made with {flag} {theirs}, not {ours}. Leave {flag} out.")
    return learner
