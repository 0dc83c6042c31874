"""The tradeoff between time, memory, data and risk (lucic2015, sections 4 and 7): a table of runs and its curves."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from modicum.exceptions import StateError
from modicum.state.files import write_atomically

FORMAT = 2
QUANTILES = 0.1, 0.5, 0.9


class Run(NamedTuple):
    """Rows learned from, points of their summary, time to summarize and fit, and the risk on held-out rows."""

    method: str
    n_rows: int
    n_points: int
    repeat: int
    seconds: float
    risk: float


class Cell(NamedTuple):
    """All runs of one method with the same numbers of rows and points: medians, and the 10% to 90% range."""

    method: str
    n_rows: int
    n_points: int
    repeats: int
    seconds: float
    risk: float
    seconds_range: tuple[float, float]
    risk_range: tuple[float, float]


class Curve(NamedTuple):
    """Least seconds against rows or risks, and the 10% to 90% range; NaN where no run reaches the risk."""

    x: np.ndarray
    seconds: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass
class Tradeoff:
    """The grid of all numbers of rows and points that were measured; made by `modicum.tradeoff.tradeoff`.

    Attributes
    ----------
    runs : list of Run
    settings : dict
        What the runs have in common: the estimator, the rows, the seed.

    References
    ----------
    lucic2015, sections 4 and 7. Departures: medians instead of averages, which one slow run would move; risks are
    measured on held-out rows, in the paper on all rows, learned from or not.
    """

    settings: dict[str, Any]
    runs: list[Run] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """Methods, in the order of the runs."""
        return list(dict.fromkeys(run.method for run in self.runs))

    @property
    def n_rows(self) -> list[int]:
        """All numbers of rows that were learned from."""
        return sorted({run.n_rows for run in self.runs})

    def cells(self, method: str | None = None, max_rows: int | None = None) -> list[Cell]:
        """Runs grouped by method, rows and points.

        Parameters
        ----------
        method : str or None, default=None
            Only cells of this method.
        max_rows : int or None, default=None
            Only cells with at most this many rows.
        """
        groups: dict[tuple[str, int, int], list[Run]] = {}
        for run in self.runs:
            if method in (None, run.method) and (max_rows is None or run.n_rows <= max_rows):
                groups.setdefault((run.method, run.n_rows, run.n_points), []).append(run)
        return [_cell(runs) for runs in groups.values()]

    def pareto(self, method: str | None = None, max_rows: int | None = None) -> list[Cell]:
        """Cells that no other beats in both seconds and risk, the fastest first; parameters as in `cells`."""
        front: list[Cell] = []
        for cell in sorted(self.cells(method, max_rows), key=lambda cell: (cell.seconds, cell.risk)):
            if not front or cell.risk < front[-1].risk:
                front.append(cell)
        return front

    def oracle(self, method: str, risk: float, max_rows: int | None = None) -> Cell | None:
        """The fastest cell with a risk of at most `risk` and at most `max_rows` rows; None if there is none.

        This is ORACLE-C of the paper for coresets, ORACLE-U for "uniform".
        """
        return next((cell for cell in self.pareto(method, max_rows) if cell.risk <= risk), None)

    def data_time(self, risk: float, method: str) -> Curve:
        """The oracle's time for one risk against the number of rows (lucic2015, Figure 1c and Figure 2, first row)."""
        return _curve(self.n_rows, [self.oracle(method, risk, count) for count in self.n_rows])

    def risk_time(self, method: str, max_rows: int | None = None, risks: Iterable[float] | None = None) -> Curve:
        """The oracle's time for at most `max_rows` rows against the risk (lucic2015, Figures 1d and 2, second row).

        `risks` are by default all those at which the time changes.
        """
        front = self.pareto(method, max_rows)
        levels = sorted(cell.risk for cell in front) if risks is None else list(risks)
        return _curve(levels, [next((cell for cell in front if cell.risk <= risk), None) for risk in levels])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all runs as JSON, atomically."""
        content = {"format": FORMAT, "settings": self.settings, "columns": Run._fields, "runs": self.runs}
        write_atomically(path, json.dumps(content).encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by `save`."""
        try:
            content = json.loads(Path(path).read_bytes())
            if content["format"] != FORMAT:
                raise StateError(f"{path} holds tradeoffs in format {content['format']}; expected {FORMAT}.")
            return cls(content["settings"], [Run(*run) for run in content["runs"]])
        except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StateError(f"{path} does not hold tradeoffs: {type(error).__name__} {error}.") from None


def _cell(runs: Sequence[Run]) -> Cell:
    method, n_rows, n_points = runs[0][:3]
    fast, seconds, slow = np.quantile([run.seconds for run in runs], QUANTILES).tolist()
    low, risk, high = np.quantile([run.risk for run in runs], QUANTILES).tolist()
    return Cell(method, n_rows, n_points, len(runs), seconds, risk, (fast, slow), (low, high))


def _curve(x: Sequence[float], best: Sequence[Cell | None]) -> Curve:
    missing = (np.nan,) * 3
    times = [missing if cell is None else (cell.seconds, *cell.seconds_range) for cell in best]
    return Curve(np.asarray(x), *np.reshape(times, (-1, 3)).T)
