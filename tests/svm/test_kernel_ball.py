"""The ball with a kernel against one in explicit dimensions: the kernel's, and one for the slack of every row."""

import sys

import numpy as np
import pytest
from scipy import sparse

from modicum import state
from modicum.exceptions import DataError
from modicum.kernels import RBF, FunctionKernel, Linear, Polynomial
from modicum.svm.ball import Ball
from modicum.svm.enclosing import enclose, enclose_two
from modicum.svm.kernel_ball import KERNEL_ROWS, RIDGE, KernelBall

KERNEL = RBF(1.5)


def data(count=60, width=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, width))
    sign = np.where(Z[:, 0] * Z[:, 1] + 0.3 * rng.normal(size=count) > 0, 1.0, -1.0)
    return Z, sign, rng.uniform(0.5, 4.0, size=count)


def features(kernel, Z):
    """Vectors with the kernel's inner products."""
    values, vectors = np.linalg.eigh(kernel(Z, Z))
    return vectors * np.sqrt(np.maximum(values, 0))


class Explicit:
    """rai2009, Algorithm 2, on explicit vectors; core vectors beyond the limit are projected on the others."""

    def __init__(self, F, sign, cost, lookahead, limit=sys.maxsize):
        self.F, self.lookahead, self.limit = F, lookahead, limit
        self.points = np.hstack([sign[:, None] * F, np.diag(1 / np.sqrt(cost))])
        self.center, self.radius, self.moved, self.core, self.buffered = None, 0.0, 0.0, [], []
        self.alpha, self.sign = np.empty(0), sign
        for n, point in enumerate(self.points):
            if self.center is None:
                self.center, self.core, self.alpha = point, [n], sign[n : n + 1]
            elif np.linalg.norm(point - self.center) > self.radius:
                self.buffered.append(n)
                if len(self.buffered) == lookahead:
                    self.enclose()

    def enclose(self):
        P = np.vstack([self.center, self.points[self.buffered]])
        weights, self.radius = enclose(P @ P.T, np.append(self.radius, np.zeros(len(self.buffered))))
        alpha = np.append(weights[0] * self.alpha, weights[1:] * self.sign[self.buffered])
        self.core = [n for n, a in zip(self.core + self.buffered, alpha, strict=True) if a != 0]
        self.alpha = alpha[alpha != 0]
        self.center, self.buffered = weights @ P, []
        while len(self.core) > self.limit:
            self.let_one_go()

    def let_one_go(self):
        """The one whose removal moves the center the least, with a small penalty on its coefficients."""
        columns, width = self.F[self.core].T, self.F.shape[1]
        A = np.vstack([columns, np.diag(np.sqrt(RIDGE) * np.linalg.norm(columns, axis=0))])
        tries = []
        for j in range(len(self.core)):
            others = np.delete(np.arange(len(self.core)), j)
            alpha = np.linalg.lstsq(A[:, others], A @ self.alpha)[0]
            tries.append((np.linalg.norm(A @ self.alpha - A[:, others] @ alpha), others, alpha))
        _, others, self.alpha = min(tries, key=lambda one: one[0])
        self.core = [self.core[j] for j in others]
        w = columns[:, others] @ self.alpha
        self.moved += np.linalg.norm(w - self.center[:width])
        self.center = np.append(w, self.center[width:])


def learned(rows, kernel=KERNEL, lookahead=1, limit=sys.maxsize, chunk=1000):
    Z, sign, cost = rows
    ball = KernelBall(kernel, lookahead, limit)
    for start in range(0, len(sign), chunk):
        part = slice(start, start + chunk)
        ball.learn(Z[part], sign[part], cost[part])
    return ball


def same(ball, other, Z):
    np.testing.assert_allclose(ball.decide(Z), other.decide(Z), atol=1e-8)
    facts = [(machine.radius, machine.slack, machine.n_core) for machine in (ball, other)]
    assert facts[0] == pytest.approx(facts[1], rel=1e-8)


@pytest.mark.parametrize("kernel", [KERNEL, Polynomial(2, scale=0.5)])
@pytest.mark.parametrize(("lookahead", "limit"), [(1, sys.maxsize), (5, sys.maxsize), (1, 6), (4, 8), (10, 3)])
def test_it_is_the_ball_in_explicit_dimensions(lookahead, limit, kernel):
    rows = data()
    F = features(kernel, rows[0])
    twin = Explicit(F, *rows[1:], lookahead, limit)
    ball = learned(rows, kernel, lookahead, limit)
    np.testing.assert_array_equal(ball.core.values, rows[0][twin.core])
    assert ball.n_kept == len(twin.core) + len(twin.buffered)
    assert len(twin.core) <= limit
    twin.limit = sys.maxsize  # buffered rows are enclosed for the answer only
    if twin.buffered:
        twin.enclose()
    np.testing.assert_allclose(ball.decide(rows[0]), F @ twin.center[: F.shape[1]], atol=1e-6)
    assert ball.radius == pytest.approx(twin.radius + twin.moved, rel=1e-7)
    assert ball.slack == pytest.approx((twin.center[F.shape[1] :] ** 2).sum(), rel=1e-6)
    assert np.linalg.norm(twin.points - twin.center, axis=1).max() <= ball.radius * (1 + 1e-7)


@pytest.mark.parametrize("lookahead", [1, 7])
def test_with_the_linear_kernel_it_is_the_linear_ball(lookahead):
    rows = data(400)
    linear, ball = Ball(3, lookahead), KernelBall(Linear(), lookahead)
    np.testing.assert_allclose(ball.learn(*rows), linear.learn(*rows), atol=1e-9)
    same(ball, linear, rows[0])


def test_radius_is_within_three_halves():
    rows = data(100)
    F = features(KERNEL, rows[0])
    P = Explicit(F, *rows[1:], 1).points
    least = enclose(P @ P.T, np.zeros(100))[1]
    assert least <= learned(rows).radius <= 1.5 * least
    assert learned(rows, lookahead=99).radius == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize(("lookahead", "limit"), [(1, sys.maxsize), (6, sys.maxsize), (6, 10)])
def test_any_chunks_and_blocks_give_the_same(lookahead, limit):
    rows = data(2 * KERNEL_ROWS + 30)
    whole = learned(rows, lookahead=lookahead, limit=limit)
    for chunk in (1, 50):
        same(learned(rows, lookahead=lookahead, limit=limit, chunk=chunk), whole, rows[0])


def test_sparse_rows_and_objects_are_rows():
    Z, sign, cost = data(120)
    ball = learned((Z, sign, cost), lookahead=3)
    thin = learned((sparse.csr_matrix(Z), sign, cost), lookahead=3)
    np.testing.assert_allclose(thin.decide(sparse.csr_matrix(Z)), ball.decide(Z), atol=1e-8)
    words = ["".join("ab"[int(x > 0)] for x in row) for row in Z]
    equal = FunctionKernel(lambda a, b: float(sum(x == y for x, y in zip(a, b, strict=True))), takes_objects=True)
    on_words = learned((words, sign, cost), equal, lookahead=3, limit=5)
    signs = np.hstack([Z > 0, Z <= 0]).astype(float)
    on_columns = learned((signs, sign, cost), Linear(), lookahead=3, limit=5)
    np.testing.assert_allclose(on_words.decide(words), on_columns.decide(signs), atol=1e-5)


def test_a_mirrored_ball_saw_the_opposite_signs():
    Z, sign, cost = data(80)
    same(learned((Z, sign, cost), lookahead=4, limit=9).mirrored(), learned((Z, -sign, cost), lookahead=4, limit=9), Z)


def test_merging_is_the_smallest_ball_around_both():
    first, second = data(40, seed=1), data(50, seed=2)
    mine, other = learned(first), learned(second)
    before, n_core = state.to_bytes({"ball": other}), mine.n_core + other.n_core
    rows = np.vstack([mine.core.values, other.core.values])
    F = features(KERNEL, rows)
    w, v = mine.alpha @ F[: len(mine.alpha)], other.alpha @ F[len(mine.alpha) :]
    step, radius = enclose_two(((w - v) ** 2).sum() + mine.slack + other.slack, mine.radius, other.radius)
    decisions = (1 - step) * mine.decide(first[0]) + step * other.decide(first[0])
    mine.merge(other)
    assert mine.radius == pytest.approx(radius)
    np.testing.assert_allclose(mine.decide(first[0]), decisions, atol=1e-9)
    assert mine.n_core == n_core
    assert state.to_bytes({"ball": other}) == before


def test_merging_holds_the_limit_and_keeps_buffered_rows():
    first, second = data(60, seed=1), data(60, seed=2)
    mine, other = (learned(rows, lookahead=7, limit=12) for rows in (first, second))
    free, guest = (learned(rows, lookahead=7) for rows in (first, second))
    mine.merge(other)
    free.merge(guest)
    assert len(mine.alpha) <= 12
    assert mine.n_kept < 12 + 7
    assert mine.radius >= free.radius * (1 - 1e-9)
    thin = learned((sparse.csr_matrix(first[0]), *first[1:]), lookahead=7)
    thin.merge(learned(second, lookahead=7))
    np.testing.assert_allclose(thin.decide(sparse.csr_matrix(second[0])), free.decide(second[0]), atol=1e-8)


def test_merging_with_nothing():
    Z, sign, cost = data()
    ball, empty = learned((Z, sign, cost), lookahead=4), KernelBall(KERNEL, 4)
    decisions = ball.decide(Z)
    ball.merge(empty)
    np.testing.assert_array_equal(ball.decide(Z), decisions)
    assert (empty.radius, empty.slack, empty.n_core, empty.n_kept) == (0.0, 0.0, 0, 0)
    np.testing.assert_array_equal(empty.decide(Z), np.zeros(60))
    empty.merge(ball)
    same(empty, ball, Z)


def test_copies_of_a_row_are_within_the_limit():
    Z, sign, cost = data(40)
    rows = np.repeat(Z, 3, axis=0), np.repeat(sign, 3), np.repeat(cost, 3)
    ball = learned(rows, lookahead=20, limit=15)
    assert len(ball.alpha) <= 15
    assert np.isfinite(ball.radius)
    assert np.abs(ball.decide(Z)).max() < 1.1


def test_shrinking_grows_the_ball_by_the_way_of_its_center():
    rows = data(100)
    ball = learned(rows, lookahead=1)
    before = ball.copied()
    left = ball.shrink(4)
    assert len(ball.alpha) == len(left) == 4
    np.testing.assert_array_equal(ball.core.values, before.core.values[left])
    K = KERNEL(before.core.values, before.core.values)
    change = before.alpha.copy()
    change[left] -= ball.alpha
    assert ball.radius - before.radius >= np.sqrt(change @ K @ change) * (1 - 1e-9)


@pytest.mark.parametrize("limit", [sys.maxsize, 8])
def test_it_continues_after_loading(limit):
    Z, sign, cost = data(120)
    ball = learned((Z[:63], sign[:63], cost[:63]), lookahead=5, limit=limit)
    assert ball.radius > 0
    again = state.from_bytes(state.to_bytes({"ball": ball}))["ball"]
    for machine in (ball, again):
        machine.learn(Z[63:], sign[63:], cost[63:])
    np.testing.assert_array_equal(again.decide(Z), ball.decide(Z))


def test_a_kernel_without_values_is_refused():
    with np.errstate(over="ignore"), pytest.raises(DataError, match="not finite"):
        KernelBall(Polynomial(9, scale=1e60), 1).learn(*data(5))
