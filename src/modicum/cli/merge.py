"""`modicum merge A B -o C`: merge learners of different parts of the data."""

from typing import Annotated

import typer

from modicum.cli import options as o
from modicum.cli.output import check_folder
from modicum.cli.printing import say
from modicum.cli.safety import check_replaced
from modicum.contract.loading import load


def command(
    states: Annotated[list[o.Path], typer.Argument(help="State files, two or more.", show_default=False)],
    output: Annotated[o.Path, typer.Option("-o", "--output", help="State file to write.", show_default=False)],
    force: o.Force = False,
) -> None:
    """Merge saved learners into one; the files are not changed."""
    if len({path.resolve() for path in states}) < max(2, len(states)):
        raise ValueError("merge needs two or more state files, each of them once.")
    check_folder(output)
    learner = load(states[0])
    check_replaced(output, learner, force=force)
    for path in states[1:]:
        learner.merge(load(path))
    learner.save(output)
    say(f"{len(states)} learners of {learner.n_seen_:,} rows together; state in {output}")
