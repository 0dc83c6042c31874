"""Measures all combinations of numbers of rows and points (lucic2015, section 7: the grid Lambda)."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modicum.contract.learner import Learner
from modicum.coreset.stream_kmeans import StreamKMeans
from modicum.exceptions import StateError
from modicum.rules.params import NULL, Constraint, Int, Number
from modicum.tradeoff.bench import Bench
from modicum.tradeoff.table import Tradeoff

_CONSTRAINTS: dict[str, list[Constraint]] = {
    "repeats": [Int(1)],
    "validation_fraction": [Number(0, 1, open_ends=True)],
    "random_state": [Int(0), NULL],
}


def tradeoff(
    source: Any,
    n_points: Sequence[int],
    *,
    n_clusters: int | None = None,
    estimator: Learner | None = None,
    n_rows: Sequence[int] | None = None,
    methods: Sequence[str] = ("coreset", "uniform"),
    repeats: int = 5,
    validation_fraction: float = 0.2,
    path: str | os.PathLike[str] | None = None,
    on_cell: Callable[[int, int], object] | None = None,
    random_state: int | None = None,
) -> Tradeoff:
    """Measure the tradeoff between time, data, memory and risk.

    For every number of rows and every number of points: draw that many rows at random, summarize them, fit the model,
    and record the time of both steps and the risk on held-out rows. The result has the least time for a given risk and
    number of rows: the choice of an oracle that has tried everything. `Tram` searches without trying everything.

    Parameters
    ----------
    source : array, or anything that `modicum.stream` reads
        Of anything but an array, a uniform sample of 200,000 rows (more if `n_rows` asks for them) is kept in memory.
    n_points : list of int
        Numbers of points in the summaries.
    n_clusters : int or None, default=None
        Short for `estimator=StreamKMeans(n_clusters)`.
    estimator : learner or None, default=None
        One with a `score` and a parameter `n_points`; the risk is minus the score.
    n_rows : list of int or None, default=None
        Numbers of rows to learn from; by default all that are not held out, a half, a quarter, ..., 1/32 of them.
    methods : list of str, default=("coreset", "uniform")
        "coreset" is the estimator itself. "uniform" learns from as many rows as the summary would have points, without
        a summary. Others are passed to the estimator as its `method`.
    repeats : int, default=5
        Runs of each cell, each with different rows and seeds.
    validation_fraction : float, default=0.2
        Fraction of the rows held out to measure the risk; 100,000 rows at most.
    path : path or None, default=None
        A file for the results, written after every cell. Runs that it already holds are not repeated; points, rows,
        methods and repeats may be added. A file with other data, estimators or seeds is refused.
    on_cell : callable or None, default=None
        Called after each cell with the number of finished cells and of all cells.
    random_state : int or None, default=None
        None takes the seed from `path`, if the file exists.

    Returns
    -------
    Tradeoff

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.tradeoff import tradeoff
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 10.0, 20.0], (5000, 2)) + rng.normal(size=(5000, 2))
    >>> found = tradeoff(X, [50, 200], n_clusters=9, n_rows=[1000, 4000], repeats=3, random_state=0)
    >>> [(cell.method, cell.n_rows, cell.n_points) for cell in found.cells()]
    [('coreset', 1000, 50), ('coreset', 1000, 200), ('coreset', 4000, 50), ('coreset', 4000, 200),
     ('uniform', 50, 50), ('uniform', 200, 200)]
    >>> found.oracle("coreset", risk=1.0) is None  # each column has a variance of one
    True

    References
    ----------
    lucic2015, section 7. See `Tradeoff` for departures.
    """
    _check({"repeats": repeats, "validation_fraction": validation_fraction, "random_state": random_state})
    learner = _as_learner(estimator, n_clusters)
    result = Tradeoff.read(path) if path is not None and os.path.exists(path) else Tradeoff({})
    bench = Bench(learner, source, n_rows, validation_fraction, _seed(random_state, result))
    _refuse_other_settings(result.settings, bench.settings, path)
    result.settings = bench.settings
    cells = _cells(methods, bench.row_counts(n_rows), n_points)
    done = {run[:4] for run in result.runs}
    missing = [[(*cell, i) for i in range(repeats) if (*cell, i) not in done] for cell in cells]
    if any(missing):
        bench.run(*cells[0], 0)  # loads compiled loops before anything is timed
    for number, cell in enumerate(missing, 1):
        if cell:
            result.runs = sorted([*result.runs, *(bench.run(*run) for run in cell)])
            if path is not None:
                result.save(path)
        if on_cell is not None:
            on_cell(number, len(cells))
    return result


def _cells(methods: Sequence[str], n_rows: Sequence[int], n_points: Sequence[int]) -> list[tuple[str, int, int]]:
    """(method, rows, points) of all cells; a summary has fewer points than rows."""
    found = []
    for method in methods:
        if method == "uniform":
            found += [(method, points, points) for points in sorted(set(n_points)) if points <= max(n_rows)]
        else:
            found += [(method, rows, points) for rows in n_rows for points in sorted(set(n_points)) if points < rows]
    if not found:
        raise ValueError(f"tradeoff: every number of points exceeds the {max(n_rows):,} rows.")
    return found


def _as_learner(estimator: Learner | None, n_clusters: int | None) -> Learner:
    if (estimator is None) == (n_clusters is None):
        raise ValueError("tradeoff: give either n_clusters or an estimator.")
    learner = StreamKMeans(n_clusters) if estimator is None else estimator  # type: ignore[arg-type]
    if not hasattr(learner, "score") or "n_points" not in learner.get_params(deep=False):
        raise ValueError(f"tradeoff: estimator must have a score and a parameter n_points; got {learner!r}.")
    return learner


def _seed(random_state: int | None, known: Tradeoff) -> int:
    if random_state is not None:
        return random_state
    return known.settings.get("seed", int(np.random.default_rng().integers(2**31)))


def _refuse_other_settings(known: dict[str, Any], settings: dict[str, Any], path: Any) -> None:
    for name, value in known.items():
        if value != settings[name]:
            raise StateError(
                f"tradeoff: {path} holds runs with other data or settings: {name} is {value} there and "
                f"{settings[name]} here. Give another path."
            )


def _check(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if not any(constraint.accepts(value) for constraint in _CONSTRAINTS[name]):
            raise ValueError(f"tradeoff: {name} must be {' or '.join(map(str, _CONSTRAINTS[name]))}; got {value!r}.")
