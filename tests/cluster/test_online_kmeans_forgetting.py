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


class TestBeginningAgain:
    """Of two centers near the old rows, one may be nearest to all the new rows."""

    OLD, NEW = np.array([[0.0, 0.0], [0.0, 30.0]]), np.array([[40.0, -5.0], [90.0, -5.0]])

    def rows(self, seed=0, n=1000):
        rng = np.random.default_rng(seed)
        means = np.concatenate([centers[rng.integers(2, size=n)] for centers in (self.OLD, self.NEW)])
        return means + rng.normal(size=(2 * n, 2))

    @pytest.mark.parametrize("chunk", [1, 60, 500])
    def test_no_center_is_left_behind(self, chunk):
        for seed in range(6):
            X, model = self.rows(seed), OnlineKMeans(2, half_life="auto")
            for first in range(0, len(X), chunk):
                model.partial_fit(X[first : first + chunk])
            found = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
            assert np.abs(found - self.NEW).max() < 1.0
            assert np.abs(model.cluster_sizes_ / model.cluster_sizes_.sum() - 0.5).max() < 0.1

    def test_clusters_that_stay_keep_their_numbers(self):
        rng = np.random.default_rng(0)
        before, after = np.array([[0.0], [30.0], [60.0]]), np.array([[0.0], [30.0], [90.0]])
        X = np.concatenate([centers[rng.integers(3, size=1500)] for centers in (before, after)])
        model = OnlineKMeans(3, half_life="auto").partial_fit((X + rng.normal(size=X.shape))[:1400])
        numbers = model.predict(before)
        model.partial_fit((X + rng.normal(size=X.shape))[1400:])
        assert len(model.changes_) == 1
        np.testing.assert_array_equal(model.predict(after), numbers)

    def test_it_is_resumed_in_between(self):
        X, model = self.rows(), OnlineKMeans(2, half_life="auto", random_state=0)
        for first in range(0, len(X), 10):
            model = OnlineKMeans.from_bytes(model.to_bytes()).partial_fit(X[first : first + 10])
        whole = OnlineKMeans(2, half_life="auto", random_state=0)
        for first in range(0, len(X), 10):
            whole.partial_fit(X[first : first + 10])
        assert model.to_bytes() == whole.to_bytes()

    def test_fewer_different_rows_than_clusters_leave_the_centers(self):
        X = np.repeat([[0.0], [1.0], [2.0], [50.0]], [200, 200, 200, 600], axis=0)
        rng = np.random.default_rng(0)
        X[:600] = rng.permutation(X[:600])
        model = OnlineKMeans(3, half_life="auto").fit(X)
        assert model.changes_
        assert model.cluster_centers_.shape == (3, 1)
        assert model.transform([[50.0]]).min() < 1.0

    def test_few_rows_are_held(self):
        model = OnlineKMeans(2, half_life="auto").fit(self.rows())
        assert model._recent.shape == (256, 2)
        assert not hasattr(OnlineKMeans(2, half_life=50).fit(self.rows()), "_recent")


def test_recent_rows_hold_no_others():
    """A view of the last rows of a chunk would hold all of them."""
    X = np.random.default_rng(0).normal(size=(5000, 3))
    model = OnlineKMeans(2, half_life="auto", random_state=0).partial_fit(X)
    assert model._recent.base is None
    np.testing.assert_array_equal(model._recent, X[-256:])
