"""Expectations of activities against simulation, and against the printed formulas as they are corrected."""

import numpy as np
import pytest
from scipy.special import expit

from crowds import random_covariances, random_posterior
from modicum.crowd.activity import expected_activities, probability, second_moments, worker_moments
from modicum.crowd.worker_models import basis

pytestmark = pytest.mark.nojit


def drawn_workers(rng, posterior, j, count):
    """Draws of W_j and tau_j from q."""
    draws = rng.multivariate_normal(posterior.coefficient[j], posterior.coefficient_covariance[j], count)
    return np.tensordot(draws[:, :-1], posterior.basis, 1), draws[:, -1]


@pytest.mark.parametrize("model", ["matrix", "reliability"])
def test_moments_of_activities_are_those_of_draws(rng, model):
    posterior = random_posterior(rng, model, 2)
    a, b, j, count = 1, 4, 2, 400_000
    W, tau = drawn_workers(rng, posterior, j, count)
    x, y = (rng.multivariate_normal(posterior.mean[i], posterior.covariance[i], count) for i in (a, b))
    A = np.einsum("nd,nde,ne->n", x, W, y) + tau
    mean, square = expected_activities(posterior, *(np.array([i]) for i in (a, b, j)))
    # six standard errors: false alarms in one of 500 million runs
    assert abs(mean[0] - A.mean()) < 6 * A.std() / np.sqrt(count)
    assert abs(square[0] - (A**2).mean()) < 6 * (A**2).std() / np.sqrt(count)


def test_moments_of_matrices_are_those_of_draws(rng):
    posterior = random_posterior(rng, "matrix", 3)
    W, tau = drawn_workers(rng, posterior, 1, 200_000)
    S = random_covariances(rng, 1, 3)[0]
    M, G, T, mean, square = (moment[1] for moment in worker_moments(posterior))
    for found, draws in (
        (M, W),
        (G, tau[:, None, None] * W),
        (T @ S.ravel(), W @ S @ W),
        (mean, tau),
        (square, tau**2),
    ):
        error = draws.std(axis=0) / np.sqrt(len(draws))
        assert (np.abs(np.reshape(found, error.shape) - draws.mean(axis=0)) < 6 * error).all()


def test_independent_entries_give_the_corrected_formulas(rng):
    """E[W P W] and E[A^2] of eqs. 7.7.1 and 7.7.3, with the terms they lack as printed."""
    D = 3
    posterior = random_posterior(rng, "matrix", D)
    variance = rng.uniform(0.1, 1, posterior.coefficient.shape)
    posterior.coefficient_covariance = variance[:, :, None] * np.eye(variance.shape[1])
    posterior.covariance = random_covariances(rng, len(posterior.mean), D) * np.eye(D)
    j, a, b = 1, 0, 5
    M = np.tensordot(posterior.coefficient[j, :-1], posterior.basis, 1)
    S = np.tensordot(variance[j, :-1], posterior.basis, 1)
    P, Q = (second_moments(posterior.mean, posterior.covariance)[i].reshape(D, D) for i in (a, b))
    own = worker_moments(posterior)
    printed = M @ P @ M + np.diag(S @ np.diag(P)) + P * S * (1 - np.eye(D))
    np.testing.assert_allclose((own.T[j] @ P.ravel()).reshape(D, D), printed)
    E = P * Q * S
    mu, tau, tau_variance = posterior.mean, posterior.coefficient[j, -1], variance[j, -1]
    square = np.trace(Q @ M @ P @ M) + np.diag(P) @ S @ np.diag(Q) + E.sum() - np.trace(E)
    square += 2 * tau * (mu[a] @ M @ mu[b]) + tau**2 + tau_variance
    found = expected_activities(posterior, *(np.array([i]) for i in (a, b, j)))
    np.testing.assert_allclose(found[1], [square])


def test_probability_is_near_the_expectation_of_the_logistic_function(rng):
    for mean, deviation in ((0.0, 2.0), (1.0, 0.5), (-2.0, 1.5), (3.0, 0.0)):
        draws = expit(rng.normal(mean, deviation, 100_000))
        found = probability(np.array(mean), np.array(mean**2 + deviation**2))
        assert abs(found - draws.mean()) < 0.015  # the error of the approximation


def test_a_basis_has_all_symmetric_matrices():
    B = basis("matrix", 3)
    assert B.shape == (6, 3, 3)
    assert (B.transpose(0, 2, 1) == B).all()
    assert np.linalg.matrix_rank(B.reshape(6, 9)) == 6
    np.testing.assert_array_equal(B[:3].sum(axis=0), np.eye(3))  # those on the diagonal are first
