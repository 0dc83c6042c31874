"""Cells by brute force, laws by their formulas, and what systematic draws promise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from modicum.coreset.cells import Cells
from modicum.coreset.laws import lightweight, mixture, sensitivity, uniform
from modicum.coreset.systematic import inclusion, systematic

pytestmark = pytest.mark.nojit

LAWS = [sensitivity, mixture, lightweight, uniform]


@pytest.fixture
def rows():
    """Clusters of different size and spread, with weights."""
    rng = np.random.default_rng(0)
    sizes, spread = [150, 60, 30, 9, 1], [1.0, 3.0, 0.1, 0.5, 0.0]
    X = np.concatenate(
        [8 * rng.normal(size=3) + s * rng.normal(size=(n, 3)) for n, s in zip(sizes, spread, strict=True)]
    )
    return X, rng.uniform(0.2, 3, len(X))


def squares(X, centers):
    return cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")


# ---- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "offset", "rtol"), [(np.float64, 0, 1e-10), (np.float64, 1e6, 1e-6), (np.float32, 0, 1e-10)]
)
def test_weight_cost_mean_and_scatter_of_each_cell(rows, dtype, offset, rtol):
    X, w = (rows[0] + offset).astype(dtype), rows[1]
    centers = X[::40]
    cells = Cells.around(X, w, centers)
    labels = squares(X, centers).argmin(axis=1)
    assert_array_equal(cells.labels, labels)
    for cell in range(len(centers)):
        own, share = X[labels == cell].astype(np.float64), w[labels == cell]
        mean = np.average(own, axis=0, weights=share)
        assert_allclose(cells.weights[cell], share.sum(), rtol=1e-12)
        assert_allclose(cells.costs[cell], share @ squares(own, centers[cell, None])[:, 0], rtol=rtol)
        assert_allclose(centers[cell] + cells.offsets[cell], mean, rtol=1e-12, atol=1e-12)
        assert_allclose(cells.scatters[cell], share @ squares(own, mean[None])[:, 0], rtol=rtol, atol=1e-20)


@pytest.mark.parametrize("count", [1, 4, 25])
def test_cells_around_seeds(rows, count):
    X, w = rows
    for seed in range(5):
        cells = Cells.around_seeds(X, w, count, np.random.default_rng(seed))
        assert len(cells.centers) == count + math.ceil(count / 10)
        assert (cells.weights > 0).all()
        assert_array_equal(squares(cells.centers, X).min(axis=1), 0)
        assert_array_equal(cells.labels, squares(X, cells.centers).argmin(axis=1))
        assert_allclose(cells.gaps, squares(X, cells.centers).min(axis=1), rtol=1e-12)


def test_seeds_of_a_sample_do_not_miss_what_is_rare():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    X[700] = 1e5
    for seed in range(10):  # seeds are drawn from 200 rows, and 1 of all of them
        cells = Cells.around_seeds(X, np.ones(1500), 2, np.random.default_rng(seed))
        assert (cells.centers == 1e5).all(axis=1).any()


def test_seeds_of_a_sample_are_drawn_by_weight():
    X = np.random.default_rng(0).normal(size=(500, 2))
    w = np.ones(500)
    w[123] = 1e6
    for seed in range(10):
        assert_array_equal(Cells.around_seeds(X, w, 1, np.random.default_rng(seed)).centers[0], X[123])


def test_few_different_rows_make_few_cells():
    X = np.repeat([[0.0, 1], [2, 3]], 40, axis=0)
    cells = Cells.around_seeds(X, np.ones(80), 10, np.random.default_rng(0))
    assert_array_equal(np.sort(cells.centers[:, 0]), [0, 2])
    assert_array_equal(cells.weights, [40, 40])
    assert_array_equal(cells.scatters, [0, 0])


def test_one_cell(rows):
    X, w = rows
    cells = Cells.around_mean(X, w)
    assert_allclose(cells.centers, np.average(X, axis=0, weights=w)[None])
    assert_allclose(cells.gaps, squares(X, cells.centers)[:, 0])
    assert_array_equal(Cells.undivided(X, w).labels, 0)
    assert Cells.around_mean(X.astype(np.float32), w).centers.dtype == np.float32


def test_rows_of_cells_left_out_go_to_the_nearest_that_remain(rows):
    X, w = rows
    cells = Cells.around(X, w, X[::40])
    fewer = cells.only(np.array([0, 2, 5]))
    assert_array_equal(fewer.labels, squares(X, X[::40][[0, 2, 5]]).argmin(axis=1))
    assert_allclose(fewer.weights.sum(), w.sum())
    assert cells.only(np.arange(len(cells.centers))) is cells


# ---- laws ----------------------------------------------------------------------------------------


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
    law = w * lightweight(Cells.around_mean(X, w))
    assert_allclose(law / law.sum(), w * (0.5 / w.sum() + 0.5 * d2 / (w @ d2)))


def test_uniform_draws_by_weight_alone(rows):
    assert_array_equal(uniform(Cells.undivided(*rows)), 1)


@pytest.mark.parametrize("law", LAWS)
def test_a_weight_is_a_row_given_several_times(rows, law):
    X = rows[0]
    times = np.random.default_rng(1).integers(1, 5, len(X))
    once, repeated = np.arange(len(X)), np.repeat(np.arange(len(X)), times)
    scores = law(Cells.around(X, times.astype(float), X[::40]))
    of_repeated = law(Cells.around(X[repeated], np.ones(len(repeated)), X[::40]))
    assert_allclose(scores[repeated], of_repeated)
    drawn = np.bincount(repeated, inclusion(of_repeated, 20))
    assert_allclose(inclusion(times * scores, 20)[once], drawn)


@pytest.mark.parametrize("law", LAWS)
def test_scores_where_every_row_is_a_center(law):
    X = np.repeat([[0.0], [1], [5]], [6, 3, 1], axis=0)
    scores = law(Cells.around(X, np.ones(10), np.array([[0.0], [1], [5]])))
    assert np.isfinite(scores).all()
    assert (scores > 0).all()


def test_sensitivity_bounds_the_part_of_any_cost_that_a_row_has(rows):
    """A cluster that is small and tight is nothing to centers of the construction, and all to others."""
    X = np.concatenate([rows[0], np.full((2, 3), 300.0)])
    w = np.ones(len(X))
    rng = np.random.default_rng(0)
    bound = sensitivity(Cells.around_seeds(X, w, 6, rng))
    for _ in range(300):
        gaps = squares(X, X[rng.choice(len(X), 6, replace=False)]).min(axis=1)
        assert (gaps / gaps.mean() <= bound).all()


# ---- systematic draws ----------------------------------------------------------------------------

masses = st.lists(st.floats(1e-6, 1e6) | st.just(0.0), min_size=1, max_size=40).filter(any).map(np.array)


@given(masses, st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_probabilities_sum_to_the_size_in_proportion_to_the_mass(mass, size):
    chances = inclusion(mass, size)
    assert_allclose(chances.sum(), min(size, np.count_nonzero(mass)), rtol=1e-9)
    assert chances.max() <= 1
    assert_array_equal(chances[mass == 0], 0)
    free = (chances > 0) & (chances < 1)
    if free.any():
        shares = chances[free] / mass[free]
        assert_allclose(shares, shares[0], rtol=1e-9)
        assert (mass[chances == 1] * shares[0] >= 1 - 1e-9).all()


@given(masses, st.integers(1, 50), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_every_run_of_neighbors_has_its_share_give_or_take_one(mass, size, seed):
    hit, chances = systematic(mass, size, np.random.default_rng(seed))
    expected = inclusion(mass, size)
    assert_array_equal(chances, expected[hit])
    assert (np.diff(hit) > 0).all()
    assert len(hit) == min(size, np.count_nonzero(mass))
    counts = np.isin(np.arange(len(mass)), hit) - expected
    ahead = np.concatenate([[0.0], np.cumsum(counts)])  # a run's surplus is the difference of two of these
    assert ahead.max() - ahead.min() < 1 + 1e-9


def test_every_item_is_drawn_with_its_probability():
    mass = np.array([5.0, 0.3, 0, 1, 1, 0.01, 40, 2, 0.7, 0])
    chances, drawn = inclusion(mass, 4), np.zeros(10)
    rng = np.random.default_rng(0)
    for _ in range(8000):
        drawn[systematic(mass, 4, rng)[0]] += 1
    error = 5 * np.sqrt(8000 * chances * (1 - chances))  # false alarms: fewer than one in 100,000
    assert (np.abs(drawn - 8000 * chances) <= error + 1e-6).all()
    assert drawn[6] == 8000
    assert drawn[2] == drawn[9] == 0


def test_a_start_at_zero_draws_no_item_without_mass():
    class Zero:
        def random(self):
            return 0.0

    assert_array_equal(systematic(np.array([0.0, 1, 1, 0, 1]), 3, Zero())[0], [1, 2, 4])


def test_all_items_when_there_are_no_more():
    hit, chances = systematic(np.array([3.0, 0, 1e-9, 2]), 7, np.random.default_rng(0))
    assert_array_equal(hit, [0, 2, 3])
    assert_array_equal(chances, 1)
