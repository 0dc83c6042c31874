"""Online k-means against the few lines it is."""

import numpy as np
import pytest

from modicum import OnlineKMeans

pytestmark = pytest.mark.nojit


def by_hand(X, w, k):
    centers, counts = [], []
    for x, weight in zip(X, w, strict=True):
        if len(centers) < k and not any((x == c).all() for c in centers):
            centers.append(x.copy())
            counts.append(weight)
            continue
        j = int(np.argmin([((x - c) ** 2).sum() for c in centers]))
        counts[j] += weight
        centers[j] += weight / counts[j] * (x - centers[j])
    return np.array(centers), np.array(counts)


def test_it_is_macqueens_rule():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 3)), rng.uniform(0.5, 2, 200)
    model = OnlineKMeans(4)
    for start in range(0, 200, 33):
        model.partial_fit(X[start : start + 33], sample_weight=w[start : start + 33])
    centers, counts = by_hand(X, w, 4)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-12)
    np.testing.assert_allclose(model.cluster_sizes_, counts)


def test_equal_rows_do_not_fill_the_centers():
    X = np.array([[1.0], [1.0], [1.0], [5.0]])
    np.testing.assert_array_equal(OnlineKMeans(2).fit(X).cluster_centers_, [[1.0], [5.0]])


def test_merged_centers_are_weighted():
    left = OnlineKMeans(1).fit(np.zeros((30, 1)))
    right = OnlineKMeans(1).fit(np.full((10, 1), 4.0))
    merged = left.merge(right)
    np.testing.assert_allclose(merged.cluster_centers_, [[1.0]])
    np.testing.assert_allclose(merged.cluster_sizes_, [40])


def test_score_is_the_mean_squared_distance():
    X = np.array([[0.0], [2.0]])
    model = OnlineKMeans(1).fit(X)
    assert np.isclose(model.score(X), -1.0)
