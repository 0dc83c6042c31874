"""The sums of all rows that a running model keeps, and what they do to the answers."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans

from modicum import Learner, StreamGaussianMixture, StreamKMeans, WeightedGaussianMixture
from modicum.coreset.cell_sums import CellSums
from modicum.coreset.component_sums import ComponentSums

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(300, 2)), RNG.uniform(0.5, 2, 300)
CENTERS = np.array([[-1.0, 0], [1, 1], [0, -1], [50, 50]])  # the last one has no rows


def risk(X, centers):
    return cdist(X, centers, "sqeuclidean").min(axis=1).mean()


def streamed(model, X, chunk=200):
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    return model


# ---- the sums, by hand ---------------------------------------------------------------------------


@pytest.mark.nojit
def test_cells_have_the_weight_and_mean_of_their_rows():
    sums = CellSums.around(CENTERS, X[:200], W[:200])
    label = cdist(X[:200], CENTERS).argmin(axis=1)
    for j in range(3):
        assert_allclose(sums.totals[j], W[:200][label == j].sum())
        assert_allclose(sums.means[j], np.average(X[:200][label == j], axis=0, weights=W[:200][label == j]))
    assert_array_equal(sums.means[3], CENTERS[3])
    later = cdist(X[200:], sums.means).argmin(axis=1)  # the means are the centers for the rows that follow
    both = sums.plus(X[200:], W[200:])
    for j in range(3):
        rows, weight = (np.concatenate([a[:200][label == j], a[200:][later == j]]) for a in (X, W))
        assert_allclose(both.means[j], np.average(rows, axis=0, weights=weight))
    assert_allclose(both.totals.sum(), W.sum())


def mixture(covariance_type):
    return WeightedGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X, sample_weight=W)


@pytest.mark.nojit
@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_components_have_the_moments_of_their_shares(covariance_type):
    model = mixture(covariance_type)
    shares = model.predict_proba(X) * W[:, None]
    sums = ComponentSums.under(model.as_gaussians(), covariance_type, 1e-6, X, W)
    assert_allclose(sums.totals, shares.sum(axis=0))
    for j in range(3):
        mean = np.average(X, axis=0, weights=shares[:, j])
        full = np.cov(X.T, aweights=shares[:, j], ddof=0)
        expected = {"full": full, "diag": np.diag(full)[None], "spherical": np.full((1, 2), np.diag(full).mean())}
        assert_allclose(sums.means[j], mean, atol=1e-12)
        assert_allclose(sums.covariances[j], expected[covariance_type], atol=1e-12)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_moments_of_parts_add_up(covariance_type):
    """One step of EM on all rows: where the shares are those of one model, it does not matter how rows come."""
    model = mixture(covariance_type).as_gaussians()
    parts = slice(None), slice(100), slice(100, None)
    sums, one, two = (ComponentSums.under(model, covariance_type, 1e-6, X[rows], W[rows]) for rows in parts)
    moments = [two.totals, two.totals[:, None] * (two.means - one.means)]
    steps = two.means - one.means
    outer = steps[:, :, None] * steps[:, None] if covariance_type == "full" else steps[:, None] ** 2
    both = one._with(one._em(X, W), [*moments, two.totals[:, None, None] * (two.covariances + outer)])
    for name in ("totals", "means", "covariances"):
        assert_allclose(getattr(both, name), getattr(sums, name), atol=1e-10)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_united_components_are_those_that_explain_each_other_best(covariance_type):
    rows = X + 8 * np.repeat(np.eye(3)[:, :2], 100, axis=0)  # three clusters
    model = WeightedGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(rows, sample_weight=W)
    here = ComponentSums.under(model.as_gaussians(), covariance_type, 1e-6, rows, W)
    order, step = np.array([2, 0, 1]), 0.3  # the same in another order, and moved
    there = replace(
        here, totals=here.totals[order], means=here.means[order] + step, covariances=here.covariances[order]
    )
    both = here.united(there)
    assert_allclose(both.totals, 2 * here.totals)
    assert_allclose(both.means, here.means + step / 2)
    between = np.full_like(here.covariances, step**2 / 4)
    if covariance_type == "full":
        assert_allclose(both.covariances, here.covariances + between)
    else:
        assert_allclose(both.covariances, here.covariances + between[:, :1])


# ---- what they do to answers ---------------------------------------------------------------------


def no_clusters(seed):
    return np.random.default_rng(seed).normal(size=(20_000, 5))


def test_k_means_of_a_stream_without_clusters_is_that_of_all_rows():
    """With 10 points per cluster, k-means of the points alone is 4% worse, one pass of MiniBatchKMeans 2%."""
    ours, theirs = [], []
    for seed in range(3):
        X, new = no_clusters(seed), no_clusters(seed + 100)
        full = risk(new, KMeans(20, n_init=1, random_state=0).fit(X).cluster_centers_)
        ours.append(risk(new, streamed(StreamKMeans(20, n_points=200, random_state=0), X).cluster_centers_) / full)
        theirs.append(risk(new, streamed(MiniBatchKMeans(20, n_init=1, random_state=0), X).cluster_centers_) / full)
    assert np.mean(ours) < min(1.02, np.mean(theirs))


def overlapping(seed, count=20_000):
    rng = np.random.default_rng(seed)
    factors = np.random.default_rng(0).normal(size=(4, 5, 5))
    return np.concatenate([rng.normal(size=(count // 4, 5)) @ factor for factor in factors])


def test_the_mixture_of_a_stream_is_that_of_all_rows():
    X, new = np.random.default_rng(0).permutation(overlapping(1)), overlapping(2)
    full = max(WeightedGaussianMixture(4, random_state=s).fit(X).score(new) for s in range(2))
    found = [streamed(StreamGaussianMixture(4, n_points=200, random_state=s), X).score(new) for s in range(3)]
    assert np.mean(found) > full - 0.1  # EM on the points alone: 0.5 less


def test_rows_of_an_array_make_one_step_after_the_fit_to_the_points():
    X = no_clusters(0)
    model = StreamKMeans(20, n_points=200, random_state=0).fit(X)
    assert_allclose(model._sums.totals.sum(), len(X))
    small = StreamKMeans(20, n_points=200, random_state=0)
    small.partial_fit(X)
    points = small._tree.buckets[-1]
    centers = small._fit_points(points.points, points.weights, None, np.random.default_rng([small._seed, 0, 2]), 30)
    label = cdist(X, centers["centers"]).argmin(axis=1)
    assert_allclose(model.cluster_centers_, [X[label == j].mean(axis=0) for j in range(20)], atol=1e-9)


@pytest.mark.parametrize("learner", [StreamKMeans(20, n_points=200), StreamGaussianMixture(4, n_points=100)], ids=str)
def test_sums_cover_all_rows(learner):
    X = no_clusters(1)[:7000]
    model = streamed(clone(learner).set_params(random_state=0), X[:4000], 77)
    for start in range(4000, 7000):
        if start % 1000 == 0:
            assert_allclose(model._sums_of_all().totals.sum(), start)
        model.partial_fit(X[start : start + 1])
    other = streamed(clone(learner).set_params(random_state=1), X[:3000], 500)
    fresh = clone(learner).set_params(random_state=2).fit(X[:50])  # without sums
    assert_allclose(model.merge(other)._sums_of_all().totals.sum(), 10_000)
    assert_allclose(model.merge(fresh)._sums_of_all().totals.sum(), 10_050)
    assert_allclose(fresh.merge(model)._sums_of_all().totals.sum(), 10_100)


def test_sums_fade():
    X = no_clusters(1)
    model = streamed(StreamKMeans(5, n_points=50, half_life=1000, random_state=0), X)
    assert_allclose(
        model._sums_of_all().totals.sum(), sum(b.weights.sum() for b in model._tree.all_buckets()), rtol=1e-6
    )


def test_sorted_rows_are_not_left_to_the_running_model():
    """It was begun with other clusters; the points show what it lacks."""
    rng = np.random.default_rng(0)
    X = 20 * rng.normal(size=(30, 1, 4)) + rng.normal(size=(30, 500, 4))
    model = streamed(StreamKMeans(30, n_points=300, random_state=0), X.reshape(-1, 4))
    assert risk(X.reshape(-1, 4), model.cluster_centers_) < 1.5 * 4


def test_a_changed_number_of_clusters_is_followed_anew():
    X = no_clusters(0)
    model = streamed(StreamKMeans(20, n_points=200, random_state=0), X[:8000])
    assert model.set_params(n_clusters=7).cluster_centers_.shape == (7, 5)
    assert streamed(model, X[8000:]).cluster_centers_.shape == (7, 5)
    assert len(model._sums.means) == 7
    again = Learner.from_bytes(model.to_bytes())
    assert_array_equal(again.cluster_centers_, model.cluster_centers_)
