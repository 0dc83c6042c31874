"""Full Gaussians against the closed forms of scipy."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from families.cases import GIVEN, WEIGHT, D, bound, group, normal_wishart, rows


def test_full_gaussian_has_the_normal_wishart_posterior():
    X, new = rows("gaussian"), rows("gaussian", 5, seed=1)
    family = bound(GIVEN["gaussian"], X)
    known = group(family, X, WEIGHT)
    mean, total, degrees, scatter = normal_wishart(family, X, WEIGHT)
    student = stats.multivariate_t(mean, scatter * (total + 1) / (total * (degrees - D + 1)), df=degrees - D + 1)
    assert_allclose(family.log_predictive(new, *known)[:, 0], student.logpdf(new))
    assert_allclose(family.means(*known)[0], mean)
    covariance = np.linalg.inv(stats.wishart(degrees, np.linalg.inv(scatter)).mean())
    assert_allclose(family.covariances(*known)[0], covariance)
    assert_allclose(family.log_plug_in(new, *known)[:, 0], stats.multivariate_normal(mean, covariance).logpdf(new))
