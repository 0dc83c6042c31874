"""What all learners that keep a coreset share (lucic2015, section 3; harpeled2004 for streams)."""

from typing import Any

import numpy as np

from modicum.contract.learner import Learner, Traits
from modicum.coreset.bucket import Bucket, Reducer
from modicum.coreset.tree import BUCKETS, MergeReduce
from modicum.exceptions import DataError
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import Is, Whole

ROOM = BUCKETS + 2  # bucketfuls of rows: full ones, one that is being filled, and the summary
LARGEST_BUCKET = 4  # times the summary: larger buckets would add next to no accuracy to it


class CoresetLearner(Learner):
    """A stream as a tree of buckets, and a summary of `size` weighted points when asked for.

    A subclass writes `_reducer` and `_sizes`.
    """

    traits = Traits(merge="approximate", weights=True)
    _invariants = {"_tree": Is(MergeReduce), "_seed": Whole(0, 2**31)}
    size: int | None
    budget: int | str | None
    _tree: MergeReduce
    _seed: int

    def _reducer(self) -> Reducer:
        """How rows are reduced."""
        raise NotImplementedError(f"{type(self).__name__} must define _reducer")

    def _sizes(self) -> tuple[int, int]:
        """Points of the summary: the least that will do, and how many are wanted."""
        assert self.size is not None
        return self.size, self.size

    def _fixed_bytes(self, n_features: int, dtype: np.dtype) -> int:
        """What is held beside rows."""
        return 512

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held at most for rows of `n_features` columns."""
        dtype = np.dtype(dtype)
        rows = ROOM * self._bucket_size(n_features, dtype)
        other = self._fixed_bytes(n_features, dtype)
        return Plan.of(rows, points=rows * n_features * dtype.itemsize, weights_and_cells=rows * 12, other=other)

    def as_sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights, for `fit(points, sample_weight=weights)` of any estimator."""
        parts = self._derive("summary", self._summary)
        return np.concatenate([part.points for part in parts]), np.concatenate([part.weights for part in parts])

    def _summary(self) -> list[Bucket]:
        parts = self._tree.parts()
        size = min(self._sizes()[1], self._tree.size)
        if len(self._tree) <= size:
            return parts
        return [self._reducer()(parts, size, np.random.default_rng([self._seed, self.n_seen_]))]

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_tree"):
            self._tree = MergeReduce(X, self._bucket_size(X.shape[1], X.dtype))
            self._seed = int(self._rng.integers(2**31))
        self._tree.add(X, np.ones(len(X)) if weight is None else weight, self._reducer(), self._rng)

    def _merge(self, other: Any) -> None:
        largest = max(np.abs(part.points).max() for part in other._tree.parts())
        if largest > np.finfo(self._dtype).max:
            raise DataError(f"{type(self).__name__}.merge: {largest:g} is too large for the {self._dtype} rows here.")
        self._tree.merge(other._tree, self._reducer(), self._rng)

    def _bucket_size(self, n_features: int, dtype: np.dtype) -> int:
        least, wanted = self._sizes()
        if self.budget is None:
            return wanted
        each = n_features * dtype.itemsize + 12  # its weight, and at worst a cell of its own
        fixed = self._fixed_bytes(n_features, dtype)
        what = f"{type(self).__name__} with a summary of {least:,} points"
        rows = as_budget(self.budget).rows_within(each, fixed_bytes=fixed, at_least=ROOM * least, what=what)
        return min(rows // ROOM, LARGEST_BUCKET * wanted)

    def _n_retained(self) -> int:
        return len(self._tree)
