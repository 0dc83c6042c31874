"""Enclosing balls against a generic solver, and against the conditions that the smallest one fulfills."""

import numpy as np
import pytest
from scipy.optimize import minimize

from modicum._jit.enclosing import factor, trade
from modicum.svm.enclosing import enclose, enclose_two


def smallest_by_slsqp(P, radii):
    """min r such that |c - P_i| + radii_i <= r, by sequential quadratic programs on the center and r."""
    start = np.append(P.mean(axis=0), 2 * np.ptp(P) + radii.max())
    inside = {
        "type": "ineq",
        "fun": lambda v: (v[-1] - radii) ** 2 - ((P - v[:-1]) ** 2).sum(axis=1),
        "jac": lambda v: np.column_stack([2 * (P - v[:-1]), 2 * (v[-1] - radii)]),
    }
    beyond = [(None, None)] * P.shape[1] + [(radii.max(), None)]
    gradient = np.append(np.zeros(P.shape[1]), 1.0)
    found = minimize(
        lambda v: v[-1], start, jac=lambda v: gradient, bounds=beyond, constraints=inside, options={"ftol": 1e-12}
    )
    return found.x[:-1], found.x[-1]


def check_smallest(P, radii, weights, radius, within=1e-9):
    """It encloses all, and its center is in the hull of those it touches, pushed in directions that add up to zero."""
    center = weights @ P
    reached = np.linalg.norm(P - center, axis=1) + radii
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert reached.max() == pytest.approx(radius, rel=1e-7)
    needed = radii @ weights  # the bound that these weights prove: see the loop's docstring, with the origin anywhere
    square = weights @ ((P - center) ** 2).sum(axis=1) - weights @ radii**2 + needed**2
    assert radius <= max(needed + np.sqrt(max(square, 0)), radii.max()) * (1 + within)


def test_two_balls():
    rng = np.random.default_rng(0)
    for _ in range(50):
        P, radii = rng.normal(size=(2, 3)), rng.uniform(0, 2, size=2)
        step, radius = enclose_two(((P[0] - P[1]) ** 2).sum(), *radii)
        check_smallest(P, radii, np.array([1 - step, step]), radius)
    assert enclose_two(0.0, 1.0, 1.0) == (0.0, 1.0)
    assert enclose_two(0.0, 1.0, 2.0) == (1.0, 2.0)
    assert enclose_two(-1e-20, 0.0, 0.0) == (0.0, 0.0)  # rounding


@pytest.mark.parametrize("seed", range(12))
def test_a_ball_and_points_as_a_generic_solver_finds_it(seed):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(int(rng.integers(2, 15)), int(rng.integers(1, 8))))
    radii = np.zeros(len(P))
    radii[0] = rng.choice([0.0, 0.3, 1.5])
    weights, radius = enclose(P @ P.T, radii)
    center, expected = smallest_by_slsqp(P, radii)
    assert radius == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(weights @ P, center, atol=2e-3)  # the generic one's center is rough


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["general", "doubled", "grid", "line"])
def test_it_is_the_smallest(kind, scale):
    rng = np.random.default_rng(1)
    for trial in range(20):
        count, width = int(rng.integers(1, 30)), int(rng.integers(1, 10))
        P = {
            "general": lambda c=count, w=width: rng.normal(size=(c, w)),
            "doubled": lambda c=count, w=width: np.repeat(rng.normal(size=(c, w)), 2, axis=0),
            "grid": lambda c=count, w=width: rng.integers(-2, 3, size=(c, w)).astype(float),
            "line": lambda c=count, w=width: np.outer(rng.normal(size=c), rng.normal(size=w)),
        }[kind]()
        radii = rng.uniform(0, 2, size=len(P)) * (rng.random(len(P)) < [0, 0.1, 0.5][trial % 3])
        P, radii = scale * P, scale * radii
        check_smallest(P, radii, *enclose(P @ P.T, radii), within=1e-8)


def test_many_points_with_separate_slack():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(121, 20))
    P = np.hstack([Z / np.linalg.norm(Z, axis=1)[:, None], np.eye(121)])
    radii = np.zeros(121)
    radii[0] = 0.2
    check_smallest(P, radii, *enclose(P @ P.T, radii), within=1e-11)


@pytest.mark.parametrize("slack", [3.0, 0.3, 0.03])  # all of them touch, most of them, few of them
@pytest.mark.parametrize("largest", [0.0, 0.5])
def test_many_points_that_touch(slack, largest):
    rng = np.random.default_rng(6)
    Z = np.abs(rng.normal(size=(90, 10))) * rng.choice([-1.0, 1.0], size=(90, 1))
    Z[::10] = Z[1::10]  # the same but for the slack
    P = np.hstack([Z / np.linalg.norm(Z, axis=1)[:, None], np.sqrt(slack) * np.eye(90)])
    radii = rng.uniform(0, largest, size=90)
    weights, radius = enclose(P @ P.T, radii)
    check_smallest(P, radii, weights, radius, within=1e-11)
    again, same = enclose(P @ P.T, radii)
    np.testing.assert_array_equal(again, weights)
    assert same == radius


@pytest.mark.parametrize("copies", [1, 2])
def test_many_points_on_a_sphere_of_fewer_dimensions(copies):
    """More points are tight than are affinely independent, so a guess of the tight set can't be solved for."""
    P = np.random.default_rng(7).normal(size=(80 // copies, 30))
    P = np.repeat(P / np.linalg.norm(P, axis=1)[:, None], copies, axis=0)
    check_smallest(P, np.zeros(80), *enclose(P @ P.T, np.zeros(80)), within=1e-11)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 70])
def test_factor_is_that_of_numpy(n):
    Z = np.random.default_rng(8).normal(size=(80, 75))
    A, tight, U = Z @ Z.T / 75, np.random.default_rng(9).permutation(80)[:n], np.zeros((n, n))
    assert factor(U, tight, n, A)
    np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A[np.ix_(tight, tight)] + 1).T, atol=1e-12)


def test_factor_refuses_dependent_centers():
    P = np.random.default_rng(10).normal(size=(40, 35))
    assert factor(np.empty((36, 36)), np.arange(36), 36, P @ P.T / 35)
    assert not factor(np.empty((40, 40)), np.arange(40), 40, P @ P.T / 35)


@pytest.mark.parametrize("radius", [0.0, 0.4])
def test_trades_come_near_to_the_best_weights(radius):
    """A guess only has to be convex, with most of the weight on tight balls."""
    rng = np.random.default_rng(11)
    Z = np.abs(rng.normal(size=(100, 10))) * rng.choice([-1.0, 1.0], size=(100, 1))
    P = np.hstack([Z / np.linalg.norm(Z, axis=1)[:, None], np.eye(100)])
    P -= P[0]
    squares, gaps, guess = (P**2).sum(axis=1), np.append(0.0, np.full(99, radius)), np.empty(100)
    trade(P @ P.T, gaps, squares - gaps**2, guess)
    assert guess.min() >= 0
    assert guess.sum() == pytest.approx(1)
    weights, _ = enclose(P @ P.T, radius - gaps)
    assert ((guess > 0) != (weights > 0)).sum() <= 5


def test_squared_distances_work_too():
    P = np.random.default_rng(3).normal(size=(9, 4))
    radii = np.linspace(0, 1, 9)
    squares = ((P[:, None] - P) ** 2).sum(axis=2)
    weights, radius = enclose(P @ P.T, radii)
    again, same = enclose(-squares / 2, radii)
    assert radius == pytest.approx(same, rel=1e-12)
    np.testing.assert_allclose(weights, again, atol=1e-9)


def test_points_inside_change_nothing():
    P = np.vstack([np.zeros(3), np.random.default_rng(4).uniform(-0.5, 0.5, size=(20, 3))])
    weights, radius = enclose(P @ P.T, np.eye(21)[0])
    assert radius == 1.0
    np.testing.assert_array_equal(weights, np.eye(21)[0])


def test_a_point_that_sticks_out_a_little():
    P = np.array([[0.0, 0.0], [1 + 1e-9, 0.0], [0.0, 1 + 1e-9]])
    weights, radius = enclose(P @ P.T, np.array([1.0, 0.0, 0.0]))
    moved = np.linalg.norm(weights @ P)
    assert radius - 1 == pytest.approx(moved, rel=1e-3)
    assert radius - 1 == pytest.approx(1e-9 * np.sqrt(2) / (1 + np.sqrt(2)), rel=1e-3)  # it moves on the diagonal


def test_one_center_only():
    weights, radius = enclose(np.array([[4.0]]), np.array([0.5]))
    assert weights.tolist() == [1.0]
    assert radius == 0.5
    weights, radius = enclose(np.full((3, 3), 2.0), np.array([0.5, 0.7, 0.0]))
    assert weights.tolist() == [0.0, 1.0, 0.0]
    assert radius == 0.7
