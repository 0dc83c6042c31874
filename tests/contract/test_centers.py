"""Answers of learners with cluster centers, compared with scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from modicum import OnlineKMeans, StreamKMeans
from modicum.datasets import mixture

MODELS = [StreamKMeans(5, random_state=0), OnlineKMeans(5)]


@pytest.fixture(params=[np.float32, np.float64])
def X(request):
    return np.concatenate(list(mixture(800, 3, 5))).astype(request.param)


def same_centers(model, X):
    """scikit-learn's k-means that has the model's centers."""
    twin = KMeans(len(model.cluster_centers_), init=model.cluster_centers_, n_init=1, max_iter=1).fit(X)
    twin.cluster_centers_ = model.cluster_centers_.astype(X.dtype)
    return twin


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_answers_are_those_of_scikit_learn(model, X):
    model.fit(X)
    twin = same_centers(model, X)
    assert_array_equal(model.predict(X), twin.predict(X))
    assert model.predict(X).dtype == twin.predict(X).dtype
    assert_allclose(model.transform(X), twin.transform(X), rtol=1e-4, atol=1e-4)
    assert model.transform(X).dtype == X.dtype
    assert_allclose(model.score(X) * len(X), twin.score(X), rtol=1e-5)
    w = np.random.default_rng(0).uniform(0, 2, len(X))
    assert_allclose(model.score(X, sample_weight=w) * w.sum(), twin.score(X, sample_weight=w), rtol=1e-5)
    assert_array_equal(model.get_feature_names_out(), [f"{type(model).__name__.lower()}{i}" for i in range(5)])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_labels_of_the_rows_that_were_learned(model, X):
    labels = model.fit_predict(X)
    assert_array_equal(labels, model.predict(X))
    assert_array_equal(labels, model.fit(X).labels_)
    model.fit(X.copy())
    with pytest.raises(AttributeError, match="rows given to fit no longer exist"):
        model.labels_  # noqa: B018


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_of_another_width_are_refused(model, X):
    model.fit(X)
    for ask in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="2 features"):
            ask(X[:, :2])


def test_answers_before_any_data_raise_not_fitted():
    model = StreamKMeans(5)
    for ask in (model.predict, model.transform, model.score):
        with pytest.raises(NotFittedError):
            ask(np.zeros((1, 3)))
    with pytest.raises(NotFittedError):
        model.cluster_centers_  # noqa: B018


def test_distances_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(500, 2)) + 1e8
    model = StreamKMeans(4, random_state=0).fit(X)
    exact = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    assert_allclose(model.transform(X), exact, rtol=1e-6)
    assert_array_equal(model.predict(X), exact.argmin(axis=1))
    assert_allclose(model.score(X), -np.mean(exact.min(axis=1) ** 2))
