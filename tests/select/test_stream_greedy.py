"""StreamGreedy with each objective: what it must reach, and its validation sample."""

from itertools import combinations

import numpy as np
import pytest

from modicum import Reservoir, StreamGreedy
from modicum.kernels import RBF
from modicum.select.objectives.error import PredictionError
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.variance import VarianceReduction

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(1200, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
KERNEL = RBF(0.8)


def explained(chosen, rows, noise):
    """Mean variance that observing the chosen rows takes off, from scratch."""
    k = KERNEL(rows, chosen)
    return np.mean(np.einsum("ij,ij->i", k @ np.linalg.inv(KERNEL(chosen, chosen) + noise * np.eye(len(chosen))), k))


def error(chosen, y, noise):
    alpha = np.linalg.solve(KERNEL(chosen, chosen) + noise * np.eye(len(chosen)), y)
    return np.mean((Y - KERNEL(X, chosen) @ alpha) ** 2)


def random_sets(size, count=20):
    return [rng.choice(len(X), size, replace=False) for _ in range(count)]


@pytest.mark.parametrize("swaps", ["eager", "one"])
def test_variance(swaps):
    model = StreamGreedy(15, objective=VarianceReduction(KERNEL, 0.1), n_validation=2000, swaps=swaps, random_state=0)
    for start in range(0, 1200, 200):
        model.partial_fit(X[start : start + 200])
    assert np.isclose(model.value_, explained(model.prototypes_, X, 0.1))  # all rows are validation rows here
    assert model.value_ > max(explained(X[ids], X, 0.1) for ids in random_sets(15))
    assert (np.diff(model.history_["value"][-3:]) > -0.01).all()


def test_error():
    model = StreamGreedy(25, objective=PredictionError(KERNEL, 0.01), n_validation=2000, random_state=0).fit(X, Y)
    assert np.isclose(-model.value_, error(model.prototypes_, model.targets_, 0.01))
    assert -model.value_ < 0.5 * min(error(X[ids], Y[ids], 0.01) for ids in random_sets(25))
    np.testing.assert_array_equal(Y[model.prototype_ids_], model.targets_)
    with pytest.raises(ValueError, match="no theorem"):
        model.guarantee()


def test_log_determinant():
    model = StreamGreedy(15, objective=LogDet(KERNEL)).fit(X)
    values = [np.linalg.slogdet(KERNEL(X[ids], X[ids]) + np.eye(15))[1] for ids in random_sets(15)]
    assert model.value_ > 1.1 * max(values)


def test_targets_are_asked_for():
    with pytest.raises(ValueError, match="needs targets: give y"):
        StreamGreedy(5, objective="error").fit(X)


def test_weights_move_the_choice():
    weight = np.where(X[:, 0] > 0, 1.0, 1e-3)
    model = StreamGreedy(8, objective=VarianceReduction(KERNEL, 0.1), n_validation=300, random_state=0)
    model.fit(X, sample_weight=weight)
    assert (model.prototypes_[:, 0] > -0.5).all()


def test_the_sample_is_a_reservoir():
    model = StreamGreedy(5, objective="variance", n_validation=40, random_state=0).fit(X)
    assert model.n_retained_ == 45
    assert len(model._objective.rows) == 40
    share = np.mean(model._sample.row_ids < 600)
    assert 0.2 < share < 0.8
    assert Reservoir(40).fit(X).n_retained_ == 40


@pytest.mark.parametrize("objective", [VarianceReduction(KERNEL, 0.1), PredictionError(KERNEL, 0.01)])
def test_shards_merge(objective):
    left, right = (StreamGreedy(20, objective=objective, n_validation=400, random_state=seed) for seed in (0, 1))
    left.fit(X[:600], Y[:600]).merge(right.fit(X[600:], Y[600:]))
    whole = StreamGreedy(20, objective=objective, n_validation=400, random_state=0).fit(X, Y)
    assert left.n_seen_ == 1200
    assert len(left._sample) == len(left._objective.rows) == 400
    if objective.needs_targets:
        ours, theirs = (error(m.prototypes_, m.targets_, 0.01) for m in (left, whole))
        assert ours < 2 * theirs
    else:
        ours, theirs = (explained(m.prototypes_, X, 0.1) for m in (left, whole))
        assert ours > 0.95 * theirs


def test_guarantee_holds_where_the_optimum_is_known():
    few = X[:14]
    model = StreamGreedy(3, objective=VarianceReduction(KERNEL, 0.5), min_gain=0.0, random_state=0).fit(few)
    best = max(explained(few[list(some)], few, 0.5) for some in combinations(range(14), 3))
    promise = model.guarantee()
    assert promise.epsilon == 0.0  # every row is a validation row
    assert best <= promise.optimum_at_most <= 2 * model.value_ + 3 * promise.eta
    assert promise.conditions == ("variance reduction is submodular on these rows",)


def test_sieves_of_variance():
    from modicum import SieveStreaming

    model = SieveStreaming(10, objective=VarianceReduction(KERNEL, 0.1), n_validation=200, random_state=0).fit(X)
    assert 0 < len(model.prototype_ids_) <= 10
    assert model.value_ > 0.4 * StreamGreedy(10, objective=VarianceReduction(KERNEL, 0.1), random_state=0).fit(X).value_
