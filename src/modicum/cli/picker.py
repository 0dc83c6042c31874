"""Options of `modicum select` about which rows may be picked: --balance, --include, --drop-duplicates, --outliers."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from modicum.cli.output import free_name, writer
from modicum.cli.picks import by_column
from modicum.cli.printing import say
from modicum.cli.rows_file import RowsFile
from modicum.cli.run import Job
from modicum.cli.sources import Options, Sources, is_stdin
from modicum.cluster import ExemplarClustering
from modicum.contract.learner import Learner
from modicum.contract.picks import Picks
from modicum.exceptions import DataError
from modicum.select import BalancedSelection, find_outliers
from modicum.select.quotas import text_of

MOST_GROUPS_SAID = 10  # in one line
_QUOTA = re.compile(r"(?P<value>.+):(?P<count>\d+)")


@dataclass(frozen=True)
class Picker(Options):
    """What may be picked, beside the objective."""

    balance: Annotated[
        str | None,
        typer.Option(
            help="Pick as many rows of each value of this column, or so many of each: label=cat:50,dog:30.",
            metavar="COLUMN",
        ),
    ] = None
    max_groups: Annotated[int | None, typer.Option(help="[--balance] The most values of the column (100).")] = None
    include: Annotated[
        Path | None,
        typer.Option(
            help="[exemplar] File of rows that are picked already; new picks complement them.", metavar="FILE"
        ),
    ] = None
    drop_duplicates: Annotated[
        float | None,
        typer.Option(
            help="Pick no row within this distance of another pick; 0 for exact duplicates. Same as --min-distance.",
            metavar="DISTANCE",
        ),
    ] = None
    outliers: Annotated[
        int | None,
        typer.Option(
            help="Also write the rows least like any pick, so many: picks.csv has them in picks.outliers.csv."
        ),
    ] = None

    # ---- before the run --------------------------------------------------------------------------

    def check(self, source: Sources, output: Path | None) -> None:
        """Before a long run: can these options be kept?"""
        if self.include is not None and self.balance is not None:
            raise ValueError("--include can't be combined with --balance.")
        if self.max_groups is not None and self.balance is None:
            raise ValueError("--max-groups is for --balance.")
        if self.outliers is None:
            return
        if self.outliers < 1:
            raise ValueError(f"--outliers must be a positive number of rows; got {self.outliers}.")
        if output is None:
            raise ValueError("--outliers needs -o: with -o picks.csv, they are written to picks.outliers.csv.")
        if is_stdin(source):
            raise DataError("--outliers reads the source again, and standard input can't be. Write it to a file first.")

    def add_to(self, texts: dict[str, Any]) -> None:
        """Put what is a parameter of the learner among its options."""
        if self.drop_duplicates is None:
            return
        if texts.get("min_distance") is not None:
            raise ValueError("--drop-duplicates and --min-distance are the same: give one of them.")
        if not 0 <= self.drop_duplicates < np.inf:
            raise ValueError(f"--drop-duplicates must be a distance of at least 0; got {self.drop_duplicates}.")
        texts["min_distance"] = str(self.drop_duplicates)

    def read_groups(self, job: Job) -> Job:
        """The job with the column to balance by as its target, which is no feature."""
        if self.balance is None:
            return job
        column, _ = parse_balance(self.balance)
        if job.target not in (None, column):
            raise ValueError(
                f"--balance {column} and --target {job.target}: only one of them can be read. Leave one out."
            )
        if job.weight == column or column in (job.columns or "").split(","):
            option = "--weight" if job.weight == column else "--columns"
            raise ValueError(f"--balance {column}: the column is not learned from; take it out of {option}.")
        return replace(job, target=column)

    def wrap(self, learner: Learner, k: str | None, *, source: Sources, job: Job) -> Learner:
        """The learner with its quotas, or with the rows that are picked already."""
        if self.balance is not None:
            return self._balanced(learner, k)
        return learner if self.include is None else self._including(learner, self.include, source, job)

    def _balanced(self, learner: Learner, k: str | None) -> Learner:
        _, quotas = parse_balance(str(self.balance))
        if isinstance(quotas, dict) and k is not None and k != str(sum(quotas.values())):
            raise ValueError(f"-k {k}, but the quotas of --balance sum to {sum(quotas.values())}. Leave out -k.")
        options = {} if self.max_groups is None else {"max_groups": self.max_groups}
        seed = learner.get_params(deep=False).get("random_state")
        return BalancedSelection(learner, quotas=quotas, random_state=seed, **options)

    def _including(self, learner: Learner, path: Path, source: Sources, job: Job) -> Learner:
        if not isinstance(learner, ExemplarClustering):
            raise ValueError("--include is for --objective exemplar alone: others can't complement given rows.")
        if learner.locked is not None:
            raise ValueError("--include and --locked both give rows. Leave one out.")
        given = RowsFile(path)
        return learner.set_params(n_exemplars=learner.n_exemplars + len(given), locked=given)

    # ---- after the run ---------------------------------------------------------------------------

    def write_outliers(self, learner: Any, job: Job, source: Sources, output: Path | None) -> None:
        """Write the rows that are least represented, if they are asked for, beside the picks."""
        if self.outliers is None or output is None:
            return
        rows = replace(job, passes=1, shuffle_buffer=0).open_for(learner, source)
        found = find_outliers(learner, rows, self.outliers)
        taken = rows.take(found.ids)
        is_table = rows.table_columns is not None
        columns = {name: taken[name] for name in taken.column_names} if is_table else by_column(taken, rows)
        facts = {"position": found.ids, "outlier": found.scores, "nearest": found.nearest}
        path = output.with_name(f"{output.stem}.outliers{output.suffix}")
        with writer(path) as write:
            write({free_name(name, columns): column for name, column in facts.items()} | columns)
        say(f"{len(found)} outliers in {path}")

    def with_groups(self, columns: dict[str, Any], picks: Picks) -> dict[str, Any]:
        """The columns of the picks, with that of their groups: a pipe has only the columns learned from."""
        if self.balance is None:
            return columns
        column, quotas = parse_balance(self.balance)
        if not len(picks):
            raise DataError(f"--balance: no row has one of these values in the column {column}: {', '.join(quotas)}.")
        return columns if column in columns else columns | {column: picks.targets}

    def describe(self, learner: Any) -> str:
        """How many rows of each group a balanced selection has."""
        column, quotas = parse_balance(str(self.balance))
        found = Counter(text_of(value) for value in learner.picks().targets.tolist())
        if isinstance(quotas, dict):
            said = [f"{value} ({_of(found[value], quota)})" for value, quota in quotas.items()]
        else:
            said = [f"{value} ({found[value]})" for value in map(text_of, learner.groups_)]
        more = [f"{len(said) - MOST_GROUPS_SAID:,} more"] if len(said) > MOST_GROUPS_SAID else []
        return f"{column}: {', '.join(said[:MOST_GROUPS_SAID] + more)}"


def _of(count: int, quota: int) -> str:
    return str(count) if count == quota else f"{count} of {quota}"


def parse_balance(text: str) -> tuple[str, Any]:
    """The column and the quotas of --balance.

    >>> parse_balance("label"), parse_balance("label=cat:50,dog:30")
    (('label', 'equal'), ('label', {'cat': 50, 'dog': 30}))
    """
    column, _, given = text.partition("=")
    quotas: dict[str, int] = {}
    for part in given.split(",") if "=" in text else []:
        match = _QUOTA.fullmatch(part.strip())
        if match is None or int(match["count"]) == 0 or match["value"] in quotas:
            raise _wrong_balance(text)
        quotas[match["value"]] = int(match["count"])
    if not column:
        raise _wrong_balance(text)
    return column, quotas or "equal"


def _wrong_balance(text: str) -> ValueError:
    return ValueError(f"--balance takes a column, or quotas of its values such as label=cat:50,dog:30; got {text!r}.")
