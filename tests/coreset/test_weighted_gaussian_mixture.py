"""Weighted EM against scikit-learn's, scipy's densities and repeated rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import chi2, multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from modicum._jit.gaussian_mixture import FAR, ROWS_PER_BLOCK
from modicum.coreset import em
from modicum.coreset.weighted_gaussian_mixture import WeightedGaussianMixture
from modicum.exceptions import DataError

TYPES = ["full", "diag", "spherical"]
LEARNED = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "lower_bounds_"]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def X():
    """Three clusters of different shapes that overlap a little."""
    rng = np.random.default_rng(0)
    shapes = rng.normal(size=(3, 3, 3))
    centers = np.array([[0.0, 0, 0], [4, 0, 1], [0, 5, -2]])
    return np.concatenate(
        [c + rng.normal(size=(n, 3)) @ s for c, s, n in zip(centers, shapes, (90, 60, 37), strict=True)]
    )


def initial(X, covariance_type="full", n_components=3):
    """Rough initial values, the same for both sides of a comparison."""
    shape = {"full": (n_components, 3, 3), "diag": (n_components, 3), "spherical": (n_components,)}[covariance_type]
    precisions = np.broadcast_to(np.eye(3), shape) if covariance_type == "full" else np.ones(shape)
    weights = np.arange(1.0, n_components + 1)
    return {
        "covariance_type": covariance_type,
        "weights_init": weights / weights.sum(),
        "means_init": X[np.linspace(0, len(X) - 1, n_components).astype(int)],
        "precisions_init": precisions,
    }


def assert_same(one, other, rtol=1e-6, names=LEARNED):
    for name in names:
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-9, err_msg=name)


# ---- twins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("max_iter", [1, 4, 60])
def test_unit_weights_give_what_scikit_learn_gives(X, covariance_type, max_iter):
    given = initial(X, covariance_type)
    ours = WeightedGaussianMixture(3, max_iter=max_iter, **given).fit(X)
    theirs = GaussianMixture(3, max_iter=max_iter, **given).fit(X)
    assert_same(ours, theirs)
    assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, theirs.converged_)
    assert_allclose(ours.lower_bound_, theirs.lower_bound_)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X))
    assert_allclose([ours.score(X), ours.bic(X), ours.aic(X)], [theirs.score(X), theirs.bic(X), theirs.aic(X)])


@pytest.mark.parametrize("covariance_type", TYPES)
def test_initialization_is_that_of_scikit_learn(X, covariance_type):
    """k-means agrees on clusters far apart; only one iteration of EM and the order of components are left."""
    X = X + np.repeat([[0.0], [100], [200]], (90, 60, 37), axis=0)
    ours = WeightedGaussianMixture(3, covariance_type=covariance_type, max_iter=1, random_state=0).fit(X)
    theirs = GaussianMixture(3, covariance_type=covariance_type, max_iter=1, random_state=0).fit(X)
    mine, other = np.argsort(ours.means_[:, 0]), np.argsort(theirs.means_[:, 0])
    for name in ("weights_", "means_", "covariances_"):
        assert_allclose(getattr(ours, name)[mine], getattr(theirs, name)[other], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_whole_weights_are_repeated_rows(X, covariance_type):
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    given = initial(X, covariance_type)
    weighted = WeightedGaussianMixture(3, max_iter=10, **given).fit(X, sample_weight=weight)
    repeated = WeightedGaussianMixture(3, max_iter=10, **given).fit(X.repeat(weight, axis=0))
    assert_same(weighted, repeated)
    assert_allclose(weighted.bic(X, sample_weight=weight), repeated.bic(X.repeat(weight, axis=0)))
    assert_allclose(weighted.aic(X, sample_weight=weight), repeated.aic(X.repeat(weight, axis=0)))


def test_scale_of_weights_matters_only_to_the_criteria(X):
    weight = np.random.default_rng(1).random(len(X))
    given = initial(X)
    one = WeightedGaussianMixture(3, max_iter=10, **given).fit(X, sample_weight=weight)
    many = WeightedGaussianMixture(3, max_iter=10, **given).fit(X, sample_weight=1e9 * weight)
    assert_same(one, many)
    assert_allclose(one.score(X, sample_weight=weight), many.score(X, sample_weight=1e9 * weight))
    assert one.bic(X, sample_weight=weight) < one.bic(X, sample_weight=2 * weight)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_densities_are_those_of_scipy(X, covariance_type):
    mixture = WeightedGaussianMixture(3, max_iter=5, **initial(X, covariance_type)).fit(X)
    rows = np.concatenate([X, 30 * X])  # some are so far from all components that most components are skipped
    matrices = [c * np.eye(3) if covariance_type != "full" else c for c in mixture.covariances_]
    components = zip(mixture.weights_, mixture.means_, matrices, strict=True)
    logs = np.transpose([np.log(w) + multivariate_normal(m, c).logpdf(rows) for w, m, c in components])
    assert_allclose(mixture.score_samples(rows), logsumexp(logs, axis=1))
    assert_allclose(mixture.predict_proba(rows), np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), atol=1e-12)
    assert_array_equal(mixture.predict(rows), logs.argmax(axis=1))


def test_shares_below_rounding_are_zero():
    mixture = WeightedGaussianMixture(2, max_iter=1, random_state=0).fit(np.array([[0.0], [1], [1000], [1001]]))
    shares = mixture.predict_proba([[0.0]])
    assert_array_equal(np.sort(shares), [[0.0, 1.0]])
    assert np.exp(-FAR) < np.finfo(float).eps / 2


def test_one_column(X):
    given = {"weights_init": [0.5, 0.5], "means_init": [[-1.0], [3.0]]}
    for covariance_type, precisions in (("full", np.ones((2, 1, 1))), ("diag", np.ones((2, 1))), ("spherical", [1, 1])):
        given |= {"covariance_type": covariance_type, "precisions_init": np.asarray(precisions, float)}
        ours = WeightedGaussianMixture(2, max_iter=8, **given).fit(X[:, :1])
        assert_same(ours, GaussianMixture(2, max_iter=8, **given).fit(X[:, :1]))


# ---- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance_type", TYPES)
def test_every_iteration_raises_the_bound(X, covariance_type):
    weight = np.random.default_rng(1).random(len(X))
    settings = {"covariance_type": covariance_type, "tol": 0, "max_iter": 40, "random_state": 0}
    # with a positive reg_covar the bound may fall
    mixture = WeightedGaussianMixture(4, reg_covar=0, **settings).fit(X, sample_weight=weight)
    assert len(mixture.lower_bounds_) == 40
    assert np.diff(mixture.lower_bounds_).min() > -1e-12
    assert mixture.score(X, sample_weight=weight) > mixture.lower_bound_ - 1e-12


def test_moments_are_those_of_the_rows(X):
    """After any iteration the mixture has the weighted mean and, but for `reg_covar`, the covariance of the rows."""
    weight = np.random.default_rng(1).random(len(X))
    found = WeightedGaussianMixture(4, reg_covar=0.5, max_iter=3, tol=0, random_state=0).fit(X, sample_weight=weight)
    mean = found.weights_ @ found.means_
    apart = found.means_ - mean
    covariance = np.einsum("k,kij->ij", found.weights_, found.covariances_) + (found.weights_ * apart.T) @ apart
    assert_allclose(mean, np.average(X, axis=0, weights=weight))
    assert_allclose(covariance, np.cov(X.T, aweights=weight, bias=True) + 0.5 * np.eye(3))


def test_blocks_and_tiles_do_not_matter(X, monkeypatch):
    given = initial(X)
    whole = WeightedGaussianMixture(3, max_iter=10, **given).fit(X)
    monkeypatch.setattr(em, "MIN_TILE_ROWS", 7)
    assert_same(whole, WeightedGaussianMixture(3, max_iter=10, **given).fit(X))
    mixed = np.random.default_rng(2).permutation(len(X))
    assert_same(whole, WeightedGaussianMixture(3, max_iter=10, **given).fit(X[mixed]))
    for count in (1, ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1):
        assert_allclose(whole.score_samples(X[:count]), whole.score_samples(X)[:count])


def test_same_seed_same_fit_and_more_initializations_are_no_worse(X):
    one, same, more = (
        WeightedGaussianMixture(6, n_init=n_init, tol=1e-6, max_iter=30, random_state=3).fit(X) for n_init in (1, 1, 4)
    )
    assert_array_equal(one.means_, same.means_)
    assert more.lower_bound_ >= one.lower_bound_


def test_continues_from_given_parameters(X):
    """Given its own parameters, EM continues as if it had not stopped."""
    whole = WeightedGaussianMixture(3, max_iter=6, tol=0, **initial(X)).fit(X)
    half = WeightedGaussianMixture(3, max_iter=3, tol=0, **initial(X)).fit(X)
    given = {"weights_init": half.weights_, "means_init": half.means_, "precisions_init": half.precisions_}
    rest = WeightedGaussianMixture(3, max_iter=3, tol=0, **given).fit(X)
    assert_same(rest, whole, names=LEARNED[:-1])
    assert_allclose(half.lower_bounds_ + rest.lower_bounds_, whole.lower_bounds_)


def test_means_alone_are_completed_from_the_rows_nearest_to_them(X):
    means = X[[0, 100, 180]]
    found = WeightedGaussianMixture(3, means_init=means, max_iter=1).fit(X)
    near = np.linalg.norm(X[:, None] - means, axis=2).argmin(axis=1)
    cells = [X[near == j] for j in range(3)]
    given = {
        "weights_init": [len(cell) / len(X) for cell in cells],
        "means_init": means,
        "precisions_init": [np.linalg.inv(np.cov(cell.T, bias=True) + 1e-6 * np.eye(3)) for cell in cells],
    }
    assert_same(found, GaussianMixture(3, max_iter=1, **given).fit(X))


def test_sample_has_the_moments_of_the_mixture(X):
    for covariance_type in TYPES:
        mixture = WeightedGaussianMixture(3, max_iter=5, **initial(X, covariance_type), random_state=0).fit(X)
        rows, labels = mixture.sample(3000)
        assert rows.shape == (3000, 3)
        for j, covariance in enumerate(mixture.covariances_):
            own = rows[labels == j]
            matrix = covariance if covariance_type == "full" else covariance * np.eye(3)
            apart = own.mean(axis=0) - mixture.means_[j]
            # Mahalanobis distance of the mean: false alarms, over all nine, at most one in a million
            assert len(own) * apart @ np.linalg.solve(matrix, apart) < chi2(3).isf(1e-7)
            assert abs(np.linalg.slogdet(np.cov(own.T))[1] - np.linalg.slogdet(matrix)[1]) < 0.5


# ---- hard rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
def test_fewer_distinct_rows_than_components(covariance_type, reg_covar):
    X = np.repeat([[0.0, 1], [5, 5]], 10, axis=0)
    found = WeightedGaussianMixture(4, covariance_type=covariance_type, reg_covar=reg_covar, random_state=0).fit(X)
    assert np.isfinite(found.score_samples(X)).all()
    assert_allclose(np.sort(found.weights_), [0, 0, 0.5, 0.5])
    assert_allclose(found.predict_proba(X).sum(axis=1), 1)
    assert_allclose(found.sample(50)[0].round(1) % 1, 0, atol=0.11)  # rows come from where rows were


@pytest.mark.parametrize("covariance_type", TYPES)
def test_all_rows_equal(covariance_type):
    X = np.full((5, 3), 7.0)
    found = WeightedGaussianMixture(2, covariance_type=covariance_type, reg_covar=0, random_state=0).fit(X)
    assert_allclose(found.weights_ @ found.means_, X[0])
    assert np.isfinite(found.score(X))


def test_single_row():
    found = WeightedGaussianMixture(1).fit([[1.0, 2.0]])
    assert_allclose(found.covariances_[0], 1e-6 * np.eye(2))


def test_a_component_without_rows_does_not_affect_the_others(X):
    given = initial(X)
    given["means_init"] = np.concatenate([given["means_init"][:2], [[1e6, 1e6, 1e6]]])
    found = WeightedGaussianMixture(3, max_iter=20, **given).fit(X)
    assert found.weights_[2] == 0
    assert_allclose(found.means_[2], 1e6)
    two = {name: value if isinstance(value, str) else value[:2] for name, value in given.items()}
    two["weights_init"] = two["weights_init"] / two["weights_init"].sum()
    alone = WeightedGaussianMixture(2, max_iter=20, **two).fit(X)
    assert_allclose(found.means_[:2], alone.means_)
    assert_allclose(found.score(X), alone.score(X))


@pytest.mark.parametrize("covariance_type", TYPES)
def test_constant_and_copied_columns(X, covariance_type):
    X = np.column_stack([X, np.full(len(X), 3.0), X[:, 0]])
    for reg_covar in (0.0, 1e-6):
        found = WeightedGaussianMixture(3, covariance_type=covariance_type, reg_covar=reg_covar, random_state=0).fit(X)
        assert np.isfinite(found.score(X))
        assert_allclose(found.means_[:, 3], 3)
        assert_allclose(found.means_[:, 4], found.means_[:, 0])


def test_far_from_the_origin_nothing_is_lost(X):
    near = WeightedGaussianMixture(3, max_iter=10, **initial(X)).fit(X)
    far = WeightedGaussianMixture(3, max_iter=10, **initial(X + 2.0**20)).fit(X + 2.0**20)
    assert_allclose(far.covariances_, near.covariances_, rtol=1e-6)
    assert_allclose(far.lower_bounds_, near.lower_bounds_, rtol=1e-9)


def test_initial_means_far_from_the_rows(X):
    """Differences of large moments cancel in the first iteration; the second is about the right means."""
    found = WeightedGaussianMixture(1, max_iter=3, means_init=[[1e7, 0, 0]]).fit(X)
    assert_allclose(found.covariances_[0], np.cov(X.T, bias=True) + 1e-6 * np.eye(3))


def test_float32_rows(X):
    narrow = X.astype(np.float32)
    narrow.setflags(write=False)
    found = WeightedGaussianMixture(3, max_iter=10, **initial(X)).fit(narrow)
    exact = WeightedGaussianMixture(3, max_iter=10, **initial(X)).fit(narrow.astype(np.float64))
    assert_same(found, exact)
    assert_allclose(found.score_samples(narrow), exact.score_samples(narrow.astype(np.float64)))


# ---- errors --------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong(X):
    mixture = WeightedGaussianMixture(3)
    with pytest.raises(DataError, match="n_components=3 needs at least as many rows of positive weight"):
        mixture.fit(X[:2])
    with pytest.raises(DataError, match="got n_samples = 2"):
        mixture.fit(X[:5], sample_weight=[1, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="Negative values"):
        mixture.fit(X[:5], sample_weight=[1, 1, 1, -1, 1])
    with pytest.raises(ValueError, match="NaN"):
        mixture.fit([[1.0], [np.nan], [2.0]])
    with pytest.raises(ValueError, match='covariance_type must be "full" or "diag" or "spherical"'):
        WeightedGaussianMixture(covariance_type="tied").fit(X)
    with pytest.raises(ValueError, match="n_components must be a positive int"):
        WeightedGaussianMixture(0).fit(X)
    with pytest.raises(ValueError, match=r"means_init must be finite numbers of shape \(3, 3\)"):
        WeightedGaussianMixture(3, means_init=X[:2]).fit(X)
    with pytest.raises(ValueError, match="weights_init must not be negative"):
        WeightedGaussianMixture(3, weights_init=[1, -1, 1]).fit(X)
    with pytest.raises(ValueError, match="positive definite"):
        WeightedGaussianMixture(3, precisions_init=np.diag([1.0, 1, -1])[None].repeat(3, axis=0)).fit(X)
    with np.errstate(all="ignore"), pytest.raises(DataError, match="overflow"):
        WeightedGaussianMixture(1).fit(1e200 * X)


def test_says_when_it_did_not_converge(X):
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 iterations"):
        WeightedGaussianMixture(3, max_iter=2, tol=0, random_state=0).fit(X)


@parametrize_with_checks([WeightedGaussianMixture(random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
