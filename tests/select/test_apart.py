"""Picks that are apart: no two within a distance, and as good as a slow twin finds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist, pdist

import modicum
from modicum import ExemplarClustering, OnlineGreedy, StreamGreedy
from modicum.exceptions import DataError
from modicum.kernels import RBF
from modicum.select.apart import first_apart, within
from modicum.select.objectives import LogDet, PredictionError, VarianceReduction

MODELS = {
    "exemplar": lambda **p: ExemplarClustering(12, random_state=0, **p),
    "one swap": lambda **p: ExemplarClustering(12, random_state=0, swaps="one", **p),
    "logdet": lambda **p: OnlineGreedy(12, **p),
    "logdet by blocks": lambda **p: StreamGreedy(12, **p),
    "variance": lambda **p: StreamGreedy(12, objective="variance", random_state=0, **p),
    "error": lambda **p: StreamGreedy(12, objective="error", random_state=0, **p),
}


def rows(n=300, seed=0, dtype=np.float64):
    """Rows, half of them duplicates or nearly so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n // 2, 2))
    copies = X[rng.integers(len(X), size=n - len(X))] + rng.choice([0.0, 1e-5], size=(n - len(X), 1))
    return rng.permutation(np.concatenate([X, copies])).astype(dtype)


def learned(name, X, chunk, **params):
    return MODELS[name](**params).learn(modicum.stream(X, target=np.sin(X[:, 0]), chunk_size=chunk))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("distance", [0.0, 1e-3, 0.5, 3.0])
@pytest.mark.parametrize("chunk", [5, 300])
def test_no_two_picks_are_within_the_distance(name, distance, chunk):
    X = rows()
    picks = learned(name, X, chunk, min_distance=distance).picks()
    assert_array_equal(X[picks.ids], picks.rows)
    assert len(picks) > 1
    assert pdist(picks.rows).min() > distance
    if distance < 1:
        assert len(picks) == 12


@pytest.mark.parametrize("name", MODELS)
def test_float32_and_sparse_rows(name):
    X = rows(dtype=np.float32)
    assert pdist(learned(name, X, 50, min_distance=0.3).picks().rows.astype(float)).min() > 0.3
    model = MODELS[name](min_distance=0.3)
    for start in range(0, 300, 50):
        model.partial_fit(sparse.csr_matrix(X[start : start + 50]), np.sin(X[start : start + 50, 0]))
    assert pdist(model.picks().rows.toarray().astype(float)).min() > 0.3 - 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_few_distinct_rows_are_picked_once(name):
    X = np.tile(np.arange(5.0)[:, None], (40, 2))
    picks = learned(name, X, 7, min_distance=0.0).picks()
    assert_array_equal(np.sort(picks.rows[:, 0]), np.arange(5.0))


@pytest.mark.parametrize("name", MODELS)
def test_shards_merge_apart(name):
    X, Z = rows(), rows(seed=1)
    left, right = (learned(name, part, 50, min_distance=0.4) for part in (X, np.concatenate([Z, X[:50]])))
    assert pdist(left.merge(right).picks().rows).min() > 0.4


def exemplar_value(rows, X, y):
    return -cdist(X, rows, "sqeuclidean").min(axis=1).mean()


def logdet_value(rows, X, y):
    return np.linalg.slogdet(RBF(1.0)(rows, rows) + np.eye(len(rows)))[1]


def variance_value(rows, X, y):
    k = RBF(1.0)(X, rows)
    return np.einsum("ij,ij->i", k @ np.linalg.inv(RBF(1.0)(rows, rows) + 0.1 * np.eye(len(rows))), k).mean()


def best_allowed_swap(value, X, ids, distance):
    """The value after the best swap that keeps rows apart, by trying all of them."""
    D, best = cdist(X, X), -np.inf
    for slot in range(len(ids)):
        others = np.delete(ids, slot)
        for i in np.flatnonzero((D[:, others] > distance).all(axis=1)):
            best = max(best, value(X[[*others, i]], X, None))
    return best


def slow_selection(value, X, k, distance):
    """Greedy, then the best swap again and again, by the definition of the objective."""
    D, ids = cdist(X, X), []
    while len(ids) < k:
        allowed = np.flatnonzero((D[:, ids] > distance).all(axis=1))
        ids.append(max(allowed, key=lambda i: value(X[[*ids, i]], X, None)))
    now = value(X[ids], X, None)
    for _ in range(50):
        swaps = [
            (value(X[[*np.delete(ids, slot), i]], X, None), slot, i)
            for slot in range(k)
            for i in np.flatnonzero((D[:, np.delete(ids, slot)] > distance).all(axis=1))
        ]
        best, slot, i = max(swaps)
        if best <= now + 1e-9:
            break
        ids[slot], now = i, best
    return now


@pytest.mark.parametrize("distance", [0.0, 0.7])
@pytest.mark.parametrize(
    ("model", "value"),
    [
        (ExemplarClustering(5, min_gain=0.0, random_state=0), exemplar_value),
        (OnlineGreedy(5, kernel=RBF(1.0), min_gain=0.0), logdet_value),
        (StreamGreedy(5, objective=LogDet(RBF(1.0)), min_gain=0.0), logdet_value),
        (StreamGreedy(5, objective=VarianceReduction(RBF(1.0)), min_gain=0.0), variance_value),
    ],
    ids=["exemplar", "logdet", "logdet by blocks", "variance"],
)
def test_as_good_as_the_slow_twin(model, value, distance):
    X = rows(80)
    model.set_params(min_distance=distance).fit(X)
    for _ in range(4):  # until nothing changes
        model.partial_fit(X, row_ids=np.arange(80))
    picks = model.picks()
    now = value(picks.rows, X, None)
    assert best_allowed_swap(value, X, picks.ids, distance) <= now + 1e-6 * abs(now)
    twin = slow_selection(value, X, 5, distance)
    assert now >= twin - 0.03 * abs(twin)


@pytest.mark.parametrize(
    "objective", [LogDet(RBF(1.0)), VarianceReduction(RBF(1.0)), PredictionError(RBF(1.0))], ids=repr
)
def test_gains_of_given_swaps_are_those_of_the_best(objective):
    X = rows(40)
    F = objective.empty_set(X, 4, 40)
    if F.needs_validation:
        F.put_rows(np.arange(40), X, np.full(40, 1 / 40), X[:, 0])
    first = F.look(X[:4], X[:4, 0])
    for i in range(4):
        first.add(i)
    block = F.look(X[4:], X[4:, 0])
    gains, slots = block.swap_gains()
    np.testing.assert_allclose(block.gains_of(np.arange(36), slots), gains, rtol=1e-9, atol=1e-12)
    everything = [block.gains_of(np.arange(36), np.full(36, slot)) for slot in range(4)]
    np.testing.assert_allclose(np.max(everything, axis=0), gains, rtol=1e-9, atol=1e-12)


def test_the_first_rows_that_are_apart():
    X = np.array([[0.0], [0.5], [3.0], [1.2], [2.1], [9.0]])
    first, owners = first_apart(X, 3, within(1.0))
    assert first.tolist() == [0, 2, 3]
    assert owners.tolist() == [0, 0, 1, 2, 1, -1]


def test_locked_rows_keep_others_away():
    X = rows()
    model = ExemplarClustering(12, locked=X[:3], min_distance=0.5, random_state=0).fit(X)
    assert cdist(model.exemplars_[3:], X[:3]).min() > 0.5


def test_other_dissimilarities_and_objects():
    X = np.abs(rows())
    model = ExemplarClustering(6, dissimilarity="cosine", min_distance=0.01, random_state=0).fit(X)
    assert pdist(model.exemplars_, "cosine").min() > 0.01
    words = ["a" * (1 + i % 30) for i in range(200)]
    model = ExemplarClustering(5, dissimilarity=lambda a, b: abs(len(a) - len(b)), min_distance=3).fit(words)
    lengths = np.sort([len(word) for word in model.exemplars_])
    assert (np.diff(lengths) > 3).all()


def test_what_can_not_be_combined():
    X = rows()
    with pytest.raises(ValueError, match="min_distance can't be combined with confidence"):
        ExemplarClustering(5, min_distance=0.1, confidence=0.9).fit(X)
    with pytest.raises(ValueError, match="min_distance must be"):
        OnlineGreedy(5, min_distance=-1.0).fit(X)
    with pytest.raises(DataError, match="min_distance is a distance of rows of numbers"):
        OnlineGreedy(5, min_distance=0.0, kernel=lambda a, b: float(a == b)).fit(["a", "b"])
