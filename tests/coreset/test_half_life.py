"""Coresets of streams that forget: weights of the law, whatever the tree does, and costs in units of now."""

import numpy as np
import pytest

from modicum import KMeansCoreset, MixtureCoreset, StreamGaussianMixture, StreamKMeans

H = 200


def worlds(n=3000, seed=0):
    """Clusters around 0 and 10, later around 100 and 120."""
    rng = np.random.default_rng(seed)
    old, new = rng.choice([0.0, 10.0], (n, 1)), rng.choice([100.0, 120.0], (n, 1))
    return np.concatenate([old, new]) + rng.normal(size=(2 * n, 2))


def law(n):
    return np.exp2(-np.arange(n, 0, -1) / H)


@pytest.mark.parametrize("n", [3 * H, 3 * H + 70])
@pytest.mark.parametrize("cls", [KMeansCoreset, StreamKMeans])
def test_weights_and_means_are_those_of_the_law(cls, n):
    X = worlds()[2500 : 2500 + n]
    model = cls(n_points=50, n_clusters=4, half_life=H, random_state=0)
    for chunk in np.array_split(X, 9):
        model.partial_fit(chunk)
    points, weights = model.as_sample()
    assert weights.sum() == pytest.approx(law(n).sum())
    np.testing.assert_allclose(weights @ points / weights.sum(), law(n) @ X / law(n).sum(), rtol=1e-9)


def test_costs_are_those_of_rows_weighed_now():
    X = worlds(600)
    centers = [[0.0, 0.0], [100.0, 100.0]]
    model = KMeansCoreset(200, 5, half_life=H, random_state=0).fit(X)
    exact = law(len(X)) @ np.min([((X - c) ** 2).sum(axis=1) for c in centers], axis=0)
    estimate = model.cost(centers)
    assert abs(estimate.value - exact) < 3 * estimate.error_bound + 1e-9


def test_clusters_follow_the_stream():
    X = worlds()
    centers = StreamKMeans(2, half_life=H, random_state=0).fit(X).cluster_centers_
    np.testing.assert_allclose(np.sort(centers[:, 0]), [100, 120], atol=0.5)
    mixture = StreamGaussianMixture(2, half_life=H, random_state=0).fit(X)
    np.testing.assert_allclose(np.sort(mixture.means_[:, 0]), [100, 120], atol=0.5)


def test_auto_finds_the_change_and_follows():
    X = worlds()
    model = StreamKMeans(2, n_points=100, half_life="auto", random_state=0)
    for chunk in np.array_split(X, 40):
        model.partial_fit(chunk)
    assert 2950 < model.changes_[0].since < 3050
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [100, 120], atol=1)
    assert StreamKMeans(2, half_life="auto", random_state=0).fit(worlds()[:3000]).changes_ == []


@pytest.mark.parametrize(
    "model",
    [
        KMeansCoreset(30, 3, half_life=1, random_state=0),
        MixtureCoreset(30, 2, half_life=1, random_state=0),
        StreamKMeans(2, n_points=30, half_life=1, random_state=0),
        StreamGaussianMixture(2, n_points=30, half_life=1, random_state=0),
    ],
)
def test_of_a_very_short_half_life_answers_are_numbers(model):
    """Old rows weigh 2**-2000: not 0, and no warning."""
    model.fit(worlds(1000).astype(np.float32))
    points, weights = model.as_sample()
    assert np.isfinite(points).all()
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1.0, rel=0.2)
    if hasattr(model, "predict"):
        model.predict(worlds(5))
    model.to_bytes()
