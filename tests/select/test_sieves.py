"""Sieve algorithms against themselves row by row, with determinants from scratch."""

from itertools import combinations

import numpy as np
import pytest

from modicum import SieveStreaming, SieveStreamingPlusPlus, ThreeSieves
from modicum.kernels import RBF, Linear
from modicum.select.objectives.logdet import LogDet

pytestmark = pytest.mark.nojit

X = np.random.default_rng(0).normal(size=(700, 3))
OBJECTIVE = LogDet(RBF(1.2), 0.5)


def f(ids):
    """log det(I + K / lambda): zero for the empty set, and never falling."""
    if not len(ids):
        return 0.0
    return np.linalg.slogdet(np.eye(len(ids)) + RBF(1.2)(X[ids], X[ids]) / 0.5)[1]


SINGLE = f([0])


def slow_sieves(b, eps, exponents, needed):
    sets = {i: [] for i in exponents}
    for t in range(len(X)):
        for i, ids in sets.items():
            if len(ids) < b and f([*ids, t]) - f(ids) >= needed((1 + eps) ** i, f(ids), b - len(ids)):
                ids.append(t)
    return max(sets.values(), key=f)


def test_sieve_streaming():
    b, eps = 6, 0.2
    low, high = np.log(SINGLE) / np.log(1 + eps), np.log(2 * b * SINGLE) / np.log(1 + eps)
    exponents = range(int(np.ceil(low)), int(np.floor(high)) + 1)
    expected = slow_sieves(b, eps, exponents, lambda v, have, left: (v / 2 - have) / left)
    for chunk in (700, 50, 1):
        model = SieveStreaming(b, objective=OBJECTIVE, epsilon=eps)
        for start in range(0, len(X) if chunk > 1 else 200, chunk):
            model.partial_fit(X[start : start + chunk])
        if chunk > 1:
            np.testing.assert_array_equal(model.prototype_ids_, expected)
            assert model.n_sieves_ == len(exponents)
    assert np.isclose(model.value_, f(model.prototype_ids_) + len(model.prototype_ids_) * np.log(0.5))


def test_sieve_streaming_plus_plus():
    b, eps = 6, 0.2
    low, high = np.log(SINGLE / (2 * b)) / np.log(1 + eps), np.log(SINGLE) / np.log(1 + eps)
    exponents = range(int(np.ceil(low)) - 1, int(np.floor(high)) + 1)
    expected = slow_sieves(b, eps, exponents, lambda v, have, left: v)
    model = SieveStreamingPlusPlus(b, objective=OBJECTIVE, epsilon=eps).fit(X)
    assert np.isclose(f(model.prototype_ids_), f(expected))  # dropped sets could not have won
    assert model.n_sieves_ < len(exponents)


def slow_three_sieves(b, eps, patience):
    exponent = int(np.floor(np.log(2 * b * SINGLE) / np.log(1 + eps)))
    ids, waited = [], 0
    for t in range(len(X)):
        if len(ids) < b and f([*ids, t]) - f(ids) >= ((1 + eps) ** exponent / 2 - f(ids)) / (b - len(ids)):
            ids.append(t)
            waited = 0
        else:
            waited += 1
            if waited == patience:
                waited, exponent = 0, exponent - 1
    return ids


@pytest.mark.parametrize("chunk", [700, 64, 9])
@pytest.mark.parametrize("patience", [1, 20, 100])
def test_three_sieves(chunk, patience):
    model = ThreeSieves(8, objective=OBJECTIVE, epsilon=0.1, patience=patience)
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    np.testing.assert_array_equal(model.prototype_ids_, slow_three_sieves(8, 0.1, patience))
    assert model.n_sieves_ == 1


@pytest.mark.parametrize("cls", [SieveStreaming, SieveStreamingPlusPlus])
def test_the_guarantee_holds_for_any_order(cls):
    few = X[:12]
    best = max(f(list(some)) for some in combinations(range(12), 3))
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(12)
        model = cls(3, objective=OBJECTIVE, epsilon=0.05).fit(few[order])
        assert f(order[model.prototype_ids_]) >= (0.5 - 0.05) * best
        assert best <= model.guarantee().optimum_at_most + 1e-9


def test_a_single_row_that_gains_more_moves_the_levels():
    """With a kernel whose diagonal differs the largest single gain is found as rows come."""
    rows = np.concatenate([0.1 * X[:50], 10 * X[50:100]])
    model = SieveStreaming(4, objective=LogDet(Linear())).fit(rows)
    assert (model.prototype_ids_ >= 50).all()


def test_rows_worth_nothing():
    model = SieveStreaming(4, objective=LogDet(Linear())).fit(np.zeros((20, 2)))
    assert model.transform(np.ones((3, 2))).shape == (3, 0)
    model.partial_fit(np.eye(2))
    assert len(model.prototype_ids_) == 2


def test_only_submodular_objectives():
    with pytest.raises(ValueError, match="monotone and submodular"):
        SieveStreaming(4, objective="error").fit(X, X[:, 0])


@pytest.mark.parametrize("cls", [SieveStreaming, SieveStreamingPlusPlus])
def test_the_best_set_is_kept_when_its_level_is_dropped(cls):
    """Rows of very different lengths: the sets of low levels, dropped as larger rows come, may be the best ones."""
    for seed in (16, 17):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(80, 3)) * np.exp(rng.normal(size=(80, 1)) * (seed % 3))
        model = cls(6, objective=LogDet(Linear()), epsilon=0.2)
        for start in range(0, 80, 4):
            model.partial_fit(rows[start : start + 4])
        assert (np.diff(model.history_["value"]) >= 0).all()


@pytest.mark.parametrize("cls", [SieveStreaming, SieveStreamingPlusPlus, ThreeSieves])
def test_rows_in_several_sets_count_once(cls):
    model = cls(6, objective=OBJECTIVE).fit(X)
    held = {i for sieve in model._sieves for i in sieve.ids}
    assert model.n_retained_ == len(held) <= cls(6).plan(3).rows
    judged = cls(6, objective="variance", n_validation=40, random_state=0).fit(X)
    assert judged.n_retained_ == len({i for sieve in judged._sieves for i in sieve.ids}) + 40
