"""Both Gaussian families: their priors, from rows or given, and numerical integration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from families.cases import GAUSSIANS, GIVEN, D, bound, families, group, groups, rows
from modicum.families import DiagonalGaussian, FullGaussian, as_family


@pytest.mark.parametrize("family", [FullGaussian, DiagonalGaussian])
def test_a_variance_for_all_columns_or_one_for_each(family):
    X = rows("gaussian")
    one, each = bound(family(0.0, 2.0), X), bound(family(np.zeros(D), np.full(D, 2.0)), X)
    assert_allclose(one.log_evidence(*group(one, X)), each.log_evidence(*group(each, X)))
    if family is FullGaussian:
        whole = bound(family(0.0, 2.0 * np.eye(D)), X)
        assert_allclose(one.log_evidence(*group(one, X)), whole.log_evidence(*group(whole, X)))


@pytest.mark.parametrize("name", GAUSSIANS)
def test_the_prior_expects_the_given_covariance(name):
    family = bound(GIVEN[name], rows(name))
    nothing = np.zeros(1), np.zeros((1, family.n_statistics))
    assert_allclose(family.covariances(*nothing)[0], GIVEN[name].covariance)
    assert_allclose(family.means(*nothing)[0], GIVEN[name].mean)


def test_evidence_of_weighted_rows_by_integration_over_a_gaussian():
    x, weight = np.array([0.3, 1.1, -0.7]), np.array([0.5, 1.7, 0.2])
    for make in (FullGaussian, DiagonalGaussian):
        family = bound(make(0.2, 1.5, mean_weight=0.6, degrees=3.5), x[:, None])
        prior = stats.gamma(3.5 / 2, scale=2 / (3.5 * 1.5))

        mean, precision = np.linspace(-15, 15, 601)[:, None], np.exp(np.linspace(-7, 4, 221))
        density = stats.norm(0.2, (0.6 * precision) ** -0.5).pdf(mean) * prior.pdf(precision)
        for one, times in zip(x, weight, strict=True):
            density = density * stats.norm(mean, precision**-0.5).pdf(one) ** times
        total = integrate.trapezoid(integrate.trapezoid(density, mean, axis=0), precision)
        assert_allclose(family.log_evidence(*group(family, x[:, None], weight))[0], np.log(total), atol=1e-3)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_centers_are_mean_rows(name):
    X = rows(name)
    for family in families(name):
        assert_allclose(family.centers(family.statistics(X)), X)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_the_default_prior_moves_with_the_rows(name):
    """Predictions are those of the unscaled rows, up to the change of units."""
    X, new, scale, shift = rows(name, 30), rows(name, 5, seed=1), 7.0, 100.0
    plain, moved = bound(as_family(name), X), bound(as_family(name), scale * X + shift)
    for _ in range(3):
        plain, moved = plain.fitted(*group(plain, X)), moved.fitted(*group(moved, scale * X + shift))
    of_plain = plain.log_predictive(new, *group(plain, X))
    of_moved = moved.log_predictive(scale * new + shift, *group(moved, scale * X + shift))
    assert_allclose(of_moved, of_plain - D * np.log(scale), rtol=1e-8)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_a_fitted_prior_is_a_maximum(name):
    """No other variance of a column is more likely."""
    family = bound(as_family(name), rows(name, 30))
    counts, sums = groups(family)
    for _ in range(500):
        family = family.fitted(counts, sums)
    best = family.log_evidence(counts, sums).sum()
    for column in range(D):
        for factor in (0.98, 1.02):
            variances = np.diag(family.covariance).copy() if name == "gaussian" else family.covariance.copy()
            variances[column] *= factor
            other = bound(type(family)(family.mean, variances), rows(name, 30))
            assert other.log_evidence(counts, sums).sum() < best


@pytest.mark.parametrize("name", GAUSSIANS)
@pytest.mark.parametrize(
    "X",
    [
        np.full((6, 2), 0.1),
        np.zeros((6, 2)),
        np.ones((1, 2)),
        np.stack([np.arange(6.0), np.full(6, 0.1)], axis=1),
        1e-130 * np.arange(12.0).reshape(6, 2),
        1e130 * np.arange(12.0).reshape(6, 2),
        1e12 + np.arange(12.0).reshape(6, 2),
    ],
    ids=["equal", "zero", "one row", "a constant column", "tiny", "huge", "far"],
)
def test_any_rows_make_a_prior(name, X):
    family = bound(as_family(name), X)
    for _ in range(20):
        family = family.fitted(*group(family, X))
    assert np.isfinite(family.log_evidence(*group(family, X))).all()
    assert np.isfinite(family.log_predictive(X, *group(family, X))).all()


@pytest.mark.parametrize("name", GAUSSIANS)
@pytest.mark.parametrize("distance", [1e4, 1e8, 1e12])
def test_rows_far_from_the_prior_have_finite_densities(name, distance):
    near = rows(name)
    family = bound(as_family(name), near)
    for X in (near + distance, np.concatenate([near, near + distance])):
        known = group(family, X)
        slopes, offsets = family.expected_log_likelihood(*known)
        for values in (family.log_evidence(*known), family.log_predictive(X, *known), slopes, offsets):
            assert np.isfinite(values).all()
        assert (family.log_predictive(X[-1:], *known) > family.log_predictive(X[-1:] + distance, *known)).all()
