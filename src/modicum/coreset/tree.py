"""Merge and reduce (harpeled2004): coresets of parts of a stream, united and reduced again, in a fixed room.

Rows fill one bucket after the other. When all are full, those of the lowest level are reduced to one of the next: the
rule by which manku1998 collapse the buffers of a quantile sketch. With b buckets, level h is first needed for bucketful
C(b + h - 1, h) + 1, so the depth stays small for any stream: with 8 buckets of 5,000 rows, 10^12 rows reach level 47.
"""

from dataclasses import replace

import numpy as np

from modicum.coreset.bucket import Bucket, Reducer
from modicum.rows import Rows, RowsOf
from modicum.rules.invariants import Array, Each, Is, Whole
from modicum.state.part import Part

BUCKETS = 8


class MergeReduce(Part):
    """Weighted points that stand for all rows seen: `BUCKETS` buckets of `size`, and one more that is being filled."""

    _invariants = {
        "size": Whole(1),
        "buckets": Each(Is(Bucket, at_most={"n": "size"}), high=BUCKETS),
        "rows": RowsOf("n", most="size"),
        "weights": Array("float64", "n", above=0.0),
    }

    def __init__(self, like: np.ndarray, size: int):
        self.size = size
        self.buckets: list[Bucket] = []
        self.rows = Rows.like(like, size)
        self.weights = np.empty(0)

    def __len__(self) -> int:
        return len(self.rows) + sum(map(len, self.buckets))

    def add(self, X: np.ndarray, weight: np.ndarray, reduce: Reducer, rng: np.random.Generator) -> None:
        """Learn rows. Those of a chunk that would fill all buckets are reduced as they are, at once."""
        if len(X) > BUCKETS * self.size:
            self._store(reduce([Bucket.of_rows(X, weight)], self.size, rng), reduce, rng)
            return
        start = 0
        while start < len(X):
            if len(self.rows) == self.size:
                self._store(Bucket.of_rows(self.rows.values, self.weights), reduce, rng)
                self.rows, self.weights = Rows.like(X, self.size), np.empty(0)
            stop = min(start + self.size - len(self.rows), len(X))
            self.rows.put(np.arange(len(self.rows), len(self.rows) + stop - start), X[start:stop])
            self.weights = np.concatenate([self.weights, weight[start:stop]])
            start = stop

    def merge(self, other: "MergeReduce", reduce: Reducer, rng: np.random.Generator) -> None:
        """Absorb another tree."""
        like = self.rows.values
        for bucket in other.buckets:
            bucket = replace(bucket, points=bucket.points.astype(like.dtype, copy=False))
            self._store(bucket if len(bucket) <= self.size else reduce([bucket], self.size, rng), reduce, rng)
        self.add(other.rows.values.astype(like.dtype, copy=False), other.weights, reduce, rng)

    def parts(self) -> list[Bucket]:
        """Everything held."""
        return [*self.buckets, *([Bucket.of_rows(self.rows.values, self.weights)] if len(self.rows) else [])]

    def _store(self, bucket: Bucket, reduce: Reducer, rng: np.random.Generator) -> None:
        """Keep a bucket. For that, the buckets of the lowest level may have to become one; a single one takes those of
        the next level with it."""
        if len(self.buckets) == BUCKETS:
            self.buckets.sort(key=lambda bucket: bucket.level)
            second = self.buckets[1].level
            lowest = [bucket for bucket in self.buckets if bucket.level <= second]
            self.buckets[: len(lowest)] = [reduce(lowest, self.size, rng)]
        self.buckets.append(bucket)
