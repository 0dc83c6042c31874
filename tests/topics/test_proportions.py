"""Proportions of documents against sums over documents, and alpha against the numerical gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln

from modicum.topics.proportions import LEAST_ALPHA, PRIOR_RATE, Proportions

RARE = [1e-3, 1e-8, LEAST_ALPHA]


def some(seed, n_groups=6, n_topics=4):
    """Every other seed has groups of several documents; every third one tiny values of alpha, and empty cells."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, n_groups).astype(float) if seed % 2 else np.ones(n_groups)
    counts = rng.gamma(0.3, 30.0, (n_groups, n_topics)) * sizes[:, None]
    alpha = rng.gamma(1.0, 1.0, n_topics)
    if seed % 3 == 2:
        alpha = rng.choice([*RARE, 1.0], n_topics)
        counts[rng.random(counts.shape) < 0.4] = 0.0
    return Proportions(sizes, counts, alpha)


def log_evidence(known):
    """Document by document: all of a group have its mean counts."""
    total = -PRIOR_RATE * known.alpha.sum()
    for size, counts in zip(known.sizes, known.counts, strict=True):
        for _ in range(int(size)):
            total += gammaln(known.alpha.sum()) - gammaln(known.alpha.sum() + counts.sum() / size)
            for a, n in zip(known.alpha, counts / size, strict=True):
                total += gammaln(a + n) - gammaln(a)
    return total


SHAPES = [(6, 4), (1, 4), (6, 1), (1, 1)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", SHAPES)
def test_log_evidence_by_document(seed, shape):
    known = some(seed, *shape)
    assert_allclose(known.log_evidence, log_evidence(known), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_terms_of_topics(seed):
    """Those of all topics are all terms that are not of groups; those of one do not depend on the others."""
    known = some(seed)
    total, lengths = known.alpha.sum(), known.means.sum(axis=1)
    of_groups = known.sizes @ (gammaln(total) - gammaln(total + lengths)) - PRIOR_RATE * total
    terms = known.log_evidence_of(known.counts, known.alpha)
    assert_allclose(terms.sum() + of_groups, known.log_evidence, rtol=1e-12)
    assert_allclose(known.log_evidence_of(known.counts[:, [2]], known.alpha[[2]]), terms[[2]])


@pytest.mark.parametrize("shape", SHAPES)
def test_fitting_alpha_never_lowers_the_evidence(shape):
    for seed in range(30):
        known = some(seed, *shape)
        for _ in range(30):
            after = known.fitted()
            assert after.log_evidence >= known.log_evidence - 1e-12 * abs(known.log_evidence) - 1e-9
            known = after


def gradient(known):
    """Of the evidence in log alpha, numerically."""
    out = np.empty(len(known.alpha))
    for k in range(len(out)):
        up, down = (
            Proportions(known.sizes, known.counts, known.alpha * np.exp(step * (np.arange(len(out)) == k)))
            for step in (1e-4, -1e-4)
        )
        out[k] = (up.log_evidence - down.log_evidence) / 2e-4
    return out


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 6, 7])
@pytest.mark.parametrize("shape", [(6, 4), (6, 2), (30, 3)])
def test_fitting_alpha_ends_at_a_stationary_point(seed, shape):
    known = some(seed, *shape)
    start = np.abs(gradient(known)).max()
    for _ in range(5000):
        known = known.fitted()
    assert np.abs(gradient(known)).max() < 1e-3 < start


def test_a_topic_that_no_document_has_keeps_a_positive_alpha():
    known = Proportions(np.ones(2), np.array([[3.0, 0.0], [2.0, 0.0]]), np.ones(2))
    for _ in range(50):
        known = known.fitted()
    assert known.alpha[1] == LEAST_ALPHA
    assert np.isfinite(known.log_evidence)


def test_expected_proportions():
    """Those of a Dirichlet distribution, from samples; the logs up to a constant for each group."""
    known = some(1, n_groups=3)
    rng = np.random.default_rng(0)
    for s in range(3):
        drawn = rng.dirichlet(known.alpha + known.counts[s] / known.sizes[s], 100_000)
        assert_allclose(known.expected[s], drawn.mean(axis=0), atol=0.005)
    logs = known.expected_logs - digamma((known.means + known.alpha).sum(axis=1, keepdims=True))
    big = known.means + known.alpha > 1
    drawn = [np.log(rng.dirichlet(row, 100_000)).mean(axis=0) for row in known.means + known.alpha]
    assert_allclose(logs[big], np.array(drawn)[big], atol=0.02)
