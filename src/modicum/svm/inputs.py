"""Preparation of rows for machines: a ball is the margin only for rows of one length (rai2009)."""

from typing import Any

import numpy as np

from modicum._jit.inputs import SMALLEST, prepare, prepare_sparse, track_and_prepare
from modicum.drift import Clock
from modicum.rows import as_csr, is_sparse
from modicum.rules.invariants import ABSENT, Array, Is, Real, Whole
from modicum.rules.params import NULL, TRUTH
from modicum.state.part import Part

RISE = 1.01  # of the weight of rows until factors are updated: roots for every row would take most of the time


class Raw(Part):
    """Rows without preparation, for kernels."""

    _invariants = {
        "n_zeros": [ABSENT, Whole()],
    }

    n_zeros = 0  # rows of length zero, which can't be scaled to unit length

    @property
    def settings(self) -> dict[str, bool]:
        return {}

    def initialize(self, X: Any, weight: np.ndarray) -> Any:
        """Estimate mean and deviations from these rows, and fix them; returns the rows prepared."""
        return X

    def update(self, X: Any, weight: np.ndarray) -> Any:
        """Update mean and deviations row by row; returns rows prepared with those up to each row."""
        return X

    def apply(self, X: Any) -> Any:
        """Rows prepared with the present mean and deviations."""
        return X

    def fade(self, factor: float) -> None:
        """Multiply the weight of all rows so far by a factor."""

    def merge(self, other: Any) -> None:
        """Combine mean and deviations of both sides."""


class Inputs(Raw):
    """Rows minus a mean, columns over their deviation, scaled to unit length, with a constant column at the end.

    Each step is optional. Scaled columns give rows of unit length on average. Mean and deviations are those of the
    first rows if `initialize` is called, else of all rows so far. Sparse rows are not centered, as they would become
    dense.
    """

    _invariants = {
        "center": TRUTH,
        "scale": TRUTH,
        "normalize": TRUTH,
        "constant": Real(0.0),
        "tracks": TRUTH,
        "totals": Array("float64", 2, low=0.0),
        "moments": Array("float64", 3, lambda its: its["n_features"] if its["center"] else 0),
        "clock": [ABSENT, NULL, Is(Clock)],
    }
    clock: Clock | None = None

    def __init__(
        self,
        width: int,
        *,
        center: bool,
        scale: bool,
        normalize: bool,
        constant: float,
        clock: Clock | None = None,
    ):
        self.center, self.scale, self.normalize, self.constant = center, scale, normalize, constant
        self.clock = clock if center else None
        self.tracks = True  # whether further rows change mean and deviations
        self.totals = np.zeros(2)
        self.moments = np.zeros((3, width if center else 0))

    @property
    def settings(self) -> dict[str, bool]:
        return {"center": self.center, "scale": self.scale, "normalize": self.normalize}

    def initialize(self, X: Any, weight: np.ndarray) -> Any:
        self.totals[:], self.moments[:], self.tracks = 0.0, 0.0, True
        self.update(X, weight)
        self.tracks = False
        Z, self.n_zeros = self._apply(X)
        return Z

    def update(self, X: Any, weight: np.ndarray) -> Any:
        if not self.center or not self.tracks:
            Z, zeros = self._apply(X)
            self.n_zeros += zeros
            return Z
        Z = self._empty(X)
        if self.clock is None:
            self._track(X, weight, Z)
            return Z
        for rows, growth, ends in self.clock.periods(len(X)):
            self._track(X[rows], weight[rows] * growth, Z[rows])
            if ends:
                self.fade(0.5)
        return Z

    def _track(self, X: np.ndarray, weight: np.ndarray, Z: np.ndarray) -> None:
        """Update mean and deviations row by row, and write prepared rows to Z."""
        steps = (self.scale, self.normalize, self.constant)
        rise = RISE if self.clock is None else 1.0
        self.n_zeros += track_and_prepare(X, weight, self.totals, self.moments, rise, *steps, Z)

    def apply(self, X: Any) -> Any:
        return self._apply(X)[0]

    def _apply(self, X: Any) -> tuple[Any, int]:
        """Prepared rows, and how many are zero."""
        if is_sparse(X):
            sizes = (X.shape[1], self.normalize, self.constant)
            data, indices, indptr, zeros = prepare_sparse(X.data, X.indices, X.indptr, *sizes)
            return as_csr(data, indices, indptr, X.shape[1] + (self.constant > 0.0)), zeros
        Z = self._empty(X)
        return Z, prepare(X, self.moments, self.center, self.scale, self.normalize, self.constant, Z)

    @staticmethod
    def size(n_features: int, *, center: bool) -> int:
        """Bytes held."""
        return 8 * (8 + 3 * n_features * center)

    def _empty(self, X: np.ndarray) -> np.ndarray:
        return np.empty((len(X), X.shape[1] + (self.constant > 0.0)))

    def fade(self, factor: float) -> None:
        self.totals *= factor
        self.moments[1] *= factor

    def merge(self, other: Any) -> None:
        self.n_zeros += other.n_zeros
        if not self.center or not other.totals[0]:
            return
        (mean, squares, _), (n, m) = self.moments, (self.totals[0], other.totals[0])
        gap, theirs = other.moments[0] - mean, other.moments[1]
        if self.clock is not None and other.clock is not None:  # both streams end now
            factor = self.clock.factor_for(other.clock)
            m, theirs = factor * m, factor * theirs
        self.moments[1] = squares + theirs + gap**2 * (n * m / (n + m))
        self.moments[0] = mean + gap * (m / (n + m))
        self.totals[:] = n + m
        with np.errstate(divide="ignore"):
            factors = np.sqrt((n + m) / self.moments[1] / self.moments.shape[1])
        self.moments[2] = np.where(self.moments[1] > SMALLEST, factors, 0.0) if self.scale else 0.0
