"""Running mean and variance, compared with numpy on all rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy import sparse

from modicum.numeric.moments import RunningMean
from modicum.rules.invariants import check_invariants
from modicum.state.files import from_bytes, to_bytes

rng = np.random.default_rng(0)
X = rng.normal(2.0, 3.0, size=(500, 4))
WEIGHT = rng.uniform(0.1, 5.0, size=500)


def moments(X, weight, chunk=None):
    found = RunningMean(X.shape[1])
    for first in range(0, X.shape[0], chunk or X.shape[0]):
        rows = slice(first, first + (chunk or X.shape[0]))
        found.add(X[rows], None if weight is None else weight[rows])
    return found


def assert_like_numpy(found, X, weight):
    mean = np.average(X, axis=0, weights=weight)
    assert_allclose(found.mean, mean, rtol=1e-10)
    assert_allclose(found.variance, np.average((X - mean) ** 2, axis=0, weights=weight).sum(), rtol=1e-9)
    assert found.weight == pytest.approx(len(X) if weight is None else weight.sum())


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("chunk", [None, 1, 37, 500])
def test_chunks_of_any_size(weight, chunk):
    assert_like_numpy(moments(X, weight, chunk), X, weight)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_sparse_rows(weight):
    thin = np.where(np.abs(X) < 3, 0.0, X)
    assert_like_numpy(moments(sparse.csr_matrix(thin), weight, 60), thin, weight)


def test_weight_two_is_the_same_row_twice():
    twice, repeated = moments(X, np.full(500, 2.0)), moments(np.concatenate([X, X]), None)
    assert_allclose(twice.mean, repeated.mean)
    assert_allclose(twice.variance, repeated.variance)


@pytest.mark.parametrize("split", [1, 200, 499])
def test_merging_is_adding_both(split):
    left, right = moments(X[:split], WEIGHT[:split]), moments(X[split:], WEIGHT[split:])
    before = right.sums.copy()
    left.merge(right)
    assert_like_numpy(left, X, WEIGHT)
    assert (right.sums == before).all()


def test_sums_of_float32_rows_are_float64():
    rows = np.full((10_000, 1), 0.1, np.float32)
    found = moments(rows, None, 100)
    assert found.sums.dtype == np.float64
    assert_allclose(found.mean, float(np.float32(0.1)), rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, (6, 2), elements=st.floats(-1e6, 1e6)), st.floats(-1e8, 1e8))
def test_the_variance_is_never_negative(rows, shift):
    assert moments(rows + shift, None).variance >= 0.0
    assert moments(np.repeat(rows[:1] + shift, 5, axis=0), None, 2).variance >= 0.0


def test_equal_rows_far_from_the_origin():
    found = moments(np.full((50, 3), 1e8 + 0.1), None, 7)
    assert 0.0 <= found.variance <= 1e-12 * 3e16
    assert_allclose(found.mean, 1e8 + 0.1)


def test_it_is_saved_as_part_of_a_state():
    found = moments(X, WEIGHT)
    check_invariants(found, {})
    again = from_bytes(to_bytes({"moments": found}))["moments"]
    assert (again.mean == found.mean).all()
    assert again.variance == found.variance
