"""`modicum select SOURCE -k 100`: the rows worth looking at, out of as many as you like."""

from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.fit import write_report
from modicum.cli.objectives import AIMS, OBJECTIVES, make_learner
from modicum.cli.output import check_folder, check_place, free_name, writer
from modicum.cli.picks import picked_rows
from modicum.cli.printing import say
from modicum.cli.run import learn

Objective = Annotated[str, typer.Option(help=f"What makes a choice good: {', '.join(AIMS)}.")]


def select(
    source: o.Source,
    objective: Objective = "exemplar",
    output: o.Output = None,
    save: o.Save = None,
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
    csv: o.Csv = False,
    table: o.Table = False,
    **params: Any,
) -> None:
    """Choose the rows of SOURCE that stand best for all of it, or differ most, or predict best.

    The picks keep all original columns, with the row's position in the source and the number of rows it stands for.
    An option that names objectives is for these alone.
    """
    learner = make_learner(objective, params, target)
    check_place(output)
    for path in (save, report, checkpoint):
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
    learner, picks = run.learner, picked_rows(run.learner, run.stream)
    facts, order = facts_of(learner)
    with writer(output, csv=csv, table=table) as write:
        named = {free_name(name, picks): column for name, column in facts.items()}
        write({name: _reorder(column, order) for name, column in {**named, **picks}.items()})
    say(
        f"{len(order)} of {learner.n_seen_:,} rows chosen in {run.seconds:.1f} s; {_success(learner, objective)}"
        + (f"; picks in {output}" if output else "")
    )
    if save is not None:
        learner.save(save)
    write_report(run, report, image, text, picks)


def facts_of(learner: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What is told of each pick beside its own columns, and the order of picks."""
    if hasattr(learner, "cluster_sizes_"):
        sizes = learner.cluster_sizes_
        facts = {"position": learner.exemplar_indices_, "cluster_size": np.round(sizes, 1)}
        return facts, np.argsort(-sizes, kind="stable")
    numbers = np.arange(len(learner.indices_))  # those of `transform` and `predict`
    return {"position": learner.indices_, "prototype": numbers}, numbers


def _success(learner: Any, objective: str) -> str:
    if hasattr(learner, "loss_"):
        return f"a row is on average {learner.loss_:.4g} from its exemplar"
    return f"{objective} is {-learner.value_ if objective == 'error' else learner.value_:.4g}"


def _reorder(column: Any, order: np.ndarray) -> Any:
    return column.take(order) if hasattr(column, "to_pylist") else np.asarray(column)[order]


command = o.with_options(select, OBJECTIVES.options())
