"""Sweeps over documents against plain loops; the objective never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from modicum.topics.sweeps import SURE, Sweeps, frequencies

ALPHA = 0.3
ETA = np.linspace(0.05, 0.2, 300)  # of words


def some(n=150, n_words=300, n_topics=7, seed=0):
    """Documents, one of them empty, topic counts, frozen and other word counts."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.2, 1.0, (n, n_words))).astype(np.float32)
    X[3] = 0
    counts = rng.gamma(1.0, 1.0, (n, n_topics)).astype(np.float32)
    frozen, sums = rng.gamma(0.5, 2.0, (2, n_words, n_topics)).astype(np.float32)
    return csr_matrix(X), counts, frozen, sums


def plain_sweep(X, counts, phi):
    """New topic counts of documents and word counts of topics, by the definition."""
    new, sums = np.zeros(counts.shape), np.zeros(phi.shape)
    for d, w in zip(*np.nonzero(X), strict=True):
        p = (counts[d].astype(np.float64) + ALPHA) * phi[w]
        new[d] += X[d, w] * p / p.sum()
        sums[w] += X[d, w] * p / p.sum()
    return new, sums


def objective(X, counts, frozen, phi):
    theta = counts.astype(np.float64) + ALPHA
    theta /= theta.sum(axis=1, keepdims=True)
    words = (X * np.log(theta @ phi.T)).sum()
    return words + ALPHA * np.log(theta).sum() + ((frozen + ETA[:, None]) * np.log(phi)).sum()


def test_frequencies():
    sums = some()[3]
    smoothed = sums + ETA[:, None]
    assert_allclose(frequencies(sums, ETA), smoothed / smoothed.sum(axis=0), rtol=1e-5)


def test_a_sweep_is_that_of_a_plain_loop():
    X, counts, _, sums = some()
    phi = frequencies(sums, ETA)
    new, collected = plain_sweep(X.toarray(), counts, phi)
    sweeps = Sweeps(X, counts, ALPHA)
    sweeps.assign(phi)
    assert_allclose(sweeps.counts, new, rtol=1e-4, atol=1e-5)
    assert_allclose(sweeps.collect(phi), collected, rtol=1e-4, atol=1e-5)


def test_scores_are_log_likelihoods():
    X, counts, _, sums = some()
    phi = frequencies(sums, ETA)
    theta = counts.astype(np.float64) + ALPHA
    theta /= theta.sum(axis=1, keepdims=True)
    expected = (X.toarray() * np.log(theta @ phi.T)).sum(axis=1)
    assert_allclose(Sweeps(X, counts, ALPHA).scores(phi), expected, rtol=1e-5)


def test_gains_of_merges_are_differences_of_scores():
    X, counts, _, sums = some()
    phi, partners = frequencies(sums, ETA), np.array([3, 0, 1, 6, 2, 2, 5])
    together = frequencies(sums + sums[:, partners], ETA)
    sweeps, changes = Sweeps(X, counts, ALPHA), []
    for k, j in enumerate(partners):
        merged = phi.copy()
        merged[:, k] = merged[:, j] = together[:, k]
        changes.append(sweeps.scores(merged) - sweeps.scores(phi))
    expected = np.sum(changes, axis=1) - SURE * np.sqrt(np.square(changes).sum(axis=1))
    assert_allclose(sweeps.gains(phi, partners, together), expected, rtol=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_falls(seed):
    X, counts, frozen, sums = some(seed=seed)
    sweeps, dense = Sweeps(X, counts, ALPHA), X.toarray()
    sums = frozen + sums
    values = [objective(dense, counts, frozen, frequencies(sums, ETA).astype(np.float64))]
    for _ in range(20):
        phi = frequencies(sums, ETA)
        sweeps.assign(phi)
        sums = frozen + sweeps.collect(phi)
        values.append(objective(dense, counts, frozen, frequencies(sums, ETA).astype(np.float64)))
    rounding = 1e-7 * abs(values[0])
    assert np.diff(values).min() > -rounding
    assert values[-1] > values[0] + 100 * rounding


def test_threads_change_nothing():
    found = []
    for threads in (1, 2):
        X, counts, _, sums = some()
        with threadpool_limits(threads):
            sweeps, phi = Sweeps(X, counts, ALPHA), frequencies(sums, ETA)
            sweeps.assign(phi, 3)
            found.append((counts, sweeps.collect(phi), sweeps.scores(phi)))
    for one, two in zip(*found, strict=True):
        assert_array_equal(one, two)
