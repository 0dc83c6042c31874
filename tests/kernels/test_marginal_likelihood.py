"""The marginal likelihood against scipy's normal density and numerical gradients; parameters that are found again."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from modicum.kernels import RBF, Hamming, Linear, Matern32, Polynomial, marginal_likelihood
from modicum.kernels.marginal_likelihood import LEAST_NOISE, fit_hyperparameters, log_likelihood


def draw(kernel, noise, X, seed=0):
    """Targets from the Gaussian process itself."""
    rng = np.random.default_rng(seed)
    S = kernel(X, X) + noise * np.eye(len(X))
    return np.linalg.cholesky(S) @ rng.normal(size=len(X))


@pytest.fixture
def rows():
    return np.random.default_rng(1).uniform(-2, 2, (30, 2))


@pytest.mark.parametrize("kernel", [1.5 * RBF([0.8, 2.0]), 0.5 * Matern32(1.0) + 0.1 * Linear(), Polynomial(scale=0.5)])
def test_value_and_gradient(kernel, rows):
    y = np.random.default_rng(0).normal(size=len(rows))

    def density(place):
        moved = kernel.with_log_params(place[:-1])
        return multivariate_normal(cov=moved(rows, rows) + np.exp(place[-1]) * np.eye(len(rows))).logpdf(y)

    place = np.append(kernel.log_params, np.log(0.2))
    value, gradient = log_likelihood(kernel, 0.2, rows, y)
    assert value == pytest.approx(density(place))
    steps = 1e-5 * np.eye(len(place))
    expected = [(density(place + step) - density(place - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_parameters_are_found_again():
    X = np.random.default_rng(1).uniform(-3, 3, (200, 2))
    y = draw(2.0 * RBF([0.7, 2.5]), 0.05, X) + 100.0  # the mean is not the kernel's to explain
    kernel, noise, value = fit_hyperparameters("rbf-ard", X, y)
    np.testing.assert_allclose(kernel.kernel.width, [0.7, 2.5], rtol=0.4)
    assert 0.7 < kernel.scale < 6.0
    assert noise == pytest.approx(0.05, rel=0.5)
    centered = y - y.mean()
    assert value == pytest.approx(log_likelihood(kernel, noise, X, centered)[0])
    assert value >= log_likelihood(2.0 * RBF([0.7, 2.5]), 0.05, X, centered)[0]


def test_a_start_on_few_rows_ends_at_the_same_place(monkeypatch):
    monkeypatch.setattr(marginal_likelihood, "FEW_ROWS", 40)
    X = np.random.default_rng(1).uniform(-3, 3, (150, 2))
    y = np.sin(2 * X[:, 0]) + np.random.default_rng(0).normal(0, 0.2, len(X))
    kernel, noise, value = fit_hyperparameters(RBF(), X, y)
    again, _, value_again = fit_hyperparameters(kernel, X, y, noise)
    assert value_again == pytest.approx(value, abs=0.1)
    np.testing.assert_allclose(again.log_params, kernel.log_params, atol=0.1)
    assert noise == pytest.approx(0.04, rel=0.5)


def test_a_given_scale_is_kept():
    X = np.random.default_rng(1).uniform(-2, 2, (50, 1))
    y = np.sin(X[:, 0])
    kernel, _, _ = fit_hyperparameters(3.0 * RBF(1.0), X, y, max_iter=1)
    assert repr(kernel).count("*") == 1
    assert repr(fit_hyperparameters(RBF(1.0) + Linear(), X, y, max_iter=1)[0]).count("*") == 1


def test_without_noise_there_is_a_floor():
    X = np.linspace(-2, 2, 40)[:, None]
    y = np.sin(X[:, 0])
    _, noise, value = fit_hyperparameters("rbf", X, y)
    assert noise >= LEAST_NOISE * y.var() * (1 - 1e-9)
    assert np.isfinite(value)


@pytest.mark.parametrize("targets", [np.zeros(20), np.full(20, 7.0), np.r_[np.zeros(19), 1e6]])
def test_odd_targets(targets):
    X = np.r_[np.zeros((10, 2)), np.ones((10, 2))]  # many rows are equal
    kernel, noise, value = fit_hyperparameters("rbf-ard", X, targets)
    assert np.isfinite(value)
    assert noise > 0
    assert np.isfinite(kernel.log_params).all()


def test_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (150, 5)).astype(float)
    y = draw(Hamming(1.0), 0.1, X)
    kernel, noise, _ = fit_hyperparameters("hamming", X, y)
    assert 0.5 < kernel.kernel.width < 2.0
    assert 0.03 < noise < 0.3


def test_bad_arguments_are_named(rows):
    with pytest.raises(ValueError, match="noise must be a number above 0, or None; got -1"):
        fit_hyperparameters("rbf", rows, np.zeros(30), -1)
    with pytest.raises(ValueError, match=r"30 rows came with targets of shape \(29,\)"):
        fit_hyperparameters("rbf", rows, np.zeros(29))
