"""PrototypeRegressor against the equations it solves."""

import numpy as np
import pytest

import modicum
from modicum import BlockGreedy, OnlineGreedy, PrototypeRegressor
from modicum.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(1500, 2))
Y = np.sin(X[:, 0]) * X[:, 1] + 4.0


def test_targets_of_prototypes():
    model = PrototypeRegressor(OnlineGreedy(40, kernel=RBF(1.0)), regularization=0.01, fit_on="prototypes").fit(X, Y)
    S, y = model.selector_.prototypes_, model.selector_.targets_
    w = np.linalg.solve(RBF(1.0)(S, S) + 0.01 * np.eye(40), y - y.mean())
    np.testing.assert_allclose(model.coef_, w, atol=1e-6)
    np.testing.assert_allclose(model.predict(X[:9]), RBF(1.0)(X[:9], S) @ w + y.mean(), atol=1e-6)
    assert model.selector_.n_retained_ == model.n_retained_


def test_without_an_intercept_the_equations_are_the_papers():
    selector = OnlineGreedy(40, kernel=RBF(1.0))
    model = PrototypeRegressor(selector, regularization=0.01, fit_on="prototypes", fit_intercept=False).fit(X, Y)
    S, y = model.selector_.prototypes_, model.selector_.targets_
    np.testing.assert_allclose(model.coef_, np.linalg.solve(RBF(1.0)(S, S) + 0.01 * np.eye(40), y), atol=1e-5)
    assert model.intercept_ == 0.0


def test_targets_of_a_sample():
    model = PrototypeRegressor(
        OnlineGreedy(40, kernel=RBF(1.0)), regularization=0.01, n_points=2000, random_state=0
    ).fit(X, Y)
    S, K = model.selector_.prototypes_, RBF(1.0)
    left = K(S, X) @ K(X, S) + 0.01 * K(S, S)  # the sample is everything here
    w = np.linalg.solve(left, K(S, X) @ (Y - Y.mean()))
    np.testing.assert_allclose(model.predict(X[:20]), K(X[:20], S) @ w + Y.mean(), atol=1e-4)


def test_all_rows_as_prototypes_is_kernel_ridge_regression():
    few, y = X[:30], Y[:30]
    for rows in ("prototypes", "sample"):
        model = PrototypeRegressor(OnlineGreedy(50, kernel=RBF(1.0)), regularization=0.1, fit_on=rows).fit(few, y)
        w = np.linalg.solve(RBF(1.0)(few, few) + 0.1 * np.eye(30), y - y.mean())
        np.testing.assert_allclose(model.predict(X), RBF(1.0)(X, few) @ w + y.mean(), atol=1e-5)


def test_it_learns_and_says_so_at_any_moment():
    model = PrototypeRegressor(BlockGreedy(60), random_state=0)
    scores = []
    for start in range(0, 1500, 300):
        model.partial_fit(X[start : start + 300], Y[start : start + 300])
        scores.append(model.score(X, Y))
    assert scores[-1] > 0.99
    assert scores[-1] > scores[0]


def test_a_loaded_model_continues_identically(tmp_path):
    model = PrototypeRegressor(OnlineGreedy(20), n_points=100, random_state=0).partial_fit(X[:500], Y[:500])
    model.save(tmp_path / "model.mcm")
    again = modicum.load(tmp_path / "model.mcm")
    assert type(again.selector_) is OnlineGreedy
    for each in (model, again):
        each.partial_fit(X[500:], Y[500:])
    assert again.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def overlap(a, b):
    return len(set(a) & set(b)) / 5


def test_a_custom_kernel_is_given_again(tmp_path):
    words = ["".join(rng.permutation(list("abcdefgh"))[:5]) for _ in range(300)]
    y = np.array([word.count("a") + 2 * word.count("b") for word in words], float)
    selector = OnlineGreedy(15, kernel=overlap)
    model = PrototypeRegressor(selector, random_state=0).fit(words, y)
    assert model.score(words, y) > 0.8
    model.save(tmp_path / "words.mcm")
    with pytest.raises(ValueError, match="'overlap' as selector"):
        modicum.load(tmp_path / "words.mcm")
    again = modicum.load(tmp_path / "words.mcm", selector=selector)
    np.testing.assert_array_equal(again.predict(words), model.predict(words))


def test_shards_merge():
    left, right = (
        PrototypeRegressor(OnlineGreedy(50, kernel=RBF(1.0)), n_points=400, random_state=seed) for seed in (0, 1)
    )
    left.fit(X[:700], Y[:700]).merge(right.fit(X[700:], Y[700:]))
    assert left.n_seen_ == 1500
    assert left.n_retained_ == 450
    assert left.score(X, Y) > 0.98


def test_targets_are_required():
    with pytest.raises(ValueError, match="PrototypeRegressor requires y"):
        PrototypeRegressor().fit(X)
    with pytest.raises(ValueError, match="selector must be None or a selector"):
        PrototypeRegressor("block").fit(X, Y)
