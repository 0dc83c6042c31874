"""Several balls against the same in all dimensions, where the slack of every row has a separate coordinate."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from modicum import state
from modicum.svm.ball import Ball
from modicum.svm.balls import Balls
from modicum.svm.enclosing import enclose, enclose_two


def data(count=80, width=4, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, width))
    sign = np.where(Z[:, 0] + 0.3 * rng.normal(size=count) > 0, 1.0, -1.0)
    return Z, sign, rng.uniform(0.5, 4.0, size=count)


def points(Z, sign, cost):
    """[sign z ; e_n / sqrt(cost_n)] for each row."""
    return np.hstack([sign[:, None] * Z, np.diag(1 / np.sqrt(cost))])


def ball_around(balls):
    P, radii = np.array([center for center, _ in balls]), np.array([radius for _, radius in balls])
    weights, radius = enclose(P @ P.T, radii)
    return weights @ P, radius


def explicit(P, n_balls, balls=()):
    """(center, radius) of each ball after all points, with the centers as vectors in all dimensions."""
    balls = list(balls)
    for point in P:
        if all(np.linalg.norm(point - center) > radius for center, radius in balls):
            balls = united([*balls, (point, 0.0)], n_balls)
    return balls


def united(balls, n_balls):
    if len(balls) <= n_balls:
        return balls
    unions = {}
    for (a, (p, r)), (b, (q, s)) in combinations(enumerate(balls), 2):
        step, radius = enclose_two(((p - q) ** 2).sum(), r, s)
        unions[a, b] = ((1 - step) * p + step * q, radius)
    pair = min(unions, key=lambda pair: unions[pair][1])
    return [ball for i, ball in enumerate(balls) if i not in pair] + [unions[pair]]


def learned(rows, n_balls, chunk=1000):
    Z, sign, cost = rows
    balls = Balls(Z.shape[1], n_balls)
    for start in range(0, len(sign), chunk):
        part = slice(start, start + chunk)
        balls.learn(Z[part], sign[part], cost[part])
    return balls


def facts(machine):
    return [*machine.coef, machine.radius, machine.slack, machine.n_core]


@pytest.mark.parametrize("n_balls", [1, 2, 5, 12])
def test_they_are_the_balls_in_all_dimensions(n_balls):
    rows = data()
    P = points(*rows)
    balls = explicit(P, n_balls)
    center, radius = ball_around(balls)
    machine = learned(rows, n_balls)
    np.testing.assert_allclose(machine.coef, center[:4], atol=1e-8)
    assert machine.radius == pytest.approx(radius, rel=1e-9)
    assert machine.slack == pytest.approx((center[4:] ** 2).sum(), rel=1e-7)
    assert np.linalg.norm(P - center, axis=1).max() <= machine.radius * (1 + 1e-9)
    least = enclose(P @ P.T, np.zeros(len(P)))[1]
    assert least * (1 - 1e-9) <= radius <= least + max(radius for _, radius in balls)


def test_decisions_are_those_of_the_ball_around_all_so_far():
    Z, sign, cost = data(40)
    P = points(Z, sign, cost)
    machine = Balls(4, 3)
    decisions = machine.learn(Z, sign, cost)
    assert decisions[0] == 0
    for i in range(1, 40):
        center, _ = ball_around(explicit(P[:i], 3))
        assert decisions[i] == pytest.approx(Z[i] @ center[:4], abs=1e-8)


def test_one_ball_is_the_first_algorithm():
    rows = data(200)
    np.testing.assert_allclose(facts(learned(rows, 1)), facts_of_ball(rows), rtol=1e-9)


def facts_of_ball(rows):
    ball = Ball(rows[0].shape[1], 1)
    ball.learn(*rows)
    return facts(ball)


def test_as_many_balls_as_rows_give_the_smallest_ball():
    rows = data(20)
    P = points(*rows)
    machine = learned(rows, 20)
    assert machine.radius == pytest.approx(enclose(P @ P.T, np.zeros(20))[1], rel=1e-9)


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_any_chunks_give_the_same_bits(chunk):
    rows = data(300, 7)
    assert facts(learned(rows, 6)) == facts(learned(rows, 6, chunk))


def test_sparse_rows_are_rows():
    Z, sign, cost = data(400, 6)
    Z[np.random.default_rng(1).random(Z.shape) < 0.5] = 0.0
    dense, thin = Balls(6, 4), Balls(6, 4)
    decisions = dense.learn(Z, sign, cost)
    np.testing.assert_allclose(thin.learn(sparse.csr_matrix(Z), sign, cost), decisions, atol=1e-9)
    np.testing.assert_allclose(facts(thin), facts(dense), rtol=1e-9)


def test_mirrored_balls_saw_the_opposite_signs():
    Z, sign, cost = data(100)
    mirror, opposite = learned((Z, sign, cost), 5).mirrored(), learned((Z, -sign, cost), 5)
    assert facts(mirror) == facts(opposite)


def test_merging_takes_the_other_balls_in():
    first, second = data(50, seed=1), data(60, seed=2)
    P, Q = points(*first), points(*second)
    P, Q = np.hstack([P, np.zeros((50, 60))]), np.hstack([Q[:, :4], np.zeros((60, 50)), Q[:, 4:]])
    mine, other = learned(first, 4), learned(second, 4)
    before, core = state.to_bytes({"balls": other}), mine.n_core + other.n_core
    mine.merge(other)
    assert state.to_bytes({"balls": other}) == before
    assert mine.n_core == core
    balls, theirs = explicit(P, 4), explicit(Q, 4)
    for w in other._V[: other._n]:  # the order of balls may differ
        balls = united([*balls, min(theirs, key=lambda ball, w=w: np.abs(ball[0][:4] - w).max())], 4)
    center, radius = ball_around(balls)
    np.testing.assert_allclose(mine.coef, center[:4], atol=1e-8)
    assert mine.radius == pytest.approx(radius, rel=1e-9)
    assert np.linalg.norm(np.vstack([P, Q]) - center, axis=1).max() <= mine.radius * (1 + 1e-9)


def test_merging_with_nothing():
    machine, empty = learned(data(), 3), Balls(4, 3)
    before = facts(machine)
    machine.merge(empty)
    assert facts(machine) == before
    assert facts(empty) == [0.0] * 7
    empty.merge(machine)
    np.testing.assert_allclose(facts(empty), before, rtol=1e-9)


def test_they_continue_after_loading():
    Z, sign, cost = data(80)
    machine = learned((Z[:33], sign[:33], cost[:33]), 5)
    again = state.from_bytes(state.to_bytes({"balls": machine}))["balls"]
    for balls in (machine, again):
        balls.learn(Z[33:], sign[33:], cost[33:])
    assert facts(again) == facts(machine)
