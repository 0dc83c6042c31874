"""What once broke: zero rows, second passes, functions that fail, rows that grow, files without functions."""

import numpy as np
import pytest
from scipy import sparse

import modicum
from modicum import (
    KRLS,
    BlockGreedy,
    OnlineGreedy,
    PrototypeRegressor,
    SieveStreaming,
    SieveStreamingPlusPlus,
    SparseGPRegressor,
    StreamGreedy,
    ThreeSieves,
)
from modicum.kernels import RBF, FunctionKernel, Linear
from modicum.select.objectives.logdet import LogDet

X = np.random.default_rng(0).normal(size=(400, 3))
Y = np.sin(2 * X[:, 0])


def test_rows_of_zeros_under_a_linear_kernel():
    Z = X[:200].copy()
    Z[::7] = 0
    assert np.isfinite(SparseGPRegressor(5, kernel="linear", random_state=0).fit(Z, Z @ [1.0, 2, 3]).predict(Z)).all()
    assert np.isfinite(PrototypeRegressor(OnlineGreedy(5, kernel="linear")).fit(0 * Z, Z[:, 0]).predict(Z)).all()


@pytest.mark.parametrize("learner", [StreamGreedy(50), OnlineGreedy(50), BlockGreedy(50, random_state=0)])
def test_no_row_is_chosen_twice(learner):
    learner.fit(modicum.stream(X, chunk_size=150, passes=2))
    assert len(set(learner.prototype_ids_)) == 50


def test_a_merge_of_small_samples_keeps_both_sides():
    params = {"kernel": RBF(1.0), "noise": 0.1, "min_gain": 0.9, "random_state": 0}
    left = SparseGPRegressor(3, **params).fit(X[:30], Y[:30])
    left.merge(SparseGPRegressor(3, **params).fit(X[30:60], Y[30:60] + 100))
    assert left._model.moments.count == 60
    assert 20 < left.predict(X[:60]).mean() < 80


class Moody:
    """A kernel function that fails when it has been called often enough."""

    def __init__(self):
        self.calls_left = 10**9

    def __call__(self, a, b):
        self.calls_left -= 1
        if self.calls_left < 0:
            raise RuntimeError("not today")
        return float(np.exp(-np.sum((np.asarray(a) - np.asarray(b)) ** 2)))


@pytest.mark.parametrize("wrap", [lambda f: f, FunctionKernel, lambda f: FunctionKernel(f) + RBF(1.0)])
@pytest.mark.parametrize("make", [lambda k: OnlineGreedy(8, kernel=k), lambda k: KRLS(8, kernel=k)])
def test_a_chunk_that_fails_leaves_no_trace(wrap, make):
    moody = Moody()
    learner = make(wrap(moody)).partial_fit(X[:150], Y[:150])
    before = learner.to_bytes()
    for calls in (0, 5, 300):
        moody.calls_left = calls
        with pytest.raises(RuntimeError):
            learner.partial_fit(X[150:250], Y[150:250])
        assert learner.to_bytes() == before
    other = make(wrap(moody))
    moody.calls_left = 10**9
    other.partial_fit(X[250:], Y[250:])
    moody.calls_left = 20
    with pytest.raises(RuntimeError):
        learner.merge(other)
    assert learner.to_bytes() == before


def test_graphs_that_are_none_are_refused_as_they_come():
    graphs = [([(i, i + 1) for i in range(n)], list("COCNCOCN"[: n + 1])) for n in range(1, 7)]
    model = OnlineGreedy(5, kernel="wl").partial_fit(graphs[:2])
    with pytest.raises(ValueError):
        model.partial_fit([([(0, 9)], ["C"])])
    assert model.partial_fit(graphs[2:]).n_seen_ == 6


def test_rows_that_outgrow_a_budget_are_refused():
    model = OnlineGreedy(None, budget="60 KiB").partial_fit(sparse.random(200, 50, 0.05, format="csr", random_state=0))
    before = model.to_bytes()
    with pytest.raises(ValueError, match="rows have grown too large for a budget of 60 KiB"):
        model.partial_fit(sparse.csr_matrix(np.random.default_rng(0).normal(size=(300, 50))))
    assert model.to_bytes() == before
    assert model.nbytes_ <= 60 * 1024


def similar(a, b):
    return float(np.exp(-np.sum((a - b) ** 2)))


def test_functions_within_kernels_are_asked_for_again(tmp_path):
    for learner, given in (
        (OnlineGreedy(4, kernel=2.0 * FunctionKernel(similar)), {"kernel": 2.0 * FunctionKernel(similar)}),
        (StreamGreedy(4, objective=LogDet(similar)), {"objective": LogDet(similar)}),
        (KRLS(4, kernel=FunctionKernel(similar)), {"kernel": FunctionKernel(similar)}),
    ):
        learner.partial_fit(X[:120], Y[:120])
        learner.save(tmp_path / "it.mcm")
        with pytest.raises(ValueError, match="'similar' as"):
            modicum.load(tmp_path / "it.mcm")
        again = modicum.load(tmp_path / "it.mcm", **given)
        for each in (learner, again):
            each.partial_fit(X[120:160], Y[120:160])
        assert again.to_bytes() == learner.to_bytes()


def test_kernels_that_take_no_sparse_rows_say_so():
    for learner in (OnlineGreedy(5, kernel="hamming"), StreamGreedy(5, objective=LogDet("hamming"))):
        with pytest.raises(ValueError, match="takes no sparse rows"):
            learner.fit(sparse.csr_matrix(np.round(X)))


def test_parameters_are_checked_before_any_row_is_kept():
    for learner in (SieveStreaming(300, objective="error"), StreamGreedy(300, objective=LogDet("rbf", -1.0))):
        with pytest.raises(ValueError):
            learner.partial_fit(X[:5], Y[:5])
    with pytest.raises(ValueError, match="epsilon must be"):
        SieveStreaming(5, epsilon=0.5).fit(X)


def test_weight_zero_counts_as_a_position():
    one, many = OnlineGreedy(5), OnlineGreedy(5)
    weight = np.ones(10)
    weight[[1, 2]] = 0
    one.partial_fit(X[:10], sample_weight=weight)
    for i in range(10):
        many.partial_fit(X[i : i + 1], sample_weight=weight[i : i + 1])
    assert one._position == many._position == 10


def test_new_parameters_make_new_weights():
    model = PrototypeRegressor(OnlineGreedy(10, kernel=Linear()), random_state=0).fit(X, Y + X[:, 0])
    before = model.predict(X)
    model.set_params(regularization=1e6)
    assert not np.allclose(model.predict(X), before)


SELECTORS = [BlockGreedy, OnlineGreedy, SieveStreaming, SieveStreamingPlusPlus, StreamGreedy, ThreeSieves]


@pytest.mark.parametrize("cls", SELECTORS)
def test_the_history_counts_every_row_once(cls):
    Z = np.random.default_rng(0).normal(size=(400, 3))

    def learned(*chunks):
        model = cls(8)
        for chunk in chunks:
            model.partial_fit(chunk)
        return model

    streams = {
        "buffered, then learned": learned(Z[:5], Z),
        "a second pass": learned(Z).partial_fit(Z, row_ids=np.arange(400)),
        "buffered + learned": learned(Z[:5]).merge(learned(Z)),
        "learned + buffered": learned(Z).merge(learned(Z[:5])),
        "learned + learned": learned(Z[:300]).merge(learned(Z)),
    }
    for how, model in streams.items():
        n_seen = model.history_["n_seen"]
        assert (np.diff(n_seen) >= 0).all(), how
        assert n_seen[-1] == model.n_seen_, how


def test_words_as_targets():
    words = np.array(["a", "bb"] * 200)
    model = StreamGreedy(8, objective="variance", random_state=0)
    model.partial_fit(X[:5], words[:5]).partial_fit(X[5:], words[5:])
    assert (model.targets_ == words[model.prototype_ids_]).all()
    other = SieveStreaming(8, objective="variance", random_state=0).fit(X, words)
    assert (other.targets_ == words[other.prototype_ids_]).all()
    with pytest.raises(modicum.exceptions.DataError, match="needs targets that are numbers"):
        StreamGreedy(8, objective="error").partial_fit(X[:5], words[:5])
    learned = StreamGreedy(8, objective="error", random_state=0).partial_fit(X, Y)
    with pytest.raises(modicum.exceptions.DataError, match="needs targets that are numbers"):
        learned.partial_fit(X, np.where(Y > 0, Y, np.nan))
    assert learned.partial_fit(X, Y).n_seen_ == 800
