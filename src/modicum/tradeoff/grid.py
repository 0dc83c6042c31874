"""Tries all numbers of rows and sizes of summaries (lucic2015, section 7: the grid Lambda)."""

import hashlib
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from modicum.contract.learner import Learner
from modicum.coreset.stream_kmeans import StreamKMeans
from modicum.exceptions import DataError, StateError
from modicum.rules.params import NULL, Constraint, Int, Number
from modicum.select.reservoir import Reservoir
from modicum.streams import stream
from modicum.tradeoff.tradeoffs import Run, Tradeoff

POOL = 200_000  # rows kept of a stream, unless more are asked for
MOST_VALIDATION = 100_000  # rows
DOUBLINGS = 5  # numbers of rows by default: all, a half, ..., 1/32
_CONSTRAINTS: dict[str, list[Constraint]] = {
    "repeats": [Int(1)],
    "validation": [Number(0, 1, open_ends=True)],
    "random_state": [Int(0), NULL],
}


def tradeoff(
    source: Any,
    sizes: Sequence[int],
    *,
    n_clusters: int | None = None,
    estimator: Learner | None = None,
    rows: Sequence[int] | None = None,
    methods: Sequence[str] = ("coreset", "uniform"),
    repeats: int = 5,
    validation: float = 0.2,
    path: str | os.PathLike[str] | None = None,
    on_cell: Callable[[int, int], object] | None = None,
    random_state: int | None = None,
) -> Tradeoff:
    """Measure what time, data and memory cost each other in terms of risk.

    For every number of rows and every size of a summary: draw so many rows at random, summarize them, solve, and take
    the time of both and the risk on rows held out. The result tells the least time for a risk, with any number of rows:
    what an oracle that has tried everything would do. `Tram` finds its way without.

    Parameters
    ----------
    source : array, or anything that `modicum.stream` reads
        Of what is not an array, a uniform sample of 200,000 rows (more if `rows` ask for them) is kept in memory.
    sizes : list of int
        Points of the summaries.
    n_clusters : int or None, default=None
        Short for `estimator=StreamKMeans(n_clusters)`.
    estimator : learner or None, default=None
        One with a `score` and a parameter `size`; the risk is minus the score.
    rows : list of int or None, default=None
        Rows to learn from; by default all that are not held out, a half, a quarter, ..., 1/32 of them.
    methods : list of str, default=("coreset", "uniform")
        "coreset" is the estimator as it is. "uniform" learns from as many rows as the summary would have points, and
        makes none. Others are given to the estimator as its `method`.
    repeats : int, default=5
        Runs of each cell, with rows and seeds of their own.
    validation : float, default=0.2
        Part of the rows that is held out to measure the risk; 100,000 rows at most.
    path : path or None, default=None
        A file to keep results in, written after every cell. What it holds already is not done again; more sizes, rows,
        methods and repeats may be asked for than last time. Other rows, estimators or seeds are refused.
    on_cell : callable or None, default=None
        Called with the number of cells that are done and of all cells, after each.
    random_state : int or None, default=None
        None takes the seed in `path`, if there is one.

    Returns
    -------
    Tradeoff

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.tradeoff import tradeoff
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 10.0, 20.0], (5000, 2)) + rng.normal(size=(5000, 2))
    >>> found = tradeoff(X, [50, 200], n_clusters=9, rows=[1000, 4000], repeats=3, random_state=0)
    >>> [(cell.method, cell.rows, cell.size) for cell in found.cells()]
    [('coreset', 1000, 50), ('coreset', 1000, 200), ('coreset', 4000, 50), ('coreset', 4000, 200),
     ('uniform', 50, 50), ('uniform', 200, 200)]
    >>> found.oracle("coreset", risk=1.0) is None  # each column has a variance of one
    True

    References
    ----------
    lucic2015, section 7. See `Tradeoff` for departures.
    """
    _check({"repeats": repeats, "validation": validation, "random_state": random_state})
    learner = _as_learner(estimator, n_clusters)
    result = Tradeoff.read(path) if path is not None and os.path.exists(path) else Tradeoff({})
    bench = _Bench(learner, source, rows, validation, _seed(random_state, result))
    _refuse_others(result.settings, bench.settings, path)
    result.settings = bench.settings
    cells = _cells(methods, bench.sizes_of_data(rows), sizes)
    done = {run[:4] for run in result.runs}
    missing = [[(*cell, i) for i in range(repeats) if (*cell, i) not in done] for cell in cells]
    if any(missing):
        bench.run(*cells[0], 0)  # compiled loops are loaded by then
    for number, cell in enumerate(missing, 1):
        if cell:
            result.runs = sorted([*result.runs, *(bench.run(*run) for run in cell)])
            if path is not None:
                result.save(path)
        if on_cell is not None:
            on_cell(number, len(cells))
    return result


class _Bench:
    """Rows to draw from, rows to judge by, and what is to learn from them."""

    def __init__(self, learner: Learner, source: Any, rows: Sequence[int] | None, validation: float, seed: int):
        self._learner, self._seed = learner, seed
        most = POOL if rows is None else max(POOL, math.ceil(max(rows) / (1 - validation)))
        self._X = source if isinstance(source, np.ndarray) else _sample(source, most, seed)
        order = np.random.default_rng([seed, 0]).permutation(len(self._X))
        judges, self._pool = np.split(order, [min(math.ceil(validation * len(order)), MOST_VALIDATION)])
        self._judges = self._X[judges]

    @property
    def settings(self) -> dict[str, Any]:
        """What runs must have in common to be compared."""
        params = self._learner.get_params(deep=False)
        return {
            "seed": self._seed,
            "estimator": type(self._learner).__name__,
            "parameters": {name: repr(value) for name, value in params.items() if name not in ("size", "random_state")},
            "shape": list(self._X.shape),
            "held_out": len(self._judges),
            "digest": hashlib.sha256(self._judges.tobytes()).hexdigest()[:16],
        }

    def sizes_of_data(self, rows: Sequence[int] | None) -> list[int]:
        there = len(self._pool)
        if rows is None:
            return sorted({there >> i for i in range(DOUBLINGS + 1)} - {0})
        if max(rows) > there:
            raise DataError(
                f"tradeoff: {max(rows):,} rows to learn from were asked for; there are {there:,} besides the "
                f"{len(self._judges):,} held out."
            )
        return sorted(set(rows))

    def run(self, method: str, rows: int, size: int, repeat: int) -> Run:
        some = np.random.default_rng([self._seed, rows, repeat]).choice(len(self._pool), rows, replace=False)
        X = self._X[self._pool[some]]
        learner: Any = clone(self._learner).set_params(size=size)
        if method not in ("coreset", "uniform"):
            learner.set_params(method=method)
        if "random_state" in learner.get_params(deep=False):
            learner.set_params(
                random_state=int(np.random.default_rng([self._seed, rows, size, repeat]).integers(2**31))
            )
        start = time.perf_counter()
        learner.fit(X).score(X[:1])  # a learner may solve only when it is asked
        seconds = time.perf_counter() - start
        return Run(method, rows, size, repeat, seconds, -float(learner.score(self._judges)))


def _cells(methods: Sequence[str], rows: Sequence[int], sizes: Sequence[int]) -> list[tuple[str, int, int]]:
    """Methods with numbers of rows and of points; a summary has fewer points than rows."""
    found = []
    for method in methods:
        if method == "uniform":
            found += [(method, size, size) for size in sorted(set(sizes)) if size <= max(rows)]
        else:
            found += [(method, count, size) for count in rows for size in sorted(set(sizes)) if size < count]
    if not found:
        raise ValueError(f"tradeoff: all sizes are larger than the {max(rows):,} rows.")
    return found


def _sample(source: Any, most: int, seed: int) -> np.ndarray:
    rows = Reservoir(most, random_state=seed).fit(stream(source)).points_
    if not isinstance(rows, np.ndarray):
        raise DataError(f"tradeoff: rows must be numbers in columns; got {type(rows).__name__}.")
    return rows


def _as_learner(estimator: Learner | None, n_clusters: int | None) -> Learner:
    if (estimator is None) == (n_clusters is None):
        raise ValueError("tradeoff: give either n_clusters or an estimator.")
    learner = StreamKMeans(n_clusters) if estimator is None else estimator  # type: ignore[arg-type]
    if not hasattr(learner, "score") or "size" not in learner.get_params(deep=False):
        raise ValueError(f"tradeoff: estimator must have a score and a parameter size; got {learner!r}.")
    return learner


def _seed(random_state: int | None, known: Tradeoff) -> int:
    if random_state is not None:
        return random_state
    return known.settings.get("seed", int(np.random.default_rng().integers(2**31)))


def _refuse_others(known: dict[str, Any], settings: dict[str, Any], path: Any) -> None:
    for name, value in known.items():
        if value != settings[name]:
            raise StateError(
                f"tradeoff: {path} holds runs on other rows or with other settings: {name} is {value} there and "
                f"{settings[name]} here. Give another path."
            )


def _check(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if not any(constraint.accepts(value) for constraint in _CONSTRAINTS[name]):
            raise ValueError(f"tradeoff: {name} must be {' or '.join(map(str, _CONSTRAINTS[name]))}; got {value!r}.")
