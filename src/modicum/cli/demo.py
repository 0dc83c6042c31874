"""`modicum demo`: learn a messy table, pictures and a long stream, and write a report on each."""

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from modicum._optional import require
from modicum.cli.picks import estimated
from modicum.cli.printing import say
from modicum.cli.progress import Progress
from modicum.cluster import ExemplarClustering
from modicum.datasets import mixture, orders
from modicum.exceptions import DataError
from modicum.rules.budget import format_bytes
from modicum.streams import Stream, stream

MOST_ORDERS, ORDERS_PER_FILE = 200_000, 50_000


def command(
    folder: Annotated[Path, typer.Option(help="Where to write the reports.")] = Path("demo"),
    rows: Annotated[int, typer.Option(help="Length of the generated stream.")] = 1_000_000,
) -> None:
    """Cluster made-up orders, handwritten digits and a million generated rows by exemplars; write a report on each."""
    from sklearn.datasets import load_digits

    if rows < 1:
        raise DataError(f"--rows takes a number from 1; got {rows}.")
    if folder.is_file():
        raise DataError(f"can't write to {folder}: it is a file. Give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    show_table(folder, min(rows, MOST_ORDERS))
    digits = load_digits().data.astype(np.float32)
    show("1,797 handwritten digits", stream(digits), folder / "digits.html", n_exemplars=40, image=(8, 8))
    made = f"{rows:,} rows from 200 clusters"
    show(made, stream(mixture(rows, 16, 200)), folder / "mixture.html", n_exemplars=100, image=None)


def show_table(folder: Path, n_rows: int) -> None:
    """Write orders as a shop would export them to files, and choose 20 of them with the command for that."""
    from modicum.cli.app import app

    exported = folder / "orders"
    exported.mkdir(exist_ok=True)
    files = [exported / f"orders-{i}.parquet" for i in range(1, MOST_ORDERS // ORDERS_PER_FILE + 1)]
    for file in files:  # of an earlier demo, perhaps with more rows
        file.unlink(missing_ok=True)
    for file, table in zip(files, orders(n_rows, chunk_size=ORDERS_PER_FILE), strict=False):
        write_parquet(file, table.drop_columns(["kind"]))
    picks, report = (str(folder / f"orders.{ending}") for ending in ("csv", "html"))
    arguments = ["select", str(exported), "-k", "20", "--random-state", "0", "-o", picks, "--report", report]
    say(f"{n_rows:,} orders with strings, times and gaps, in {exported}:\n  $ {shlex.join(['modicum', *arguments])}")
    before, sys.argv = sys.argv, ["modicum", *arguments]  # which the report shows
    try:
        typer.main.get_command(app).main(arguments, standalone_mode=False)
    finally:
        sys.argv = before


def write_parquet(path: Path, table: Any) -> None:
    require("pyarrow", "Parquet files")
    from pyarrow import parquet

    parquet.write_table(table, path)


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
        f"  mean dissimilarity to the nearest exemplar {learner.loss_:.3f}{estimated(learner)}; "
        f"largest cluster {sizes.max():,.0f} rows, smallest {sizes.min():,.0f}\n"
        f"  open {report}"
    )
