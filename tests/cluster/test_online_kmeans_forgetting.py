"""Online k-means that forgets: weights of the law, against a slow twin, and changes found by itself."""

import numpy as np
import pytest

from modicum import OnlineKMeans

H = 30


def twin(X, k, half_life):
    """Centers as running means in which weights decay before each row."""
    centers, sizes = list(X[:k].copy()), [2.0 ** ((i + 1 - k) / half_life) for i in range(k)]
    for row in X[k:]:
        sizes = [size * 2.0 ** (-1 / half_life) for size in sizes]
        j = int(np.argmin([((row - c) ** 2).sum() for c in centers]))
        sizes[j] += 1
        centers[j] = centers[j] + (row - centers[j]) / sizes[j]
    return np.array(centers), np.array(sizes)


def moving(seed=0, n=1500, step=8.0):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 30.0], (2 * n, 1)) + rng.normal(size=(2 * n, 2))
    X[n:] += step
    return X


@pytest.mark.parametrize("chunk", [1, 50, 3000])
def test_it_is_its_twin(chunk):
    X, model = moving(), OnlineKMeans(3, half_life=H)
    for first in range(0, len(X), chunk):
        model.partial_fit(X[first : first + chunk])
    centers, sizes = twin(X, 3, H)
    np.testing.assert_allclose(model.cluster_centers_, centers)
    np.testing.assert_allclose(model.cluster_sizes_, sizes)
    assert model.cluster_sizes_.sum() == pytest.approx(np.exp2(-np.arange(len(X)) / H).sum())


def test_centers_that_no_row_comes_to_stay_valid():
    X = np.zeros((4000, 1))
    X[0] = 100.0
    model = OnlineKMeans(2, half_life=1).fit(X)
    assert (model.cluster_sizes_ > 0).all()
    model.to_bytes()
    model.merge(OnlineKMeans(2, half_life=1).fit(X))


def test_auto_finds_the_change_and_follows():
    X = moving(step=12.0)
    still, model = OnlineKMeans(2).fit(X), OnlineKMeans(2, half_life="auto").fit(X)
    assert [1450 < change.since < 1560 for change in model.changes_] == [True]
    assert np.abs(np.sort(model.cluster_centers_[:, 1]) - [12, 42]).max() < 1.0
    assert np.abs(np.sort(still.cluster_centers_[:, 1]) - [12, 42]).max() > 4.0
    assert OnlineKMeans(2, half_life="auto").fit(moving(step=0.0)).changes_ == []
