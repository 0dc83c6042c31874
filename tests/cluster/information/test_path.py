"""Paths of regularisations against fits from scratch, and what they say of themselves."""

import numpy as np
import pytest

from modicum.cluster.information.path import climb, is_fast, sweep, until_drop
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Problem, Settings, maximize
from modicum.cluster.information.start import oversegment

GRID = np.geomspace(1e-4, 1e-1, 8)


@pytest.fixture(scope="module")
def problem():
    return blobs(5, 300)


def blobs(n_clusters, n, seed=0):
    """Rows of well separated clusters, of total variance 1."""
    rng = np.random.default_rng(seed)
    rows = 6 * rng.normal(size=(n_clusters, 4))[rng.integers(n_clusters, size=n)] + rng.normal(size=(n, 4))
    rows -= rows.mean(axis=0)
    return Problem(rows / np.sqrt((rows**2).sum(axis=1).mean()), np.full(n, 1 / n))


def path_of(problem, seed=0, **options):
    return sweep(problem, 20, 1, Prior(), np.random.default_rng(seed), **{"regularizations": GRID, **options})


def test_values_are_those_of_the_objective(problem):
    path = path_of(problem)
    for model, regularization, value in zip(path.models, path.regularizations, path.values, strict=True):
        p = np.exp(model.log_proba(problem.rows))
        sizes = p.mean(axis=0)
        expected = (p * np.log(p)).sum(axis=1).mean() - sizes @ np.log(sizes)
        assert value == pytest.approx(expected - regularization * (model.weights**2).sum(), abs=1e-5)


def test_number_of_clusters_is_that_of_populated_categories(problem):
    path = path_of(problem)
    assert [len(set(labels)) for labels in path.labels(problem.rows)] == path.n_clusters.tolist()
    assert 5 in path.n_clusters
    assert path.n_clusters[0] > 5 > path.n_clusters[-1]
    assert (np.diff(path.regularizations) > 0).all()


def test_no_worse_than_fresh_starts(problem):
    path = path_of(problem, fine=False)
    start = oversegment(problem, 20, 1, 1e-5, np.random.default_rng(0))
    fresh = [maximize(problem, Settings(regularization, Prior()), start).value for regularization in GRID]
    assert path.values.sum() >= 0.99 * sum(fresh)


def test_finer_steps_where_clusters_drop_fast(problem):
    coarse, fine = path_of(problem, fine=False), path_of(problem)
    assert coarse.regularizations == pytest.approx(GRID)
    assert set(coarse.regularizations) <= set(fine.regularizations)
    assert len(set(fine.n_clusters)) > len(set(coarse.n_clusters))


def test_a_drop_by_one_is_never_fast():
    assert not is_fast(2, 1)
    assert not is_fast(20, 16)
    assert is_fast(3, 1)
    assert is_fast(20, 14)


def test_same_seed_same_path(problem):
    one, other = path_of(problem, seed=3), path_of(problem, seed=3)
    assert one.values.tolist() == other.values.tolist()


def test_a_path_can_be_ended_where_clusters_drop(problem):
    start = oversegment(problem, 5, 5, 1e-5, np.random.default_rng(0))
    every = list(climb(problem, start, Prior(), GRID, fine=False, tol=1e-5))
    some = list(until_drop(iter(every)))
    numbers = [point.n_clusters for point in every]
    assert numbers[0] == 5 > numbers[-1]
    assert [point.n_clusters for point in some] == numbers[: len(some)]
    assert [point.n_clusters == 5 for point in some] == [True] * (len(some) - 1) + [False]
