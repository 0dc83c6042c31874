"""Diagonal Gaussians against the closed forms of scipy, and against Gaussians of one column."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from families.cases import GIVEN, WEIGHT, D, bound, group, groups, normal_wishart, rows
from modicum.families import FullGaussian


def test_diagonal_gaussian_has_the_normal_gamma_posterior():
    X, new = rows("diagonal"), rows("diagonal", 5, seed=1)
    family = bound(GIVEN["diagonal"], X)
    known = group(family, X, WEIGHT)
    mean, total, degrees, scatter = normal_wishart(family, X, WEIGHT)
    width = np.sqrt(np.diag(scatter) * (total + 1) / (total * degrees))
    assert_allclose(family.log_predictive(new, *known)[:, 0], stats.t(degrees, mean, width).logpdf(new).sum(axis=1))
    variances = np.diag(scatter) / degrees
    assert_allclose(family.means(*known)[0], mean)
    assert_allclose(family.covariances(*known)[0], variances)
    at_means = stats.norm(mean, np.sqrt(variances)).logpdf(new).sum(axis=1)
    assert_allclose(family.log_plug_in(new, *known)[:, 0], at_means)


def test_columns_of_a_diagonal_gaussian_are_gaussians_of_one_column():
    X = rows("diagonal")
    family = bound(GIVEN["diagonal"], X)
    known = groups(family)
    columns = [
        bound(FullGaussian(m, c, mean_weight=0.4, degrees=4.5), X[:, [j]])
        for j, (m, c) in enumerate(zip(family.mean, family.covariance, strict=True))
    ]
    own = [(known[0], known[1][:, [j, D + j]]) for j in range(D)]
    both = list(enumerate(zip(columns, own, strict=True)))
    assert_allclose(family.log_evidence(*known), sum(c.log_evidence(*p) for _, (c, p) in both))
    assert_allclose(family.log_predictive(X, *known), sum(c.log_predictive(X[:, [j]], *p) for j, (c, p) in both))
    assert_allclose(family.divergence(*known), sum(c.divergence(*p) for _, (c, p) in both))
