"""The streaming ball against one in all dimensions, where the slack of every row has a separate coordinate."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from modicum import state
from modicum.svm.ball import Ball
from modicum.svm.enclosing import enclose

pytestmark = pytest.mark.nojit


def data(count=60, width=4, seed=0):
    """Rows, signs and costs of two noisy classes."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, width))
    sign = np.where(Z[:, 0] + 0.3 * rng.normal(size=count) > 0, 1.0, -1.0)
    return Z, sign, rng.uniform(0.5, 4.0, size=count)


def points(Z, sign, cost):
    """[sign z ; e_n / sqrt(cost_n)] for each row."""
    return np.hstack([sign[:, None] * Z, np.diag(1 / np.sqrt(cost))])


def smallest(P):
    return enclose(P @ P.T, np.zeros(len(P)))


class Explicit:
    """rai2009, Algorithm 2, with the center as a vector in all dimensions."""

    def __init__(self, lookahead):
        self.lookahead, self.center, self.buffered = lookahead, None, []

    def learn(self, point):
        if self.center is None:
            self.center, self.radius = point, 0.0
        elif np.linalg.norm(point - self.center) > self.radius:
            self.buffered.append(point)
            if len(self.buffered) == self.lookahead:
                self.enclose()

    def enclose(self):
        P = np.vstack([self.center, *self.buffered])
        weights, self.radius = enclose(P @ P.T, np.append(self.radius, np.zeros(len(self.buffered))))
        self.center, self.buffered = weights @ P, []


def learned(rows, lookahead, chunk=1000, mirror=1.0, ask=False):
    Z, sign, cost = rows
    ball = Ball(Z.shape[1], lookahead)
    for start in range(0, len(sign), chunk):
        part = slice(start, start + chunk)
        ball.learn(Z[part], mirror * sign[part], cost[part])
        if ask:
            assert ball.radius >= 0
    return ball


@pytest.mark.parametrize("lookahead", [1, 2, 7])
def test_it_is_the_ball_in_all_dimensions(lookahead):
    rows = data()
    ball, twin = Ball(4, lookahead), Explicit(lookahead)
    for i, point in enumerate(points(*rows)):
        before = np.zeros(4) if twin.center is None else twin.center[:4]
        decisions = ball.learn(*(part[i : i + 1] for part in rows))
        np.testing.assert_allclose(decisions, rows[0][i : i + 1] @ before, atol=1e-9)
        twin.learn(point)
    if twin.buffered:
        twin.enclose()
    np.testing.assert_allclose(ball.coef, twin.center[:4], atol=1e-9)
    assert ball.radius == pytest.approx(twin.radius, rel=1e-9)
    assert ball.slack == pytest.approx((twin.center[4:] ** 2).sum(), rel=1e-9)
    np.testing.assert_allclose(ball.decide(rows[0]), rows[0] @ ball.coef)


def test_the_papers_algorithm_with_its_errata_corrected():
    Z, sign, cost = data(30)
    w, radius, slack = sign[0] * Z[0], 0.0, 1 / cost[0]
    for z, s, c in zip(Z[1:], sign[1:], cost[1:], strict=True):
        distance = np.sqrt(((w - s * z) ** 2).sum() + slack + 1 / c)
        if distance >= radius:
            step = (1 - radius / distance) / 2
            w, slack = w + step * (s * z - w), slack * (1 - step) ** 2 + step**2 / c
            radius += (distance - radius) / 2
    ball = learned((Z, sign, cost), 1)
    np.testing.assert_allclose(ball.coef, w)
    assert (ball.radius, ball.slack) == pytest.approx((radius, slack))


def adversarial(count=31):
    """Half of the rows on each side, and the last one far away (rai2009, Figure 4)."""
    rng = np.random.default_rng(1)
    Z = np.zeros((count, 2))
    Z[:-1, 1] = np.resize([1.0, -1.0], count - 1) + 0.01 * rng.normal(size=count - 1)
    Z[-1] = 1 + np.sqrt(2), 0
    return Z, np.ones(count), np.full(count, 1e6)


@pytest.mark.parametrize("order", range(8))
@pytest.mark.parametrize("make", [data, adversarial, lambda: (*data()[:2], np.full(60, 1e8))])
def test_radius_is_within_three_halves(make, order):
    rows = make()
    shuffled = np.arange(len(rows[1])) if order == 0 else np.random.default_rng(order).permutation(len(rows[1]))
    least = smallest(points(*rows))[1]
    ball = learned([part[shuffled] for part in rows], 1)
    assert least * (1 - 1e-9) <= ball.radius <= 1.5 * least


@pytest.mark.parametrize("lookahead", [1, 3, 10])
def test_all_points_are_inside(lookahead):
    """The machine has no slack coordinates; its radius must be valid for the center that has them."""
    rows = data(200, seed=3)
    P = points(*rows)
    twin = Explicit(lookahead)
    for point in P:
        twin.learn(point)
    twin.enclose()
    ball = learned(rows, lookahead)
    assert np.linalg.norm(P - twin.center, axis=1).max() <= ball.radius * (1 + 1e-9)


def test_a_long_lookahead_finds_the_smallest_ball_of_all():
    rows = data(40)
    ball = learned(rows, 39)
    P = points(*rows)
    weights, radius = smallest(P)
    assert ball.radius == pytest.approx(radius, rel=1e-9)
    np.testing.assert_allclose(ball.coef, (weights @ P)[:4], atol=1e-7)


def test_the_smallest_ball_is_the_l2_svm_for_rows_of_one_length():
    """rai2009, section 3: for unit rows the center has the direction of the l2-SVM's weights."""
    Z, sign, _ = data(30)
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    cost = np.full(30, 2.0)
    ball = learned((Z, sign, cost), 100)

    def objective(v):  # max margin r: |w|^2 + C sum xi^2 - 2 r, margins >= r - xi
        return v[:4] @ v[:4] + 2.0 * (np.maximum(v[4] - sign * (Z @ v[:4]), 0) ** 2).sum() - 2 * v[4]

    found = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x[:4]
    direction = ball.coef / np.linalg.norm(ball.coef)
    np.testing.assert_allclose(direction, found / np.linalg.norm(found), atol=1e-5)


@pytest.mark.parametrize("lookahead", [1, 4, 500])
def test_any_chunks_and_questions_give_the_same_bits(lookahead):
    rows = data(300, 7)
    whole = learned(rows, lookahead)
    for chunk in (1, 7, 64):
        pieces = learned(rows, lookahead, chunk, ask=chunk > 1)
        np.testing.assert_array_equal(whole.coef, pieces.coef)
        assert (whole.radius, whole.slack, whole.n_core) == (pieces.radius, pieces.slack, pieces.n_core)


@pytest.mark.parametrize("lookahead", [1, 5])
def test_sparse_rows_are_rows(lookahead):
    Z, sign, cost = data(400, 6)
    Z[np.random.default_rng(1).random(Z.shape) < 0.5] = 0.0
    dense, thin = Ball(6, lookahead), Ball(6, lookahead)
    decisions = dense.learn(Z, sign, cost)
    np.testing.assert_allclose(thin.learn(sparse.csr_matrix(Z), sign, cost), decisions, atol=1e-9)
    np.testing.assert_allclose(thin.coef, dense.coef, atol=1e-9)
    assert thin.radius == pytest.approx(dense.radius, rel=1e-9)
    assert thin.n_core == dense.n_core
    np.testing.assert_allclose(thin.decide(sparse.csr_matrix(Z)), dense.decide(Z), atol=1e-9)


def test_sparse_weights_stay_exact_over_many_updates():
    """Rows that grow: each one is outside, and the scale underflows many times."""
    count = 3000
    Z = np.eye(3)[np.arange(count) % 3] * np.geomspace(1e-60, 1e60, count)[:, None]
    ones, costs = np.ones(count), np.full(count, 1e100)
    dense, thin = learned((Z, ones, costs), 1), learned((sparse.csr_matrix(Z), ones, costs), 1)
    assert thin.n_core == dense.n_core > 2900
    np.testing.assert_allclose(thin.coef, dense.coef)
    assert thin.radius == pytest.approx(dense.radius)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("lookahead", [1, 6])
def test_a_mirrored_ball_saw_the_opposite_signs(lookahead, kind):
    Z, sign, cost = data(50)
    ball = learned((kind(Z), sign, cost), lookahead, mirror=-1.0)
    mirror = learned((kind(Z), sign, cost), lookahead).mirrored()
    np.testing.assert_array_equal(mirror.coef, ball.coef)
    more = data(50, seed=9)
    for machine, side in ((ball, 1.0), (mirror, 1.0)):
        machine.learn(kind(more[0]), side * more[1], more[2])
    np.testing.assert_array_equal(mirror.coef, ball.coef)
    assert (mirror.radius, mirror.slack, mirror.n_core) == (ball.radius, ball.slack, ball.n_core)


def test_merging_is_the_smallest_ball_around_both():
    first, second = data(40, seed=1), data(50, seed=2)
    mine, other = learned(first, 1), learned(second, 1)
    before = state.to_bytes({"ball": other})
    P = np.array([np.append(mine.coef, [np.sqrt(mine.slack), 0]), np.append(other.coef, [0, np.sqrt(other.slack)])])
    weights, radius = enclose(P @ P.T, np.array([mine.radius, other.radius]))
    core = mine.n_core + other.n_core
    mine.merge(other)
    assert mine.radius == pytest.approx(radius)
    np.testing.assert_allclose(mine.coef, weights @ P[:, :4])
    assert mine.slack == pytest.approx(weights**2 @ (P[:, 4:] ** 2).sum(axis=1))
    assert mine.n_core == core
    assert state.to_bytes({"ball": other}) == before


@pytest.mark.parametrize("kinds", [(np.asarray, np.asarray), (sparse.csr_matrix, np.asarray)])
def test_merging_keeps_buffered_rows(kinds):
    (Z, sign, cost), other_rows = data(20, seed=1), data(12, seed=2)
    mine = learned((kinds[0](Z), sign, cost), 100)
    other = learned((kinds[1](other_rows[0]), *other_rows[1:]), 100)
    mine.merge(other)
    P = points(*(np.concatenate(pair) for pair in zip((Z, sign, cost), other_rows, strict=True)))
    first = P[[0, 20]]  # both were balls of radius zero, all others are buffered and enclosed together
    weights, radius = enclose(first @ first.T, np.zeros(2))
    P = np.vstack([weights @ first, np.delete(P, [0, 20], axis=0)])
    expected = enclose(P @ P.T, np.append(radius, np.zeros(30)))[1]
    assert mine.radius == pytest.approx(expected, rel=1e-9)


def test_merging_with_nothing():
    ball, rows = learned(data(30), 4), data(30)
    weights, core = ball.coef, ball.n_core
    ball.merge(Ball(4, 4))
    np.testing.assert_array_equal(ball.coef, weights)
    empty = Ball(4, 4)
    assert (empty.radius, empty.n_core) == (0.0, 0)
    np.testing.assert_array_equal(empty.decide(rows[0]), np.zeros(30))
    empty.merge(ball)
    np.testing.assert_allclose(empty.coef, weights)
    assert empty.n_core == core


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_it_continues_after_loading(kind):
    Z, sign, cost = data(80)
    Z = kind(Z)
    ball = learned((Z[:33], sign[:33], cost[:33]), 5)
    assert ball.coef is not None
    again = state.from_bytes(state.to_bytes({"ball": ball}))["ball"]
    for machine in (ball, again):
        machine.learn(Z[33:], sign[33:], cost[33:])
    np.testing.assert_array_equal(again.coef, ball.coef)
    assert state.to_bytes({"ball": again}) == state.to_bytes({"ball": ball})


def test_a_copy_is_independent():
    ball = learned(data(30), 4)
    twin, weights = ball.copied(), ball.coef
    twin.learn(*data(30, seed=5))
    np.testing.assert_array_equal(ball.coef, weights)
