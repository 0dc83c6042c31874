"""Certificates against the best of all sets, found by trying them all."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import modicum
from modicum import BlockGreedy, ExemplarClustering, OnlineGreedy, SieveStreaming, StreamGreedy, ThreeSieves
from modicum.contract.guarantee import Guarantee
from modicum.kernels import RBF
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.variance import VarianceReduction

LAM = 0.5
N = 13


def logdet_value(kernel, rows):
    """F minus the least gain of every row."""
    return np.linalg.slogdet(kernel(rows, rows) / LAM + np.eye(len(rows)))[1]


def selectors(k, kernel):
    objective = {"objective": LogDet(kernel, LAM)}
    given = {"kernel": kernel, "regularization": LAM, "min_gain": 0.1}
    return [
        OnlineGreedy(k, **given),
        BlockGreedy(k, block_size=2, random_state=0, **given),
        BlockGreedy(k, block_size=2, neighbors=0, random_state=0, **given),
        StreamGreedy(k, **objective, min_gain=0.5, random_state=0),
        SieveStreaming(k, **objective, random_state=0),
        ThreeSieves(k, **objective, patience=2, random_state=0),
    ]


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 4])
def test_no_set_exceeds_it(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2)) * rng.choice([0.3, 3.0])
    X[rng.integers(N, size=2)] = X[0]  # copies
    kernel = RBF(float(rng.choice([0.5, 1.0, 3.0])))
    best = max(logdet_value(kernel, X[list(S)]) for S in combinations(range(N), k))
    for model in selectors(k, kernel):
        model.partial_fit(X[:7]).partial_fit(X[7:])
        proof = model.certify(modicum.stream(X, chunk_size=5))
        assert isinstance(proof, Guarantee)
        assert proof.value == pytest.approx(logdet_value(kernel, model.prototypes_))
        assert proof.value + proof.gains.sum() >= best - 1e-9
        assert proof.optimum_at_most >= best - 1e-9
        assert proof.share <= proof.value / best + 1e-9
        assert proof.n_rows == N


def test_gains_are_those_of_single_rows():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = OnlineGreedy(5, kernel=RBF(1.0), regularization=LAM).fit(X)
    chosen, before = model.prototypes_, logdet_value(RBF(1.0), model.prototypes_)
    gains = [
        0.0 if i in model.prototype_ids_ else logdet_value(RBF(1.0), np.vstack([chosen, X[i]])) - before
        for i in range(200)
    ]
    np.testing.assert_allclose(model.certify(X).gains, np.sort(gains)[::-1][:5], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_no_exemplars_exceed_it(seed):
    """While the sample holds all rows, the utility is that of the whole stream."""
    X = np.random.default_rng(seed).normal(size=(N, 2)) * [1, 5]
    model = ExemplarClustering(3, phantom="mean", min_gain=0.2, random_state=seed)
    model.partial_fit(X[:6]).partial_fit(X[6:])
    D = ((X[:, None] - X) ** 2).sum(axis=-1)
    far = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    best = max(np.maximum(far - D[list(S)].min(axis=0), 0).mean() for S in combinations(range(N), 3))
    proof = model.certify(X)
    assert proof.epsilon == 0.0
    assert best - 1e-9 <= proof.optimum_at_most < far.mean() + 1e-9
    assert proof.share <= proof.value / best + 1e-9


def test_exemplars_of_a_sample():
    """A row of the sample does not represent itself; where ids are others, it does, and the bound is larger."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    model = ExemplarClustering(4, n_validation=50, phantom="origin", random_state=0).fit(X)
    proof, reversed_rows = model.certify(X), model.certify(X[::-1])
    D = ((X[:, None] - model.validation_rows_) ** 2).sum(axis=-1)
    D[model._sample.row_ids, np.arange(50)] = np.inf
    near = np.minimum((model.validation_rows_**2).sum(axis=1), model._objective.to_exemplars.min(axis=1))
    gains = np.maximum(near - D, 0).mean(axis=1)
    np.testing.assert_allclose(proof.gains, np.sort(gains)[::-1][:4], atol=1e-9)
    assert reversed_rows.gains.sum() > proof.gains.sum()
    assert proof.epsilon > 0
    assert "on the validation sample" in str(proof)


def test_variance_on_a_sample():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = StreamGreedy(5, objective=VarianceReduction(RBF(1.0), 0.1), n_validation=60, random_state=0).fit(X)
    proof = model.certify(X)
    assert proof.confidence == 0.95
    assert 0.5 < proof.share <= 1.0
    assert "variance reduction is submodular on these rows" in proof.conditions


def test_it_tells_more_than_the_theorem():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    model = OnlineGreedy(20, kernel=RBF(6.0)).fit(X)
    assert model.certify(X).optimum_at_most < model.guarantee().optimum_at_most


def test_weight_0_is_absent():
    X = np.random.default_rng(0).normal(size=(60, 2))
    weight = np.arange(60) % 2
    model = OnlineGreedy(5, kernel=RBF(1.0)).fit(X)
    proof = model.certify(modicum.stream(X, weight=weight))
    np.testing.assert_allclose(proof.gains, model.certify(X[1::2]).gains)


def test_pipelines_know_their_picks():
    """A chosen row gains nothing, though the learner knows it under another number."""
    X = 9 * np.random.default_rng(0).normal(size=(10, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    pipe = modicum.make_pipeline(modicum.TableEncoder(), OnlineGreedy(8, kernel=RBF(0.1))).fit(table)
    proof = pipe.certify(modicum.stream(table, raw=True, chunk_size=3))
    assert proof.n_rows == 10
    assert np.count_nonzero(proof.gains) == 2  # the other eight are chosen


def test_what_it_refuses():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = StreamGreedy(5, objective="error", random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="it is not submodular"):
        model.certify(X)
    with pytest.raises(ValueError, match="3 features"):
        OnlineGreedy(5).fit(X).certify(np.zeros((9, 3)))
    with pytest.raises(NotFittedError):
        OnlineGreedy(5).certify(X)
