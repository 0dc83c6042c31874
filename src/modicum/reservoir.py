"""Uniform and weighted samples of a stream in a fixed number of rows.

efraimidis2006 (exponential keys), cohen2007 (bottom-k samples, their threshold and their weights). Every row has a key
drawn from the exponential law with its weight as rate; the `size` smallest keys are kept, and the next smallest is
remembered as the threshold. Then two samples merge exactly (keep the smallest keys of both), and row i, kept when its
key is below the threshold t, stands for w_i / P(key_i < t) = w_i / (1 - exp(-w_i t)) of the stream's weight.
"""

from typing import Any

import numpy as np

from modicum.base import Learner, Traits
from modicum.budget import Plan, as_budget
from modicum.exceptions import DataError, StateError
from modicum.invariants import Array, Is, Real, Whole
from modicum.params import BUDGET, NULL, RANDOM_STATE
from modicum.rows import Rows, RowsOf, are_objects, average_bytes, n_rows, take
from modicum.state import Part
from modicum.validation import check_same_kind


class BottomK(Part):
    """Which rows of a stream a sample keeps: keys, weights and row ids under slots, without the rows."""

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
        """Let `count` rows compete. Returns (slots, rows): which of these rows take which slots.

        Slots from the present length on are new. Cost: O(rows let in + size), not O(count), once the sample is full.
        """
        self.total_weight += count if weights is None else float(weights.sum())
        rows, keys = self._below_threshold(count, weights, rng)
        new_weights = np.ones(len(rows)) if weights is None else weights[rows]
        return self._admit(keys, new_weights, row_ids[rows], rows)

    def merge(self, other: "BottomK") -> tuple[np.ndarray, np.ndarray]:
        """Absorb another sample, not smaller than this; returns (slots, slots of other that take them)."""
        self.total_weight += other.total_weight
        self.threshold = min(self.threshold, other.threshold)
        return self._admit(other.keys, other.weights, other.row_ids, np.arange(len(other)))

    def shrink_to(self, size: int) -> np.ndarray:
        """Hold at most `size` rows from now on; returns the slots that stay, in their order."""
        self.size = min(self.size, size)
        stay, self.threshold = _smallest(self.keys, self.size, self.threshold)
        for name in ("keys", "weights", "row_ids"):
            setattr(self, name, getattr(self, name)[stay])
        return stay

    @property
    def is_everything(self) -> bool:
        """Whether no row has been left out yet."""
        return bool(np.isinf(self.threshold))

    def slots_of(self, row_ids: np.ndarray) -> np.ndarray:
        """The slots of kept rows with these ids, -1 where there is none."""
        order = np.argsort(self.row_ids)
        place = np.searchsorted(self.row_ids, row_ids, sorter=order)
        slots = order[np.minimum(place, len(order) - 1)]
        return np.where(self.row_ids[slots] == row_ids, slots, -1)

    def shares(self) -> np.ndarray:
        """The part of the stream's weight that each kept row stands for; they sum to 1."""
        represented = self.weights / -np.expm1(-self.weights * self.threshold)
        return represented / represented.sum()

    def _below_threshold(
        self, count: int, weights: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose keys fall below the threshold, and the keys.

        Keys below t are the points of a Poisson process of rate 1 on [0, total weight] x [0, t], each belonging to the
        row whose stretch of weight it falls into: draw those points, not a key per row.
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
        order = np.lexsort((keys, hit))  # the row's key is the smallest of its points
        hit, keys = hit[order], keys[order]
        first = np.ones(points, bool)
        first[1:] = hit[1:] != hit[:-1]
        return hit[first], keys[first]

    def _admit(
        self, keys: np.ndarray, weights: np.ndarray, row_ids: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Keep the smallest of old and new keys; newcomers take the leavers' slots, then new ones."""
        old = len(self)
        stay, self.threshold = _smallest(np.concatenate([self.keys, keys]), self.size, self.threshold)
        come = stay[stay >= old] - old
        leave = np.setdiff1d(np.arange(old), stay[stay < old], assume_unique=True)
        slots = np.concatenate([leave, np.arange(old, old + len(come) - len(leave))])
        self.keys = place(self.keys, slots, keys[come])
        self.weights = place(self.weights, slots, weights[come])
        self.row_ids = place(self.row_ids, slots, row_ids[come])
        return slots, rows[come]


def _smallest(keys: np.ndarray, size: int, threshold: float) -> tuple[np.ndarray, float]:
    """Positions (ascending) of the `size` smallest keys, and the smallest key that is left out."""
    if len(keys) <= size:
        return np.arange(len(keys)), threshold
    order = np.argpartition(keys, size)
    return np.sort(order[:size]), min(threshold, float(keys[order[size]]))


def place(column: np.ndarray, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of `column` with `values` in the given slots, the last of which may be new."""
    new = np.count_nonzero(slots >= len(column))
    grown = np.concatenate([column, values[len(values) - new :]])  # the right dtype, overwritten below
    grown[slots] = values
    return grown


class Reservoir(Learner):
    """Uniform sample of a stream, kept in a fixed number of rows.

    Each row draws a random key and the rows with the smallest keys are kept, so the sample never leans towards
    early or late rows. With `sample_weight`, rows are drawn in proportion to it, without replacement.

    Guarantee: every set of `budget` rows seen so far is equally likely to be the sample; this survives `merge` of
    samples drawn with different seeds (one seed for all shards would draw the same positions in each). With
    weights, `total_weight * weights_` estimates the weight of any part of the stream.
    Cost: O(rows let in) random draws per chunk, about `budget * log(n_seen_ / budget)` of them in a whole stream;
    O(budget * d) memory.

    Parameters
    ----------
    budget : int or str, default=100
        Rows to keep, or a size such as "64 MiB".
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    rows_ : ndarray of shape (n_retained_, d), sparse matrix or list
    indices_ : ndarray of shape (n_retained_,)
        Row ids of the kept rows (their positions in the stream unless `row_ids` was given).
    targets_ : ndarray of shape (n_retained_,) or None
        Their targets, if the stream has any.
    weights_ : ndarray of shape (n_retained_,)
        The part of the stream's weight that each stands for; sums to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import Reservoir
    >>> west = Reservoir(budget=3, random_state=0).partial_fit(np.zeros((10, 2)))
    >>> east = Reservoir(budget=3, random_state=1).partial_fit(np.ones((5, 2)))
    >>> both = west.merge(east)
    >>> both.n_seen_, both.rows_.shape
    (15, (3, 2))

    References
    ----------
    efraimidis2006, A-Res and its exponential jumps. cohen2007, section 3 (weights of a bottom-k sample).
    Departures: the keys below the threshold are drawn for a whole chunk at once, as points of a Poisson process;
    `weights_` are scaled to sum to 1.
    """

    traits = Traits(merge="exact", weights=True, sparse=True, objects=True)
    _constraints = {"budget": [BUDGET], "random_state": [RANDOM_STATE]}
    _invariants = {
        "_sample": Is(BottomK, n="n"),
        "_rows": RowsOf("n"),
        "_targets": [NULL, Array(None, "n", finite=False)],
    }

    def __init__(self, budget: int | str = 100, *, random_state: Any = None):
        self.budget = budget
        self.random_state = random_state

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, without targets."""
        row = n_features * np.dtype(dtype).itemsize
        rows = self._size(row)
        return Plan.of(rows, rows_=rows * row, keys_weights_and_ids=rows * 24)

    def _size(self, row_bytes: int) -> int:
        each = row_bytes + 24  # key, weight and row id
        return as_budget(self.budget).items_within(each, fixed_bytes=256, at_least=1, what="Reservoir")

    @property
    def rows_(self) -> Any:
        self._check_fitted()
        return self._rows.values

    @property
    def indices_(self) -> np.ndarray:
        self._check_fitted()
        return self._sample.row_ids

    @property
    def targets_(self) -> np.ndarray | None:
        self._check_fitted()
        return self._targets

    @property
    def weights_(self) -> np.ndarray:
        self._check_fitted()
        return self._sample.shares()

    @property
    def is_exact_(self) -> bool:
        """Whether every row seen so far is kept."""
        self._check_fitted()
        return self._sample.is_everything

    def _takes_objects(self, X: Any) -> bool:
        return are_objects(X)

    def _check_chunk(self, X: Any, y: np.ndarray | None) -> None:
        if self._is_fitted() and (y is None) != (self._targets is None):
            raise DataError("Reservoir: either all chunks come with targets or none does.")

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_sample"):
            self._sample = BottomK(self._size(average_bytes(X) + (0 if y is None else y.itemsize)))
            self._rows = Rows.like(X, self._sample.size)
            self._targets = None if y is None else y[:0]
        slots, chosen = self._sample.offer(n_rows(X), weight, row_ids, self._rng)
        self._keep(slots, take(X, chosen), None if y is None else y[chosen])
        self._hold_budget(len(self._sample), 1, self._shrink)

    def _shrink(self, size: int) -> None:
        stay = self._sample.shrink_to(size)
        self._rows.keep(stay)
        self._targets = None if self._targets is None else self._targets[stay]

    def _merge(self, other: "Reservoir") -> None:
        if (self._targets is None) != (other._targets is None):
            raise StateError("Reservoir.merge: one side has targets and the other has none.")
        check_same_kind("Reservoir.merge", self._targets, other._targets)
        if other._sample.size < self._sample.size:
            self._shrink(other._sample.size)
        slots, chosen = self._sample.merge(other._sample)
        self._keep(slots, take(other._rows.values, chosen), None if other._targets is None else other._targets[chosen])

    def _keep(self, slots: np.ndarray, X: Any, y: np.ndarray | None) -> None:
        self._rows.put(slots, X)
        if self._targets is not None and y is not None:
            self._targets = place(self._targets, slots, y)

    def _n_retained(self) -> int:
        return len(self._sample)
