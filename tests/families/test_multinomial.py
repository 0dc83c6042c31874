"""The multinomial family against closed forms of scipy and numerical integration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import digamma, gammaln

from families.cases import GIVEN, WEIGHT, bound, group, groups, rows
from modicum.exceptions import DataError
from modicum.families import Multinomial


def test_multinomial_has_the_dirichlet_posterior():
    X, new = rows("multinomial"), rows("multinomial", 5, seed=1)
    family = bound(GIVEN["multinomial"], X)
    known = group(family, X, WEIGHT)
    after = family.pseudocounts + WEIGHT @ X
    orders = gammaln(new.sum(axis=1) + 1) - gammaln(new + 1).sum(axis=1)
    expected = [stats.dirichlet_multinomial(after, int(x.sum())).logpmf(x.astype(int)) for x in new] - orders
    assert_allclose(family.log_predictive(new, *known)[:, 0], expected)
    assert_allclose(family.means(*known)[0], after / after.sum())
    assert_allclose(family.log_plug_in(new, *known)[:, 0], new @ np.log(after / after.sum()))
    with pytest.raises(AttributeError, match="no covariances"):
        family.covariances(*known)


def test_divergence_of_a_dirichlet_in_closed_form():
    family = bound(GIVEN["multinomial"], rows("multinomial"))
    counts, sums = groups(family)
    for a, found in zip(family.pseudocounts + sums, family.divergence(counts, sums), strict=True):
        assert_allclose(found, -stats.dirichlet(a).entropy() - _cross(a, family.pseudocounts))


def _cross(a, b):
    """Expected log-density of a Dirichlet(b) under a Dirichlet(a)."""
    return gammaln(b.sum()) - gammaln(b).sum() + (b - 1) @ (digamma(a) - digamma(a.sum()))


def test_evidence_of_weighted_rows_by_integration_over_frequencies():
    X, weight = np.array([[3.0, 1], [0, 2], [5, 1]]), np.array([0.5, 1.7, 0.2])
    family = bound(Multinomial([1.3, 2.1]), X)

    def density(p):
        return np.prod((p ** X[:, 0] * (1 - p) ** X[:, 1]) ** weight) * stats.beta(1.3, 2.1).pdf(p)

    assert_allclose(family.log_evidence(*group(family, X, weight))[0], np.log(integrate.quad(density, 0, 1)[0]))


def test_negative_counts_are_refused():
    with pytest.raises(DataError, match=r"Model: .*row 1, column 2 of this chunk is -3\.0"):
        Multinomial().check(np.array([[1.0, 0, 2], [0, 0, -3]]), "Model")
