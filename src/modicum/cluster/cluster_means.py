"""Means of clusters along a stream, and a row seen near each of them (macqueen1967).

Of a cluster, the row nearest to its mean has the least squared distance to all its rows. Swaps know that mean from the
validation rows of the cluster alone; here it is learned from every row that was seen.
"""

import numpy as np

from modicum._jit.nearest import add_residuals
from modicum.numeric.nearest import nearest
from modicum.rules.invariants import Array, Real
from modicum.state.part import Part

BLOCK_ROWS = 8192  # learned at once; the means move in between
RECENCY = 2  # a row weighs as the number of rows before it, squared: means of first rows are still far off
SCALAR_BYTES = 16


class ClusterMeans(Part):
    """Means that follow the rows nearest to them, each with the nearest row seen; number j belongs to exemplar j."""

    _invariants = {
        "means": Array("float64", "n_means", "n_features"),
        "weights": Array("float64", "n_means", low=0.0),
        "rows": Array("dtype", "n_means", "n_features"),
        "row_ids": Array("int64", "n_means"),
        "n_learned": Real(0.0),
    }

    def __init__(self, exemplars: np.ndarray, row_ids: np.ndarray):
        self.means = exemplars.astype(np.float64)
        self.weights = np.zeros(len(exemplars))
        self.rows = exemplars.copy()
        self.row_ids = row_ids.copy()
        self.n_learned = 0.0  # rows learned, by weight

    @staticmethod
    def nbytes_for(count: int, row_bytes: int, itemsize: int) -> int:
        """Bytes of this many means and rows."""
        return count * (8 * (row_bytes // itemsize) + row_bytes + 8 + 8) + SCALAR_BYTES

    def follow(self, slots: np.ndarray, exemplars: np.ndarray, row_ids: np.ndarray) -> None:
        """Begin again at new exemplars in these slots that are in another cluster: nearer to another mean."""
        moved = np.flatnonzero(nearest(exemplars, self.means)[0] != slots)
        at = slots[moved]
        self.means[at] = self.rows[at] = exemplars[moved]
        self.weights[at] = 0
        self.row_ids[at] = row_ids[moved]

    def learn(self, X: np.ndarray, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        """Learn rows in blocks. Each has rows of the whole chunk, which may be sorted."""
        weight = np.ones(len(X)) if weight is None else weight
        step = -(-len(X) // BLOCK_ROWS)
        for first in range(step):
            block = slice(first, None, step)
            self._learn_block(np.ascontiguousarray(X[block]), weight[block], row_ids[block])

    def fade(self, factor: float) -> None:
        self.weights *= factor
        self.n_learned *= factor

    def absorb(self, other: "ClusterMeans") -> None:
        """Learn the means of another stream as rows of their weights."""
        self._move(other.means, other.weights, nearest(other.means, self.means)[0])
        self.n_learned += other.n_learned
        self._hold(other.rows, nearest(other.rows, self.means)[0], other.row_ids)

    def nearest_rows(self, X: np.ndarray, row_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row nearest to each mean, of those held and of X, and its id."""
        X, row_ids = np.concatenate([self.rows, X]), np.concatenate([self.row_ids, row_ids])
        found = nearest(self.means, X)[0]
        return X[found], row_ids[found]

    def _learn_block(self, X: np.ndarray, weight: np.ndarray, row_ids: np.ndarray) -> None:
        total = float(weight.sum())
        self.weights *= (self.n_learned / (self.n_learned + total)) ** RECENCY
        self.n_learned += total
        labels, _ = nearest(X, self.means)
        self._move(X, weight, labels)
        self._hold(X, labels, row_ids)

    def _move(self, X: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> None:
        """Add rows to the means of their clusters."""
        sums = np.zeros_like(self.means)
        add_residuals(X, weight, labels, self.means, sums)
        self.weights += np.bincount(labels, weight, len(sums))
        grown = self.weights > 0
        self.means[grown] += sums[grown] / self.weights[grown, None]

    def _hold(self, X: np.ndarray, labels: np.ndarray, row_ids: np.ndarray) -> None:
        """Hold rows of X that are nearer to the means of their clusters than those held."""
        gaps = ((X - self.means[labels]) ** 2).sum(axis=1)
        order = np.argsort(-gaps, kind="stable")
        closest = np.full(len(self.means), -1)
        closest[labels[order]] = order  # the last one of a label stays
        held = ((self.rows - self.means) ** 2).sum(axis=1)
        nearer = np.flatnonzero((closest >= 0) & (gaps[closest] < held))
        self.rows[nearer] = X[closest[nearer]]
        self.row_ids[nearer] = row_ids[closest[nearer]]
