"""The loss of exemplar clustering, from rows on which exemplars are not evaluated."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chisquare, ttest_1samp
from sklearn.metrics import pairwise_distances

from modicum import ExemplarClustering
from modicum.cluster.held_out import n_held_out

X = np.random.default_rng(0).normal(size=(1200, 3))
K, W, CHUNK, SEEDS = 15, 80, 300, range(40)


def model(seed, **options):
    return ExemplarClustering(K, **{"n_validation": W, "random_state": seed} | options)


def learn(learner, rows, weight=None, ids=None, chunk=CHUNK):
    for start in range(0, len(rows), chunk):
        part = slice(start, start + chunk)
        own = None if weight is None else weight[part]
        learner.partial_fit(rows[part], None, own, row_ids=None if ids is None else ids[part])
    return learner


def true_loss(learner, rows=X, weight=None):
    return np.average(pairwise_distances(learner.exemplars_, rows, metric="sqeuclidean").min(axis=0), weights=weight)


def iid(seed):
    return learn(model(seed), X), X, None


def sorted_by_a_column(seed):
    rows = X[np.argsort(X[:, 0])]
    return learn(model(seed), rows), rows, None


def just_more_than_held(seed):
    return learn(model(seed), X[:150], chunk=15), X[:150], None


def weighted(seed):
    weight = np.random.default_rng(seed).exponential(size=len(X)) ** 3
    return learn(model(seed), X, weight), X, weight


def forgetting(seed):
    return learn(model(seed, half_life=300), X), X, 2.0 ** (-np.arange(len(X))[::-1] / 300)


def merged(seed):
    west, east = learn(model(seed), X[:500]), learn(model(seed + 10_000), X[500:])
    return west.merge(east), X, None


def reloaded(seed):
    half = learn(model(seed), X[:600])
    return learn(ExemplarClustering.from_bytes(half.to_bytes()), X[600:]), X, None


CASES = (iid, sorted_by_a_column, just_more_than_held, weighted, forgetting, merged, reloaded)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_loss_is_unbiased(case):
    """A two-sided t-test of the error; false alarms: one in ten thousand for each case."""
    errors, optimism = [], []
    for seed in SEEDS:
        learner, rows, weight = case(seed)
        true = true_loss(learner, rows, weight)
        errors.append(learner.loss_ / true - 1)
        optimism.append(learner._objective.loss / true - 1)
    assert ttest_1samp(errors, 0).pvalue > 1e-4
    if case is not just_more_than_held:
        assert ttest_1samp(optimism, 0).pvalue < 1e-4  # the test would see the optimism of validation rows
        assert np.mean(optimism) < -0.05


def test_every_other_row_is_held_out_equally_often():
    """A chi-squared test over stretches of the stream; false alarms: one in ten thousand."""
    held_out, others = np.zeros(4), np.zeros(4)
    for seed in SEEDS:
        learner = learn(model(seed), X)
        ids = learner._held_out.row_ids
        held_out += np.bincount(ids // CHUNK, minlength=4)
        others += CHUNK - np.bincount(learner._sample.row_ids // CHUNK, minlength=4)
        assert not np.isin(ids, learner._sample.row_ids).any()
        np.testing.assert_array_equal(X[ids], learner.held_out_rows_)
        assert len(ids) == n_held_out(W) == 20
    assert chisquare(held_out, others * held_out.sum() / others.sum()).pvalue > 1e-4


def test_exact_as_long_as_all_rows_are_held():
    learner = model(0)
    for start in range(0, W + n_held_out(W), 10):
        learner.partial_fit(X[start : start + 10])
        assert learner.loss_ == pytest.approx(true_loss(learner, X[: start + 10]))
        assert len(learner.held_out_rows_) == max(0, start + 10 - W)


def test_weights_of_held_out_rows_are_those_of_the_others():
    weight = np.random.default_rng(1).exponential(size=len(X))
    learner = learn(model(0), X, weight)
    assert learner._held_out.total_weight == pytest.approx(weight.sum() - learner._sample.weights.sum())
    other = learn(model(1), X[:700], weight[:700])
    total = weight.sum() + weight[:700].sum()
    assert learner.merge(other)._held_out.total_weight == pytest.approx(total - learner._sample.weights.sum())


def test_asking_changes_nothing():
    learner = learn(model(0), X)
    before, loss = learner.to_bytes(), learner.loss_
    assert learner.loss_ == loss == ExemplarClustering.from_bytes(before).loss_
    assert learner.to_bytes() == before


def test_sparse_rows_that_grow_are_held_out_within_a_budget():
    learner = ExemplarClustering(3, budget="40 KiB", random_state=0)
    for density in (0.01, 0.1, 0.5):
        chunk = sparse.random(300, 200, density, format="csr", random_state=0, dtype=np.float64)
        learner.partial_fit(chunk)
        assert learner.nbytes_ <= 40 * 1024
        assert len(learner.held_out_rows_.toarray()) == n_held_out(learner._sample.size)


def test_objects():
    words = [str(x) for x in np.random.default_rng(0).integers(40, size=400)]
    learner = ExemplarClustering(4, n_validation=60, dissimilarity=lambda a, b: float(a != b), random_state=0).fit(
        words
    )
    assert isinstance(learner.held_out_rows_, list)
    assert 0 < learner.loss_ < 1


def test_forged_sizes_are_refused():
    learner = learn(model(0), X)
    learner._held_out.size = 10**6
    with pytest.raises(ValueError, match="size"):
        learner.to_bytes()
