"""`modicum select SOURCE -k 100`: the rows worth looking at, out of as many as you like."""

from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli import options as o
from modicum.cli.fit import write_report
from modicum.cli.output import check_folder, check_place, writer
from modicum.cli.progress import say
from modicum.cli.run import Run, learn
from modicum.cluster.exemplars import ExemplarClustering


def select(
    source: o.Source,
    output: o.Output = None,
    save: Annotated[o.Path | None, typer.Option(help="Also save the learner to this state file.")] = None,
    columns: o.Columns = None,
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
    """Choose the rows of SOURCE that stand best for all of it.

    The picks keep all original columns, with the row's position in the source and the number of rows it stands for.
    """
    o.parse_shape(image)  # a typing error should not cost a run
    check_place(output)
    for path in (save, report, checkpoint):
        check_folder(path)
    run = learn(
        o.make_learner(ExemplarClustering, params),
        source,
        checkpoint=checkpoint,
        every=every,
        columns=columns,
        weight=weight,
        chunk_size=chunk_size,
        passes=passes,
        shuffle_buffer=shuffle_buffer,
    )
    picks = picked_rows(run)
    learner: Any = run.learner
    by_size = np.argsort(-learner.cluster_sizes_, kind="stable")
    with writer(output, csv=csv, table=table) as write:
        facts = {"position": learner.exemplar_indices_, "cluster_size": np.round(learner.cluster_sizes_, 1)}
        ordered = {_free(name, picks): np.asarray(column)[by_size] for name, column in facts.items()}
        write({**ordered, **{name: _reorder(column, by_size) for name, column in picks.items()}})
    say(
        f"{len(by_size)} of {learner.n_seen_:,} rows chosen in {run.seconds:.1f} s; "
        f"a row is on average {learner.loss_:.4g} from its exemplar" + (f"; picks in {output}" if output else "")
    )
    if save is not None:
        learner.save(save)
    write_report(run, report, image, text, picks)


def picked_rows(run: Run) -> dict[str, Any]:
    """All original columns of the exemplars, read again from the source; from a pipe, what was learned from."""
    learner: Any = run.learner
    if run.stream.rereadable and (learner.exemplar_indices_ >= 0).all():
        rows = run.stream.take(learner.exemplar_indices_)
        if hasattr(rows, "column_names"):
            return {name: rows[name] for name in rows.column_names}
    else:
        rows = learner.exemplars_
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows).reshape(len(rows), -1)
    names = run.stream.columns or [f"x{i}" for i in range(rows.shape[1])]
    return {name: rows[:, i] for i, name in enumerate(names)}


def _free(name: str, taken: dict[str, Any]) -> str:
    """`name`, or a longer one if the source has such a column."""
    return _free(f"modicum_{name}", taken) if name in taken else name


def _reorder(column: Any, order: np.ndarray) -> Any:
    return column.take(order) if hasattr(column, "to_pylist") else np.asarray(column)[order]


command = o.with_constructor_options(select, ExemplarClustering)
