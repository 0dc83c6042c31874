"""Exponential families against closed forms of scipy, Monte Carlo and numerical integration."""

import copy
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import gammaln

from modicum.exceptions import DataError
from modicum.families import DiagonalGaussian, FullGaussian, Multinomial, as_family

D = 3
NAMES = ["gaussian", "diagonal", "multinomial"]
GAUSSIANS = NAMES[:2]
COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, 0.5]])
GIVEN = {
    "gaussian": FullGaussian([1.0, -1.0, 0.5], COVARIANCE, mean_weight=0.7, degrees=6.3),
    "diagonal": DiagonalGaussian([1.0, -1.0, 0.5], [2.0, 1.0, 0.5], mean_weight=0.4, degrees=4.5),
    "multinomial": Multinomial([0.3, 1.2, 2.0]),
}


def rows(name, count=9, seed=0):
    rng = np.random.default_rng(seed)
    if name == "multinomial":
        return rng.integers(0, 6, size=(count, D)).astype(float)
    return rng.normal(size=(count, D)) * [2.0, 1.0, 0.3] + [3.0, -2.0, 0.0]


def bound(family, X):
    return family.bound(X, np.ones(len(X)))


def families(name):
    """With a prior of its own, and with the one that rows give."""
    return [bound(GIVEN[name], rows(name)), bound(as_family(name), rows(name))]


def group(family, X, weight=None):
    """Count and sum of statistics of rows, as those of one group."""
    weight = np.ones(len(X)) if weight is None else weight
    return np.array([weight.sum()]), (weight @ family.statistics(X))[None]


def groups(family, seed=0):
    """Counts and sums of three groups with weights."""
    rng = np.random.default_rng(seed)
    parts = [group(family, rows(family.name, 20, seed + i), rng.uniform(0.1, 3.0, 20)) for i in range(3)]
    return np.concatenate([counts for counts, _ in parts]), np.concatenate([sums for _, sums in parts])


def projected(family, counts, averages):
    """Along the directions of one group."""
    return family.projections(counts, averages, np.zeros(1, np.intp))


def normal_wishart(family, X, weight):
    """Mean, its weight, degrees and scatter, as textbooks write the posterior."""
    count, center = weight.sum(), np.average(X, axis=0, weights=weight)
    prior = family.covariance if family.name == "gaussian" else np.diag(family.covariance)
    total, degrees = family.mean_weight + count, family.degrees + count
    mean = (family.mean_weight * family.mean + count * center) / total
    gap = center - family.mean
    scatter = family.degrees * prior + (weight[:, None] * (X - center)).T @ (X - center)
    return mean, total, degrees, scatter + family.mean_weight * count / total * np.outer(gap, gap)


def draws(family, X, weight, count=20_000):
    """Parameters from the posterior: means and precisions, or frequencies."""
    rng = np.random.default_rng(1)
    if family.name == "multinomial":
        return rng.dirichlet(family.pseudocounts + weight @ X, size=count)
    mean, total, degrees, scatter = normal_wishart(family, X, weight)
    if family.name == "diagonal":
        precisions = rng.gamma(degrees / 2, 2 / np.diag(scatter), size=(count, D))
        return mean + rng.normal(size=(count, D)) / np.sqrt(total * precisions), precisions
    precisions = stats.wishart(degrees, np.linalg.inv(scatter)).rvs(count, random_state=2)
    roots = np.linalg.cholesky(np.linalg.inv(total * precisions))
    return mean + np.einsum("nij,nj->ni", roots, rng.normal(size=(count, D))), precisions


def log_likelihoods(family, drawn, x):
    """Of one row, under each draw."""
    if family.name == "multinomial":
        return np.log(np.maximum(drawn, 1e-300)) @ x
    means, precisions = drawn
    if family.name == "diagonal":
        return stats.norm(means, 1 / np.sqrt(precisions)).logpdf(x).sum(axis=1)
    gaps = np.einsum("ni,nij,nj->n", x - means, precisions, x - means)
    return 0.5 * (np.linalg.slogdet(precisions)[1] - D * np.log(2 * np.pi) - gaps)


WEIGHT = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 0.2, 1.0, 1.0])


# ---- closed forms --------------------------------------------------------------------------------


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


def test_columns_of_a_diagonal_gaussian_are_gaussians_of_one_column():
    X = rows("diagonal")
    family = bound(GIVEN["diagonal"], X)
    known = groups(family)
    columns = [
        bound(FullGaussian(m, c, mean_weight=0.4, degrees=4.5), X[:, [j]])
        for j, (m, c) in enumerate(zip(family.mean, family.covariance, strict=True))
    ]
    parts = [(known[0], known[1][:, [j, D + j]]) for j in range(D)]
    both = list(enumerate(zip(columns, parts, strict=True)))
    assert_allclose(family.log_evidence(*known), sum(c.log_evidence(*p) for _, (c, p) in both))
    assert_allclose(family.log_predictive(X, *known), sum(c.log_predictive(X[:, [j]], *p) for j, (c, p) in both))
    assert_allclose(family.divergence(*known), sum(c.divergence(*p) for _, (c, p) in both))


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


# ---- laws ----------------------------------------------------------------------------------------


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
def test_nothing_has_an_evidence_of_one_and_no_divergence(name):
    for family in families(name):
        nothing = np.zeros(1), np.zeros((1, family.n_statistics))
        assert_allclose(family.log_evidence(*nothing), 0, atol=1e-12)
        assert_allclose(family.divergence(*nothing), 0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_expectations_are_the_gradient_of_the_evidence(name):
    for family in families(name):
        counts, sums = groups(family)
        slopes, offsets = family.expected(counts, sums)
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
    slopes, offsets = family.expected(*group(family, X, WEIGHT))
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


def test_divergence_of_a_dirichlet_in_closed_form():
    family = bound(GIVEN["multinomial"], rows("multinomial"))
    counts, sums = groups(family)
    for a, found in zip(family.pseudocounts + sums, family.divergence(counts, sums), strict=True):
        assert_allclose(found, -stats.dirichlet(a).entropy() - _cross(a, family.pseudocounts))


def _cross(a, b):
    """What a Dirichlet(a) expects of the log-density of a Dirichlet(b)."""
    from scipy.special import digamma

    return gammaln(b.sum()) - gammaln(b).sum() + (b - 1) @ (digamma(a) - digamma(a.sum()))


@pytest.mark.parametrize("name", NAMES)
def test_divergence_is_not_negative(name):
    for family in families(name):
        for seed in range(10):
            assert (family.divergence(*groups(family, seed)) >= 0).all()


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


def test_evidence_of_weighted_rows_by_integration_over_frequencies():
    X, weight = np.array([[3.0, 1], [0, 2], [5, 1]]), np.array([0.5, 1.7, 0.2])
    family = bound(Multinomial([1.3, 2.1]), X)

    def density(p):
        return np.prod((p ** X[:, 0] * (1 - p) ** X[:, 1]) ** weight) * stats.beta(1.3, 2.1).pdf(p)

    assert_allclose(family.log_evidence(*group(family, X, weight))[0], np.log(integrate.quad(density, 0, 1)[0]))


# ---- origins, directions -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_sums_taken_about_another_origin(name):
    X = rows(name)
    here = bound(GIVEN[name], X)
    there = copy.copy(here)
    if name in GAUSSIANS:
        there.mean = here.mean + np.array([5.0, -3.0, 40.0])
    counts, sums = group(there, X, WEIGHT)
    assert_allclose(here.from_origin_of(there, counts, sums), group(here, X, WEIGHT)[1], atol=1e-9)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_centers_are_mean_rows(name):
    X = rows(name)
    for family in families(name):
        assert_allclose(family.centers(family.statistics(X)), X)


@pytest.mark.parametrize("name", NAMES)
def test_projections_are_along_the_principal_direction(name):
    """Of rows, that is the first singular vector."""
    X = rows(name, 40)
    lengths = np.ones(40)
    if name == "multinomial":
        X[:20] += [40.0, 0.0, 0.0]
        lengths = X.sum(axis=1)
    for family in families(name):
        found = projected(family, np.ones(40), family.statistics(X))
        assert_allclose(lengths @ found, 0, atol=1e-8)
        Y = X / lengths[:, None] if name == "multinomial" else X
        Y = Y - np.average(Y, axis=0, weights=lengths)
        direction = np.linalg.svd(np.sqrt(lengths)[:, None] * Y)[2][0]
        assert abs(np.corrcoef(found[:, 0], Y @ direction)[0, 1]) > 1 - 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_projections_of_weighted_items_are_those_of_repeated_rows(name):
    X, repeats = rows(name, 8), np.array([1, 2, 1, 3, 1, 1, 4, 1])
    for family in families(name):
        items = family.statistics(X)
        weighted = projected(family, repeats.astype(float), items)
        repeated = projected(family, np.ones(repeats.sum()), np.repeat(items, repeats, axis=0))
        first = np.cumsum(repeats) - 1
        assert_allclose(np.abs(weighted), np.abs(repeated[first]), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_each_group_has_directions_of_its_own(name):
    X = rows(name, 30)
    for family in families(name):
        items, counts = family.statistics(X), np.random.default_rng(0).uniform(0.5, 2.0, 30)
        found = family.projections(counts, items, np.array([0, 12, 13]))
        for part in (slice(0, 12), slice(12, 13), slice(13, 30)):
            assert_allclose(found[part], projected(family, counts[part], items[part]), atol=1e-9)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_the_other_direction_does_not_depend_on_units(name):
    X = rows(name, 40) @ np.array([[1.0, 0.7, 0.2], [0.0, 0.5, 0.1], [0.0, 0.0, 1.0]])
    scale = np.array([1e-3, 1.0, 50.0])
    plain, scaled = bound(as_family(name), X), bound(as_family(name), X * scale)
    one = projected(plain, np.ones(40), plain.statistics(X))[:, 1]
    other = projected(scaled, np.ones(40), scaled.statistics(X * scale))[:, 1]
    assert abs(np.corrcoef(one, other)[0, 1]) > 1 - 1e-6


@pytest.mark.parametrize("name", GAUSSIANS)
@pytest.mark.parametrize("scale", [1e-130, 1e-8, 1e130])
def test_directions_do_not_depend_on_the_scale(name, scale):
    X = rows(name, 40) @ np.array([[1.0, 0.7, 0.2], [0.0, 0.5, 0.1], [0.0, 0.0, 1.0]])
    plain, scaled = bound(as_family(name), X), bound(as_family(name), scale * X)
    one = projected(plain, np.ones(40), plain.statistics(X))
    other = projected(scaled, np.ones(40), scaled.statistics(scale * X))
    for left, right in zip(one.T, (other / np.abs(other).max(axis=0)).T, strict=True):
        assert abs(np.corrcoef(left, right)[0, 1]) > 1 - 1e-6


def test_many_items_are_no_burden():
    """Neither memory nor time may grow with their square."""
    X = np.random.default_rng(0).integers(0, 5, size=(8_000, 3)).astype(float)
    family = bound(Multinomial(), X)
    tracemalloc.start()
    projected(family, np.ones(len(X)), family.statistics(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes


def test_directions_of_full_clumps_are_those_of_their_rows():
    X = rows("gaussian", 60)
    family = bound(FullGaussian(), X)
    means = family.statistics(X).reshape(6, 10, -1).mean(axis=1)
    found = projected(family, np.full(6, 10.0), means)[:, 0]
    Y = X - X.mean(axis=0)
    direction = np.linalg.svd(Y)[2][0]
    assert_allclose(np.abs(found), np.abs(Y.reshape(6, 10, D).mean(axis=1) @ direction), atol=1e-4)


# ---- priors from rows ----------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", GAUSSIANS)
def test_a_fitted_prior_is_a_maximum(name):
    """No variance of a column does better."""
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


@pytest.mark.parametrize("name", NAMES)
def test_a_given_prior_stays_as_it_is(name):
    before = copy.deepcopy(vars(GIVEN[name]))
    family = bound(GIVEN[name], rows(name))
    known = groups(family)
    assert_array_equal(family.fitted(*known).log_evidence(*known), family.log_evidence(*known))
    for key, value in vars(GIVEN[name]).items():
        assert_array_equal(value, before[key])


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
def test_rows_far_from_the_prior_are_no_trouble(name, distance):
    near = rows(name)
    family = bound(as_family(name), near)
    for X in (near + distance, np.concatenate([near, near + distance])):
        known = group(family, X)
        slopes, offsets = family.expected(*known)
        for values in (family.log_evidence(*known), family.log_predictive(X, *known), slopes, offsets):
            assert np.isfinite(values).all()
        assert (family.log_predictive(X[-1:], *known) > family.log_predictive(X[-1:] + distance, *known)).all()


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
def test_a_prior_that_is_none_is_named(family, named):
    with pytest.raises(ValueError, match=f"{type(family).__name__}: {named} must"):
        bound(family, rows(family.name))


@pytest.mark.parametrize("name", GAUSSIANS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_must_be_finite(name, dtype):
    as_family(name).check(rows(name).astype(dtype), "Model")
    for value in (1e200, -1e200):
        with pytest.raises(DataError, match="Model"):
            as_family(name).check(np.array([[1.0, value]]), "Model")


def test_only_counts_are_counts():
    with pytest.raises(DataError, match=r"Model: .*row 1, column 2 of this chunk is -3\.0"):
        Multinomial().check(np.array([[1.0, 0, 2], [0, 0, -3]]), "Model")


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert as_family(name).name == name
    assert as_family(GIVEN[name]) is GIVEN[name]


def test_a_prior_tells_what_it_was_given():
    assert repr(FullGaussian()) == "FullGaussian()"
    assert repr(DiagonalGaussian(covariance=2.0)) == "DiagonalGaussian(covariance=2.0)"
