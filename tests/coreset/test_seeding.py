"""k-means++ against the distribution that it draws from, and a plain form of it without blocks and pruning."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import chisquare

from modicum.coreset.seeding import add_seeds, kmeans_plusplus, seed_rows

pytestmark = pytest.mark.nojit

FALSE_ALARM = 1e-6  # p-value below which a law counts as broken
ROWS = np.array([[0.0, 0], [1, 0], [0, 2], [5, 5], [6, 5], [-3, 1]])
WEIGHT = np.array([1.0, 3, 0, 0.5, 2, 1.5])


class Given:
    """A generator whose uniform numbers are known."""

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)

    def random(self, shape):
        return np.broadcast_to(self.numbers, shape).copy()


def squares(X, centers):
    return cdist(X, centers, "sqeuclidean")


def clumps(seed=0, count=700, n_clumps=9, apart=8.0):
    rng = np.random.default_rng(seed)
    return apart * rng.normal(size=(n_clumps, 3))[rng.integers(n_clumps, size=count)] + rng.normal(size=(count, 3))


def by_hand(X, weight, centers, uniforms):
    """The rows that are added to `centers`: for each, candidates by their cost, and the best of those."""
    rows = []
    for numbers in uniforms:
        chosen = np.concatenate([centers, X[rows]])
        gaps = squares(X, chosen).min(axis=1) if len(chosen) else np.ones(len(X))
        running = np.cumsum(weight * gaps)
        candidates = np.searchsorted(running, numbers * running[-1], side="right")
        left = np.minimum(gaps[:, None], squares(X, X[candidates]))
        rows.append(candidates[np.argmin(weight @ left)] if len(candidates) > 1 else candidates[0])
    return np.array(rows)


# ---- twins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [0.0, 8.0, 1000.0])
def test_pruning_changes_no_draw(apart):
    X = clumps(apart=apart)
    rng = np.random.default_rng(1)
    weight, uniforms = rng.uniform(0, 2, len(X)), rng.random((15, 1))
    rows = seed_rows(X, weight, 15, 1, Given(uniforms))
    assert_array_equal(rows, by_hand(X, weight, X[:0], uniforms))


@pytest.mark.parametrize("apart", [0.0, 8.0, 1000.0])
def test_the_best_of_several_candidates_is_taken(apart):
    X = clumps(apart=apart)
    rng = np.random.default_rng(2)
    weight, uniforms = rng.uniform(0, 2, len(X)), rng.random((8, 4))
    known = X[:2]
    gaps, labels = squares(X, known).min(axis=1), squares(X, known).argmin(axis=1).astype(np.int32)
    _, rows = add_seeds(X, weight, known, gaps, labels, 8, 4, Given(uniforms))
    assert_array_equal(rows, by_hand(X, weight, known, uniforms))


@pytest.mark.parametrize("trials", [1, 3])
def test_gaps_and_labels_are_those_of_all_centers(trials):
    X = clumps()
    known = X[:3]
    gaps, labels = squares(X, known).min(axis=1), squares(X, known).argmin(axis=1).astype(np.int32)
    centers, rows = add_seeds(X, np.ones(len(X)), known, gaps, labels, 12, trials, np.random.default_rng(0))
    assert_array_equal(centers, np.concatenate([known, X[rows]]))
    assert_allclose(gaps, squares(X, centers).min(axis=1), rtol=1e-12)
    assert_array_equal(labels, squares(X, centers).argmin(axis=1))


def test_single_precision_draws_the_rows_that_double_precision_draws():
    X = clumps().astype(np.float32)
    for seed in range(5):
        rows = [kmeans_plusplus(X.astype(dtype), 10, random_state=seed)[1] for dtype in (np.float32, np.float64)]
        assert_array_equal(*rows)


@pytest.mark.parametrize("exponent", [-75, 10, 65])
def test_units_do_not_matter(exponent):
    """Squares of 2^-75 and 2^65 vanish and overflow in single precision."""
    X = clumps(count=300).astype(np.float32)
    for seed in range(10):
        rows = [kmeans_plusplus(Z, 6, random_state=seed)[1] for Z in (X, X * np.float32(2.0**exponent))]
        assert_array_equal(*rows)


# ---- laws ----------------------------------------------------------------------------------------


def test_the_first_center_is_drawn_by_weight():
    rng = np.random.default_rng(0)
    drawn = np.bincount([seed_rows(ROWS, WEIGHT, 1, 1, rng)[0] for _ in range(6000)], minlength=6)
    assert drawn[2] == 0
    present = WEIGHT > 0
    assert chisquare(drawn[present], 6000 * WEIGHT[present] / WEIGHT.sum()).pvalue > FALSE_ALARM


def test_the_second_center_is_drawn_by_weight_and_squared_distance():
    rng = np.random.default_rng(0)
    drawn = np.zeros((6, 6))
    for _ in range(8000):
        drawn[tuple(seed_rows(ROWS, WEIGHT, 2, 1, rng))] += 1
    cost = WEIGHT * squares(ROWS, ROWS)
    law = WEIGHT[:, None] / WEIGHT.sum() * cost / cost.sum(axis=1, keepdims=True)
    assert drawn[law == 0].sum() == 0
    assert chisquare(drawn[law > 0], 8000 * law[law > 0]).pvalue > FALSE_ALARM


def test_draws_at_both_ends_are_rows_that_count():
    X = np.arange(1200.0)[:, None]
    weight = np.zeros(1200)
    weight[[600, 601]] = 1.0  # whole blocks before and behind them count nothing
    assert seed_rows(X, weight, 1, 1, Given(0.0)) == [600]
    assert seed_rows(X, weight, 1, 1, Given(0.75)) == [601]
    assert seed_rows(X, weight, 1, 1, Given(1.0))[0] in (600, 601)  # rounding may bring a number just below here


def test_more_candidates_make_better_centers():
    X = clumps(count=300, n_clumps=20)
    costs = {trials: [] for trials in (1, 5)}
    for trials, found in costs.items():
        for seed in range(15):
            centers, _ = kmeans_plusplus(X, 20, trials=trials, random_state=seed)
            found.append(squares(X, centers).min(axis=1).sum())
    assert np.mean(costs[5]) < 0.8 * np.mean(costs[1])


# ---- edges ---------------------------------------------------------------------------------------


def test_fewer_distinct_rows_than_centers():
    X = np.repeat([[1.0, 2], [3, 4], [1e9, 0]], 50, axis=0)
    centers, rows = kmeans_plusplus(X, 8, random_state=0)
    assert_array_equal(np.sort(rows // 50), [0, 1, 2])
    assert_array_equal(centers, X[rows])


def test_rows_of_weight_zero_never_become_centers():
    weight = np.array([1.0, 1, 0, 0, 0, 1])
    _, rows = kmeans_plusplus(ROWS, 6, sample_weight=weight, random_state=0)
    assert_array_equal(np.sort(rows), [0, 1, 5])


def test_nothing_is_added_when_every_row_is_a_center():
    gaps, labels = np.zeros(6), np.arange(6, dtype=np.int32)
    centers, rows = add_seeds(ROWS, np.ones(6), ROWS, gaps, labels, 3, 2, np.random.default_rng(0))
    assert_array_equal(centers, ROWS)
    assert len(rows) == 0


def test_what_is_returned():
    centers, rows = kmeans_plusplus(ROWS.astype(np.float32), 3, random_state=0)
    assert (centers.dtype, centers.shape, rows.shape) == (np.float32, (3, 2), (3,))
    assert_array_equal(centers, ROWS[rows])
    again = kmeans_plusplus(ROWS.tolist(), 3, sample_weight=[1] * 6, random_state=np.random.default_rng(5))
    assert_array_equal(again[0], ROWS[again[1]])


@pytest.mark.parametrize(
    "weight", [[1.0] * 5, [1, 1, 1, -1, 1, 1], [1, 1, 1, np.nan, 1, 1], [np.inf] * 6, [0.0] * 6, np.ones((6, 1))]
)
def test_invalid_weights(weight):
    with pytest.raises(ValueError, match="sample_weight must be one finite, non-negative number per row, not all 0"):
        kmeans_plusplus(ROWS, 2, sample_weight=weight)


@pytest.mark.parametrize("numbers", [{"n_clusters": 0}, {"n_clusters": 2, "trials": 0}])
def test_invalid_numbers(numbers):
    with pytest.raises(ValueError, match="must be positive"):
        kmeans_plusplus(ROWS, **numbers)
