"""Sums of all rows in the cells of centers that follow them: the online form of Lloyd's algorithm (macqueen1967)."""

from dataclasses import dataclass, replace

import numpy as np

from modicum._jit.nearest import add_residuals
from modicum.numeric.nearest import nearest
from modicum.rules.invariants import Array, Real
from modicum.state.part import Part


@dataclass(frozen=True)
class CellSums(Part):
    """Weight and mean of the rows in the cell of each center; the means are the centers for the rows that follow.

    `judged` is the weight of the rows when the centers were last compared with others.
    """

    _invariants = {
        "totals": Array("float64", "k", low=0.0),
        "means": Array("float64", "k", "n_features"),
        "judged": Real(0.0),
    }

    totals: np.ndarray
    means: np.ndarray
    judged: float = 0.0

    @classmethod
    def around(cls, centers: np.ndarray, X: np.ndarray, weight: np.ndarray) -> "CellSums":
        """Those of rows, in the cells of centers."""
        return cls(np.zeros(len(centers)), centers.astype(np.float64)).plus(X, weight)

    def plus(self, X: np.ndarray, weight: np.ndarray) -> "CellSums":
        """With these rows added."""
        labels, sums = nearest(X, self.means)[0], np.zeros(self.means.shape)
        add_residuals(X, weight, labels, self.means, sums)
        totals = self.totals + np.bincount(labels, weight, len(sums))
        shifts = np.divide(sums, totals[:, None], out=np.zeros_like(sums), where=totals[:, None] > 0)
        return replace(self, totals=totals, means=self.means + shifts)

    def united(self, other: "CellSums") -> "CellSums":
        """With other sums added: each of their cells is part of the cell that its mean is in."""
        return replace(self.plus(other.means, other.totals), judged=0.0)
