"""Prepared rows against numpy on the rows so far."""

import numpy as np
import pytest
from scipy import sparse

from modicum.svm.inputs import Inputs, Raw

pytestmark = pytest.mark.nojit

STEPS = [(False, False, False), (True, False, False), (True, True, False), (False, False, True), (True, False, True)]
STEPS.append((True, True, True))  # center, scale, normalize


def data(count=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3)) * [1.0, 20.0, 0.1] + [5.0, -3.0, 0.0]
    return np.column_stack([X, np.full(count, 7.5)]), rng.uniform(0.1, 3.0, size=count)


def inputs(center=True, scale=True, normalize=True, constant=0.0):
    return Inputs(4, center=center, scale=scale, normalize=normalize, constant=constant)


def finished(z, normalize, constant):
    length = np.linalg.norm(z)
    z = z / length if normalize and length > 1e-12 else z  # numpy's mean of one row is not quite that row
    return np.append(z, constant) if constant else z


def followed(X, weight, center, scale, normalize, constant):
    """Each row with the moments of the rows up to itself; deviations are taken when the weight has grown by 1%."""
    rows, at, factors = [], 0.0, np.zeros(4)
    for i in range(len(X)):
        before, w = X[: i + 1], weight[: i + 1]
        mean = np.average(before, axis=0, weights=w)
        if w.sum() > 1.01 * at:
            at, deviation = w.sum(), np.sqrt(np.average((before - mean) ** 2, axis=0, weights=w))
            deviation = deviation * 2.0  # the root of the number of columns
            factors = np.divide(1.0, deviation, out=np.zeros(4), where=deviation > 1e-12)
        z = X[i] - mean if center else X[i]
        rows.append(finished(z * factors if scale else z, normalize, constant))
    return np.array(rows)


@pytest.mark.parametrize(("center", "scale", "normalize"), STEPS)
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_rows_are_prepared_with_what_came_before(center, scale, normalize, constant):
    X, weight = data()
    kept = X.copy()
    Z = inputs(center, scale, normalize, constant).update(X, weight)
    np.testing.assert_allclose(Z, followed(X, weight, center, scale, normalize, constant), atol=1e-9)
    np.testing.assert_array_equal(X, kept)
    assert Z.flags.c_contiguous


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_any_chunks_give_the_same_bits(constant):
    X, weight = data()
    whole, parts = inputs(constant=constant), inputs(constant=constant)
    Z = whole.update(X, weight)
    pieces = [parts.update(X[i : i + 7], weight[i : i + 7]) for i in range(0, 300, 7)]
    np.testing.assert_array_equal(np.vstack(pieces), Z)
    np.testing.assert_array_equal(parts.apply(X), whole.apply(X))


def test_moments_are_mean_and_deviation_of_all_rows():
    """Deviations may be those of the rows until 1% less had been seen."""
    X, weight = data(5000)
    step = inputs(normalize=False)
    step.update(X, weight)
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    np.testing.assert_allclose(step.moments[0], mean)
    np.testing.assert_allclose(step.apply(X)[:, :3], ((X - mean)[:, :3] / deviation[:3] / 2.0), rtol=0.02)


def test_a_constant_column_becomes_zero():
    X, weight = data()
    step = inputs()
    assert not step.update(X, weight)[:, 3].any()
    assert not step.apply(X)[:, 3].any()


@pytest.mark.parametrize("center", [False, True])
def test_rows_have_unit_length_or_are_zero(center):
    X, weight = data()
    X[5] = 0.0
    step = inputs(center, False)
    step.update(X, weight)
    X[6] = step.moments[0] if center else 0.0
    lengths = np.linalg.norm(step.apply(X), axis=1)
    assert lengths[6] == 0.0
    assert ((np.abs(lengths - 1.0) < 1e-12) | (lengths == 0.0)).all()


def test_the_constant_does_not_count_in_the_length():
    X, weight = data()
    Z = inputs(constant=1.0).update(X, weight)
    np.testing.assert_allclose(np.linalg.norm(Z[1:, :-1], axis=1), 1.0)
    assert (Z[:, -1] == 1.0).all()


@pytest.mark.parametrize(("center", "scale", "normalize"), STEPS)
def test_initialising_fixes_the_moments(center, scale, normalize):
    X, weight = data()
    step = inputs(center, scale, normalize)
    step.update(X[200:], weight[200:])  # is forgotten
    first = step.initialize(X[:100], weight[:100])
    np.testing.assert_array_equal(first, step.apply(X[:100]))
    later = step.update(X[100:], weight[100:])
    np.testing.assert_array_equal(later, step.apply(X[100:]))
    if center and not scale and not normalize:
        np.testing.assert_allclose(first, X[:100] - np.average(X[:100], axis=0, weights=weight[:100]), atol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_rows(normalize, constant, dtype):
    X, _ = data()
    X = np.where(np.abs(X) > 1.0, X, 0.0).astype(dtype)
    X[3] = 0.0
    step = inputs(False, False, normalize, constant)
    thin = step.apply(sparse.csr_matrix(X))
    assert thin.dtype == np.float64
    assert thin.has_sorted_indices
    np.testing.assert_allclose(thin.toarray(), step.apply(X), rtol=1e-6)
    some = step.apply(sparse.csr_matrix(X)[50:60])  # a slice, whose starts do not begin at zero
    np.testing.assert_array_equal(some.toarray(), thin[50:60].toarray())


@pytest.mark.parametrize("scale", [False, True])
def test_merged_moments_are_those_of_both(scale):
    (X, weight), (Y, other_weight) = data(), data(200, seed=1)
    Y = Y + 3.0
    ours, theirs, both = (inputs(True, scale) for _ in range(3))
    ours.update(X, weight)
    theirs.update(Y, other_weight)
    before = theirs.moments.copy()
    ours.merge(theirs)
    both.initialize(np.vstack([X, Y]), np.append(weight, other_weight))
    np.testing.assert_allclose(ours.totals[0], both.totals[0])
    np.testing.assert_allclose(ours.moments[0], both.moments[0])
    if scale:
        np.testing.assert_allclose(ours.moments[1], both.moments[1])
        np.testing.assert_allclose(ours.moments[2], np.sqrt(both.totals[0] / both.moments[1] / both.moments.shape[1]))
    np.testing.assert_array_equal(theirs.moments, before)


def test_merging_with_nothing():
    X, weight = data()
    ours, empty = inputs(), inputs()
    ours.update(X, weight)
    moments = ours.moments.copy()
    ours.merge(inputs())
    np.testing.assert_array_equal(ours.moments, moments)
    empty.merge(ours)
    np.testing.assert_allclose(empty.moments[:2], moments[:2])


def test_raw_rows_are_not_changed():
    rows = ["a", "b"]
    raw = Raw()
    assert raw.initialize(rows, np.ones(2)) is raw.update(rows, np.ones(2)) is raw.apply(rows) is rows
    assert raw.settings == {}
