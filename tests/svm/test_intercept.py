"""The line over a ball's decisions against a least squares problem solved for each row."""

import numpy as np
import pytest

from modicum import state
from modicum.kernels import Polynomial
from modicum.svm.ball import Ball
from modicum.svm.balls import Balls
from modicum.svm.intercept import EAGERNESS, WithIntercept
from modicum.svm.kernel_ball import KernelBall


def data(count=150, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, 3))
    sign = np.where(Z[:, 0] + shift + 0.2 * rng.normal(size=count) > 0, 1.0, -1.0)
    return Z, sign, rng.uniform(0.5, 2.0, size=count)


def by_hand(Z, sign, cost, weight):
    """Decisions row by row, the last line, and the mistakes of ball and line. The ball ignores weights."""
    bare = Ball(3, 2).learn(Z, sign, cost)
    cost = cost * weight
    rows, mistakes, out = [], np.zeros(2), []
    line = np.zeros(2)
    for i in range(len(sign)):
        if rows:
            A = np.array([[bare[j], 1.0] for j in rows])
            c = EAGERNESS * cost[rows]
            line = np.linalg.solve(np.eye(2) + (A * c[:, None]).T @ A, A.T @ (c * sign[rows]))
        lined = line @ [bare[i], 1.0]
        out.append(bare[i] if mistakes[0] < mistakes[1] else lined)
        mistakes += weight[i] * (sign[i] * np.array([bare[i], lined]) <= 0)
        if sign[i] * lined < 1:
            rows.append(i)
    A = np.array([[bare[j], 1.0] for j in rows])
    c = EAGERNESS * cost[rows]
    return np.array(out), np.linalg.solve(np.eye(2) + (A * c[:, None]).T @ A, A.T @ (c * sign[rows])), mistakes


@pytest.mark.parametrize("shift", [0.0, 1.0, -2.5])
def test_it_is_the_line_by_hand(shift):
    rows = data(shift=shift)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=len(rows[0]))
    machine = WithIntercept(Ball(3, 2))
    decisions, line, mistakes = by_hand(*rows, weight)
    np.testing.assert_allclose(machine.learn(*rows, weight), decisions, atol=1e-8)
    np.testing.assert_allclose(machine.mistakes, mistakes)
    bare = Ball(3, 2)
    bare.learn(*rows)
    slope, intercept = (1.0, 0.0) if mistakes[0] < mistakes[1] else line
    np.testing.assert_allclose(machine.coef, np.append(slope * bare.coef, intercept), atol=1e-7)
    np.testing.assert_allclose(machine.decide(rows[0]), rows[0] @ machine.coef[:3] + machine.coef[3], atol=1e-9)


def test_an_intercept_helps_where_one_is_needed():
    Z, sign, cost = data(2000, shift=1.2)
    plain, machine = Ball(3, 2), WithIntercept(Ball(3, 2))
    plain.learn(Z, sign, cost)
    machine.learn(Z, sign, cost)
    assert np.mean(machine.decide(Z) * sign > 0) > np.mean(plain.decide(Z) * sign > 0) + 0.02
    assert machine.coef[3] > 0


def test_a_ball_that_is_better_is_left_alone():
    rows = data()
    machine, ball = WithIntercept(Ball(3, 2)), Ball(3, 2)
    machine.learn(*rows)
    ball.learn(*rows)
    machine.mistakes = np.array([1.0, 2.0])
    np.testing.assert_array_equal(machine.decide(rows[0]), ball.decide(rows[0]))
    np.testing.assert_array_equal(machine.coef, np.append(ball.coef, 0.0))
    first = [part[:1] for part in data(seed=1)]
    assert machine.copied().learn(*first) == ball.copied().learn(*first)


def test_any_chunks_give_the_same_bits():
    rows = data(shift=0.5)
    whole, parts = WithIntercept(Ball(3, 2)), WithIntercept(Ball(3, 2))
    decisions = whole.learn(*rows)
    pieces = [parts.learn(*(part[i : i + 7] for part in rows)) for i in range(0, 150, 7)]
    np.testing.assert_array_equal(np.concatenate(pieces), decisions)
    assert state.to_bytes({"machine": parts}) == state.to_bytes({"machine": whole})


def test_a_mirrored_machine_saw_the_opposite_signs():
    Z, sign, cost = data(shift=0.7)
    machine, opposite = WithIntercept(Ball(3, 4)), WithIntercept(Ball(3, 4))
    machine.learn(Z, sign, cost)
    opposite.learn(Z, -sign, cost)
    mirror = machine.mirrored()
    np.testing.assert_array_equal(mirror.coef, opposite.coef)
    np.testing.assert_array_equal(mirror.decide(Z), opposite.decide(Z))
    np.testing.assert_array_equal(mirror.learn(Z, -sign, cost), opposite.learn(Z, -sign, cost))


def test_merging_merges_both():
    ours, theirs = WithIntercept(Ball(3, 2)), WithIntercept(Ball(3, 2))
    ours.learn(*data(shift=0.5))
    theirs.learn(*data(shift=0.5, seed=1))
    ball, line, mistakes = ours.ball.copied(), ours.line.copied(), ours.mistakes + theirs.mistakes
    ball.merge(theirs.ball)
    line.merge(theirs.line)
    ours.merge(theirs)
    np.testing.assert_array_equal(ours.ball.coef, ball.coef)
    np.testing.assert_array_equal(ours.line.coef, line.coef)
    np.testing.assert_array_equal(ours.mistakes, mistakes)


BALLS = [lambda: Ball(3, 2), lambda: Balls(3, 3), lambda: KernelBall(Polynomial(2, scale=1.0), 2)]


@pytest.mark.parametrize("make", BALLS)
def test_what_is_asked_of_the_ball_is_answered_by_it(make):
    rows = data()
    machine, ball = WithIntercept(make()), make()
    machine.learn(*rows)
    ball.learn(*rows)
    names = ("radius", "least_radius", "square", "n_core", "n_kept")
    assert [getattr(machine, name) for name in names] == [getattr(ball, name) for name in names]


def test_initialising_keeps_the_line():
    rows = data(shift=0.5)
    machine, ball = WithIntercept(Ball(3, 2)), Ball(3, 2)
    machine.learn(*rows)
    line = machine.line.coef.copy()
    machine.initialize(*rows)
    ball.initialize(*rows)
    np.testing.assert_array_equal(machine.ball.coef, ball.coef)
    np.testing.assert_array_equal(machine.line.coef, line)
