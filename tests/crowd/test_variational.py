"""Every update against brute force, and the bound: it rises at every update, and is below the log-evidence."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from crowds import random_labels, random_posterior
from modicum.crowd.activity import expected_activities
from modicum.crowd.posterior import CrowdPosterior
from modicum.crowd.variational import Inference
from modicum.crowd.views import Views

pytestmark = pytest.mark.nojit
UPDATES = ("update_items", "update_curvature", "update_workers", "update_priors", "update_slips")


def inference(rng, model="matrix", n_dims=2, **more):
    labels = random_labels(rng, **more)
    posterior = random_posterior(rng, model, n_dims, len(labels.items), len(labels.workers))
    return labels, Inference(Views(labels), posterior, pooled=True, slips=True)


@pytest.mark.parametrize("model", ["matrix", "reliability"])
@pytest.mark.parametrize("seed", range(4))
def test_bound_rises_at_every_update(model, seed):
    rng = np.random.default_rng(seed)
    _, made = inference(rng, model, n_dims=1 + seed % 3, n_items=9, n_answers=12)
    for name in [*UPDATES, *rng.permutation(np.repeat(UPDATES, 6))]:
        before = made.bound()
        getattr(made, name)()
        made._expect_labels()  # the bound is that of what is known now
        assert made.bound() >= before - 1e-9 * abs(before), name


@pytest.mark.parametrize("model", ["matrix", "reliability"])
def test_items_and_workers_are_at_a_maximum_after_their_update(rng, model):
    """A small change of a mean or a covariance lowers the bound."""
    _, made = inference(rng, model)
    made.update_items()
    made.run(1, 1e-9)  # so that the last item was updated given all others as they are now
    p = made.posterior

    def bound_of(**changed):
        other = CrowdPosterior.__new__(CrowdPosterior)
        vars(other).update({**vars(p), **changed})
        again = Inference.__new__(Inference)
        vars(again).update({**vars(made), "_mean": made._mean.copy(), "_square": made._square.copy()})
        again.posterior = other
        again._mu = other.mean.copy()
        again._cov = other.covariance.reshape(len(other.mean), -1)
        again._P = again._cov + (other.mean[:, :, None] * other.mean[:, None]).reshape(len(other.mean), -1)
        again._log_det = np.linalg.slogdet(other.covariance)[1]
        again._expect_workers()
        again._expect_labels()
        return again.bound()

    made.update_workers()
    best = bound_of()
    for _ in range(20):
        step = 1e-3 * rng.normal(size=p.coefficient.shape)
        assert bound_of(coefficient=p.coefficient + step) <= best + 1e-9
    made.update_items()
    made._write_back([0.0])
    best, last = bound_of(), len(p.mean) - 1  # only the last item has seen all others as they are
    for _ in range(20):
        mean, covariance = p.mean.copy(), p.covariance.copy()
        mean[last] += 1e-3 * rng.normal(size=p.n_dims)
        covariance[last] *= 1 + 1e-3 * rng.normal()
        assert bound_of(mean=mean, covariance=covariance) <= best + 1e-9


def test_activities_by_view_are_those_of_single_pairs(rng):
    labels, made = inference(rng)
    mean, square = expected_activities(made.posterior, labels.first, labels.second, labels.worker)
    np.testing.assert_allclose(made._mean, mean)
    np.testing.assert_allclose(made._square, square)


def test_bound_is_below_the_log_evidence(rng):
    """Against simple Monte Carlo: with few labels, the evidence is the mean likelihood of draws from the prior."""
    labels = random_labels(rng, n_items=4, n_workers=1, n_answers=1)
    labels.label = np.sign(labels.label)
    start = CrowdPosterior("matrix", rng.normal(size=(4, 1)), 1, 0.0, pooled=False, slips=False)
    made = Inference(Views(labels), start, pooled=False, slips=False)
    made.run(200, 1e-9)
    n = 200_000
    x, c = rng.normal(size=(n, 4)), rng.normal(size=(n, 2))
    A = c[:, :1] * x[:, labels.first] * x[:, labels.second] + c[:, 1:]
    likelihood = np.log(expit(labels.label * A)).sum(axis=1)
    evidence = logsumexp(likelihood) - np.log(n)
    assert evidence - 1.5 < made.bound() < evidence


def test_slips_are_found(rng):
    """Groups 0 and 1 of the even and odd items; item 0 is once put with the odd ones."""
    n = 8
    a, b = np.triu_indices(n, 1)
    labels = random_labels(rng, n_items=n, n_workers=6, n_answers=6)
    groups = np.tile(np.arange(n) % 2, (6, 1))
    groups[3, 0] = 1
    labels.first, labels.second = (np.tile(part, 6).astype(np.int32) for part in (a, b))
    labels.worker = labels.answer = np.repeat(np.arange(6), len(a)).astype(np.int32)
    labels.label = np.where(groups[:, a] == groups[:, b], 1.0, -1.0).ravel()
    start = CrowdPosterior(
        "reliability", np.where(np.arange(n) % 2, 1.0, -1.0)[:, None], 6, 0.0, pooled=True, slips=True
    )
    made = Inference(Views(labels), start, pooled=True, slips=True)
    made.run(60, 1e-6)
    slips = (1 - made._steady).reshape(n, 6)  # views are sorted by item, then by answer
    assert slips[0, 3] > 0.99
    assert np.delete(slips.ravel(), 3).max() < 0.05


@pytest.mark.parametrize("weight", [2.0, 3.0])
def test_a_weight_counts_as_the_label_given_as_often(rng, weight):
    once, twice = random_labels(rng), random_labels(np.random.default_rng(0))
    for labels in (once, twice):
        labels.label = np.sign(labels.label)
    once.label = once.label.copy()
    once.label[4] *= weight
    repeated = np.append(np.arange(len(twice)), np.full(int(weight) - 1, 4))
    for name in ("first", "second", "worker", "label", "answer"):
        setattr(twice, name, getattr(twice, name)[repeated])
    bounds = []
    for labels in (once, twice):
        posterior = random_posterior(np.random.default_rng(1), "matrix", 2)
        made = Inference(Views(labels), posterior, pooled=True, slips=True)
        made.run(12, 1e-9)
        bounds.append(made.posterior.bounds)
    np.testing.assert_allclose(*bounds, rtol=1e-8)
