"""Runs of one estimator on random subsets of the rows, evaluated on held-out rows (lucic2015, section 7)."""

import hashlib
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from modicum.contract.learner import Learner
from modicum.exceptions import DataError
from modicum.select.reservoir import Reservoir
from modicum.streams import stream
from modicum.tradeoff.table import Run

POOL = 200_000  # rows kept of a stream, unless more are asked for
MAX_VALIDATION = 100_000  # rows
DOUBLINGS = 5  # numbers of rows by default: all, a half, ..., 1/32


class Bench:
    """Rows to learn from, held-out rows, and the estimator to measure."""

    def __init__(
        self, learner: Learner, source: Any, n_rows: Sequence[int] | None, validation_fraction: float, seed: int
    ):
        self._learner, self._seed = learner, seed
        most = POOL if n_rows is None else max(POOL, math.ceil(max(n_rows) / (1 - validation_fraction)))
        self._X = source if isinstance(source, np.ndarray) else _sample(source, most, seed)
        order = np.random.default_rng([seed, 0]).permutation(len(self._X))
        n_held_out = min(math.ceil(validation_fraction * len(order)), MAX_VALIDATION)
        held_out, self._pool = np.split(order, [n_held_out])
        self._held_out = self._X[held_out]

    @property
    def settings(self) -> dict[str, Any]:
        """What runs must have in common to be comparable."""
        params = self._learner.get_params(deep=False)
        varied = "n_points", "random_state"
        return {
            "seed": self._seed,
            "estimator": type(self._learner).__name__,
            "parameters": {name: repr(value) for name, value in params.items() if name not in varied},
            "shape": list(self._X.shape),
            "held_out": len(self._held_out),
            "digest": hashlib.sha256(self._held_out.tobytes()).hexdigest()[:16],
        }

    def row_counts(self, n_rows: Sequence[int] | None) -> list[int]:
        """Numbers of rows to learn from: those given, or by default all rows, a half, a quarter, ..."""
        available = len(self._pool)
        if n_rows is None:
            return sorted({available >> i for i in range(DOUBLINGS + 1)} - {0})
        if max(n_rows) > available:
            raise DataError(
                f"tradeoff: {max(n_rows):,} rows to learn from were asked for; there are {available:,} besides the "
                f"{len(self._held_out):,} held out."
            )
        return sorted(set(n_rows))

    def run(self, method: str, n_rows: int, n_points: int, repeat: int) -> Run:
        """Learn from `n_rows` random rows with a summary of `n_points`; measure time and risk."""
        some = np.random.default_rng([self._seed, n_rows, repeat]).choice(len(self._pool), n_rows, replace=False)
        X = self._X[self._pool[some]]
        learner: Any = clone(self._learner).set_params(n_points=n_points)
        if method not in ("coreset", "uniform"):
            learner.set_params(method=method)
        if "random_state" in learner.get_params(deep=False):
            rng = np.random.default_rng([self._seed, n_rows, n_points, repeat])
            learner.set_params(random_state=int(rng.integers(2**31)))
        started = time.perf_counter()
        learner.fit(X).score(X[:1])  # a learner may fit its model only on request
        seconds = time.perf_counter() - started
        return Run(method, n_rows, n_points, repeat, seconds, -float(learner.score(self._held_out)))


def _sample(source: Any, count: int, seed: int) -> np.ndarray:
    """A uniform sample of the rows of a stream."""
    rows = Reservoir(count, random_state=seed).fit(stream(source)).points_
    if not isinstance(rows, np.ndarray):
        raise DataError(f"tradeoff: rows must be numeric columns; got {type(rows).__name__}.")
    return rows
