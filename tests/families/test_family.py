"""Laws of all exponential families: evidence, expectations and divergences against Monte Carlo."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from families.cases import (
    COVARIANCE,
    GAUSSIANS,
    GIVEN,
    NAMES,
    WEIGHT,
    D,
    bound,
    draws,
    families,
    group,
    groups,
    log_likelihoods,
    rows,
)
from modicum.families import DiagonalGaussian, FullGaussian, Multinomial, as_family


@pytest.mark.parametrize("name", NAMES)
def test_evidence_is_the_product_of_successive_predictions(name):
    X = np.repeat(rows(name), [1, 2, 1, 3, 1, 1, 1, 1, 2], axis=0)
    for family in families(name):
        log_evidence = 0.0
        for at in range(len(X)):
            log_evidence += family.log_predictive(X[at : at + 1], *group(family, X[:at]))[0, 0]
        weighted = group(family, rows(name), np.array([1.0, 2, 1, 3, 1, 1, 1, 1, 2]))
        assert_allclose(family.log_evidence(*weighted)[0], log_evidence)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_group_has_an_evidence_of_one_and_no_divergence(name):
    for family in families(name):
        nothing = np.zeros(1), np.zeros((1, family.n_statistics))
        assert_allclose(family.log_evidence(*nothing), 0, atol=1e-12)
        assert_allclose(family.divergence(*nothing), 0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_expectations_are_the_gradient_of_the_evidence(name):
    for family in families(name):
        counts, sums = groups(family)
        slopes, offsets = family.expected_log_likelihood(counts, sums)
        step = 1e-5
        up, down = family.log_evidence(counts + step, sums), family.log_evidence(counts - step, sums)
        assert_allclose(offsets, (up - down) / (2 * step), rtol=1e-5, atol=1e-5)
        for at in range(family.n_statistics):
            change = np.zeros(family.n_statistics)
            change[at] = step
            up, down = family.log_evidence(counts, sums + change), family.log_evidence(counts, sums - change)
            assert_allclose(slopes[:, at], (up - down) / (2 * step), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_expected_log_likelihood_against_draws(name):
    X = rows(name)
    family = bound(GIVEN[name], X)
    slopes, offsets = family.expected_log_likelihood(*group(family, X, WEIGHT))
    drawn = draws(family, X, WEIGHT)
    for x, expected in zip(X[:4], (family.statistics(X[:4]) @ slopes.T + offsets)[:, 0], strict=True):
        found = log_likelihoods(family, drawn, x)
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(len(found))  # one alarm in a million


@pytest.mark.parametrize("name", NAMES)
def test_divergence_against_draws(name):
    """log q / p is the log-likelihood of all rows less their evidence, whatever the parameters."""
    X = rows(name)
    family = bound(GIVEN[name], X)
    known = group(family, X, WEIGHT)
    drawn = draws(family, X, WEIGHT)
    of_rows = np.sum([w * log_likelihoods(family, drawn, x) for w, x in zip(WEIGHT, X, strict=True)], axis=0)
    expected = of_rows.mean() - family.log_evidence(*known)[0]
    assert abs(family.divergence(*known)[0] - expected) < 5 * of_rows.std() / np.sqrt(len(of_rows))


@pytest.mark.parametrize("name", NAMES)
def test_divergence_is_not_negative(name):
    for family in families(name):
        for seed in range(10):
            assert (family.divergence(*groups(family, seed)) >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_sums_taken_about_another_origin(name):
    X = rows(name)
    here = bound(GIVEN[name], X)
    there = copy.copy(here)
    if name in GAUSSIANS:
        there.mean = here.mean + np.array([5.0, -3.0, 40.0])
    counts, sums = group(there, X, WEIGHT)
    assert_allclose(here.translated_from(there, counts, sums), group(here, X, WEIGHT)[1], atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_fitting_the_prior_raises_the_evidence(name):
    family = bound(as_family(name), rows(name, 30))
    counts, sums = groups(family)
    last = family.log_evidence(counts, sums).sum()
    for _ in range(30):
        family = family.fitted(counts, sums)
        now = family.log_evidence(counts, sums).sum()
        assert now >= last - 1e-9
        last = now


@pytest.mark.parametrize("name", NAMES)
def test_a_given_prior_is_not_changed(name):
    before = copy.deepcopy(vars(GIVEN[name]))
    family = bound(GIVEN[name], rows(name))
    known = groups(family)
    assert_array_equal(family.fitted(*known).log_evidence(*known), family.log_evidence(*known))
    for key, value in vars(GIVEN[name]).items():
        assert_array_equal(value, before[key])


@pytest.mark.parametrize(
    ("family", "named"),
    [
        (FullGaussian(mean=[0.0, 0.0]), "mean"),
        (FullGaussian(mean="here"), "mean"),
        (FullGaussian(covariance=-1.0), "covariance"),
        (FullGaussian(covariance=np.nan), "covariance"),
        (FullGaussian(covariance=COVARIANCE - 2 * np.eye(D)), "covariance"),
        (FullGaussian(covariance=np.eye(2)), "covariance"),
        (FullGaussian(mean_weight=0.0), "mean_weight"),
        (FullGaussian(degrees=D - 1), "degrees"),
        (DiagonalGaussian(covariance=0.0), "covariance"),
        (DiagonalGaussian(covariance=np.eye(D)), "covariance"),
        (DiagonalGaussian(mean_weight=-1.0), "mean_weight"),
        (DiagonalGaussian(degrees=0.0), "degrees"),
        (Multinomial(0.0), "pseudocounts"),
        (Multinomial([1.0, 2.0]), "pseudocounts"),
        (Multinomial(np.nan), "pseudocounts"),
    ],
)
def test_errors_name_the_invalid_parameter(family, named):
    with pytest.raises(ValueError, match=f"{type(family).__name__}: {named} must"):
        bound(family, rows(family.name))


def test_repr_has_the_given_parameters():
    assert repr(FullGaussian()) == "FullGaussian()"
    assert repr(DiagonalGaussian(covariance=2.0)) == "DiagonalGaussian(covariance=2.0)"
