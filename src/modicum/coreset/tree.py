"""Merge and reduce (harpeled2004): coresets of pieces of a stream, united and reduced again, in fixed memory.

Rows fill one bucket after another. When all are full, those of the lowest level are reduced to one of the next: the
rule by which manku1998 collapse the buffers of a quantile sketch. With b buckets, level h is first needed for bucketful
C(b + h - 1, h) + 1, so the depth stays small for any stream: with 8 buckets of 5,000 rows, 10^12 rows reach level 47.
"""

from collections.abc import Iterator

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

    def fill(self, X: np.ndarray, weight: np.ndarray) -> Iterator[Bucket]:
        """Take up rows, and give out the buckets that are full, to be stored.

        A chunk larger than all buckets is one of them, to be reduced in one step.
        """
        if len(X) > BUCKETS * self.capacity:
            yield Bucket.of_rows(X, weight)
            return
        done = 0
        while done < len(X):
            if len(self.rows) == self.capacity:
                full = Bucket.of_rows(self.rows.values, self.weights)
                self.rows, self.weights = Rows.like(X, self.capacity), np.empty(0)
                yield full
            stop = min(done + self.capacity - len(self.rows), len(X))
            self.rows.put(np.arange(len(self.rows), len(self.rows) + stop - done), X[done:stop])
            self.weights = np.concatenate([self.weights, weight[done:stop]])
            done = stop

    def fade(self, factor: float) -> None:
        """Multiply the weights of all points by a factor."""
        self.buckets = [bucket.scaled(factor) for bucket in self.buckets]
        self.weights = scaled(self.weights, factor)

    def all_buckets(self) -> list[Bucket]:
        """Everything held, the bucket being filled included."""
        return [*self.buckets, *([self.waiting()] if len(self.rows) else [])]

    def reduced(self) -> bool:
        """Whether any bucket has been reduced: before that, all rows are held."""
        return any(bucket.level for bucket in self.buckets)

    def waiting(self) -> Bucket:
        """The bucket being filled."""
        return Bucket.of_rows(self.rows.values, self.weights)

    def store(self, bucket: Bucket, reduce: Reducer, rng: np.random.Generator) -> None:
        """Keep a bucket, reduced if it is too large. If all are in use, those of the lowest level are reduced to one.

        If there is only one of the lowest level, those of the next level are reduced with it.
        """
        if len(bucket) > self.capacity:
            bucket = reduce([bucket], self.capacity, rng)
        if len(self.buckets) == BUCKETS:
            self.buckets.sort(key=lambda bucket: bucket.level)
            second = self.buckets[1].level
            lowest = [bucket for bucket in self.buckets if bucket.level <= second]
            self.buckets[: len(lowest)] = [reduce(lowest, self.capacity, rng)]
        self.buckets.append(bucket)
