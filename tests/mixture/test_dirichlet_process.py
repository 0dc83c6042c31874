"""The mixture of rows in memory: what it finds, and what it makes of odd rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from modicum import DirichletProcessMixture
from modicum.exceptions import DataError
from modicum.families import DiagonalGaussian, FullGaussian
from modicum.mixture import dirichlet_process

CENTERS = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9], [9, 9, 9]])


def clusters(count, seed=0, centers=CENTERS):
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(centers), count)
    return centers[labels] + rng.normal(size=(count, centers.shape[1])), labels


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
def test_the_number_of_components_is_found(kind):
    X, labels = clusters(400)
    model = DirichletProcessMixture(kind)
    assert adjusted_rand_score(model.fit_predict(X), labels) > 0.99
    assert model.n_components_ == 5
    order = np.linalg.norm(model.means_[:, None] - CENTERS, axis=2).argmin(axis=0)
    assert_allclose(model.means_[order], CENTERS, atol=0.5)
    assert_allclose(model.weights_[order], np.bincount(labels) / 400, atol=0.02)
    variances = model.covariances_ if kind == "diagonal" else np.diagonal(model.covariances_, axis1=1, axis2=2)
    assert_allclose(variances, 1, atol=0.4)
    assert (np.diff(model.weights_) <= 0).all()


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
@pytest.mark.parametrize(("width", "count"), [(1, 200), (2, 1000), (5, 100)])
def test_never_worse_than_one_component(kind, width, count):
    """Rows of one kind, which cuts into slices would make look like several."""
    X = np.random.default_rng(0).normal(size=(count, width))
    found, one = DirichletProcessMixture(kind).fit(X), DirichletProcessMixture(kind, max_components=1).fit(X)
    assert found.free_energy_ >= one.free_energy_ - found.tol * count


def test_topics_are_found(rows):
    X = rows("multinomial", 200)
    model = DirichletProcessMixture("multinomial").fit(X)
    assert model.n_components_ == 3
    order = model.means_.argmax(axis=1).argsort()
    assert_allclose(model.means_[order], (0.1 + 0.7 * np.eye(3)), atol=0.05)


def test_as_good_as_a_peer_with_enough_components():
    X, _ = clusters(600)
    new, _ = clusters(1000, seed=1)
    peer = BayesianGaussianMixture(n_components=10, weight_concentration_prior=1.0, random_state=0, max_iter=500).fit(X)
    assert DirichletProcessMixture().fit(X).score(new) > peer.score(new) - 0.05


@pytest.mark.parametrize("kind", ["gaussian", "diagonal", "multinomial"])
def test_weights_count_as_repetitions(kind, rows):
    X, times = rows(kind, 60), np.arange(60) % 3
    weighted = DirichletProcessMixture(kind).fit(X, sample_weight=times)
    repeated = DirichletProcessMixture(kind).fit(np.repeat(X, times, axis=0))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-3, atol=0.05)
    assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("kind", ["gaussian", "diagonal", "multinomial"])
def test_the_order_of_rows_does_not_matter(kind, rows):
    X = rows(kind, 100)
    order = np.random.default_rng(0).permutation(100)
    one, other = DirichletProcessMixture(kind).fit(X), DirichletProcessMixture(kind).fit(X[order])
    assert_allclose(one.free_energy_, other.free_energy_)
    assert_allclose(one.score_samples(X), other.score_samples(X))


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
def test_units_do_not_matter(kind):
    X, _ = clusters(150)
    scale, shift = 1e-4, np.array([0.0, 1.0, -10.0])
    one, other = DirichletProcessMixture(kind).fit(X), DirichletProcessMixture(kind).fit(X * scale + shift)
    assert_array_equal(one.predict(X), other.predict(X * scale + shift))
    assert_allclose(other.score(X * scale + shift), one.score(X) - 3 * np.log(scale), atol=1e-3)


def test_most_of_the_search_may_be_done_on_few_rows(monkeypatch):
    X, labels = clusters(400)
    monkeypatch.setattr(dirichlet_process, "FIRST_ROWS", 40)
    model = DirichletProcessMixture().fit(X)
    assert adjusted_rand_score(model.predict(X), labels) > 0.99
    assert_allclose(model._mixture().counts.sum(), 400)


def test_learning_is_deterministic():
    X, _ = clusters(200)
    one, other = DirichletProcessMixture().fit(X), DirichletProcessMixture().fit(X)
    assert one.free_energy_ == other.free_energy_
    assert_array_equal(one.score_samples(X), other.score_samples(X))


def test_a_finer_tolerance_loses_nothing():
    X, _ = clusters(200)
    coarse, fine = (DirichletProcessMixture("diagonal", tol=tol).fit(X).free_energy_ for tol in (1e-2, 1e-5))
    assert fine >= coarse - 1e-2 * 200


def test_concentration_is_how_many_small_components_are_expected():
    X, _ = clusters(60)
    rests = [DirichletProcessMixture(concentration=a).fit(X)._mixture().sticks.mean_rest for a in (0.1, 1.0, 10.0)]
    assert rests == sorted(rests)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_number_of_components_is_limited(most):
    X, _ = clusters(200)
    assert DirichletProcessMixture(max_components=most).fit(X).n_components_ <= most


def test_a_given_prior():
    """Wide components make one of all, narrow ones do not."""
    X, _ = clusters(60)
    wide = DirichletProcessMixture(FullGaussian(covariance=100.0, degrees=200.0)).fit(X)
    narrow = DirichletProcessMixture(FullGaussian(covariance=1.0, degrees=200.0)).fit(X)
    assert wide.n_components_ < narrow.n_components_ == 5
    assert clone(wide).family.covariance == 100.0
    assert DiagonalGaussian(covariance=[1.0, 2.0, 3.0]).covariance == [1.0, 2.0, 3.0]


ODD = {
    "one row": np.array([[1.0, 2.0]]),
    "two rows": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "equal": np.full((30, 2), 0.1),
    "zero": np.zeros((30, 2)),
    "a constant column": np.stack([np.arange(30.0), np.full(30, 0.1)], axis=1),
    "on a line": np.arange(30.0)[:, None] * [1.0, 2.0],
    "far": 1e8 + clusters(60)[0][:, :2],
    "tiny": 1e-8 * clusters(60)[0],
    "huge": 1e8 * clusters(60)[0],
    "few": np.random.default_rng(0).normal(size=(8, 20)),
    "repeated": np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 15, axis=0),
    "integers": np.random.default_rng(0).integers(0, 4, size=(40, 2)),
    "an outlier": np.concatenate([clusters(40)[0], [[1e6, 1e6, 1e6]]]),
    "heavy tails": np.random.default_rng(0).standard_cauchy((60, 2)),
    "single precision": clusters(60)[0].astype(np.float32),
}


@pytest.mark.parametrize("X", ODD.values(), ids=ODD)
@pytest.mark.parametrize("kind", ["gaussian", "diagonal", "multinomial"])
def test_odd_rows(kind, X):
    X = np.abs(X) if kind == "multinomial" else X
    model = DirichletProcessMixture(kind).fit(X)
    assert 1 <= model.n_components_ <= len(X)
    for values in (model.free_energy_, model.score_samples(X), model.plug_in_score_samples(X), model.novelty(X)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
@pytest.mark.parametrize("weight", [1e-9, 1e-3, 1e3])
def test_odd_weights(kind, weight):
    X, _ = clusters(30)
    model = DirichletProcessMixture(kind).fit(X, sample_weight=np.full(30, weight))
    assert np.isfinite(model.score(X))
    wild = 10 ** np.random.default_rng(0).uniform(-8, 8, 30)
    assert np.isfinite(DirichletProcessMixture(kind).fit(X, sample_weight=wild).score(X))


def test_errors():
    X, _ = clusters(20)
    with pytest.raises(NotFittedError):
        DirichletProcessMixture().predict(X)
    with pytest.raises(NotFittedError):
        _ = DirichletProcessMixture().weights_
    with pytest.raises(ValueError, match=r"weight zero|non-zero"):  # scikit-learn's words, or ours
        DirichletProcessMixture().fit(X, sample_weight=np.zeros(20))
    with pytest.raises(DataError, match="row 0"):
        DirichletProcessMixture("multinomial").fit(-np.abs(X))
    with pytest.raises(ValueError, match="family"):
        DirichletProcessMixture("poisson").fit(X)
    with pytest.raises(ValueError, match="concentration"):
        DirichletProcessMixture(concentration=0.0).fit(X)


@parametrize_with_checks([DirichletProcessMixture()])
def test_scikit_learn(estimator, check):
    check(estimator)
