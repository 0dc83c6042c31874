"""Answers of mixtures: laws of probability, and an integral over all rows there may be."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate
from scipy.special import logsumexp

from modicum import DirichletProcessMixture, MemoryBoundedMixture
from modicum.families import Multinomial

MIXTURES = [DirichletProcessMixture, MemoryBoundedMixture]


@pytest.fixture(params=MIXTURES, ids=["batch", "stream"])
def mixture(request):
    return request.param


def test_probabilities(mixture, name, rows):
    X, new = rows(name, 120), rows(name, 30, seed=1)
    model = mixture(name).fit(X)
    k = model.n_components_
    assert_allclose(model.weights_.sum(), 1)
    assert (model.weights_ > 0).all()
    assert model.weights_.shape == (k,)
    assert model.means_.shape == (k, 3)
    shares = model.predict_proba(new)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(model.predict(new), shares.argmax(axis=1))
    assert ((model.novelty(new) >= 0) & (model.novelty(new) <= 1)).all()
    assert_allclose(model.score(new), model.score_samples(new).mean())
    weight = np.arange(30.0)
    assert_allclose(model.score(new, sample_weight=weight), np.average(model.score_samples(new), weights=weight))


def test_the_joint_of_components_and_the_unseen(mixture, name, rows):
    """score_samples, predict_proba and novelty are three views of it."""
    X, new = rows(name, 120), rows(name, 30, seed=1)
    model = mixture(name).fit(X)
    joint = model._mixture().log_joint(new)
    assert_allclose(model.score_samples(new), logsumexp(joint, axis=1))
    assert_allclose(model.novelty(new), np.exp(joint[:, -1] - logsumexp(joint, axis=1)))
    known = joint[:, :-1] - logsumexp(joint[:, :-1], axis=1, keepdims=True)
    assert_allclose(model.predict_proba(new), np.exp(known), atol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
def test_densities_integrate_to_one(mixture, kind):
    rng = np.random.default_rng(0)
    model = mixture(kind).fit(rng.choice([0.0, 10.0], (80, 1)) + rng.normal(size=(80, 1)))
    assert model.n_components_ == 2
    grid = np.sinh(np.linspace(-14, 14, 20_001))  # Student's tails are long
    density = np.exp(model.score_samples(grid[:, None]))
    assert_allclose(integrate.trapezoid(density, grid), 1, atol=2e-3)
    at_means = np.exp(model.plug_in_score_samples(grid[:, None]))
    assert_allclose(integrate.trapezoid(at_means, grid), 1, atol=2e-3)
    assert not np.allclose(density, at_means, rtol=1e-3)


def test_words_in_all_orders_have_a_probability_of_one(mixture, rows):
    X = rows("multinomial", 60)
    model = mixture(Multinomial(0.5)).fit(X)
    words = np.array([np.bincount(text, minlength=3) for text in itertools.product(range(3), repeat=5)])
    for scores in (model.score_samples(words), model.plug_in_score_samples(words)):
        assert_allclose(np.exp(scores).sum(), 1)


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
def test_what_is_far_away_is_new(mixture, kind, rows):
    X = rows(kind, 200)
    model = mixture(kind).fit(X)
    assert (model.novelty(X + 500) > 0.9).all()
    assert np.median(model.novelty(X)) < 0.1
    assert (model.score_samples(X + 500) < model.score_samples(X)).all()


def test_covariances(mixture, rows):
    full, diagonal = (mixture(kind).fit(rows(kind, 100)) for kind in ("gaussian", "diagonal"))
    assert full.covariances_.shape == (full.n_components_, 3, 3)
    assert diagonal.covariances_.shape == (diagonal.n_components_, 3)
    assert (np.linalg.eigvalsh(full.covariances_) > 0).all()
    with pytest.raises(AttributeError, match="no covariances"):
        _ = mixture("multinomial").fit(rows("multinomial", 50)).covariances_
