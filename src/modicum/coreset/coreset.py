"""Base of all learners that keep a coreset (lucic2015, section 3; harpeled2004 for streams)."""

from dataclasses import replace
from typing import Any

import numpy as np

from modicum.contract.forgetting import Forgetting
from modicum.contract.learner import Traits
from modicum.contract.validation import largest_value
from modicum.coreset.bucket import Bucket
from modicum.coreset.reducer import Reducer
from modicum.coreset.tree import BUCKETS, MergeReduce
from modicum.exceptions import DataError
from modicum.rules.budget import Plan, as_budget
from modicum.rules.invariants import Is, Whole

BUCKETFULS = BUCKETS + 2  # that are held: full buckets, the one being filled, and the summary
MAX_CAPACITY = 4  # of a bucket, times the summary: larger buckets would add next to no accuracy


class CoresetLearner(Forgetting):
    """A stream as a tree of buckets, summarized in `n_points` weighted points on request.

    A subclass defines `_reducer`, and `_summary_points` if `n_points` may be None.
    """

    traits = Traits(merge="approximate", weights=True, forgets=True)
    _invariants = {"_tree": Is(MergeReduce), "_seed": Whole(0, 2**31)}
    n_points: int | None
    budget: int | str | None
    _tree: MergeReduce
    _seed: int

    def _reducer(self) -> Reducer:
        """How rows are reduced."""
        raise NotImplementedError(f"{type(self).__name__} must define _reducer")

    def _summary_points(self, n_features: int) -> tuple[int, int]:
        """Points of the summary: the least number acceptable, and the number wanted."""
        assert self.n_points is not None
        return self.n_points, self.n_points

    def _fixed_bytes(self, n_features: int, dtype: np.dtype) -> int:
        """Bytes held besides rows."""
        return 512

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What is held at most for rows of `n_features` columns."""
        dtype = np.dtype(dtype)
        rows = BUCKETFULS * self._bucket_capacity(n_features, dtype)
        other = self._fixed_bytes(n_features, dtype)
        return Plan.of(rows, points=rows * n_features * dtype.itemsize, weights_and_cells=rows * 12, other=other)

    def as_sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and weights, for `fit(points, sample_weight=weights)` of any estimator."""
        buckets = self._derive("summary", self._summary)
        return (
            np.concatenate([bucket.points for bucket in buckets]),
            np.concatenate([bucket.weights for bucket in buckets]),
        )

    def _summary(self) -> list[Bucket]:
        unit = self._unit()
        buckets = [bucket.scaled(1 / unit) for bucket in self._tree.all_buckets()]
        return self._summarized(buckets, np.random.default_rng([self._seed, self.n_seen_]))

    def _summarized(self, buckets: list[Bucket], rng: np.random.Generator) -> list[Bucket]:
        n_points = min(self._summary_points(self.n_features_in_)[1], self._tree.capacity)
        if sum(map(len, buckets)) <= n_points:
            return buckets
        return [self._reducer()(buckets, n_points, rng)]

    def _learn(self, X: Any, y: Any, weight: np.ndarray | None, row_ids: np.ndarray) -> None:
        if not hasattr(self, "_tree"):
            self._tree = MergeReduce(X, self._bucket_capacity(X.shape[1], X.dtype))
            self._seed = int(self._rng.integers(2**31))
        self._take(X, np.ones(len(X)) if weight is None else weight)

    def _take(self, X: np.ndarray, weight: np.ndarray) -> None:
        for bucket in self._tree.fill(X, weight):
            self._store(bucket)

    def _store(self, bucket: Bucket) -> None:
        """Keep a full bucket of rows."""
        self._tree.store(bucket, self._reducer(), self._rng)

    def _fade(self, factor: float) -> None:
        self._tree.fade(factor)

    def _merge(self, other: Any) -> None:
        if other._dtype != self._dtype:
            self._check_points(other._tree)
        self._unite(other)
        self._take(other._tree.rows.values.astype(self._dtype, copy=False), other._tree.weights)

    def _unite(self, other: Any) -> None:
        """Absorb the full buckets of another learner."""
        for bucket in other._tree.buckets:
            bucket = replace(bucket, points=bucket.points.astype(self._dtype, copy=False))
            self._tree.store(bucket, self._reducer(), self._rng)

    def _check_points(self, tree: MergeReduce) -> None:
        """A `DataError` if points of a tree are too large for the dtype of the rows here."""
        largest = max(float(np.abs(bucket.points).max()) for bucket in tree.all_buckets())
        limit = largest_value(np.dtype(self._dtype), self.n_features_in_)
        if largest > limit:
            raise DataError(
                f"{type(self).__name__}.merge: a value of {largest:g} is too large for the {self._dtype} rows here, "
                f"which may have values up to {limit:.2g}. Give both sides rows of the same dtype."
            )

    def _bucket_capacity(self, n_features: int, dtype: np.dtype) -> int:
        least, wanted = self._summary_points(n_features)
        if self.budget is None:
            return wanted
        row_bytes = n_features * dtype.itemsize + 12  # its weight, and in the worst case a cell of its own
        rows = as_budget(self.budget).rows_within(
            row_bytes,
            fixed_bytes=self._fixed_bytes(n_features, dtype),
            at_least=BUCKETFULS * least,
            what=f"{type(self).__name__} with a summary of {least:,} points",
        )
        return min(rows // BUCKETFULS, MAX_CAPACITY * wanted)

    def _n_retained(self) -> int:
        return len(self._tree)
