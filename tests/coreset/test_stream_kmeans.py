"""k-means of a stream beside k-means of all rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from modicum import Learner, StreamKMeans
from modicum.coreset.coreset import BUCKETFULS
from modicum.datasets import mixture
from modicum.exceptions import BudgetError, StateError
from modicum.rules.budget import as_budget


def rows(count=6000, columns=4, clusters=12, seed=0):
    return np.concatenate(list(mixture(count, columns, clusters, random_state=seed)))


def streamed(model, X, chunk=130, weight=None):
    for start in range(0, len(X), chunk):
        rows = slice(start, start + chunk)
        model.partial_fit(X[rows], sample_weight=None if weight is None else weight[rows])
    return model


def risk(X, centers, weight=None):
    return np.average(cdist(X, centers, "sqeuclidean").min(axis=1), weights=weight)


# ---- quality -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["as it comes", "sorted by cluster"])
@pytest.mark.parametrize("weighted", [False, True])
def test_risk_is_nearly_that_of_all_rows(order, weighted):
    ratios = []
    for seed in range(4):
        X = rows(seed=seed)
        w = np.random.default_rng(seed).exponential(size=len(X)) if weighted else None
        full = KMeans(12, n_init=5, random_state=0).fit(X, sample_weight=w)
        if order == "sorted by cluster":
            by_cluster = np.argsort(full.labels_, kind="stable")
            X, w = X[by_cluster], w[by_cluster] if weighted else None
        model = streamed(StreamKMeans(12, n_init=5, random_state=seed), X, weight=w)
        assert model.cluster_centers_.shape == (12, 4)
        ratios.append(risk(X, model.cluster_centers_, w) / risk(X, full.cluster_centers_, w))
    assert np.mean(ratios) < 1.04  # either side may end in a worse optimum


@pytest.mark.parametrize("chunk", [500, 30_000])
def test_a_small_summary(chunk):
    X = rows(30_000, clusters=5, seed=1)
    model = streamed(StreamKMeans(5, n_points=150, n_init=5, random_state=0), X, chunk)
    assert len(model.as_sample()[0]) == 150
    full = KMeans(5, n_init=5, random_state=0).fit(X)
    assert risk(X, model.cluster_centers_) < 1.2 * risk(X, full.cluster_centers_)


@pytest.mark.slow
def test_more_seedings_are_not_worse():
    X = rows(3000, clusters=30)
    costs = {
        n: [risk(X, StreamKMeans(30, n_init=n, random_state=s).fit(X).cluster_centers_) for s in range(4)]
        for n in (1, 6)
    }
    assert np.mean(costs[6]) < np.mean(costs[1])


def test_few_rows_are_clustered_without_a_summary():
    """Well separated clusters have one answer."""
    X = np.repeat([[0.0, 0], [10, 0], [0, 10]], 30, axis=0) + np.random.default_rng(0).normal(size=(90, 2))
    ours, theirs = StreamKMeans(3, random_state=0).fit(X), KMeans(3, n_init=5, random_state=0).fit(X)
    order = cdist(theirs.cluster_centers_, ours.cluster_centers_).argmin(axis=1)
    assert_allclose(ours.cluster_centers_[order], theirs.cluster_centers_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["lightweight", "uniform"])
def test_other_methods_have_a_bounded_risk(method):
    X = rows()
    model = streamed(StreamKMeans(12, method=method, n_init=3, random_state=0), X)
    full = risk(X, KMeans(12, n_init=3, random_state=0).fit(X).cluster_centers_)
    assert risk(X, model.cluster_centers_) < 1.5 * full


def test_sizes_and_costs_of_clusters():
    X, w = rows(900), np.random.default_rng(0).uniform(0, 2, 900)
    model = StreamKMeans(12, random_state=0).fit(X, sample_weight=w)
    assert_allclose(model.cluster_sizes_, np.bincount(model.predict(X), w))  # all rows are still there
    assert_allclose(model.cost(model.cluster_centers_).value, risk(X, model.cluster_centers_, w) * w.sum(), rtol=1e-6)
    X = rows()
    model = streamed(StreamKMeans(12, random_state=0), X)
    assert_allclose(model.cluster_sizes_.sum(), 6000)
    assert_allclose(model.cluster_sizes_, np.bincount(model.predict(X)), atol=100)
    assert_allclose(model.cost(X[:5]).value, 6000 * risk(X, X[:5]), rtol=0.02)


# ---- rows of every kind --------------------------------------------------------------------------


def test_equal_rows_make_one_center():
    model = streamed(StreamKMeans(5, n_points=20, random_state=0), np.full((900, 2), 3.3))
    assert_allclose(model.cluster_centers_, [[3.3, 3.3]])
    assert_array_equal(model.predict([[1, 1], [5, 5]]), [0, 0])


def test_fewer_distinct_rows_than_clusters():
    X = np.tile([[0.0, 1], [2, 3], [-5, 5]], (300, 1))
    model = streamed(StreamKMeans(7, n_points=20, random_state=0), X)
    assert_allclose(np.sort(model.cluster_centers_, axis=0), [[-5, 1], [0, 3], [2, 5]], atol=1e-9)
    assert_allclose(model.score(X), 0, atol=1e-12)


def test_more_clusters_than_rows():
    X = rows(5)
    model = StreamKMeans(30, random_state=0).fit(X)
    assert_allclose(np.sort(model.cluster_centers_, axis=0), np.sort(X, axis=0), rtol=1e-5)
    assert streamed(model, rows(300)).cluster_centers_.shape == (30, 4)


def test_one_column_and_one_cluster():
    X = np.random.default_rng(0).exponential(size=(3000, 1))
    assert_allclose(streamed(StreamKMeans(1, n_points=20), X).cluster_centers_, [X.mean(axis=0)])
    two = np.sort(streamed(StreamKMeans(2, random_state=0), X).cluster_centers_.ravel())
    assert_allclose(two, np.sort(KMeans(2, n_init=3, random_state=0).fit(X).cluster_centers_.ravel()), rtol=0.05)


@pytest.mark.parametrize("scale", [1e-25, 1e-22, 1e16])
def test_units_of_columns_do_not_matter_in_single_precision(scale):
    X = rows(3000, clusters=5)
    plain, scaled = (streamed(StreamKMeans(5, n_init=3, random_state=0), X * np.float32(s)) for s in (1, scale))
    assert scaled.cluster_centers_.dtype == np.float32
    assert risk(X, scaled.cluster_centers_ / np.float32(scale)) < 1.02 * risk(X, plain.cluster_centers_)


def test_far_from_the_origin_in_single_precision():
    X = rows(clusters=5) + np.float32(1e6)
    model = streamed(StreamKMeans(5, n_init=3, random_state=0), X)
    full = KMeans(5, n_init=3, random_state=0).fit(X.astype(np.float64))
    assert model.cluster_centers_.dtype == np.float32
    assert -model.score(X) < 1.05 * risk(X, full.cluster_centers_)


@pytest.mark.parametrize("scale", [1e-59, 1e59])
def test_units_of_weight_do_not_matter(scale):
    X, w = rows(3000, clusters=5), np.random.default_rng(0).uniform(0.5, 2, 3000)
    plain, scaled = (streamed(StreamKMeans(5, n_init=3, random_state=0), X, weight=w * s) for s in (1, scale))
    assert_allclose(risk(X, scaled.cluster_centers_, w), risk(X, plain.cluster_centers_, w), rtol=0.02)


def test_a_single_heavy_row_is_a_center():
    X, w = rows(), np.ones(6000)
    w[777] = 1e9
    model = streamed(StreamKMeans(12, random_state=0), X, weight=w)
    assert_allclose(cdist(X[777, None], model.cluster_centers_).min(), 0, atol=1e-2)


def test_frames():
    frame = pd.DataFrame(rows(2000), columns=list("abcd"))
    model = StreamKMeans(3, random_state=0).fit(frame)
    assert_array_equal(
        model.predict(frame), StreamKMeans(3, random_state=0).fit(frame.to_numpy()).predict(frame.to_numpy())
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


# ---- the answer is a function of the state -------------------------------------------------------


def test_answers_do_not_depend_on_earlier_requests():
    X = rows()
    asked, silent = StreamKMeans(8, n_points=100, random_state=0), StreamKMeans(8, n_points=100, random_state=0)
    for start in range(0, len(X), 500):
        assert asked.partial_fit(X[start : start + 500]).cluster_centers_.shape == (8, 4)
        silent.partial_fit(X[start : start + 500])
    assert asked.to_bytes() == silent.to_bytes()
    assert_array_equal(asked.cluster_centers_, silent.cluster_centers_)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_saved_model_gives_the_same_answers(warm_start, seed):
    X = np.random.default_rng(seed).normal(size=(4000, 3))  # no clusters: k-means has many solutions
    model = StreamKMeans(8, n_points=1000, warm_start=warm_start, random_state=seed)
    for start in (0, 1500, 3000):
        model.partial_fit(X[start : start + 1500])
        answer, blob = model.cluster_centers_, model.to_bytes()
        again = Learner.from_bytes(blob)
        assert_array_equal(again.cluster_centers_, answer)
        assert again.to_bytes() == blob
        model = again


def test_a_warm_start_initializes_with_the_last_answer():
    """Clusters keep their numbers; without warm_start, seeds are drawn again."""
    X = rows(8000, clusters=8)
    warm = StreamKMeans(8, warm_start=True, random_state=0).partial_fit(X[:2000])
    first = warm.cluster_centers_
    points, weights = warm.partial_fit(X[2000:]).as_sample()
    expected = KMeans(8, init=first, n_init=1).fit(points, sample_weight=weights).cluster_centers_
    assert_allclose(warm.cluster_centers_, expected, rtol=1e-4, atol=1e-4)
    assert_array_equal(cdist(warm.cluster_centers_, first).argmin(axis=1), np.arange(8))


def test_parameters_set_later():
    X = rows()
    model = streamed(StreamKMeans(12, warm_start=True, random_state=0), X)
    assert len(model.cluster_centers_) == 12
    assert len(model.set_params(n_clusters=5).cluster_centers_) == 5
    assert model.transform(X[:3]).shape == (3, 5)
    assert len(model.set_params(n_clusters=12, n_init=3).cluster_centers_) == 12
    assert len(model.set_params(n_points=60).as_sample()[0]) == 60
    with pytest.raises(ValueError, match="n_clusters must be a positive int"):
        model.set_params(n_clusters=0)


def test_merged_shards_are_clustered_as_one():
    X = rows(8000, clusters=6)
    full = risk(X, KMeans(6, n_init=5, random_state=0).fit(X).cluster_centers_)
    order = np.argsort(X[:, 0])  # the shards see different clusters
    shards = [
        streamed(StreamKMeans(6, n_init=3, random_state=s), X[shard]) for s, shard in enumerate(np.split(order, 4))
    ]
    for shard in shards[1:]:
        shards[0].merge(shard)
    assert shards[0].n_seen_ == 8000
    assert risk(X, shards[0].cluster_centers_) < 1.05 * full


# ---- room ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "points", "room"),
    [
        ({"n_clusters": 3}, 1000, 10_000),
        ({"n_clusters": 15}, 1500, 15_000),
        ({"n_clusters": 3, "n_points": 77}, 77, 770),
        ({"n_clusters": 3, "budget": 500}, 50, 500),
        ({"n_clusters": 3, "n_points": 20, "budget": 500}, 20, 500),
        ({"n_clusters": 3, "budget": 30}, 3, 30),
        ({"n_clusters": 3, "budget": 10**7}, 1000, 40_000),
    ],
    ids=str,
)
def test_sizes(params, points, room):
    model = StreamKMeans(random_state=0, **params)
    assert model.plan(4, np.float32).rows == room
    streamed(model, rows(12_000), 900)
    assert len(model.as_sample()[0]) == points
    assert model.n_retained_ <= room
    assert len(model.cluster_centers_) == params["n_clusters"]


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("budget", ["4 KiB", "50 KB"])
def test_a_budget_of_bytes_covers_the_answer(budget, warm_start):
    model = StreamKMeans(6, budget=budget, warm_start=warm_start, random_state=0)
    for chunk in np.array_split(rows(4000), 60):
        assert len(model.partial_fit(chunk).cluster_centers_) == 6
        assert model.nbytes_ <= model.plan(4, np.float32).nbytes <= as_budget(budget).nbytes


@pytest.mark.parametrize(
    "params", [{"budget": BUCKETFULS * 12 - 1}, {"budget": "3 KiB"}, {"n_points": 50, "budget": BUCKETFULS * 50 - 1}]
)
def test_budgets_too_small(params):
    with pytest.raises(BudgetError, match="points needs a budget of at least"):
        StreamKMeans(12, **params).fit(rows(10))


@pytest.mark.parametrize("last", [np.full((3, 4), np.nan), np.zeros((3, 7))], ids=["no numbers", "other columns"])
def test_a_file_with_an_impossible_answer_is_refused(last):
    model = streamed(StreamKMeans(3, n_points=20, warm_start=True, random_state=0), rows())
    assert len(model.cluster_centers_) == 3
    model._last = {"centers": last}
    with pytest.raises(StateError):
        Learner.from_bytes(model.to_bytes())


def test_seeds_come_from_a_sample_of_many_points(monkeypatch):
    """Seeding takes time in proportion to the points and to the clusters; centers are as good from a large sample."""
    from modicum.coreset import weighted_kmeans as module

    rng, sizes = np.random.default_rng(0), []
    X = (rng.normal(size=(12_000, 2)) + 20 * np.array([[0, 0], [1, 0], [0, 1]])[rng.integers(3, size=12_000)]).round(3)
    weights = rng.exponential(size=12_000)
    seed_rows = module.seed_rows
    monkeypatch.setattr(module, "seed_rows", lambda rows, *rest: sizes.append(len(rows)) or seed_rows(rows, *rest))
    centers = module.weighted_kmeans(X, weights, 3, 2, rng, None)
    assert sizes == [10_000, 10_000]
    assert_allclose(sorted(centers.round().tolist()), [[0, 0], [0, 20], [20, 0]], atol=1)
