"""From rows to what the machines learn from: the equivalence of margin and ball needs rows of one length (rai2009)."""

from typing import Any

import numpy as np

from modicum._jit.inputs import SMALLEST, prepare, prepare_sparse, track_and_prepare
from modicum.rows import as_csr, is_sparse
from modicum.rules.invariants import ABSENT, Array, Real, Whole
from modicum.rules.params import TRUTH
from modicum.state.part import Part


class Raw(Part):
    """Rows as they are: a kernel does the rest."""

    _invariants = {
        "n_zeros": [ABSENT, Whole()],
    }

    n_zeros = 0  # rows of length zero, which can't be made longer

    @property
    def settings(self) -> dict[str, bool]:
        return {}

    def begin(self, X: Any, weight: np.ndarray) -> Any:
        """Take what is needed from these rows, for good unless called again; returns them prepared."""
        return X

    def follow(self, X: Any, weight: np.ndarray) -> Any:
        """Prepared rows, each with what was known when it came."""
        return X

    def apply(self, X: Any) -> Any:
        """Prepared rows, with what is known now."""
        return X

    def merge(self, other: Any) -> None:
        """Know what both sides know."""


class Inputs(Raw):
    """Rows minus a mean, columns over their deviation, scaled to unit length, with a constant column at the end.

    Each step may be left out. Scaled columns give rows that are of unit length on average. Mean and deviations are
    those of the first rows if `begin` is called, else of all rows so far. Sparse rows are not centered: no zero would
    be left.
    """

    _invariants = {
        "center": TRUTH,
        "scale": TRUTH,
        "normalize": TRUTH,
        "constant": Real(0.0),
        "follows": TRUTH,
        "totals": Array("float64", 2, low=0.0),
        "moments": Array("float64", 3, lambda its: its["n_features"] if its["center"] else 0),
    }

    def __init__(self, width: int, *, center: bool, scale: bool, normalize: bool, constant: float):
        self.center, self.scale, self.normalize, self.constant = center, scale, normalize, constant
        self.follows = True  # whether rows to come change mean and deviations
        self.totals = np.zeros(2)
        self.moments = np.zeros((3, width if center else 0))

    @property
    def settings(self) -> dict[str, bool]:
        return {"center": self.center, "scale": self.scale, "normalize": self.normalize}

    def begin(self, X: Any, weight: np.ndarray) -> Any:
        self.totals[:], self.moments[:], self.follows = 0.0, 0.0, True
        self.follow(X, weight)
        self.follows = False
        Z, self.n_zeros = self._apply(X)
        return Z

    def follow(self, X: Any, weight: np.ndarray) -> Any:
        if self.center and self.follows:
            Z = self._room(X)
            ends = (self.scale, self.normalize, self.constant, Z)
            zeros = track_and_prepare(X, weight, self.totals, self.moments, *ends)
        else:
            Z, zeros = self._apply(X)
        self.n_zeros += zeros
        return Z

    def apply(self, X: Any) -> Any:
        return self._apply(X)[0]

    def _apply(self, X: Any) -> tuple[Any, int]:
        """Prepared rows, and how many are zero."""
        if is_sparse(X):
            sizes = (X.shape[1], self.normalize, self.constant)
            data, indices, indptr, zeros = prepare_sparse(X.data, X.indices, X.indptr, *sizes)
            return as_csr(data, indices, indptr, X.shape[1] + (self.constant > 0.0)), zeros
        Z = self._room(X)
        return Z, prepare(X, self.moments, self.center, self.scale, self.normalize, self.constant, Z)

    def _room(self, X: np.ndarray) -> np.ndarray:
        return np.empty((len(X), X.shape[1] + (self.constant > 0.0)))

    def merge(self, other: Any) -> None:
        self.n_zeros += other.n_zeros
        if not self.center or not other.totals[0]:
            return
        (mean, squares, _), (n, m) = self.moments, (self.totals[0], other.totals[0])
        gap = other.moments[0] - mean
        self.moments[1] = squares + other.moments[1] + gap**2 * (n * m / (n + m))
        self.moments[0] = mean + gap * (m / (n + m))
        self.totals[:] = n + m
        with np.errstate(divide="ignore"):
            factors = np.sqrt((n + m) / self.moments[1] / self.moments.shape[1])
        self.moments[2] = np.where(self.moments[1] > SMALLEST, factors, 0.0) if self.scale else 0.0
