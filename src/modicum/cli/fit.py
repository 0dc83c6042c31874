"""`modicum fit LEARNER SOURCE`: learn a stream and save the state. One command for every public learner."""

import inspect
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import modicum
from modicum.cli import options as o
from modicum.cli.output import check_folder
from modicum.cli.picks import picked_rows
from modicum.cli.printing import say
from modicum.cli.run import Run, learn
from modicum.cli.values import command_name
from modicum.contract.learner import Learner


class _ByAnyPart(TyperGroup):
    """Learners answer to any part of their name that no other has: `fit exemplar`, `fit svc`."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        exact = super().get_command(ctx, cmd_name)
        alike = [name for name in self.list_commands(ctx) if cmd_name.replace("-", "") in name.replace("-", "")]
        return exact or (super().get_command(ctx, alike[0]) if len(alike) == 1 else None)


app = typer.Typer(
    cls=_ByAnyPart, help="Learn a source and save what was learned.", no_args_is_help=True, rich_markup_mode=None
)


def fit_command(cls: type[Learner]) -> Any:
    """The command for one learner."""

    def fit(
        source: o.Source,
        output: Annotated[str, typer.Option("-o", "--output", help="State file to write.")] = "state.mcm",
        columns: o.Columns = None,
        target: o.Target = None,
        weight: o.Weight = None,
        chunk_size: o.ChunkSize = None,
        passes: o.Passes = 1,
        shuffle_buffer: o.ShuffleBuffer = 0,
        checkpoint: o.CheckpointPath = None,
        every: o.Every = "30s",
        report: o.Report = None,
        image: o.Image = None,
        text: o.Text = None,
        **params: Any,
    ) -> None:
        learner = o.make_learner(cls, params)
        for path in (output, report, checkpoint):
            check_folder(path)
        run = learn(
            learner,
            source,
            checkpoint=checkpoint,
            every=every,
            image=image,
            text=text,
            columns=columns,
            target=target,
            weight=weight,
            chunk_size=chunk_size,
            passes=passes,
            shuffle_buffer=shuffle_buffer,
        )
        run.learner.save(output)
        say(f"{run.learner.n_seen_:,} rows learned in {run.seconds:.1f} s; state in {output}")
        picks = picked_rows(run.learner, run.stream) if report is not None and text is not None else None
        write_report(run, report, image, text, picks)

    fit.__doc__ = (inspect.getdoc(cls) or "").partition("\n")[0]
    return o.with_options(fit, o.constructor_options(cls))


def write_report(run: Run, report: o.Path | None, image: str | None, text: str | None, picks: Any) -> None:
    """The report page of a run, if one is asked for."""
    if report is None:
        return
    from modicum.plot.report import write_report as write

    write(
        report,
        run.learner,
        command=shlex.join(["modicum", *sys.argv[1:]]),
        source=run.stream.description,
        seconds=run.seconds,
        picks=picks,
        image=o.parse_shape(image),
        text=text,
    )
    say(f"report in {report}")


for learner_class in modicum.load_all_learners().values():
    app.command(command_name(learner_class))(fit_command(learner_class))
