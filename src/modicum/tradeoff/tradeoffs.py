"""What time, memory, data and risk cost each other (lucic2015, sections 4 and 7): a table of runs and its readings."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from modicum.exceptions import StateError
from modicum.state.files import write_atomically

FORMAT = 1
QUANTILES = 0.1, 0.5, 0.9


class Run(NamedTuple):
    """Rows learned from, points of their summary, time to summarize and solve, and the risk on rows held out."""

    method: str
    rows: int
    size: int
    repeat: int
    seconds: float
    risk: float


class Cell(NamedTuple):
    """All runs of one method with as many rows and points: medians, and the range of four runs in five."""

    method: str
    rows: int
    size: int
    repeats: int
    seconds: float
    risk: float
    seconds_range: tuple[float, float]
    risk_range: tuple[float, float]


class Curve(NamedTuple):
    """Least seconds against rows or risks, and the range of four runs in five; not a number where none is enough."""

    x: np.ndarray
    seconds: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass
class Tradeoff:
    """The grid of all numbers of rows and sizes of summaries that were tried; made by `modicum.coreset.tradeoff`.

    Attributes
    ----------
    runs : list of Run
    settings : dict
        What the runs have in common: the estimator, the rows, the seed.

    References
    ----------
    lucic2015, sections 4 and 7. Departures: medians take the place of averages, which one slow run would move; risks
    are those of rows held out, where the paper takes all rows, learned from or not.
    """

    settings: dict[str, Any]
    runs: list[Run] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """In the order in which they were tried."""
        return list(dict.fromkeys(run.method for run in self.runs))

    @property
    def rows(self) -> list[int]:
        """All numbers of rows that were learned from."""
        return sorted({run.rows for run in self.runs})

    def cells(self, method: str | None = None, rows: int | None = None) -> list[Cell]:
        """Runs put together: those of one method, and with at most so many rows, if given."""
        together: dict[tuple[str, int, int], list[Run]] = {}
        for run in self.runs:
            if method in (None, run.method) and (rows is None or run.rows <= rows):
                together.setdefault((run.method, run.rows, run.size), []).append(run)
        return [_cell(runs) for runs in together.values()]

    def pareto(self, method: str | None = None, rows: int | None = None) -> list[Cell]:
        """Cells that no other beats in both seconds and risk, the quickest first.

        Parameters
        ----------
        method : str or None, default=None
            Only cells of this method.
        rows : int or None, default=None
            Only cells with at most so many rows.
        """
        front: list[Cell] = []
        for cell in sorted(self.cells(method, rows), key=lambda cell: (cell.seconds, cell.risk)):
            if not front or cell.risk < front[-1].risk:
                front.append(cell)
        return front

    def oracle(self, method: str, risk: float, rows: int | None = None) -> Cell | None:
        """The quickest cell whose risk is at most `risk`, among those with at most `rows` rows; None if there is none.

        It knows what only trying everything tells: ORACLE-C of the paper for coresets, ORACLE-U for "uniform".
        """
        return next((cell for cell in self.pareto(method, rows) if cell.risk <= risk), None)

    def data_time(self, risk: float, method: str) -> Curve:
        """The oracle's time for one risk against the rows there are (lucic2015, Figure 1c and Figure 2, first row)."""
        return _curve(self.rows, [self.oracle(method, risk, rows) for rows in self.rows])

    def risk_time(self, method: str, rows: int | None = None, risks: Iterable[float] | None = None) -> Curve:
        """The oracle's time for a number of rows against the risk (lucic2015, Figure 1d and Figure 2, second row).

        `risks` are by default all those at which the time changes.
        """
        front = self.pareto(method, rows)
        asked = sorted(cell.risk for cell in front) if risks is None else list(risks)
        return _curve(asked, [next((cell for cell in front if cell.risk <= risk), None) for risk in asked])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all runs as JSON, whole or not at all."""
        content = {"format": FORMAT, "settings": self.settings, "columns": Run._fields, "runs": self.runs}
        write_atomically(path, json.dumps(content).encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """What `save` wrote."""
        try:
            content = json.loads(Path(path).read_bytes())
            if content["format"] != FORMAT:
                raise StateError(f"{path} holds tradeoffs in format {content['format']}; expected {FORMAT}.")
            return cls(content["settings"], [Run(*run) for run in content["runs"]])
        except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StateError(f"{path} does not hold tradeoffs: {type(error).__name__} {error}.") from None


def _cell(runs: Sequence[Run]) -> Cell:
    method, rows, size = runs[0][:3]
    fast, seconds, slow = np.quantile([run.seconds for run in runs], QUANTILES).tolist()
    low, risk, high = np.quantile([run.risk for run in runs], QUANTILES).tolist()
    return Cell(method, rows, size, len(runs), seconds, risk, (fast, slow), (low, high))


def _curve(x: Sequence[float], best: Sequence[Cell | None]) -> Curve:
    nowhere = (np.nan,) * 3
    times = [nowhere if cell is None else (cell.seconds, *cell.seconds_range) for cell in best]
    return Curve(np.asarray(x), *np.reshape(times, (-1, 3)).T)
