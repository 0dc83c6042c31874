"""Merge and reduce in fixed memory: rows held, total weight, and depth."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from modicum.coreset.bucket import Bucket
from modicum.coreset.reducer import Reducer
from modicum.coreset.tree import BUCKETS, MergeReduce

pytestmark = pytest.mark.nojit

CAPACITY = 6
REDUCER = Reducer("sensitivity", 3, calibrate=True)


def rows(count, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(count, 2)) + 5 * rng.integers(3, size=(count, 1))).astype(dtype), rng.uniform(
        0.5, 2, count
    )


def add(tree, X, weight, reduce, rng):
    for bucket in tree.fill(X, weight):
        tree.store(bucket, reduce, rng)


def unite(tree, other):
    """As learners do."""
    rng, dtype = np.random.default_rng(0), tree.rows.values.dtype
    for bucket in other.buckets:
        tree.store(replace(bucket, points=bucket.points.astype(dtype)), REDUCER, rng)
    add(tree, other.rows.values.astype(dtype), other.weights, REDUCER, rng)


def grown(X, weight, chunks, *, capacity=CAPACITY, check=lambda tree: None):
    tree, rng, start = MergeReduce(X, capacity), np.random.default_rng(0), 0
    for count in chunks:
        add(tree, X[start : start + count], weight[start : start + count], REDUCER, rng)
        start += count
        check(tree)
    assert start == len(X)
    return tree


def assert_within_bounds(tree):
    assert len(tree.buckets) <= BUCKETS
    assert len(tree.rows) == len(tree.weights) <= tree.capacity
    assert all(0 < len(bucket) <= tree.capacity for bucket in tree.buckets)
    assert len(tree) == sum(map(len, tree.all_buckets())) <= (BUCKETS + 1) * tree.capacity


def contents(tree):
    buckets = tree.all_buckets()
    return np.concatenate([bucket.points for bucket in buckets]), np.concatenate([bucket.weights for bucket in buckets])


CHUNKS = {
    "rows": [1] * 3000,
    "bucketfuls": [CAPACITY] * 500,
    "uneven": [CAPACITY - 1, CAPACITY + 1, 1, 3 * CAPACITY, 0, 2 * BUCKETS * CAPACITY] * 20,
    "at the brink": [BUCKETS * CAPACITY, BUCKETS * CAPACITY + 1] * 30,
    "one": [3000],
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_memory_is_bounded_and_weight_and_mean_are_kept(chunks):
    """Weight and mean are kept through hundreds of reductions."""
    X, w = rows(sum(chunks))
    tree = grown(X, w, chunks, check=assert_within_bounds)
    points, weights = contents(tree)
    assert_allclose(weights.sum(), w.sum(), rtol=1e-12)
    assert_allclose(np.average(points, axis=0, weights=weights), np.average(X, axis=0, weights=w), rtol=1e-10)


@pytest.mark.parametrize("chunk", [1, 5, CAPACITY, BUCKETS * CAPACITY])
def test_rows_are_kept_unchanged_until_all_buckets_are_full(chunk):
    count = (BUCKETS + 1) * CAPACITY
    X, w = rows(count)
    tree = grown(X, w, [min(chunk, count - start) for start in range(0, count, chunk)])
    points, weights = contents(tree)
    assert_array_equal(points, X)
    assert_array_equal(weights, w)
    assert all(bucket.level == bucket.variance_factor == 0 for bucket in tree.all_buckets())


def test_a_large_chunk_is_reduced_as_one():
    X, w = rows(BUCKETS * CAPACITY + 1)
    tree = grown(X, w, [len(X)])
    assert [(bucket.level, bucket.variance_factor, len(bucket)) for bucket in tree.all_buckets()] == [(1, 1, CAPACITY)]


def test_rows_are_not_kept_by_reference():
    X, w = rows(40)
    tree = grown(X, w, [40])
    X[:] = w[:] = -1.0
    points, weights = contents(tree)
    assert points.max() > 0
    assert (weights > 0).all()


class OnePoint:
    """Reduces to one point with all of the weight."""

    def __call__(self, buckets, n_points, rng):
        weight = sum(bucket.weights.sum() for bucket in buckets)
        level = 1 + max(bucket.level for bucket in buckets)
        return Bucket(np.zeros((1, 1)), np.array([weight]), np.zeros(1, np.int32), level=level)


def test_levels_are_first_needed_when_stated():
    tree, first = MergeReduce(np.zeros((0, 1)), 1), {}
    for count in range(1, 2000):
        add(tree, np.zeros((1, 1)), np.ones(1), OnePoint(), None)
        stored = count - 1  # the last one is still being filled
        first.setdefault(max((bucket.level for bucket in tree.buckets), default=0), stored)
    assert first == {0: 0} | {h: comb(BUCKETS + h - 1, h) + 1 for h in range(1, 7)}
    assert sum(bucket.weights.sum() for bucket in tree.all_buckets()) == 1999


def test_buckets_of_the_lowest_level_are_reduced():
    tree = MergeReduce(np.zeros((0, 1)), 1)
    tree.buckets = [
        Bucket(np.zeros((1, 1)), np.ones(1), np.zeros(1, np.int32), level=h) for h in (3, 1, 5, 1, 2, 4, 2, 1)
    ]
    tree.store(Bucket.of_rows(np.zeros((1, 1)), np.ones(1)), OnePoint(), None)
    assert sorted((bucket.level, bucket.weights[0]) for bucket in tree.buckets) == [
        (0, 1), (2, 1), (2, 1), (2, 3), (3, 1), (4, 1), (5, 1)
    ]  # fmt: skip
    tree.store(Bucket.of_rows(np.zeros((1, 1)), np.ones(1)), OnePoint(), None)
    assert len(tree.buckets) == BUCKETS


def test_a_single_bucket_of_the_lowest_level_is_reduced_with_the_next_level():
    tree = MergeReduce(np.zeros((0, 1)), 1)
    tree.buckets = [
        Bucket(np.zeros((1, 1)), np.ones(1), np.zeros(1, np.int32), level=h) for h in (3, 0, 5, 2, 2, 4, 2, 6)
    ]
    tree.store(Bucket.of_rows(np.zeros((1, 1)), np.ones(1)), OnePoint(), None)
    assert sorted((bucket.level, bucket.weights[0]) for bucket in tree.buckets) == [
        (0, 1), (3, 1), (3, 4), (4, 1), (5, 1), (6, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), [(1, 1), (20, 700), (700, 20), (700, 700)])
@pytest.mark.parametrize("types", [(np.float32, np.float64), (np.float64, np.float32)])
def test_trees_are_united(left, right, types):
    (X, w), (Z, v) = rows(left, 0, types[0]), rows(right, 1, types[1])
    one, other = grown(X, w, [1] * left), grown(Z, v, [1] * right)
    before = [array.copy() for array in contents(other)]
    unite(one, other)
    assert_within_bounds(one)
    points, weights = contents(one)
    assert points.dtype == types[0]
    assert_allclose(weights.sum(), w.sum() + v.sum())
    mean = np.average(np.concatenate([X, Z]), axis=0, weights=np.concatenate([w, v]))
    assert_allclose(np.average(points, axis=0, weights=weights), mean, rtol=1e-5)
    for now, then in zip(contents(other), before, strict=True):
        assert_array_equal(now, then)


@pytest.mark.parametrize("left", [10, 500])
def test_larger_buckets_are_made_to_fit(left):
    (X, w), (Z, v) = rows(left), rows(100, 1)
    one, other = grown(X, w, [10] * (left // 10)), grown(Z, v, [10] * 10, capacity=4 * CAPACITY)
    unite(one, other)
    assert_within_bounds(one)
    assert_allclose(contents(one)[1].sum(), w.sum() + v.sum())
