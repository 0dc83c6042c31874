"""Uniform and weighted samples of a stream in a fixed number of rows.

efraimidis2006 (exponential keys), cohen2007 (bottom-k samples, their threshold and their weights). Every row has a key
drawn from the exponential distribution with its weight as rate; the `size` smallest keys are kept, and the next
smallest as the threshold. Then two samples merge exactly (keep the smallest keys of both), and row i, kept when its key
is below the threshold t, represents w_i / P(key_i < t) = w_i / (1 - exp(-w_i t)) of the stream's weight. If all weights
change by a factor, keys and threshold divided by it are distributed as if they had been drawn with the new weights.
"""

import numpy as np

from modicum.rows.slots import find_slots, put_values
from modicum.rules.invariants import Array, Real, Whole
from modicum.state.part import Part

LEAST, MOST = 1e-300, 1e300  # of weights and keys that fade


class BottomK(Part):
    """Keys, weights and ids of the sampled rows, under slots; the rows are kept elsewhere."""

    _invariants = {
        "keys": Array("float64", "n", low=0.0),
        "weights": Array("float64", "n", above=0.0),
        "row_ids": Array("int64", "n"),
        "size": Whole(lambda its: max(1, its["n"])),
        "threshold": Real(0.0, finite=False),
        "total_weight": Real(0.0),
    }

    def __init__(self, size: int):
        self.size = size
        self.keys = np.empty(0)
        self.weights = np.empty(0)
        self.row_ids = np.empty(0, np.int64)
        self.threshold = np.inf
        self.total_weight = 0.0

    def __len__(self) -> int:
        return len(self.keys)

    def offer(
        self, count: int, weights: np.ndarray | None, row_ids: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Offer `count` rows. Returns (slots, rows): which of these rows go into which slots.

        Slots from the present length on are new. Cost: O(accepted rows + size), not O(count), once the sample is full.
        """
        self.total_weight += count if weights is None else float(weights.sum())
        rows, keys = self._below_threshold(count, weights, rng)
        new_weights = np.ones(len(rows)) if weights is None else weights[rows]
        return self._admit(keys, new_weights, row_ids[rows], rows)

    def merge(self, other: "BottomK") -> tuple[np.ndarray, np.ndarray]:
        """Merge another sample of at least this size; returns (slots, slots of other that go there)."""
        self.total_weight += other.total_weight
        self.threshold = min(self.threshold, other.threshold)
        return self._admit(other.keys, other.weights, other.row_ids, np.arange(len(other)))

    def shrink_to(self, size: int) -> np.ndarray:
        """Keep at most `size` rows from now on; returns the slots that stay, in their order."""
        self.size = min(self.size, size)
        stay, self.threshold = _smallest(self.keys, self.size, self.threshold)
        for name in ("keys", "weights", "row_ids"):
            setattr(self, name, getattr(self, name)[stay])
        return stay

    def fade(self, factor: float) -> None:
        """Multiply the weights of all rows offered so far by a factor."""
        self.total_weight *= factor
        self.weights = np.maximum(self.weights * factor, LEAST)
        self.keys = np.minimum(self.keys / factor, MOST)
        if not self.is_everything:
            self.threshold = min(self.threshold / factor, 2 * MOST)  # above all keys

    @property
    def is_everything(self) -> bool:
        """Whether no row has been left out yet."""
        return bool(np.isinf(self.threshold))

    def slots_of(self, row_ids: np.ndarray) -> np.ndarray:
        """The slots of kept rows with these ids, -1 where there is none."""
        return find_slots(self.row_ids, row_ids)

    def shares(self) -> np.ndarray:
        """The share of the stream's weight that each kept row represents; they sum to 1."""
        represented = self.weights / -np.expm1(-self.weights * self.threshold)
        return represented / represented.sum()

    def _below_threshold(
        self, count: int, weights: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose keys fall below the threshold, and the keys.

        Keys below t are the points of a Poisson process of rate 1 on [0, total weight] x [0, t], each belonging to the
        row whose interval of weight it falls into: those points are drawn, not a key per row.
        """
        total = float(count) if weights is None else float(weights.sum())
        if total * self.threshold > count:  # more points than rows: the sample is not full yet, or some are heavy
            keys = rng.standard_exponential(count) / (1.0 if weights is None else weights)
            rows = np.flatnonzero(keys < self.threshold)
            return rows, keys[rows]
        ends = np.arange(1.0, count + 1.0) if weights is None else np.cumsum(weights)
        points = rng.poisson(ends[-1] * self.threshold)
        where = rng.uniform(0.0, ends[-1], points)
        keys = rng.uniform(0.0, self.threshold, points)
        hit = np.minimum(np.searchsorted(ends, where, side="right"), count - 1)
        order = np.lexsort((keys, hit))  # a row's key is the smallest of its points
        hit, keys = hit[order], keys[order]
        first = np.ones(points, bool)
        first[1:] = hit[1:] != hit[:-1]
        return hit[first], keys[first]

    def _admit(
        self, keys: np.ndarray, weights: np.ndarray, row_ids: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Keep the smallest of old and new keys; new rows go into the slots that become free, then into new ones."""
        old = len(self)
        stay, self.threshold = _smallest(np.concatenate([self.keys, keys]), self.size, self.threshold)
        come = stay[stay >= old] - old
        leave = np.setdiff1d(np.arange(old), stay[stay < old], assume_unique=True)
        slots = np.concatenate([leave, np.arange(old, old + len(come) - len(leave))])
        self.keys = put_values(self.keys, slots, keys[come])
        self.weights = put_values(self.weights, slots, weights[come])
        self.row_ids = put_values(self.row_ids, slots, row_ids[come])
        return slots, rows[come]


def _smallest(keys: np.ndarray, size: int, threshold: float) -> tuple[np.ndarray, float]:
    """Positions (ascending) of the `size` smallest keys, and the smallest key that is left out."""
    if len(keys) <= size:
        return np.arange(len(keys)), threshold
    order = np.argpartition(keys, size)
    return np.sort(order[:size]), min(threshold, float(keys[order[size]]))
