"""Inverses and factors that change row by row, against numpy's of the whole matrix."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modicum import state
from modicum.exceptions import DataError
from modicum.numeric.linalg import RESIDUAL, TINY, Cholesky, Inverse

WIDTH = 3


def kernel(A, B):
    return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / 2)


class Pair:
    """An `Inverse`, a `Cholesky` and the rows behind them, changed in step."""

    def __init__(self, limit, regularization):
        self.inverse, self.cholesky = Inverse(limit), Cholesky(limit)
        self.corner = 1 + regularization
        self.rows = np.empty((0, WIDTH))

    def append(self, row):
        column = kernel(self.rows, row[None])[:, 0]
        for part in (self.inverse, self.cholesky):
            part.append(column, self.corner)
        self.rows = np.vstack([self.rows, row])

    def remove(self, j):
        for part in (self.inverse, self.cholesky):
            part.remove(j)
        self.rows = np.delete(self.rows, j, axis=0)

    def swap(self, j, row):
        column = kernel(self.rows, row[None])[:, 0]
        column[j] = np.nan  # not looked at
        for part in (self.inverse, self.cholesky):
            part.swap(j, column, self.corner)
        self.rows[j] = row

    @property
    def matrix(self):
        A = kernel(self.rows, self.rows)
        np.fill_diagonal(A, self.corner)
        return A


def walk(pair, rng, steps, size, copies=0.0):
    """Random appends, removals and swaps around `size` rows; a share of the new rows are copies of kept ones."""
    for _ in range(steps):
        n, row = len(pair.rows), rng.normal(size=WIDTH)
        if n and rng.random() < copies:
            row = pair.rows[rng.integers(n)].copy()
        chance = rng.random()
        if n < size // 2 or (chance < 0.2 and n < size):
            pair.append(row)
        elif chance < 0.4:
            pair.remove(rng.integers(n))
        else:
            pair.swap(rng.integers(n), row)
        yield


def test_thousands_of_changes_keep_inverse_factor_and_determinant():
    pair = Pair(40, 0.01)
    for step, _ in enumerate(walk(pair, np.random.default_rng(0), 3000, 40, copies=0.1)):
        if step % 100 == 0:
            A = pair.matrix
            np.testing.assert_allclose(pair.inverse.matrix, A, rtol=0, atol=1e-15)
            np.testing.assert_allclose(pair.inverse.inverse @ A, np.eye(len(A)), rtol=0, atol=RESIDUAL)
            np.testing.assert_allclose(pair.cholesky.factor, np.linalg.cholesky(A), rtol=0, atol=1e-11)
            assert pair.inverse.log_det == pytest.approx(np.linalg.slogdet(A)[1], abs=1e-8)
            assert pair.cholesky.log_det == pytest.approx(np.linalg.slogdet(A)[1], abs=1e-10)
    assert pair.inverse.n_refreshes == 0  # nothing drifts on such a matrix, so nothing is recomputed


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), regularization=st.sampled_from([1e-10, 1e-6, 1e-2, 1.0]))
def test_copies_of_rows_never_break_it(seed, regularization):
    pair = Pair(12, regularization)
    for _ in walk(pair, np.random.default_rng(seed), 60, 12, copies=0.5):
        A, P = pair.inverse.matrix, pair.inverse.inverse
        tolerance = min(1e-2, 1e-9 / regularization)  # a condition of 1e11 leaves few digits
        np.testing.assert_allclose(A, pair.matrix, rtol=0, atol=10 * TINY)
        np.testing.assert_allclose(P @ A, np.eye(len(A)), rtol=0, atol=tolerance)
        assert pair.inverse.log_det == pytest.approx(np.linalg.slogdet(A)[1], abs=tolerance)
        L = pair.cholesky.factor
        np.testing.assert_allclose(L @ L.T, pair.matrix, rtol=0, atol=1e-13)


def test_matrix_and_inverse_stay_symmetric_to_the_last_bit():
    pair = Pair(30, 1e-6)
    for _ in walk(pair, np.random.default_rng(1), 300, 30, copies=0.3):
        assert (pair.inverse.matrix == pair.inverse.matrix.T).all()
        assert (pair.inverse.inverse == pair.inverse.inverse.T).all()


def test_copies_without_regularization_get_a_tiny_one():
    pair = Pair(20, 0.0)
    for _ in walk(pair, np.random.default_rng(2), 500, 20, copies=0.7):
        assert np.isfinite(pair.inverse.inverse).all()
        assert math.isfinite(pair.inverse.log_det)
        assert math.isfinite(pair.cholesky.log_det)
        np.testing.assert_allclose(pair.inverse.matrix, pair.matrix, rtol=0, atol=1e3 * TINY)


def test_drift_is_seen_wherever_it_is_and_repaired():
    for slot in range(10):
        pair = Pair(10, 0.1)
        rng = np.random.default_rng(3)
        for _ in range(10):
            pair.append(rng.normal(size=WIDTH))
        pair.inverse.inverse[slot, slot] += 1e-3
        pair.swap((slot + 5) % 10, rng.normal(size=WIDTH))
        assert pair.inverse.n_refreshes == 1
        np.testing.assert_allclose(pair.inverse.inverse, np.linalg.inv(pair.matrix), rtol=0, atol=1e-12)


def test_ill_conditioned_matrices_are_recomputed_only_when_needed():
    pair = Pair(60, 1e-4)
    for _ in walk(pair, np.random.default_rng(4), 800, 60, copies=0.3):
        pass
    assert 0 < pair.inverse.n_refreshes < 200


@pytest.mark.parametrize("corner", [0.0, -1.0])
def test_a_matrix_that_is_not_positive_definite_is_made_so(corner):
    inverse, cholesky = Inverse(3), Cholesky(3)
    for part in (inverse, cholesky):
        part.append(np.empty(0), 1.0)
        part.append(np.array([0.5]), corner)
        part.append(np.array([0.5, 0.0]), 1.0)
    assert np.linalg.eigvalsh(inverse.matrix).min() > 0
    np.testing.assert_allclose(inverse.inverse @ inverse.matrix, np.eye(3), atol=1e-3)
    assert np.isfinite(cholesky.solve(np.ones(3))).all()


def test_rows_of_very_different_size_are_left_alone():
    inverse = Inverse(2)
    inverse.append(np.empty(0), 1.0)
    inverse.append(np.zeros(1), 1e-15)
    inverse.refresh()
    np.testing.assert_allclose(inverse.inverse, np.diag([1.0, 1e15]))


@pytest.mark.parametrize("part", [Inverse(2), Cholesky(2)])
def test_values_that_are_not_finite_are_refused(part):
    with pytest.raises(DataError, match="not finite"):
        part.append(np.empty(0), np.nan)
    assert part.n == 0


def test_solves():
    pair = Pair(15, 0.1)
    for _ in walk(pair, np.random.default_rng(5), 200, 15):
        pass
    b = np.random.default_rng(6).normal(size=(pair.cholesky.n, 4))
    A = pair.matrix
    np.testing.assert_allclose(pair.cholesky.solve(b), np.linalg.solve(A, b), atol=1e-10)
    np.testing.assert_allclose(pair.cholesky.solve(b[:, 0]), np.linalg.solve(A, b[:, 0]), atol=1e-10)
    np.testing.assert_allclose(pair.cholesky.half_solve(b), np.linalg.solve(np.linalg.cholesky(A), b), atol=1e-10)


def test_it_shrinks_to_nothing_and_grows_again():
    pair = Pair(5, 0.1)
    rng = np.random.default_rng(7)
    for _ in range(2):
        for _ in range(5):
            pair.append(rng.normal(size=WIDTH))
        for _ in range(5):
            pair.remove(0)
        assert pair.inverse.n == pair.cholesky.n == 0
        assert pair.inverse.log_det == pytest.approx(0, abs=1e-12)


def test_after_loading_it_continues_bit_for_bit():
    pair = Pair(50, 1e-3)
    rng = np.random.default_rng(8)
    for _ in walk(pair, rng, 500, 50, copies=0.2):
        pass
    parts = {"inverse": pair.inverse, "cholesky": pair.cholesky}
    again = Pair(50, 1e-3)
    again.rows = pair.rows.copy()
    read = state.from_bytes(state.to_bytes(parts))
    again.inverse, again.cholesky = read["inverse"], read["cholesky"]
    seed = int(rng.integers(2**32))
    for one, other in zip(
        walk(pair, np.random.default_rng(seed), 200, 50), walk(again, np.random.default_rng(seed), 200, 50), strict=True
    ):
        assert one is other is None
    assert state.to_bytes(parts) == state.to_bytes(read)


def test_a_compiled_loop_may_borrow_the_arrays():
    A = kernel(*2 * [np.random.default_rng(9).normal(size=(6, WIDTH))]) + np.eye(6)
    inverse = Inverse.of(A[:4, :4], limit=6)
    matrix, P = inverse.lend(2)
    assert len(matrix) == len(P) == 6
    matrix[:5, :5], P[:5, :5] = A[:5, :5], np.linalg.inv(A[:5, :5])
    inverse.take_back(5, np.linalg.slogdet(A[:5, :5])[1] - np.linalg.slogdet(A[:4, :4])[1])
    assert inverse.log_det == pytest.approx(np.linalg.slogdet(A[:5, :5])[1])
    matrix[5, :6] = matrix[:6, 5] = A[5]
    P[5, :6] = P[:6, 5] = 0.0  # wrong
    inverse.take_back(6, 0.0)
    np.testing.assert_allclose(inverse.inverse, np.linalg.inv(A))
    assert inverse.log_det == pytest.approx(np.linalg.slogdet(A)[1])


def test_room_is_not_counted():
    inverse, cholesky = Inverse(100), Cholesky(100)
    for part, squares in ((inverse, 2), (cholesky, 1)):
        for n in range(5):
            part.append(np.zeros(n), 1.0)
        assert part.nbytes == state.held_bytes(part) <= squares * 25 * 8 + 64
        assert len(state.to_bytes({"part": part})) < squares * 25 * 8 + 1000
