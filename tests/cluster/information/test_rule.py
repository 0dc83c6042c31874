"""The choice of the regularisation: clusters that are there, none that are not, and rows of every kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from modicum.cluster.information import rule
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.rule import KNOWN_GRID, Source, agreement, choose, choose_known, gaussian
from modicum.cluster.information.solve import Problem


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    monkeypatch.setattr(rule, "SPLITS", 1)
    monkeypatch.setattr(rule, "SAMPLE", 200)


def problem_of(rows):
    """Rows, centered, with total variance 1 where they differ."""
    rows = rows - rows.mean(axis=0)
    return Problem(rows / (np.sqrt((rows**2).sum(axis=1).mean()) or 1.0), np.full(len(rows), 1 / len(rows)))


def blobs(n_clusters, n, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=n)
    rows = 4 * rng.normal(size=(n_clusters, 6))[truth] + rng.normal(size=(n, 6))
    return problem_of(rows), truth


def choice_of(problem, max_clusters=12, seed=0):
    return choose(problem, max_clusters, 1, Prior(), np.random.default_rng(seed))


@pytest.mark.parametrize("n_clusters", [2, 6])
def test_finds_separated_clusters(n_clusters):
    problem, truth = blobs(n_clusters, 300)
    choice = choice_of(problem)
    assert choice.score[choice.at] >= rule.SURE_SCORE
    assert choice.n_clusters == n_clusters
    assert adjusted_rand_score(truth, choice.model.labels(problem.rows)) > 0.9


def test_arrays_run_along_the_path():
    problem = blobs(3, 60)[0]
    choice = choice_of(problem)
    assert choice.score.tolist() == choice_of(problem).score.tolist()  # same seed, same choice
    assert len(choice.path) == len(choice.stability) == len(choice.null) == len(choice.score)
    assert choice.at == choice.score.argmax()


def test_a_gaussian_has_few_clusters():
    choice = choice_of(problem_of(np.random.default_rng(0).normal(size=(200, 8))), 30)
    assert choice.n_clusters <= 5
    assert choice.score[choice.at] < rule.SURE_SCORE


@pytest.mark.parametrize(
    "rows",
    [
        *(np.random.default_rng(n).normal(size=(n, 2)) for n in (1, 2, 3, 5, 7)),
        np.zeros((1, 3)),
        np.zeros((60, 3)),
        np.repeat(np.eye(3), 20, axis=0),
        np.random.default_rng(0).normal(size=(60, 1)),
        np.random.default_rng(0).standard_cauchy(size=(80, 3)),
        np.random.default_rng(0).normal(size=(30, 90)),
    ],
    ids=["1", "2", "3", "5", "7", "zero", "constant", "duplicates", "one column", "outliers", "wide"],
)
def test_rows_of_every_kind(rows):
    choice = choice_of(problem_of(rows.astype(np.float32)))
    assert np.isfinite(choice.score).all()
    assert 1 <= choice.n_clusters <= min(12, len(rows))


def test_sparse_rows():
    problem = blobs(3, 90)[0]
    thin = Problem(sp.csr_array(problem.rows), problem.shares)
    np.testing.assert_allclose(choice_of(thin).stability, choice_of(problem).stability, atol=0.05)


def test_agreement_is_the_mean_of_two_scores():
    rng = np.random.default_rng(0)
    for a, b in rng.integers(5, size=(20, 2, 50)):
        b[:30] = a[:30]
        expected = (adjusted_rand_score(a, b) + normalized_mutual_info_score(a, b)) / 2
        assert agreement(a, b) == pytest.approx(expected)
    assert agreement(a, np.zeros(50, int)) == 0.0
    assert agreement(np.zeros(50, int), np.zeros(50, int)) == 0.0


def test_null_has_the_mean_and_the_covariance():
    rows = np.random.default_rng(0).exponential(size=(3000, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    drawn = gaussian(rows, np.full(3000, 1 / 3000), np.random.default_rng(1))
    assert drawn.mean(axis=0) == pytest.approx(rows.mean(axis=0), abs=0.15)
    assert np.cov(drawn.T) == pytest.approx(np.cov(rows.T), abs=0.5)


def test_null_of_fewer_rows_than_columns_lies_in_their_span():
    rows = np.random.default_rng(0).normal(size=(4, 30))
    drawn = np.concatenate([gaussian(rows, np.full(4, 1 / 4), np.random.default_rng(seed)) for seed in range(500)])
    span = rows - rows.mean(axis=0)
    assert np.linalg.matrix_rank(np.concatenate([span, drawn - rows.mean(axis=0)]), 1e-6) == 3
    np.testing.assert_allclose(np.cov(drawn.T), span.T @ span / 4, atol=0.25)


def test_known_number_is_kept():
    problem, truth = blobs(6, 300)
    choice = choose_known(problem, 6, 5, Prior(), np.random.default_rng(0))
    assert choice.n_clusters == 6
    assert adjusted_rand_score(truth, choice.model.labels(problem.rows)) > 0.9
    keeps = choice.path.regularizations[choice.path.n_clusters == 6]
    assert keeps.max() == pytest.approx(10**0.5 * choice.regularization)


def test_many_known_clusters_need_a_weak_regularisation():
    problem, truth = blobs(40, 2000)
    choice = choose_known(problem, 40, 5, Prior(), np.random.default_rng(0))
    assert choice.path.regularizations[0] == KNOWN_GRID[0]
    assert choice.n_clusters >= 38
    assert adjusted_rand_score(truth, choice.model.labels(problem.rows)) > 0.8


def test_known_number_of_too_few_rows():
    assert choose_known(problem_of(np.eye(3)), 5, 1, Prior(), np.random.default_rng(0)).n_clusters <= 3


def test_learned_features_are_learned_from_each_half():
    problem = blobs(3, 60)[0]
    seen = []

    def learn(rows, shares):
        assert shares.sum() == pytest.approx(1.0)
        seen.append(len(rows))
        return lambda some: some

    choice = choose(problem, 12, 1, Prior(), np.random.default_rng(0), source=Source(problem.rows, learn))
    assert seen == [30] * 4  # two halves of the rows, and two of the null
    np.testing.assert_allclose(choice.stability, choice_of(problem).stability, atol=1e-6)
