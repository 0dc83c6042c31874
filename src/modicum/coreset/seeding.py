"""k-means++ (arthur2007): centers drawn from the rows, each with a probability in proportion to its cost so far.

Compiled and weighted; rows are gone through a tile at a time, and what is held is one distance and one label per row.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils import check_array

from modicum._jit.seeding import admit, potentials
from modicum.parallel import run_tiles
from modicum.rng import as_generator

TILE_BYTES = 2**20  # rows that a thread works on at a time


def kmeans_plusplus(
    X: Any, n_clusters: int, *, sample_weight: Any = None, trials: int | None = None, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are good first centers for k-means.

    Cost: O(n k d) per trial at most; rows that a new center can't win are passed over, in well separated data nearly
    all of them. Memory: 12 bytes per row.

    Parameters
    ----------
    X : array of shape (n, d)
    n_clusters : int
        Fewer are returned if X has fewer different rows.
    sample_weight : array of shape (n,), default=None
    trials : int, default=None
        Candidates drawn for each center, of which the best is taken; by default 2 + log(k), as in scikit-learn.
    random_state : int, Generator or None, default=None

    Returns
    -------
    centers : ndarray of shape (k, d)
    indices : ndarray of shape (k,)
        The rows that they are.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> centers, indices = kmeans_plusplus(X, 2, random_state=0)
    >>> np.sort(indices // 2)
    array([0, 1])
    """
    X = check_array(X, dtype=[np.float64, np.float32], order="C")
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (len(X),) or not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise ValueError("kmeans_plusplus: sample_weight must be one finite, non-negative number per row, not all 0.")
    if n_clusters < 1 or (trials is not None and trials < 1):
        raise ValueError("kmeans_plusplus: n_clusters and trials must be positive.")
    trials = default_trials(n_clusters) if trials is None else trials
    indices = seed_rows(X, weight, n_clusters, trials, as_generator(random_state))
    return X[indices], indices


def default_trials(n_clusters: int) -> int:
    """Candidates for each center that pay for themselves."""
    return 2 + int(math.log(n_clusters))


def seed_rows(X: np.ndarray, weight: np.ndarray, n_clusters: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """The rows that become centers, at most `n_clusters` and all different."""
    first = _draw(weight.cumsum(), 1, rng)
    seeding = _Seeding(X, weight, int(first[0]))
    while len(seeding.rows) < n_clusters and (ends := seeding.cost_up_to_row())[-1] > 0:
        seeding.add(_draw(ends, trials, rng))
    return np.array(seeding.rows)


def _draw(ends: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn in proportion to the steps of the running total `ends`."""
    found = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    return np.minimum(found, np.searchsorted(ends, ends[-1]))  # rounding can point behind the last row that counts


class _Seeding:
    """The centers there are, and for each row the nearest and its squared distance."""

    def __init__(self, X: np.ndarray, weight: np.ndarray, first: int):
        self.X, self.weight, self.rows = X, weight, [first]
        self.labels = np.zeros(len(X), np.int32)
        self.gaps = np.full(len(X), np.inf)
        self._tile = max(1, TILE_BYTES // (X.shape[1] * X.itemsize))
        self._admit(first)

    def cost_up_to_row(self) -> np.ndarray:
        return np.cumsum(self.weight * self.gaps)

    def add(self, candidates: np.ndarray) -> None:
        """Of these rows, the one that leaves the least cost becomes a center."""
        best = candidates[0] if len(candidates) == 1 else candidates[np.argmin(self._costs_with(candidates))]
        self.rows.append(int(best))
        self._admit(int(best))

    def _costs_with(self, candidates: np.ndarray) -> np.ndarray:
        reach = self._reach(candidates)
        costs = np.zeros((math.ceil(len(self.X) / self._tile), len(candidates)))

        def work(part: slice) -> None:
            rows = self.X[part], self.weight[part]
            state = self.gaps[part], self.labels[part]
            potentials(*rows, self.X[candidates], reach, *state, costs[part.start // self._tile])

        run_tiles(work, len(self.X), self._tile)
        return costs.sum(axis=0)

    def _admit(self, row: int) -> None:
        reach = self._reach(np.array([row]))[0]
        center, label = self.X[row].copy(), len(self.rows) - 1

        def work(part: slice) -> None:
            admit(self.X[part], center, label, reach, self.gaps[part], self.labels[part])

        run_tiles(work, len(self.X), self._tile)

    def _reach(self, candidates: np.ndarray) -> np.ndarray:
        """Squared distances of candidates from the centers there are."""
        steps = self.X[candidates][:, None, :].astype(np.float64) - self.X[self.rows]
        return np.einsum("tjc,tjc->tj", steps, steps)
