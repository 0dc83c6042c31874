"""Ridge regression against its equations, and its choice of a penalty against leaving rows out in a loop."""

import numpy as np
import pytest

from modicum.kernels import RBF
from modicum.kernels.projected_process import jittered
from modicum.regress.ridge import PENALTIES, solve_ridge

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(60, 2))
Y = np.sin(X[:, 0]) * X[:, 1] + rng.normal(0, 0.3, 60) + 2.0
S = X[:15]
KERNEL = RBF(1.5)
K, FEATURES = KERNEL(S, S), KERNEL(X, S)


def solved(features, y, weight, penalty, K=K):
    left = features.T * weight @ features + penalty * K
    return np.linalg.solve(left, features.T @ (weight * y))


@pytest.mark.parametrize("weight", [np.ones(60), rng.uniform(0.2, 2.0, 60)], ids=["equal", "weighted"])
def test_a_given_penalty(weight):
    coef, mean, penalty = solve_ridge(FEATURES, K, Y, weight, 0.1, True)
    assert (mean, penalty) == (pytest.approx(np.average(Y, weights=weight)), 0.1)
    np.testing.assert_allclose(FEATURES @ coef, FEATURES @ solved(FEATURES, Y - mean, weight, 0.1), atol=1e-4)


@pytest.mark.parametrize("weight", [np.ones(60), rng.uniform(0.2, 2.0, 60)], ids=["equal", "weighted"])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_the_penalty_with_the_smallest_error_of_rows_left_out(weight, scale):
    y, errors = Y - 2.0, []
    for penalty in PENALTIES * scale:
        left_out = [np.arange(60) != i for i in range(60)]
        fits = [
            FEATURES[~rest]
            * scale
            @ solved(FEATURES[rest] * scale, y[rest], weight[rest], penalty, jittered(K) * scale)
            for rest in left_out
        ]
        errors.append(weight @ (y - np.concatenate(fits)) ** 2)
    coef, mean, penalty = solve_ridge(FEATURES * scale, K * scale, y, weight, None, False)
    assert mean == 0.0
    assert penalty == pytest.approx(PENALTIES[np.argmin(errors)] * scale)
    expected = solved(FEATURES * scale, y, weight, penalty, jittered(K) * scale)
    np.testing.assert_allclose(FEATURES @ coef, FEATURES @ expected, atol=1e-8)
    assert 0 < np.argmin(errors) < len(PENALTIES) - 1


def test_noise_raises_the_penalty():
    quiet, loud = (solve_ridge(FEATURES, K, Y + s * rng.normal(size=60), np.ones(60), None, True) for s in (0.0, 3.0))
    assert loud.regularization > quiet.regularization


@pytest.mark.parametrize("count", [1, 2])
def test_hardly_any_rows(count):
    few = slice(count)
    coef, mean, _ = solve_ridge(K[few, few], K[few, few], Y[few], np.ones(count), None, True)
    assert np.isfinite(coef).all()
    assert mean == pytest.approx(Y[few].mean())
