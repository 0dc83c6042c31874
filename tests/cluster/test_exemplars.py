"""Exemplar clustering: what it promises, against brute force and on real digits."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import modicum
from modicum import ExemplarClustering, stream
from modicum.exceptions import BudgetError, DataError, StateError


def blobs(n=3000, seed=0, centers=5, width=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    means = 10 * np.random.default_rng(99).normal(size=(centers, width))
    return (means[rng.integers(centers, size=n)] + rng.normal(size=(n, width))).astype(dtype)


def loss(X, exemplars, metric="sqeuclidean"):
    return pairwise_distances(exemplars, X, metric=metric).min(axis=0).mean()


def learn(model, X, chunk=250):
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    return model


class TestQuality:
    def test_half_the_optimum_and_more(self):
        """Theorem 4 on data small enough to try every set: no swap gains anything, so at least half of the best."""
        X = np.random.default_rng(0).normal(size=(14, 2))
        model = ExemplarClustering(3, n_validation=14, phantom="mean", patience=200, min_gain=0.0, random_state=0).fit(
            X
        )
        phantom = pairwise_distances(X.mean(axis=0)[None], X, metric="sqeuclidean")[0]
        best = max(
            np.mean(phantom - np.minimum(phantom, pairwise_distances(X[list(A)], X, metric="sqeuclidean").min(axis=0)))
            for A in combinations(range(14), 3)
        )
        assert model.utility_ <= best + 1e-9
        assert model.utility_ >= 0.95 * best  # the theorem says 0.5
        assert best <= model.guarantee().optimum_at_most

    def test_a_guarantee_is_that_of_the_present_exemplars(self):
        """The best swap is computed once, and again after anything that may change it."""
        model = learn(ExemplarClustering(12, n_validation=200, swaps="one", min_gain=0.0, random_state=1), blobs(2000))
        before = model.guarantee()
        assert model.guarantee(0.5).eta == before.eta
        after = model.refine().guarantee()
        assert after.eta <= 1e-6 < before.eta
        assert ExemplarClustering.from_bytes(model.to_bytes()).guarantee() == after

    def test_no_swap_gains_anything_at_the_end(self):
        X = np.random.default_rng(1).normal(size=(80, 2))
        model = ExemplarClustering(6, n_validation=80, patience=1000, min_gain=0.0, random_state=0).fit(X)
        for i in range(6):
            for x in X:
                swapped = model.exemplars_.copy()
                swapped[i] = x
                assert loss(X, swapped) >= model.loss_ - 1e-9

    def test_separated_clusters_get_one_exemplar_each(self):
        """Propositions 2 and 3: with as many exemplars as clusters, each gets one."""
        X = blobs(4000, centers=7)
        model = learn(ExemplarClustering(7, n_validation=500, random_state=0), X)
        assert loss(X, model.exemplars_) < 2 * 3  # the clusters' own spread is 3
        assert len(np.unique(model.predict(X))) == 7

    def test_a_stream_sorted_by_cluster_is_covered(self):
        X = blobs(6000, centers=6, width=2)
        X = X[np.argsort(X[:, 0])]
        model = learn(ExemplarClustering(6, n_validation=400, random_state=0), X, chunk=100).refine()
        assert loss(X, model.exemplars_) < 1.25 * loss(X, ExemplarClustering(6, random_state=0).fit(X).exemplars_)

    def test_far_outliers_later_do_not_saturate_the_phantom(self):
        X = np.concatenate([blobs(2000, centers=2), blobs(2000, centers=2) + 1000])
        model = learn(ExemplarClustering(4, n_validation=400, random_state=0), X)
        assert loss(X, model.exemplars_) < 20

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_an_outlier_does_not_stop_the_others(self, dtype):
        X = blobs(2000, dtype=dtype)
        clean = ExemplarClustering(20, n_validation=500, random_state=0).fit(X)
        X[0] = 1e5
        odd = ExemplarClustering(20, n_validation=500, random_state=0).fit(X)
        assert len(odd.exemplars_) == 20
        assert loss(X[1:], odd.exemplars_) < 1.15 * loss(X[1:], clean.exemplars_)

    def test_tight_clusters_far_apart_in_float32(self):
        """The differences between near rows are far below the precision of float32 products."""
        rng = np.random.default_rng(0)
        X = (10_000 * rng.integers(-1, 2, size=(2000, 3)) + rng.normal(size=(2000, 3))).astype(np.float32)
        single, double = (
            ExemplarClustering(40, n_validation=500, random_state=0).fit(X.astype(t)) for t in ("f4", "f8")
        )
        assert loss(X.astype(float), single.exemplars_) < 1.05 * loss(X.astype(float), double.exemplars_)

    def test_more_validation_rows_are_better(self):
        X = load_digits().data
        losses = [
            np.mean(
                [loss(X, ExemplarClustering(40, n_validation=w, random_state=s).fit(X).exemplars_) for s in range(3)]
            )
            for w in (100, 400, 1797)
        ]
        assert losses[0] > losses[1] > losses[2]

    def test_better_than_k_means_snapped_to_rows(self):
        from sklearn.cluster import KMeans

        X = load_digits().data
        means = KMeans(40, n_init=1, random_state=0).fit(X).cluster_centers_
        snapped = X[pairwise_distances(means, X).argmin(axis=1)]
        assert ExemplarClustering(40, n_validation=1797, random_state=0).fit(X).loss_ < loss(X, snapped)

    def test_one_swap_per_block_is_the_paper(self):
        X = blobs(6000)
        one = ExemplarClustering(5, n_validation=500, swaps="one", random_state=0).fit(X)
        assert one.n_swaps_ <= 6000 / 64 + 1
        assert loss(X, one.exemplars_) < 2 * 3

    def test_utility_never_falls_while_the_sample_stays(self):
        X = load_digits().data
        utility = ExemplarClustering(30, n_validation=1797, random_state=0).fit(X).history_["utility"]
        assert (np.diff(utility) >= -1e-6).all()


class TestOwnRows:
    """Validation rows do not represent themselves once they are a sample."""

    def outliers(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 20))
        X[rng.choice(4000, 200, replace=False)] *= 6  # far from everything, and from each other
        return X

    def test_outliers_of_the_sample_do_not_become_exemplars_of_themselves(self):
        X = self.outliers()
        model = ExemplarClustering(30, n_validation=300, phantom="origin", random_state=0).fit(X)
        assert (np.bincount(model.predict(X), minlength=30) <= 1).mean() <= 0.1

    @pytest.mark.parametrize("confidence", [None, 0.9])
    def test_exemplars_are_infinitely_far_from_their_own_validation_row(self, confidence):
        X = blobs(3000)
        model = learn(ExemplarClustering(8, n_validation=1500, confidence=confidence, random_state=0), X).refine()
        own = model._sample.slots_of(model.exemplar_ids_)
        there = np.flatnonzero(own >= 0)
        assert len(there) > 0
        away = model._objective.to_exemplars[own[there], there]
        assert np.isinf(away).all()
        others = model._objective.to_exemplars.copy()
        others[own[there], there] = 0
        assert np.isfinite(others).all()
        assert np.isfinite([model.loss_, model.utility_]).all()

    def test_while_the_sample_has_all_rows_exemplars_represent_themselves(self):
        X = blobs(300)
        model = ExemplarClustering(8, n_validation=300, random_state=0).fit(X)
        assert model.loss_ == pytest.approx(loss(X, model.exemplars_))

    @pytest.mark.parametrize("confidence", [None, 0.9])
    def test_a_single_exemplar_moves_on(self, confidence):
        X = np.concatenate([np.full((20, 2), 4.0), np.random.default_rng(0).normal(size=(3000, 2))])
        for seed in range(5):
            model = ExemplarClustering(1, n_validation=60, confidence=confidence, random_state=seed)
            assert loss(X, learn(model, X, 40).exemplars_) < 4

    def test_a_single_exemplar_in_a_small_sample(self):
        X = blobs(500, centers=1)
        model = learn(ExemplarClustering(1, n_validation=5, random_state=0), X).refine()
        assert model.loss_ < 50
        assert np.isfinite(model.utility_)


class TestMerge:
    def test_four_shards_are_as_good_as_one_stream(self):
        X = load_digits().data[np.random.default_rng(0).permutation(1797)]
        whole = learn(ExemplarClustering(40, n_validation=600, random_state=0), X).refine()
        shards = [
            learn(ExemplarClustering(40, n_validation=600, random_state=s), shard)
            for s, shard in enumerate(np.array_split(X, 4))
        ]
        merged = shards[0]
        for shard in shards[1:]:
            merged.merge(shard)
        assert merged.n_seen_ == 1797
        assert loss(X, merged.exemplars_) <= 1.02 * loss(X, whole.exemplars_)

    def test_shards_that_lie_far_apart(self):
        near, far = blobs(1000), blobs(1000) + 1000
        left = ExemplarClustering(6, n_validation=200, random_state=0).fit(near)
        left.merge(ExemplarClustering(6, n_validation=200, random_state=1).fit(far))
        assert loss(np.concatenate([near, far]), left.exemplars_) < 60

    def test_ids_are_those_of_the_rows(self):
        X = blobs(2000)
        left = ExemplarClustering(5, n_validation=200, random_state=0).partial_fit(X[:900], row_ids=np.arange(900))
        right = ExemplarClustering(5, n_validation=200, random_state=1).partial_fit(
            X[900:], row_ids=np.arange(900, 2000)
        )
        left.merge(right)
        np.testing.assert_array_equal(X[left.exemplar_ids_], left.exemplars_)

    def test_other_parameters_are_refused(self):
        X = blobs(200)
        with pytest.raises(StateError, match=r"n_exemplars differs \(3 here, 4 there\)"):
            ExemplarClustering(3).fit(X).merge(ExemplarClustering(4).fit(X))


class TestInput:
    @pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "manhattan", "hamming", "chebyshev"])
    def test_named_dissimilarities(self, metric):
        X = np.round(blobs(600)) + 20
        model = ExemplarClustering(5, n_validation=300, dissimilarity=metric, random_state=0).fit(X)
        judged, others = (
            loss(rows, model.exemplars_, metric) for rows in (model.validation_rows_, model.held_out_rows_)
        )
        assert model.loss_ == pytest.approx((judged + others) / 2, rel=1e-5)  # 300 rows and 300 others
        assert model.loss_ < loss(X, X[:5], metric)

    def test_a_function_of_chunks_and_one_of_rows_agree_with_the_name(self):
        X = blobs(400)

        def of_chunks(A, B):
            return ((A[:, None] - B[None]) ** 2).sum(axis=2)

        def of_rows(a, b):
            return float(((a - b) ** 2).sum())

        models = [
            ExemplarClustering(4, n_validation=100, dissimilarity=d, phantom="mean", random_state=0).fit(X)
            for d in ("sqeuclidean", of_chunks, of_rows)  # by that phantom, exemplars stay where swaps put them
        ]
        for model in models[1:]:
            np.testing.assert_array_equal(model.exemplar_ids_, models[0].exemplar_ids_)

    def test_words(self):
        def edits(a, b):
            return sum(x != y for x, y in zip(a.ljust(8), b.ljust(8), strict=True))

        words = ["apple", "apples", "applet", "stone", "stones", "stoned", "river", "rivers", "rivets"] * 20
        model = ExemplarClustering(3, dissimilarity=edits, random_state=0).fit(words)
        assert {word[0] for word in model.exemplars_} == {"a", "s", "r"}
        assert model.predict(["apply", "stonex"]).shape == (2,)
        assert words[model.exemplar_ids_[0]] == model.exemplars_[0]

    def test_an_asymmetric_dissimilarity_has_the_exemplar_first(self):
        def from_exemplar(c, x):
            return 0.0 if c[0] <= x[0] else 1.0  # an exemplar represents all rows above it at no cost

        X = np.arange(1.0, 40.0)[:, None]
        model = ExemplarClustering(1, dissimilarity=from_exemplar, phantom=5.0, random_state=0).fit(X)
        assert model.exemplars_[0, 0] == 1.0

    def test_sparse_rows_stay_sparse_and_agree(self):
        X = blobs(800)
        X[np.abs(X) < 4] = 0
        dense = ExemplarClustering(5, n_validation=200, random_state=0).fit(X)
        thin = ExemplarClustering(5, n_validation=200, random_state=0).fit(sparse.csr_matrix(X))
        assert sparse.issparse(thin.exemplars_)
        assert sparse.issparse(thin.validation_rows_)
        assert thin.loss_ == pytest.approx(dense.loss_, rel=0.02)

    def test_growing_sparse_rows_are_held_within_bytes(self):
        model = ExemplarClustering(3, budget="40 KiB", random_state=0)
        for density in (0.01, 0.1, 0.5):
            chunk = sparse.random(300, 200, density, format="csr", random_state=0, dtype=np.float64)
            model.partial_fit(chunk)
            assert model.nbytes_ <= 40 * 1024

    def test_far_from_the_origin_in_float32(self):
        """Digits cancel when distances are much smaller than coordinates; the rows are moved first."""
        X = blobs(2000).astype(np.float32)
        near, far = (
            ExemplarClustering(5, n_validation=300, random_state=0).fit(X + shift) for shift in (0, np.float32(4096))
        )
        assert loss(X + 4096.0, far.exemplars_.astype(float)) < 1.05 * loss(X, near.exemplars_)

    def test_dense_and_sparse_chunks_of_one_stream(self):
        X = blobs(400)
        dense = ExemplarClustering(4, n_validation=100, random_state=0).partial_fit(X[:200]).partial_fit(X[200:])
        mixed = ExemplarClustering(4, n_validation=100, random_state=0)
        mixed.partial_fit(X[:200]).partial_fit(sparse.csr_matrix(X[200:]))
        np.testing.assert_array_equal(mixed.exemplars_, dense.exemplars_)
        thin = ExemplarClustering(4, n_validation=100, random_state=0).partial_fit(sparse.csr_matrix(X[:200]))
        assert sparse.issparse(thin.partial_fit(X[200:]).exemplars_)

    def test_the_callers_sparse_matrix_is_left_alone(self):
        X = sparse.random(300, 20, 0.2, format="csr", random_state=0)
        X.indices[:2] = X.indices[1::-1][:2]
        X.has_sorted_indices = False
        before = X.indices.copy()
        ExemplarClustering(4, random_state=0).fit(X)
        np.testing.assert_array_equal(X.indices, before)

    def test_a_function_that_fails_changes_nothing(self):
        def picky(a, b):
            if "bad" in (a, b):
                raise KeyError("bad")
            return float(a != b)

        model = ExemplarClustering(2, n_validation=10, dissimilarity=picky, random_state=0)
        with pytest.raises(KeyError):
            model.partial_fit(["x", "bad"])
        model.partial_fit(["x", "y", "z"] * 4)
        before = model.to_bytes()
        with pytest.raises(KeyError):
            model.partial_fit(["y"] * 9 + ["bad"])
        assert model.to_bytes() == before
        assert model.partial_fit(["z"]).n_seen_ == 13

    def test_a_refused_first_chunk_leaves_a_fresh_learner(self):
        model = ExemplarClustering(5, budget="1 KiB")
        with pytest.raises(BudgetError):
            model.partial_fit(blobs(100))
        with pytest.raises(NotFittedError):
            model.predict(blobs(5))
        with pytest.raises(NotFittedError):
            model.guarantee()

    def test_whole_numbers_become_float64(self):
        X = np.array([[2**24], [2**24 + 1], [2**24 + 3]])
        model = ExemplarClustering(3, random_state=0).fit(X)
        assert sorted(model.exemplars_.ravel()) == sorted(X.ravel())

    def test_positions_count_rows_of_weight_zero(self):
        X = np.arange(6.0)[:, None]
        model = ExemplarClustering(6, random_state=0).partial_fit(X[:3], sample_weight=[1, 0, 1]).partial_fit(X[3:])
        np.testing.assert_array_equal(X[model.exemplar_ids_], model.exemplars_)

    def test_numbers_that_overflow_are_refused(self):
        with pytest.raises(ValueError, match="overflow"), np.errstate(all="ignore"):
            ExemplarClustering(2).fit(np.array([[1e25], [-1e25]], np.float32))

    def test_row_ids_are_carried_through(self):
        X = blobs(500)
        model = ExemplarClustering(5, random_state=0).partial_fit(X, row_ids=np.arange(500) * 10 + 7)
        np.testing.assert_array_equal(X[(model.exemplar_ids_ - 7) // 10], model.exemplars_)
        table = model.table(X)
        np.testing.assert_array_equal(table["exemplar"], model.exemplar_ids_[model.predict(X)])
        np.testing.assert_allclose(table["dissimilarity"], model.transform(X).min(axis=1))

    def test_one_thread_and_two_give_the_same(self):
        from threadpoolctl import threadpool_limits

        X = blobs(3000).astype(np.float32)
        blobs_of = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                blobs_of.append(ExemplarClustering(20, n_validation=500, random_state=0).fit(X).to_bytes())
        assert blobs_of[0] == blobs_of[1]


class TestProcesses:
    def test_many_exemplars_and_many_rows(self):
        """Tiles of rows, and within them tiles of exemplars: one pool of threads serves both."""
        X = blobs(20_000, dtype=np.float32)
        model = ExemplarClustering(300, n_validation=400, random_state=0).fit(X[:2000])
        D = pairwise_distances(X[:50], model.exemplars_, metric="sqeuclidean")
        np.testing.assert_allclose(model.transform(X)[:50], D, rtol=1e-2, atol=1e-3)

    def test_after_a_fork(self):
        """Threads do not survive a fork: the child must not wait for them."""
        X = blobs(3000)
        ExemplarClustering(8, n_validation=500, random_state=0).fit(X)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            ExemplarClustering(8, n_validation=500, random_state=0).fit(X)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    def test_several_threads_do_not_change_blas(self):
        from threadpoolctl import threadpool_info

        def blas():
            return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

        X = blobs(2000)
        before = blas()
        with ThreadPoolExecutor(4) as pool:
            fits = [pool.submit(ExemplarClustering(5, n_validation=200, random_state=0).fit, X) for _ in range(8)]
            states = {fit.result().to_bytes() for fit in fits}
        assert blas() == before
        assert len(states) == 1


class TestWeights:
    def test_two_is_twice(self):
        X = blobs(60)
        weight = np.where(np.arange(60) < 20, 2.0, 1.0)
        given = {"locked": X[:3], "n_validation": 200, "phantom": "origin"}
        weighted = ExemplarClustering(3, **given).fit(X, sample_weight=weight)
        twice = ExemplarClustering(3, **given).fit(np.concatenate([X, X[:20]]))
        assert weighted.utility_ == pytest.approx(twice.utility_, rel=1e-12)
        np.testing.assert_allclose(weighted.cluster_sizes_, twice.cluster_sizes_)

    def test_weights_pull_exemplars(self):
        X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
        light = ExemplarClustering(1, random_state=0).fit(X)
        heavy = ExemplarClustering(1, random_state=0).fit(X, sample_weight=[1, 1, 1, 1, 50])
        assert light.exemplars_[0, 0] == 3.0
        assert heavy.exemplars_[0, 0] == 10.0

    def test_sizes_count_the_whole_stream(self):
        X = blobs(5000)
        model = learn(ExemplarClustering(5, n_validation=1000, random_state=0), X)
        true = np.bincount(model.predict(X), minlength=5)
        assert model.cluster_sizes_.sum() == pytest.approx(5000)
        assert np.abs(model.cluster_sizes_ - true).max() < 5 * np.sqrt(1000) * 5


class TestGivenExemplars:
    def test_picks_are_the_exemplars(self):
        X = blobs(900)
        model = ExemplarClustering(6, locked=X[:2] + 1, random_state=0).fit(X)
        picks = model.picks()
        assert picks.kind == "exemplar"
        assert picks.rows is model.exemplars_ or np.array_equal(picks.rows, model.exemplars_)
        np.testing.assert_array_equal(picks.ids, model.exemplar_ids_)
        np.testing.assert_array_equal(picks.weights, model.cluster_sizes_)
        assert picks.weights.sum() == pytest.approx(900)

    def test_locked_stay_and_initial_may_be_replaced(self):
        X = blobs(3000)
        odd = np.full((2, 3), 500.0)
        locked = ExemplarClustering(6, locked=odd, random_state=0).fit(X)
        np.testing.assert_array_equal(locked.exemplars_[:2], odd)
        assert (locked.exemplar_ids_[:2] == -1).all()
        initial = ExemplarClustering(6, initial=odd, random_state=0).fit(X)
        assert not (initial.exemplars_ == 500).any()

    def test_too_many(self):
        with pytest.raises(ValueError, match="4 locked rows, but only 3"):
            ExemplarClustering(3, locked=np.zeros((4, 3))).fit(blobs(50))

    def test_wrong_width(self):
        with pytest.raises(ValueError, match="initial does not fit"):
            ExemplarClustering(3, initial=np.zeros((1, 7))).fit(blobs(50))


class TestPhantom:
    @pytest.mark.parametrize("phantom", ["far", "mean", "origin", "random", 30.0, np.zeros(3)])
    def test_utility_is_the_definition(self, phantom):
        X = blobs(500)
        model = ExemplarClustering(4, n_validation=500, phantom=phantom, random_state=0).fit(X)
        D = pairwise_distances(model.exemplars_, X, metric="sqeuclidean").min(axis=0)
        away = np.broadcast_to(model._objective.phantom_to(X), len(X))
        assert model.utility_ == pytest.approx(np.mean(away - np.minimum(away, D)), rel=1e-9)
        assert model.score(X) == pytest.approx(model.utility_, rel=1e-9)

    def test_the_mean_is_that_of_the_stream(self):
        X = np.linspace(0, 100, 2000)[:, None] + np.random.default_rng(0).normal(size=(2000, 1))
        model = learn(ExemplarClustering(3, n_validation=200, phantom="mean", random_state=0), X)
        assert model._objective.phantom[0, 0] == pytest.approx(X.mean(), abs=2)

    def test_the_phantom_is_not_changed_midway(self):
        model = ExemplarClustering(3, random_state=0).partial_fit(blobs(100))
        with pytest.raises(ValueError, match="_phantom must be that of the parameters, 'mean'"):
            model.set_params(phantom="mean").partial_fit(blobs(100))

    def test_objects_have_no_mean(self):
        with pytest.raises(ValueError, match='phantom="far"'):
            ExemplarClustering(2, dissimilarity=lambda a, b: 1.0, phantom="mean").fit(["a", "b", "c"])


class TestBudget:
    def test_the_error_says_what_is_enough(self):
        X = blobs(300, dtype=np.float32)
        with pytest.raises(BudgetError, match="at least") as caught:
            ExemplarClustering(50, budget="2 KiB").fit(X)
        enough = str(caught.value).split("at least ")[1].split(";")[0]
        number, unit = enough.split()
        model = ExemplarClustering(50, budget=f"{float(number) * 1.02} {unit}", random_state=0).fit(X)
        assert model.n_retained_ >= 100

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_plan_is_kept(self, dtype):
        model = ExemplarClustering(20, budget="300 KiB", random_state=0)
        plan = model.plan(3, dtype)
        learn(model, blobs(8000, dtype=dtype))
        assert len(model.validation_rows_) + len(model.held_out_rows_) + 20 == plan.rows
        assert 0.9 * plan.nbytes <= model.nbytes_ <= plan.nbytes <= 300 * 1024
        assert "300" in str(plan) or "29" in str(plan)

    def test_an_int_counts_all_rows(self):
        model = learn(ExemplarClustering(5, budget=123, random_state=0), blobs(2000))
        assert (len(model.validation_rows_), len(model.held_out_rows_)) == (94, 24)
        assert model.n_retained_ == 123 == model.plan(3).rows

    def test_validation_rows_by_number(self):
        model = learn(ExemplarClustering(5, n_validation=123, random_state=0), blobs(2000))
        assert len(model.validation_rows_) == 123
        with pytest.raises(BudgetError, match=r"123 validation rows .* at least 159 rows; got 100"):
            ExemplarClustering(5, budget=100, n_validation=123).fit(blobs(10))
        with pytest.raises(ValueError, match="n_validation must be at least n_exemplars, 5; got 4"):
            ExemplarClustering(5, n_validation=4).fit(blobs(10))

    @pytest.mark.parametrize("budget", [None, 10_000, "64 MiB"])
    def test_more_rows_than_useful_are_not_kept(self, budget):
        model = ExemplarClustering(5, budget=budget, random_state=0).fit(blobs(4000))
        assert len(model.validation_rows_) == 3000
        assert ExemplarClustering(80, budget=budget).plan(3, np.float32).rows == 80 + 80 * 80 + 1600

    def test_n_validation_is_not_changed_midway(self):
        model = ExemplarClustering(5, n_validation=50, random_state=0).partial_fit(blobs(200))
        with pytest.raises(ValueError, match="n_validation of the parameters, 60"):
            model.set_params(n_validation=60).partial_fit(blobs(200))

    def test_history_stays_small(self):
        model = ExemplarClustering(2, n_validation=10, random_state=0)
        for row in np.random.default_rng(0).normal(size=(700, 1, 2)):
            model.partial_fit(row)
        history = model.history_
        assert len(history["n_seen"]) <= 512
        assert history["n_seen"][-1] == history["candidates"][-1] == 700
        assert (np.diff(history["n_seen"]) > 0).all()

    def test_history_counts_rows_once(self):
        X = blobs(1200)
        model = ExemplarClustering(8, n_validation=300, min_gain=0.0, patience=3000, random_state=0)
        history = model.fit(modicum.stream(X, chunk_size=100)).history_
        assert next(iter(history)) == "n_seen"
        assert history["n_seen"][-1] == 1200
        assert history["candidates"][-1] == model.n_candidates_ > 1200
        assert (np.diff(history["n_seen"]) >= 0).all()
        other = ExemplarClustering(8, n_validation=300, min_gain=0.0, patience=3000, random_state=1).fit(X[:700])
        history = model.merge(other).partial_fit(X[:50]).history_
        assert (np.diff(history["n_seen"]) >= 0).all()
        assert set(history["n_seen"][-2:]) == {1900, 1950}


class TestConfidence:
    def test_spent_and_saved_add_up(self):
        X = blobs(4000, dtype=np.float32)
        racing = ExemplarClustering(5, n_validation=1000, confidence=0.95, random_state=0).fit(X)
        exact = ExemplarClustering(5, n_validation=1000, random_state=0).fit(X)
        assert racing.n_evaluations_ + racing.n_evaluations_saved_ == exact.n_evaluations_
        assert exact.n_evaluations_saved_ == 0
        assert loss(X, racing.exemplars_) < 1.1 * loss(X, exact.exemplars_)

    def test_clear_cases_save(self):
        X = blobs(6000, dtype=np.float32)
        far = np.full((5, 3), 300.0, np.float32) + np.arange(5)[:, None]
        racing = ExemplarClustering(5, n_validation=3000, confidence=0.9, initial=far, swaps="one", random_state=0).fit(
            X
        )
        exact = ExemplarClustering(5, n_validation=3000, initial=far, swaps="one", random_state=0).fit(X)
        assert racing.n_evaluations_saved_ > 100_000  # of the 64 * 3000 of a block, in the first few
        assert loss(X, racing.exemplars_) < 1.1 * loss(X, exact.exemplars_)

    def test_error_bound_and_its_inverse(self):
        X = blobs(5000)
        model = learn(ExemplarClustering(5, n_validation=400, random_state=0), X)
        bound = model.error_bound(0.95)
        given = {"value_range": model._objective.to_phantom.max(), "confidence": 0.95, "n_rows": 5000}
        assert ExemplarClustering.n_validation_for(error=bound, **given) == 400
        assert model.error_bound(0.5) < bound
        assert ExemplarClustering(5).fit(X[:100]).error_bound() == 0  # all rows are in the sample

    def test_the_bound_holds(self):
        """Corollary 1: the utility of fixed exemplars on a sample is within the bound of that on the stream."""
        X = blobs(3000)
        wrong = 0
        for seed in range(60):
            model = ExemplarClustering(3, n_validation=100, locked=X[:3], phantom="origin", random_state=seed).fit(X)
            wrong += abs(model.utility_ - model.score(X)) > model.error_bound(0.8)
        assert wrong <= 12


class TestFit:
    def test_learn_repeats_passes_too(self):
        """`learn`, which the command line uses, does as `fit` does; a source to be read once is refused first."""
        X = blobs(1500)
        given = {"n_validation": 300, "min_gain": 0.0, "patience": 4000, "random_state": 0}
        fitted = ExemplarClustering(8, **given).fit(stream(X, chunk_size=500))
        assert ExemplarClustering(8, **given).learn(stream(X, chunk_size=500)).to_bytes() == fitted.to_bytes()
        assert fitted.n_candidates_ > 1500 + 5 * 300
        with pytest.raises(DataError, match="patience needs a source to read again"):
            ExemplarClustering(8, **given).learn(iter([X]))

    def test_patience_passes_until_nothing_changes(self):
        X = blobs(1000)
        once = ExemplarClustering(8, n_validation=1000, min_gain=0.0, random_state=0).fit(X)
        patient = ExemplarClustering(8, n_validation=1000, min_gain=0.0, patience=5000, random_state=0).fit(X)
        assert patient.n_candidates_ > once.n_candidates_
        assert patient.utility_ >= once.utility_
        assert patient.n_seen_ == 1000

    def test_absent_rows_are_not_offered_in_later_passes(self):
        X = np.concatenate([np.full((300, 3), 50.0), blobs(300) / 10])
        weight = np.repeat([0.0, 1.0], 300)
        model = ExemplarClustering(3, initial=X[300:303] + 40, patience=2000, random_state=0).fit(X, None, weight)
        assert model.n_candidates_ > 300
        assert model.exemplar_ids_.min() >= 300

    def test_large_arrays_go_in_chunks(self, monkeypatch):
        X = blobs(3000)
        monkeypatch.setattr("modicum.contract.learner.ONE_CHUNK_BYTES", 1000)
        model = ExemplarClustering(5, n_validation=300, random_state=0).fit(X)
        assert model.n_seen_ == 3000
        np.testing.assert_array_equal(X[model.exemplar_ids_], model.exemplars_)

    def test_files_and_streams(self, tmp_path):
        X = blobs(2000)
        np.save(tmp_path / "x.npy", X)
        for source in (tmp_path / "x.npy", modicum.stream(tmp_path / "x.npy", chunk_size=300)):
            assert ExemplarClustering(5, n_validation=300, random_state=0).fit(source).n_seen_ == 2000

    def test_in_a_pipeline(self):
        X = blobs(500)
        pipe = make_pipeline(StandardScaler(), ExemplarClustering(5, random_state=0)).fit(X)
        assert pipe.predict(X).shape == (500,)
        assert pipe.transform(X).shape == (500, 5)

    def test_labels_while_the_rows_exist(self):
        X = blobs(300)
        model = ExemplarClustering(5, random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, model.predict(X))
        np.testing.assert_array_equal(model.fit_predict(X), model.labels_)
        del X
        with pytest.raises(AttributeError, match="predict"):
            _ = model.labels_

    def test_fewer_rows_than_exemplars(self):
        model = ExemplarClustering(10, random_state=0).fit(np.repeat(np.arange(4.0), 3)[:, None])
        assert len(model.exemplars_) == 4
        assert model.loss_ == 0
