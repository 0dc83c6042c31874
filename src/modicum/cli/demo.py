"""`modicum demo`: learn two streams and write a report on each."""

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cluster import ExemplarClustering
from modicum.datasets import mixture
from modicum.exceptions import DataError
from modicum.rules.budget import format_bytes
from modicum.streams import Stream, stream


def command(
    folder: Annotated[Path, typer.Option(help="Where to write the reports.")] = Path("demo"),
    rows: Annotated[int, typer.Option(help="Length of the generated stream.")] = 1_000_000,
) -> None:
    """Cluster handwritten digits and a million generated rows by exemplars; write a report on each."""
    from sklearn.datasets import load_digits

    if rows < 1:
        raise DataError(f"--rows takes a number from 1; got {rows}.")
    if folder.is_file():
        raise DataError(f"can't write to {folder}: it is a file. Give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits().data.astype(np.float32)
    show("1,797 handwritten digits", stream(digits), folder / "digits.html", n_exemplars=40, image=(8, 8))
    made = f"{rows:,} rows from 200 clusters"
    show(made, stream(mixture(rows, 16, 200)), folder / "mixture.html", n_exemplars=100, image=None)


def show(what: str, rows: Stream, report: Path, *, n_exemplars: int, image: tuple[int, ...] | None) -> None:
    """Learn a stream, print a summary and write the report."""
    from modicum.plot.report import write_report

    say(f"{what}: choosing {n_exemplars} exemplars, in 16 MiB")
    learner = ExemplarClustering(n_exemplars, budget="16 MiB", random_state=0)
    began = time.perf_counter()
    with Progress(rows) as progress:
        learner.learn(rows, lambda model: progress.show(model, rows.position))
    seconds = time.perf_counter() - began
    write_report(report, learner, command="modicum demo", source=what, seconds=seconds, image=image)
    sizes = learner.cluster_sizes_
    say(
        f"  {learner.n_seen_:,} rows in {seconds:.1f} s ({learner.n_seen_ / seconds:,.0f} rows/s), "
        f"{format_bytes(learner.nbytes_)} held\n"
        f"  mean dissimilarity to the nearest exemplar {learner.loss_:.3f}; "
        f"largest cluster {sizes.max():,.0f} rows, smallest {sizes.min():,.0f}\n"
        f"  open {report}"
    )
