"""Merge and reduce (harpeled2004): coresets of pieces of a stream, united and reduced again, in fixed memory.

Rows fill one bucket after another. When all are full, those of the lowest level are reduced to one of the next: the
rule by which manku1998 collapse the buffers of a quantile sketch. With b buckets, level h is first needed for bucketful
C(b + h - 1, h) + 1, so the depth stays small for any stream: with 8 buckets of 5,000 rows, 10^12 rows reach level 47.
"""

from dataclasses import replace

import numpy as np

from modicum.coreset.bucket import Bucket, scaled
from modicum.coreset.reducer import Reducer
from modicum.rows import Rows, RowsOf
from modicum.rules.invariants import Array, Each, Is, Whole
from modicum.state.part import Part

BUCKETS = 8


class MergeReduce(Part):
    """Weighted points that represent all rows seen: `BUCKETS` buckets of `capacity` points, and one being filled."""

    _invariants = {
        "capacity": Whole(1),
        "buckets": Each(Is(Bucket, at_most={"n": "capacity"}), high=BUCKETS),
        "rows": RowsOf("n", most="capacity"),
        "weights": Array("float64", "n", above=0.0),
    }

    def __init__(self, like: np.ndarray, capacity: int):
        self.capacity = capacity
        self.buckets: list[Bucket] = []
        self.rows = Rows.like(like, capacity)  # of the bucket being filled
        self.weights = np.empty(0)

    def __len__(self) -> int:
        return len(self.rows) + sum(map(len, self.buckets))

    def add(self, X: np.ndarray, weight: np.ndarray, reduce: Reducer, rng: np.random.Generator) -> None:
        """Learn rows. A chunk larger than all buckets is reduced in one step."""
        if len(X) > BUCKETS * self.capacity:
            self._store(reduce([Bucket.of_rows(X, weight)], self.capacity, rng), reduce, rng)
            return
        done = 0
        while done < len(X):
            if len(self.rows) == self.capacity:
                self._store(Bucket.of_rows(self.rows.values, self.weights), reduce, rng)
                self.rows, self.weights = Rows.like(X, self.capacity), np.empty(0)
            stop = min(done + self.capacity - len(self.rows), len(X))
            self.rows.put(np.arange(len(self.rows), len(self.rows) + stop - done), X[done:stop])
            self.weights = np.concatenate([self.weights, weight[done:stop]])
            done = stop

    def merge(self, other: "MergeReduce", reduce: Reducer, rng: np.random.Generator) -> None:
        """Absorb another tree."""
        dtype = self.rows.values.dtype
        for bucket in other.buckets:
            bucket = replace(bucket, points=bucket.points.astype(dtype, copy=False))
            self._store(bucket if len(bucket) <= self.capacity else reduce([bucket], self.capacity, rng), reduce, rng)
        self.add(other.rows.values.astype(dtype, copy=False), other.weights, reduce, rng)

    def fade(self, factor: float) -> None:
        """Multiply the weights of all points by a factor."""
        self.buckets = [bucket.scaled(factor) for bucket in self.buckets]
        self.weights = scaled(self.weights, factor)

    def all_buckets(self) -> list[Bucket]:
        """Everything held, the bucket being filled included."""
        return [*self.buckets, *([Bucket.of_rows(self.rows.values, self.weights)] if len(self.rows) else [])]

    def _store(self, bucket: Bucket, reduce: Reducer, rng: np.random.Generator) -> None:
        """Keep a bucket. If all are in use, those of the lowest level are first reduced to one.

        If there is only one of the lowest level, those of the next level are reduced with it.
        """
        if len(self.buckets) == BUCKETS:
            self.buckets.sort(key=lambda bucket: bucket.level)
            second = self.buckets[1].level
            lowest = [bucket for bucket in self.buckets if bucket.level <= second]
            self.buckets[: len(lowest)] = [reduce(lowest, self.capacity, rng)]
        self.buckets.append(bucket)
