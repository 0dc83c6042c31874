"""Scores against their formulas."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from modicum.coreset.cells import Cells
from modicum.coreset.scores import lightweight, mixture, sensitivity, uniform
from modicum.coreset.systematic import inclusion

SCORES = [sensitivity, mixture, lightweight, uniform]


def squares(X, centers):
    return cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")


def test_sensitivity_is_the_formula(rows):
    X, w = rows
    B = X[::40]
    k, d2 = len(B), squares(X, B)
    cell = d2.argmin(axis=1)
    W, a = w.sum(), 16 * (math.log(k) + 2)
    c = sum(w[i] * d2[i].min() for i in range(len(X))) / W
    expected = []
    for i in range(len(X)):
        same = [j for j in range(len(X)) if cell[j] == cell[i]]
        W_i = sum(w[j] for j in same)
        c_i = sum(w[j] * d2[j].min() for j in same) / W_i
        expected.append(a * d2[i].min() / c + 2 * a * c_i / c + 4 * W / W_i)
    assert_allclose(sensitivity(Cells.around(X, w, B)), expected)


def test_mixture_is_the_formula(rows):
    X, w = rows
    d2 = squares(X, X[::40])
    cell = d2.argmin(axis=1)
    total = sum(w[i] * d2[i].min() for i in range(len(X)))
    expected = [5 / w[cell == cell[i]].sum() + d2[i].min() / total for i in range(len(X))]
    assert_allclose(mixture(Cells.around(X, w, X[::40])), expected)


def test_lightweight_is_the_formula(rows):
    X, w = rows
    d2 = squares(X, np.average(X, axis=0, weights=w)[None])[:, 0]
    mass = w * lightweight(Cells.around_mean(X, w))
    assert_allclose(mass / mass.sum(), w * (0.5 / w.sum() + 0.5 * d2 / (w @ d2)))


def test_uniform_draws_by_weight_alone(rows):
    assert_array_equal(uniform(Cells.undivided(*rows)), 1)


@pytest.mark.parametrize("score", SCORES)
def test_a_weight_counts_as_repeated_rows(rows, score):
    X = rows[0]
    times = np.random.default_rng(1).integers(1, 5, len(X))
    once, repeated = np.arange(len(X)), np.repeat(np.arange(len(X)), times)
    scores = score(Cells.around(X, times.astype(float), X[::40]))
    of_repeated = score(Cells.around(X[repeated], np.ones(len(repeated)), X[::40]))
    assert_allclose(scores[repeated], of_repeated)
    drawn = np.bincount(repeated, inclusion(of_repeated, 20))
    assert_allclose(inclusion(times * scores, 20)[once], drawn)


@pytest.mark.parametrize("score", SCORES)
def test_scores_where_every_row_is_a_center(score):
    X = np.repeat([[0.0], [1], [5]], [6, 3, 1], axis=0)
    scores = score(Cells.around(X, np.ones(10), np.array([[0.0], [1], [5]])))
    assert np.isfinite(scores).all()
    assert (scores > 0).all()


def test_sensitivity_bounds_the_share_of_a_row_in_any_cost(rows):
    """A small and tight cluster costs little for the centers of the construction, and nearly everything for others."""
    X = np.concatenate([rows[0], np.full((2, 3), 300.0)])
    w = np.ones(len(X))
    rng = np.random.default_rng(0)
    bound = sensitivity(Cells.around_seeds(X, w, 6, rng))
    for _ in range(300):
        gaps = squares(X, X[rng.choice(len(X), 6, replace=False)]).min(axis=1)
        assert (gaps / gaps.mean() <= bound).all()
