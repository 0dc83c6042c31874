"""`modicum name STATE c3=boots`: name the components of a saved mixture."""

from typing import Annotated, Any

import typer

from modicum.cli import options as o
from modicum.cli.output import check_folder
from modicum.cli.predict import StatePath
from modicum.cli.printing import say
from modicum.cli.safety import check_replaced
from modicum.contract.checkpoint import Checkpoint
from modicum.contract.loading import from_content, read_content
from modicum.pipeline import final_learner


def command(
    state: StatePath,
    names: Annotated[list[str], typer.Argument(help="Present and new names of components: c3=boots.")],
    output: Annotated[
        o.Path | None, typer.Option("-o", "--output", help="State file to write. Default: STATE.")
    ] = None,
    force: o.Force = False,
) -> None:
    """Name components of a mixture. Names are kept by further learning and by merges."""
    check_folder(output)
    content = read_content(state)
    learner: Any = from_content(content, str(state))
    mixture: Any = final_learner(learner)
    if not hasattr(mixture, "name_component"):
        raise ValueError(f"{state} is of a {type(mixture).__name__}, which has no components to name.")
    check_replaced(output, mixture, force=force)
    for pair in names:
        _rename(mixture, pair)
    mark = content.get("checkpoint")
    if output is None and mark is not None:  # so that the run can be resumed
        checkpoint = Checkpoint(state, every=0, run=mark["run"])
        checkpoint.write(learner, mark["position"], finished=mark["finished"])
    else:
        learner.save(output or state)
    say(f"{len(names)} of {mixture.n_components_} components named; state in {output or state}")


def _rename(mixture: Any, pair: str) -> None:
    known = mixture.component_names_
    old, _, new = pair.partition("=")
    if not new:
        raise ValueError(f"a name is given as c3=boots; got {pair!r}.")
    if old not in known:
        raise ValueError(f"no component is called {old!r}; there are {', '.join(known)}.")
    mixture.name_component(known.index(old), new)
