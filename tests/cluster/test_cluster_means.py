"""Means of clusters along a stream, and exemplars near them."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from modicum import ExemplarClustering, stream
from modicum.cluster import cluster_means
from modicum.cluster.cluster_means import ClusterMeans
from modicum.exceptions import StateError


def overlapping(n=20_000, seed=0, width=4, dtype=np.float32):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(20, width))
    return (means[rng.integers(20, size=n)] + rng.normal(size=(n, width)) / 2).astype(dtype)


def loss(X, exemplars):
    return pairwise_distances(exemplars, X, metric="sqeuclidean").min(axis=0).mean()


def begun(X, count=5):
    return ClusterMeans(X[:count], np.arange(count))


def apart(n, seed=0):
    """Five clusters far apart, one row of each first."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(5), rng.integers(5, size=n - 5)])
    return rng.normal(size=(n, 3)) + 100 * labels[:, None], labels


def fitted(X=None, n_exemplars=20, **options):
    X = overlapping() if X is None else X
    return ExemplarClustering(n_exemplars, n_validation=1000, random_state=0, **options).fit(X)


@pytest.fixture
def no_centering(monkeypatch):
    def fit(X, **options):
        with monkeypatch.context() as patch:
            patch.setattr(ExemplarClustering, "_center", lambda self: None)
            return fitted(X, **options)

    return fit


class TestMeans:
    def test_one_block_gives_the_means_of_clusters_and_the_rows_nearest_to_them(self):
        X = overlapping(3000)
        means = begun(X)
        means.learn(X, None, np.arange(3000) + 7)
        labels = pairwise_distances(X, X[:5]).argmin(axis=1)
        for j in range(5):
            own = np.flatnonzero(labels == j)
            mean = X[own].astype(float).mean(axis=0)
            np.testing.assert_allclose(means.means[j], mean, rtol=1e-9)
            best = own[((X[own] - mean) ** 2).sum(axis=1).argmin()]
            np.testing.assert_array_equal(means.rows[j], X[best])
            assert means.row_ids[j] == best + 7
        np.testing.assert_array_equal(means.weights, np.bincount(labels))

    def test_rows_weigh_by_the_square_of_those_before(self):
        X, labels = apart(900)
        means = begun(X)
        for part in (slice(0, 300), slice(300, 900)):
            means.learn(X[part], None, np.arange(900)[part])
        weight = np.where(np.arange(900) < 300, (300 / 900) ** 2, 1.0)
        for j in range(5):
            expected = np.average(X[labels == j], axis=0, weights=weight[labels == j])
            np.testing.assert_allclose(means.means[j], expected)

    def test_a_row_of_weight_two_counts_twice(self):
        X = overlapping(2000)
        twice = np.arange(2000) % 3 == 0
        weighted, repeated = begun(X), begun(X)
        weighted.learn(X, 1.0 + twice, np.arange(2000))
        repeated.learn(np.concatenate([X, X[twice]]), None, np.arange(2000 + twice.sum()))
        np.testing.assert_allclose(weighted.means, repeated.means)
        np.testing.assert_array_equal(weighted.rows, repeated.rows)

    def test_the_order_within_a_chunk_matters_little(self, monkeypatch):
        monkeypatch.setattr(cluster_means, "BLOCK_ROWS", 1000)
        X = overlapping()
        found = []
        for order in (np.arange(len(X)), np.argsort(X[:, 0]), np.argsort(-X[:, 0])):
            means = begun(X, 20)
            means.learn(X[order], None, order)
            found.append(loss(X, means.means))
        assert max(found) < 1.03 * found[0]

    def test_an_exemplar_in_another_cluster_begins_again(self):
        X, labels = apart(1000)
        means = begun(X)
        means.learn(X, None, np.arange(1000))
        before, at = means.means.copy(), np.flatnonzero(labels == 1)[9]
        near = np.flatnonzero(labels == 0)[9]
        means.follow(np.array([0, 3]), X[[near, at]], np.array([near, at]))
        np.testing.assert_array_equal(means.means[:3], before[:3])  # 0 is still in its cluster
        np.testing.assert_array_equal(means.means[3], X[at])
        assert means.weights[3] == 0
        assert means.row_ids[3] == at

    def test_streams_that_are_absorbed_count_by_their_weights(self):
        X, labels = apart(1000)
        one, other = begun(X), begun(X)
        one.learn(X[:300], None, np.arange(300))
        other.learn(X[300:], None, np.arange(300, 1000))
        one.absorb(other)
        for j in range(5):
            np.testing.assert_allclose(one.means[j], X[labels == j].mean(axis=0))
            held = [((rows - one.means[j]) ** 2).sum() for rows in (one.rows[j], other.rows[j])]
            assert held[0] <= held[1]


class TestCentering:
    @pytest.mark.parametrize("chunk", [None, 2000])
    def test_exemplars_are_rows_and_better_than_by_swaps_alone(self, no_centering, chunk):
        ratios = []
        for seed in range(3):
            X = overlapping(seed=seed)
            source = X if chunk is None else stream(X, chunk_size=chunk)
            model = fitted(source)
            np.testing.assert_array_equal(X[model.exemplar_ids_], model.exemplars_)
            assert len(np.unique(model.exemplar_ids_)) == 20
            ratios.append(loss(X, model.exemplars_) / loss(X, no_centering(source).exemplars_))
        assert np.mean(ratios) < 0.99

    def test_what_is_known_of_validation_rows_is_that_of_the_new_exemplars(self):
        model = ExemplarClustering(20, n_validation=2000, random_state=0).fit(overlapping(3000))
        F, ids = model._objective, model._sample.row_ids
        assert np.isin(model.exemplar_ids_, ids).any()
        D = pairwise_distances(F.rows.values, model.exemplars_, metric="sqeuclidean")
        D[ids[:, None] == model.exemplar_ids_] = np.inf
        np.testing.assert_allclose(F.near, D.min(axis=1), rtol=1e-3, atol=1e-5)
        assert model.history_["loss"][-1] == F.loss

    def test_wrong_means_change_nothing(self):
        X = overlapping()
        model = ExemplarClustering(20, n_validation=1000, random_state=0).partial_fit(X)
        model._means.means[:] = 3.0
        model._means.rows[:] = X[X.sum(axis=1).argmax()]
        before = model.exemplar_ids_.copy()
        model._center()
        np.testing.assert_array_equal(model.exemplar_ids_, before)

    def test_a_sorted_stream_is_not_harmed(self, no_centering):
        X = overlapping()
        X = X[np.argsort(X[:, 0])]
        model, without = (fit(stream(X, chunk_size=1000)) for fit in (fitted, no_centering))
        assert loss(X, model.exemplars_) < 1.01 * loss(X, without.exemplars_)

    def test_locked_exemplars_stay(self):
        X = overlapping()
        model = fitted(X, locked=X[:3] + 1, initial=X[5:7])
        np.testing.assert_array_equal(model.exemplars_[:3], X[:3] + 1)
        assert (model.exemplar_ids_[:3] == -1).all()

    def test_no_row_is_chosen_twice(self):
        model = ExemplarClustering(20, n_validation=500, random_state=0).partial_fit(overlapping(3000))
        means = model._means
        for values in (means.means, means.rows, means.row_ids):
            values[:10] = values[10:]
        new = np.flatnonzero(~np.isin(means.row_ids, model.exemplar_ids_))[-1]
        model._held_out.rows.values[:] = means.rows[new]  # rows near means are better for these
        model._center()
        assert means.row_ids[new] in model.exemplar_ids_
        assert len(np.unique(model.exemplar_ids_)) == 20

    @pytest.mark.parametrize(
        "options",
        [{"dissimilarity": "euclidean"}, {"phantom": "mean"}, {"swaps": "one"}, {"min_distance": 0.1}],
        ids=str,
    )
    def test_other_aims_follow_no_means(self, options):
        model = fitted(overlapping(3000), **options)
        assert not hasattr(model, "_means")

    @pytest.mark.parametrize(("budget", "follows"), [("200 KiB", True), ("120 KiB", False)])
    def test_a_small_budget_is_for_validation_rows(self, budget, follows):
        X = overlapping(3000, width=64)
        model = ExemplarClustering(30, budget=budget, random_state=0).fit(X)
        assert hasattr(model, "_means") == follows
        assert model.nbytes_ <= model.plan(64, np.float32).nbytes

    def test_a_sample_of_everything_follows_no_means(self):
        assert not hasattr(fitted(overlapping(900)), "_means")

    def test_shards_that_are_merged_are_centered(self, no_centering):
        X = overlapping()
        merged = [fit(X[:10_000]).merge(fit(X[10_000:])) for fit in (fitted, no_centering)]
        assert merged[0]._means.n_learned == 20_000
        assert loss(X, merged[0].exemplars_) < 1.01 * loss(X, no_centering(X).exemplars_)

    def test_fewer_exemplars_have_means_of_their_own(self):
        X = overlapping()
        model = ExemplarClustering(20, n_validation=1000, random_state=0).partial_fit(X[:10_000])
        model._resize(10, "64 MiB")
        model.partial_fit(X[10_000:]).refine()
        assert len(model._means.means) == 10
        assert loss(X, model.exemplars_) < 1.1 * loss(X, fitted(X, n_exemplars=10).exemplars_)

    def test_older_rows_fade(self):
        model = fitted(half_life=2000)
        assert model._means.n_learned < 1.1 * 2000 / np.log(2)


class TestState:
    def test_a_state_saved_midway_goes_on_as_if_never_stopped(self):
        X = overlapping()
        model = ExemplarClustering(20, n_validation=1000, random_state=0).partial_fit(X[:10_000])
        again = ExemplarClustering.from_bytes(model.to_bytes())
        for one in (model, again):
            one.partial_fit(X[10_000:]).refine()
        assert again.to_bytes() == model.to_bytes()

    def test_an_older_state_makes_room_for_means(self, monkeypatch):
        X = overlapping(6000, width=50)
        with monkeypatch.context() as older:
            older.setattr(ClusterMeans, "nbytes_for", lambda *sizes: 0)
            model = ExemplarClustering(100, budget="900 KiB", random_state=0).partial_fit(X[:3000])
        assert not hasattr(model, "_means")
        model = ExemplarClustering.from_bytes(model.to_bytes()).partial_fit(X[3000:])
        assert model._means.n_learned == 3000
        assert model.nbytes_ <= 900 * 1024

    @pytest.mark.parametrize("options", [{"dissimilarity": "euclidean"}, {"phantom": "mean"}], ids=str)
    def test_means_where_none_are_needed_are_refused(self, options):
        model = fitted(overlapping(3000), **options)
        model._means = ClusterMeans(model.exemplars_, model.exemplar_ids_)
        with pytest.raises((StateError, ValueError), match="need no means"):
            ExemplarClustering.from_bytes(model.to_bytes())

    @pytest.mark.parametrize(
        ("name", "value"),
        [("means", np.full((20, 4), np.nan)), ("weights", -np.ones(20)), ("rows", np.zeros((19, 4), np.float32))],
    )
    def test_forged_means_are_refused(self, name, value):
        model = fitted(overlapping(3000))
        setattr(model._means, name, value)
        with pytest.raises((StateError, ValueError), match="_means"):
            model.to_bytes()
