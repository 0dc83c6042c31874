"""OnlineGreedy against the paper's algorithm word by word, on small data."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import modicum
from modicum import OnlineGreedy
from modicum.kernels import RBF


def value(rows, width=1.0, lam=1.0):
    rows = np.asarray(rows, np.float64)
    K = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2) / (2 * width**2))
    return np.linalg.slogdet(K + lam * np.eye(len(K)))[1]


def slow_online_greedy(X, b, min_gain, width=1.0, lam=1.0):
    """Algorithm 1 of the paper: one determinant per prototype and row."""
    chosen = list(range(b))
    for t in range(b, len(X)):
        now = value(X[chosen], width, lam)
        swapped = [value(X[[*chosen[:j], t, *chosen[j + 1 :]]], width, lam) for j in range(b)]
        j = int(np.argmax(swapped))
        if swapped[j] - now > min_gain * abs(now):
            chosen[j] = t
    return chosen


@pytest.mark.parametrize(("min_gain", "lam"), [(1e-3, 1.0), (0.0, 1.0), (0.01, 0.01)])
@pytest.mark.parametrize("chunk", [1, 7, 300])
def test_as_in_the_paper(min_gain, lam, chunk):
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = OnlineGreedy(12, kernel=RBF(1.0), regularization=lam, min_gain=min_gain)
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    expected = slow_online_greedy(X, 12, min_gain, lam=lam)
    np.testing.assert_array_equal(model.prototype_ids_, expected)
    np.testing.assert_array_equal(model.prototypes_, X[expected])
    assert np.isclose(model.value_, value(X[expected], lam=lam))
    assert model.history_["value"][-1] == model.value_


def test_it_beats_chance_and_comes_close_to_batch_greedy():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 4))
    model = OnlineGreedy(30, kernel=RBF(2.0), min_gain=1e-4).fit(X)
    chance = np.mean([value(X[rng.choice(5000, 30, replace=False)], 2.0) for _ in range(20)])
    chosen: list[int] = []
    for _ in range(30):  # batch greedy on every tenth row, with all of them in memory
        chosen.append(max(range(0, 5000, 10), key=lambda i: value(X[[*chosen, i]], 2.0)))
    assert model.value_ > 1.1 * chance
    assert model.value_ > 0.98 * value(X[chosen], 2.0)


def test_few_rows_are_all_prototypes():
    X = np.random.default_rng(0).normal(size=(7, 2))
    model = OnlineGreedy(10, kernel=RBF(1.0)).partial_fit(X[:3]).partial_fit(X[3:])
    np.testing.assert_array_equal(model.prototypes_, X)
    assert np.isclose(model.value_, value(X))
    assert model.transform(X).shape == (7, 7)
    assert np.allclose(np.diag(model.transform(X)), 1.0)


def test_the_width_comes_from_the_first_rows_however_they_arrive():
    X = np.random.default_rng(0).normal(size=(200, 2))
    together = OnlineGreedy(20).partial_fit(X)
    apart = OnlineGreedy(20)
    for row in X:
        apart.partial_fit(row[None])
    assert 0.5 < apart.kernel_.width / together.kernel_.width < 2


def test_targets_follow_the_prototypes():
    X = np.random.default_rng(0).normal(size=(400, 2))
    model = OnlineGreedy(15).partial_fit(X[:5], X[:5, 0]).partial_fit(X[5:], X[5:, 0])
    np.testing.assert_array_equal(model.targets_, model.prototypes_[:, 0])
    with pytest.raises(ValueError, match="either all chunks come with targets or none"):
        model.partial_fit(X)


def test_sparse_rows_are_as_good_as_dense():
    X = np.random.default_rng(0).normal(size=(300, 6)) * (np.random.default_rng(1).random((300, 6)) < 0.4)
    dense = OnlineGreedy(10, kernel=RBF(1.0)).fit(X)
    thin = OnlineGreedy(10, kernel=RBF(1.0)).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(dense.prototype_ids_, thin.prototype_ids_)
    assert sparse.issparse(thin.prototypes_)


def same_letters(a, b):
    return len(set(a) & set(b)) / max(1, len(set(a) | set(b)))


def test_any_objects_with_any_kernel(tmp_path):
    words = [f"{a}{b}{c}" for a in "abcde" for b in "fghij" for c in "klmno"]
    model = OnlineGreedy(6, kernel=same_letters).fit(words)
    assert len(set("".join(model.prototypes_))) >= 12  # different words share few letters
    model.save(tmp_path / "words.mcm")
    with pytest.raises(ValueError, match="kernel=same_letters"):
        modicum.load(tmp_path / "words.mcm")
    again = modicum.load(tmp_path / "words.mcm", kernel=same_letters).partial_fit(["xyz", "pqr"])
    assert again.to_bytes() == model.partial_fit(["xyz", "pqr"]).to_bytes()
    assert {"xyz", "pqr"} <= set(again.prototypes_)


def test_shards_merge_into_about_what_one_stream_gives():
    X = np.random.default_rng(0).normal(size=(4000, 3))
    params = {"kernel": RBF(1.5), "min_gain": 1e-4}
    whole = OnlineGreedy(20, **params).fit(X)
    left, right = OnlineGreedy(20, **params).fit(X[:2000]), OnlineGreedy(20, **params).fit(X[2000:])
    merged = left.merge(right)
    assert merged.n_seen_ == 4000
    assert merged.value_ > 0.98 * whole.value_


def test_a_short_shard_merges_both_ways():
    X = np.random.default_rng(0).normal(size=(100, 3))
    for first, second in ((X[:5], X[5:]), (X[5:], X[:5]), (X[:4], X[4:8]), (X[:6], X[6:15])):
        merged = OnlineGreedy(10).fit(first).merge(OnlineGreedy(10).fit(second))
        assert merged.n_seen_ == len(first) + len(second)
        assert len(merged.prototype_ids_) == min(10, merged.n_seen_)


def test_guarantee_holds_where_the_optimum_is_known():
    X = np.random.default_rng(2).normal(size=(14, 2))
    model = OnlineGreedy(3, kernel=RBF(1.0), min_gain=0.0)
    for _ in range(5):  # every row comes by again and again
        model.partial_fit(X)
    best = max(value(X[list(some)]) for some in combinations(range(14), 3))
    promise = model.guarantee()
    assert best <= promise.optimum_at_most
    assert promise.value + 3 * promise.least_loss <= 2 * promise.value  # the paper's half
    assert f"exceed {promise.optimum_at_most:.4g}" in str(promise)


def test_features_before_a_linear_model():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    model = make_pipeline(OnlineGreedy(60, min_gain=1e-4), Ridge(1e-3)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert list(model[0].get_feature_names_out()[:2]) == ["onlinegreedy0", "onlinegreedy1"]


def test_a_size_in_bytes_is_planned_for():
    X = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    model = OnlineGreedy(None, budget="100 KiB").fit(X)
    plan = OnlineGreedy(None, budget="100 KiB").plan(8, np.float32)
    assert plan.rows == len(model.prototypes_) > 50
    assert model.nbytes_ <= plan.nbytes <= 100 * 1024
    assert model.prototypes_.dtype == model.transform(X[:5]).dtype == np.float32
    with pytest.raises(ValueError, match="OnlineGreedy for rows of 32 B needs a budget of at least"):
        OnlineGreedy(None, budget="1 KiB").fit(X)
