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


# ---- prototypes that predict best ----------------------------------------------------------------


def irrelevant_and_unscaled(count, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(3, size=(count, 4))  # heavy tails
    truth = np.sin(rows[:, 0]) * np.clip(rows[:, 1], -2, 2)
    return rows * [1.0, 1000.0, 30.0, 1.0], truth, rng.normal(0, 0.1, count)


@pytest.mark.filterwarnings("ignore:.*they hardly count")  # the widths that are given to the selector are right
def test_by_default_prototypes_predict_where_differing_ones_are_outliers():
    rows, truth, noise = irrelevant_and_unscaled(3000, 0)
    new, expected, _ = irrelevant_and_unscaled(1000, 1)
    best = PrototypeRegressor(n_prototypes=60, n_points=1500, random_state=0).fit(rows, truth + noise)
    differing = PrototypeRegressor(OnlineGreedy(60, kernel=best.kernel_), n_points=1500, random_state=0)
    assert best.score(new, expected) > 0.95
    assert 1 - best.score(new, expected) < 0.5 * (1 - differing.fit(rows, truth + noise).score(new, expected))
    widths = best.kernel_.kernel.width / [1.0, 1000.0, 30.0, 1.0]
    assert widths[2:].min() > 3 * widths[:2].max()
    np.testing.assert_array_equal(best.prototypes_, rows[best.prototype_ids_])
    np.testing.assert_array_equal(best.picks().targets, (truth + noise)[best.prototype_ids_])
    assert best.selector_ is None


def test_few_rows_are_all_prototypes():
    model = PrototypeRegressor(n_prototypes=40, random_state=0).partial_fit(X[:20], Y[:20])
    assert sorted(model.prototype_ids_) == list(range(20))
    for count in (1, 2, 7):
        assert np.isfinite(PrototypeRegressor(random_state=0).fit(X[:count], Y[:count]).predict(X)).all()


def test_they_are_chosen_again_when_the_stream_has_doubled_and_at_its_end():
    model = PrototypeRegressor(n_prototypes=10, n_points=200, random_state=0)
    for start in range(0, 1100, 100):
        model.partial_fit(X[start : start + 100], Y[start : start + 100])
    np.testing.assert_array_equal(model.history_["n_seen"], [100, 200, 400, 800])
    model.learn([(X[:50], Y[:50])])
    assert model.history_["n_seen"][-1] == 1150


def test_with_a_half_life_they_are_chosen_again_that_often():
    model = PrototypeRegressor(n_prototypes=10, n_points=200, half_life=100, random_state=0)
    for start in range(0, 1500, 50):
        model.partial_fit(X[start : start + 50], Y[start : start + 50])
    assert 8 <= len(model.history_["n_seen"]) <= 20


def test_it_follows_a_world_that_turns_upside_down():
    y = np.concatenate([Y[:1000] - 4.0, 4.0 - Y[1000:]])
    scores = {}
    for half_life in (None, 100, "auto"):
        model = PrototypeRegressor(n_prototypes=20, n_points=800, half_life=half_life, random_state=0)
        scores[half_life] = model.fit(X, y).score(X, 4.0 - Y)
    assert scores[None] < 0
    assert min(scores[100], scores["auto"]) > 0.95
    (change,) = model.changes_
    assert 950 < change.since < 1050


def test_shards_choose_from_both_samples():
    left, right = (PrototypeRegressor(n_prototypes=30, n_points=400, random_state=seed) for seed in (0, 1))
    high = X[:, 0] > 0
    both = left.fit(X[high], Y[high]).merge(right.fit(X[~high], Y[~high]))
    assert both.n_seen_ == 1500
    assert 0.2 < (both.prototypes_[:, 0] > 0).mean() < 0.8
    assert both.score(X, Y) > 0.99


def test_saved_it_continues_identically(tmp_path):
    model = PrototypeRegressor(n_prototypes=10, n_points=100, random_state=0).partial_fit(X[:500], Y[:500])
    model.save(tmp_path / "model.mcm")
    again = modicum.load(tmp_path / "model.mcm")
    for each in (model, again):
        each.partial_fit(X[500:], Y[500:])
    assert again.to_bytes() == model.to_bytes()


def test_objects_by_a_function(tmp_path):
    words = ["".join(rng.permutation(list("abcdefgh"))[:5]) for _ in range(300)]
    y = np.array([word.count("a") + 2 * word.count("b") for word in words], float)
    model = PrototypeRegressor(n_prototypes=15, kernel=overlap, random_state=0).fit(words, y)
    assert model.score(words, y) > 0.9
    model.save(tmp_path / "words.mcm")
    again = modicum.load(tmp_path / "words.mcm", kernel=overlap)
    np.testing.assert_array_equal(again.predict(words), model.predict(words))


def test_weights_count_in_what_is_chosen_and_fitted():
    y = np.where(X[:, 0] > 0, Y, -Y)
    weights = np.where(np.arange(1500) % 2, 1.0, 1e-6)
    target = np.where(np.arange(1500) % 2, y, 100.0)  # rows that hardly count are wrong
    model = PrototypeRegressor(n_prototypes=60, random_state=0).fit(X, target, weights)
    assert model.score(X, y) > 0.9


def test_prototypes_alone_need_a_selector():
    with pytest.raises(ValueError, match='fit_on="prototypes" needs a selector'):
        PrototypeRegressor(fit_on="prototypes").fit(X, Y)
