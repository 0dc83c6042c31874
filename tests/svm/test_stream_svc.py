"""The classifier as a whole: the same bits for any chunks, as good as a batch machine, and its numbers are right."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import make_circles
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

from modicum import Learner, StreamSVC
from modicum.contract.guarantee import Guarantee
from modicum.exceptions import BudgetError, DataError, OrderWarning, StateError
from modicum.kernels import RBF
from modicum.svm.enclosing import enclose

LINEAR = {
    "auto": {},
    "one": {"C": 1.0, "center": True, "scale": False},
    "diagonal": {"C": 1.0, "ellipsoid": "diagonal"},
    "full, not centered": {"C": [1.0, 10.0], "ellipsoid": "full", "center": False},
    "scaled, no intercept": {"ellipsoid": "full", "scale": True, "fit_intercept": False, "normalize": False},
    "ball": {"ellipsoid": None, "lookahead": 3, "n_initial": 64},
    "the paper's ball": {"C": 1.0, "ellipsoid": None, "lookahead": 1, "n_initial": 1},
    "ball, scaled": {"C": 1.0, "ellipsoid": None, "scale": True, "fit_intercept": False, "n_initial": 50},
    "balls": {"C": 1.0, "n_balls": 3, "n_initial": 100},
    "half-life": {"half_life": 70},
    "half-lives": {"half_life": "auto", "C": [1.0, 10.0]},
    "half-lives, late labels": {"half_life": "auto", "lag": 40, "ellipsoid": "diagonal"},
    "balanced": {"class_weight": "balanced", "center": True},
    "balanced ball": {"class_weight": "balanced", "ellipsoid": None, "n_initial": 33},
    "weighted classes": {"C": 1.0, "class_weight": {"a": 2.0, "dddd": 0.5}},
}
COUNT = 500


def data(count=COUNT, seed=0, noise=0.3):
    """Rows of four classes: the fourth appears late, with a longer name."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 5)) + 1.0
    scores = X @ rng.normal(size=(5, 4)) + noise * rng.normal(size=(count, 4))
    y = np.array(["bb", "a", "c", "dddd"])[scores.argmax(axis=1)]
    y[: count // 3] = np.where(y[: count // 3] == "dddd", "a", y[: count // 3])
    y[:4] = "bb"
    return X, y, rng.exponential(size=count)


def two_classes(count=3000, seed=0, noise=0.5, width=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, width)) * np.geomspace(1.0, 4.0, width) + 1.0
    return X, np.where(X @ np.linspace(-1, 1, width) + noise * rng.normal(size=count) > 0.3, "yes", "no")


def in_chunks(model, X, y, chunk):
    for start in range(0, len(y), chunk):
        model.partial_fit(X[start : start + chunk], y[start : start + chunk])


def partly(X, y, weight, part):
    return X[part], y[part], None if weight is None else weight[part]


# ---- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", LINEAR.values(), ids=LINEAR)
def test_any_chunks_give_the_same_bits(settings, weighted, kind):
    X, y, weight = data()
    if kind == "sparse":
        settings = {**settings, "center": "auto", "scale": "auto"}
        X = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    else:
        X = X.astype(kind)
    weight = weight if weighted else None
    whole = StreamSVC(**settings, random_state=0).partial_fit(X, y, weight)
    parts, rng, start = StreamSVC(**settings, random_state=0), np.random.default_rng(1), 0
    while start < COUNT:  # single rows, which may be buffered, between chunks
        stop = start + int(rng.choice([1, 1, 1, 3, 80]))
        parts.partial_fit(*partly(X, y, weight, slice(start, stop)))
        start = stop
    assert parts.to_bytes() == whole.to_bytes()
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


COPIES = [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), lambda m: Learner.from_bytes(m.to_bytes())]


@pytest.mark.parametrize("stop", [3, 40, 300, 450])
@pytest.mark.parametrize("again", COPIES)
@pytest.mark.parametrize("name", ["auto", "ball"])
def test_a_copy_with_buffered_rows_continues_like_the_original(name, again, stop):
    X, y, _ = data()
    whole = StreamSVC(**LINEAR[name], random_state=0).partial_fit(X, y)
    model = StreamSVC(**LINEAR[name], random_state=0)
    for i in range(stop):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    other = again(model)
    for learner in (model, other):
        assert learner.n_seen_ == stop
        learner.partial_fit(X[stop:], y[stop:])
        assert learner.to_bytes() == whole.to_bytes()


def test_answers_include_buffered_rows():
    X, y, _ = data()
    model = StreamSVC(random_state=0).partial_fit(X[:400], y[:400])
    for i in range(400, 430):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model._tray.count > 0
    twin = StreamSVC(random_state=0).partial_fit(X[:430], y[:430])
    for ask in (
        lambda m: m.n_seen_,
        lambda m: m.accuracy_,
        lambda m: m.confusion_.tolist(),
        lambda m: m.predict_proba(X[:3]).tolist(),
        lambda m: m.coef_.tolist(),
        lambda m: m.candidates_,
        lambda m: m.nbytes_,
        lambda m: m.score(X, y),
    ):
        assert ask(copy.deepcopy(model)) == ask(twin)


def test_sides_with_rows_on_their_trays_are_merged_whole():
    X, y, _ = data()
    settings = {"C": 1.0, "center": True, "scale": False}
    trays, plain = [], []
    for part in (slice(0, 250), slice(250, 500)):
        trays.append(StreamSVC(**settings, random_state=0))
        for i in range(part.start, part.stop):
            trays[-1].partial_fit(X[i : i + 1], y[i : i + 1])
        plain.append(StreamSVC(**settings, random_state=0).partial_fit(X[part], y[part]))
    assert trays[0].merge(trays[1]).to_bytes() == plain[0].merge(plain[1]).to_bytes()


@pytest.mark.parametrize("settings", LINEAR.values(), ids=LINEAR)
def test_weights_are_relative(settings):
    X, y, weight = data()
    once, twice = (StreamSVC(**settings, random_state=0).partial_fit(X, y, factor * weight) for factor in (1.0, 4.0))
    np.testing.assert_array_equal(once.decision_function(X), twice.decision_function(X))


def test_weights_are_over_the_mean_so_far():
    X, y, weight = data()
    settings = {"C": 1.0, "center": False, "scale": False, "normalize": False, "fit_intercept": False}
    model = StreamSVC(**settings).partial_fit(X, y == "a", weight)
    relative = weight / (np.cumsum(weight) / np.arange(1, COUNT + 1))
    w, P = np.zeros(5), np.eye(5)
    for x, s, c in zip(X, np.where(y == "a", 1.0, -1.0), relative, strict=True):
        if s * (w @ x) < 1:
            u = P @ x
            gain = 1 / (x @ u + 1 / c)
            w, P = w + gain * (s - w @ x) * u, P - gain * np.outer(u, u)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-9)


# ---- as good as others ----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1.0, 4.0])
def test_one_pass_is_about_as_good_as_a_batch_machine(noise):
    X, y = two_classes(6000, noise=noise)
    model = StreamSVC(random_state=0).fit(X[:4000], y[:4000])
    Z = (X - X[:4000].mean(axis=0)) / X[:4000].std(axis=0)
    batch = LinearSVC().fit(Z[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > batch.score(Z[4000:], y[4000:]) - 0.02


def test_many_classes_are_about_as_good_as_a_batch_machine():
    X, y, _ = data(6000)
    model = StreamSVC(random_state=0).partial_fit(X[:4000], y[:4000])
    batch = LinearSVC().fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > batch.score(X[4000:], y[4000:]) - 0.03


@pytest.mark.parametrize("settings", [{}, {"lookahead": 1}, {"n_balls": 10}])
def test_balls_learn(settings):
    X, y = two_classes(4000, noise=0.2)
    assert (
        StreamSVC(ellipsoid=None, n_initial=64, **settings, random_state=0)
        .fit(X[:3000], y[:3000])
        .score(X[3000:], y[3000:])
        > 0.85
    )


def test_accuracy_on_rows_before_they_were_learned_is_that_on_rows_to_come():
    X, y = two_classes(8000, noise=2.0)
    model = StreamSVC(random_state=0).fit(X[:6000], y[:6000])
    assert model.accuracy_ == pytest.approx(model.score(X[6000:], y[6000:]), abs=0.03)
    assert model.confusion_.sum() == 6000
    assert np.trace(model.confusion_) == pytest.approx(6000 * model.accuracy_)
    history = model.history_
    assert history["n_seen"][-1] == 6000
    weights = np.diff(history["n_seen"], prepend=0)
    assert np.average(history["accuracy"], weights=weights) == pytest.approx(model.accuracy_)


# ---- what the numbers mean ------------------------------------------------------------------------


@pytest.mark.parametrize("settings", LINEAR.values(), ids=LINEAR)
def test_decisions_are_weights_times_prepared_rows(settings):
    X, y, _ = data()
    for labels in (y, np.where(y == "a", "z", "b"), np.where(y == "a", "b", "z")):
        model = StreamSVC(**settings, random_state=0).partial_fit(X, labels)
        rows = 1 if len(model.classes_) == 2 else len(model.classes_)
        assert model.coef_.shape == (rows, 5)
        assert model.intercept_.shape == (rows,)
        decisions = model.prepare(X) @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(X).reshape(COUNT, -1), decisions, atol=1e-10)


def test_classes_are_sorted_and_chosen_by_the_largest_decision():
    X, y, _ = data()
    model = StreamSVC(random_state=0).partial_fit(X, y)
    assert model.classes_.tolist() == ["a", "bb", "c", "dddd"]
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert model.score(X, y) > 0.75
    two = StreamSVC(random_state=0).partial_fit(X, y == "a")
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)
    assert np.mean(two.predict(X) == (y == "a")) > 0.8


@pytest.mark.parametrize("y", [[5, -3], [True, False], ["x", "long"], [2.0, 1.0]])
def test_labels_of_any_kind_come_back(y):
    X, codes, _ = data()
    labels = np.array(y)[(codes == "a").astype(int)]
    model = StreamSVC(random_state=0).fit(X, labels)
    assert model.predict(X).dtype == labels.dtype
    assert Learner.from_bytes(model.to_bytes()).predict(X).dtype == labels.dtype
    assert np.mean(model.predict(X) == labels) > 0.8


@pytest.mark.parametrize(
    "settings", [{}, {"ellipsoid": None, "n_initial": 32}, {"kernel": "rbf", "C": 1.0, "n_initial": 32}]
)
def test_probabilities_sum_to_one_and_agree_with_the_class(settings):
    X, y, _ = data()
    for labels in (y, y == "a"):
        model = StreamSVC(**settings, random_state=0).partial_fit(X, labels)
        probability = model.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))
        table = model.table(X)
        np.testing.assert_array_equal(table["prediction"], model.predict(X))
        np.testing.assert_array_equal(table["probability"], probability.max(axis=1))


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 3))
    truth = expit(1.5 * X[:, 0] - X[:, 1])
    y = rng.random(20000) < truth
    found = StreamSVC(normalize=False, random_state=0).fit(X[:10000], y[:10000]).predict_proba(X[10000:])[:, 1]
    assert np.abs(found - truth[10000:]).mean() < 0.05
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        part = (found >= low) & (found < low + 0.2)
        assert y[10000:][part].mean() == pytest.approx(found[part].mean(), abs=0.07)


def smallest_ball(model, X, y, C):
    """Radius and center of the smallest ball around the rows with a slack coordinate each, by the exact solver."""
    sign = np.where(y == model._classifier.labels.values[1], 1.0, -1.0)
    P = np.hstack([sign[:, None] * model.prepare(X), np.eye(len(X)) / np.sqrt(C)])
    weights, radius = enclose(P @ P.T, np.zeros(len(X)))
    return P, weights @ P, radius


@pytest.mark.parametrize("C", [0.5, 10.0])
@pytest.mark.parametrize(
    "settings",
    [
        {"lookahead": 1, "n_initial": 1},
        {"lookahead": 7, "n_initial": 1},
        {"n_initial": 64},
        {"n_balls": 4, "n_initial": 1},
    ],
)
def test_guarantees_hold(settings, C):
    X, y = two_classes(150, noise=0.3)
    model = StreamSVC(C, ellipsoid=None, center=False, scale=False, **settings).partial_fit(X, y)
    P, center, radius = smallest_ball(model, X, y, C)
    proven = model.guarantee()
    assert proven.least_radius[0] <= radius * (1 + 1e-9)
    assert radius <= proven.radius[0] * (1 + 1e-9)
    best = (P @ center / np.linalg.norm(center)).min()
    assert proven.margin[0] <= best + 1e-9 <= proven.largest_margin[0] + 2e-9
    assert model.radius_ == pytest.approx(proven.radius)
    assert f"{proven.radius[0]:.4g}" in str(proven)
    assert isinstance(proven, Guarantee)
    assert proven.confidence == 1.0
    assert proven.says_something == (proven.least_radius[0] > 0.0)
    assert all(condition.endswith(".") for condition in (str(proven), *proven.conditions))


def test_the_smallest_ball_of_all_rows_is_the_margin():
    """Initialised with all rows, the margin is what a general solver finds for the l2 machine."""
    X, y = two_classes(64, noise=0.3, width=3)
    model = StreamSVC(2.0, ellipsoid=None, center=False, n_initial=64, fit_intercept=False).partial_fit(X, y)
    Z = np.where(y == model._classifier.labels.values[1], 1.0, -1.0)[:, None] * model.prepare(X)

    def objective(w):
        return w @ w + 2.0 * (np.maximum(1 - Z @ w, 0) ** 2).sum()

    w = minimize(objective, np.zeros(3), method="BFGS", tol=1e-12).x
    coef = model._classifier.answering[0].coef
    np.testing.assert_allclose(coef / np.linalg.norm(coef), w / np.linalg.norm(w), atol=1e-4)
    proven = model.guarantee()
    assert proven.margin[0] == pytest.approx(1 / np.sqrt(objective(w)), rel=1e-5)


def test_the_margin_of_the_smallest_ball_is_the_largest():
    """All rows are enclosed together: the center is the solution, and its length the margin."""
    X, y = two_classes(64)
    proven = (
        StreamSVC(2.0, ellipsoid=None, center=False, n_initial=64, fit_intercept=False).partial_fit(X, y).guarantee()
    )
    assert proven.margin[0] == pytest.approx(np.sqrt(1.5 - proven.radius[0] ** 2), rel=1e-9)
    assert proven.margin[0] > 0.1


def test_margins_are_unknown_for_rows_of_different_lengths():
    X, y, _ = data()
    model = StreamSVC(1.0, ellipsoid=None, n_initial=32, normalize=False).partial_fit(X, y)
    assert np.isnan(model.guarantee().margin).all()
    assert "margin" not in str(model.guarantee())
    assert len(model.guarantee().names) == 4


def test_balls_ignore_weights():
    X, y, weight = data()
    settings = {"C": 1.0, "ellipsoid": None, "n_initial": 32, "center": False, "fit_intercept": False}
    weighted = StreamSVC(**settings).partial_fit(X, y, weight)
    np.testing.assert_array_equal(weighted.coef_, StreamSVC(**settings).partial_fit(X, y).coef_)


def test_there_is_no_guarantee_for_ellipsoids():
    X, y, _ = data()
    with pytest.raises(ValueError, match="ellipsoid=None"):
        StreamSVC().partial_fit(X, y).guarantee()


# ---- rare classes ---------------------------------------------------------------------------------


def rare(count=6000):
    rng = np.random.default_rng(0)
    y = (rng.random(count) < 0.03).astype(int)
    return rng.normal(size=(count, 4)) + 1.2 * y[:, None] * [1, 1, 0, 0], y


@pytest.mark.parametrize(
    "settings", [{}, {"ellipsoid": "diagonal"}, {"ellipsoid": None, "n_initial": 64}, {"n_balls": 5}]
)
def test_balanced_weights_find_a_rare_class(settings):
    X, y = rare()
    with pytest.warns(UserWarning, match="class '1'"):
        plain = StreamSVC(**settings, random_state=0).partial_fit(X, y)
    even = StreamSVC(**settings, class_weight="balanced", random_state=0).partial_fit(X, y)
    recalls = [model.predict(X[y == 1]).mean() for model in (plain, even)]
    assert recalls[0] < 0.2
    assert recalls[1] > 0.6
    assert np.mean(even.predict(X[y == 0]) == 0) > 0.6


def test_class_weights_are_weights():
    X, y, _ = data()
    factors = {"a": 3.0, "c": 0.5}
    settings = {"C": 1.0, "normalize": False, "center": False, "scale": False}
    by_class = StreamSVC(**settings, class_weight=factors).partial_fit(X, y)
    machine = by_class._classifier.answering[by_class.classes_.tolist().index("bb")]
    w, P, Z = np.zeros(6), np.eye(6), np.column_stack([X, np.ones(COUNT)])
    for z, s, c in zip(Z, np.where(y == "bb", 1.0, -1.0), [factors.get(label, 1.0) for label in y], strict=True):
        if s * (w @ z) < 1:
            u = P @ z
            gain = 1 / (z @ u + 1 / c)
            w, P = w + gain * (s - w @ z) * u, P - gain * np.outer(u, u)
    np.testing.assert_allclose(machine.coef, w, atol=1e-9)


def test_a_rare_class_is_worth_a_warning():
    X, y = rare()
    with pytest.warns(UserWarning, match="class '1'.*balanced"):
        StreamSVC(1.0).fit(X, y)
    StreamSVC(1.0, class_weight="balanced").fit(X, y)  # warnings are errors


@pytest.mark.parametrize("chunk", [1, 700])
def test_learning_in_chunks_tells_once_of_a_rare_class(chunk):
    X, y = rare(10_000)
    with pytest.warns(UserWarning, match="class '1'") as caught:
        in_chunks(StreamSVC(1.0), X, y, chunk)
    assert len(caught) == 1


def test_single_rows_in_long_runs_are_worth_a_warning():
    X, y = two_classes(6000)
    X, y = X[y.argsort()], np.sort(y)
    with pytest.warns(OrderWarning, match="shuffle_buffer"):
        in_chunks(StreamSVC(1.0), X, y, 1)


@pytest.mark.parametrize(
    "settings",
    [{}, {"ellipsoid": None, "n_initial": 64}, {"class_weight": {1: 20.0}}, {"half_life": 2000}, {"half_life": "auto"}],
)
def test_probabilities_of_weighted_classes_are_those_of_the_stream(settings):
    X, y = rare(20_000)
    model = StreamSVC(**{"class_weight": "balanced", "random_state": 0} | settings).partial_fit(X[:10_000], y[:10_000])
    found = model.predict_proba(X[10_000:])[:, 1]
    assert found.mean() == pytest.approx(0.03, abs=0.01)
    assert log_loss(y[10_000:], found) < 0.9 * log_loss(y[10_000:], np.full(10_000, 0.03))
    table = model.table(X[:100])
    np.testing.assert_array_equal(table["prediction"], model.predict(X[:100]))
    np.testing.assert_array_equal(table["probability"], model.predict_proba(X[:100])[range(100), table["prediction"]])


def test_probabilities_of_many_weighted_classes_are_those_of_the_stream():
    rng = np.random.default_rng(0)
    y = rng.choice(4, p=[0.6, 0.3, 0.07, 0.03], size=8000)
    X = rng.normal(size=(8000, 5)) + 1.5 * np.eye(4, 5)[y]
    model = StreamSVC(class_weight="balanced", random_state=0).partial_fit(X[:5000], y[:5000])
    np.testing.assert_allclose(model.predict_proba(X[5000:]).mean(axis=0), [0.6, 0.3, 0.07, 0.03], atol=0.03)
    assert np.bincount(model.predict(X[5000:]), minlength=4)[3] > 2 * 0.03 * 3000  # they are chosen more often


def test_many_even_classes_are_not_rare():
    X = np.random.default_rng(0).normal(size=(2600, 3))
    StreamSVC(1.0, center=True, scale=False).fit(X, np.arange(2600) % 26)  # warnings are errors


# ---- kernels --------------------------------------------------------------------------------------


def test_a_kernel_solves_two_circles():
    X, y = make_circles(1500, noise=0.1, factor=0.4, random_state=0)
    model = StreamSVC(kernel="rbf", n_initial=64, random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.97
    assert StreamSVC().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) < 0.7
    with pytest.raises(AttributeError, match="kernel"):
        _ = model.coef_
    again = Learner.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert model.n_retained_ >= 2


def shared_letters(a, b):
    return len(set(a) & set(b)) / 4 + 0.5 * (a[0] == b[0])


def words(count=150):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, count)
    return ["".join(rng.choice(list("abcd" if label else "cdef"), 5)) for label in y], np.where(y == 1, "left", "right")


def test_strings_with_a_custom_kernel(tmp_path):
    import modicum

    rows, y = words()
    model = StreamSVC(1.0, kernel=shared_letters, n_initial=32).fit(rows, y)
    assert model.score(rows, y) > 0.9
    model.save(tmp_path / "model.mcm")
    with pytest.raises(StateError, match="kernel=shared_letters"):
        modicum.load(tmp_path / "model.mcm")
    again = modicum.load(tmp_path / "model.mcm", kernel=shared_letters)
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    for learner in (model, again):
        learner.partial_fit(rows[:30], y[:30])
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


@pytest.mark.parametrize("chunk", [100, 1200])
def test_a_number_of_core_vectors_is_held(chunk):
    X, y = make_circles(1200, noise=0.2, factor=0.4, random_state=0)
    model = StreamSVC(1.0, kernel="rbf", n_initial=64, budget=80, random_state=0)
    for start in range(0, 1200, chunk):
        model.partial_fit(X[start : start + chunk], y[start : start + chunk])
        assert sum(len(ball.alpha) for ball in model._classifier.kernel_balls) <= 80
    assert model.score(X, y) > 0.85


def test_a_number_of_bytes_is_held():
    X, y = make_circles(2000, noise=0.2, factor=0.4, random_state=0)
    model = StreamSVC(1.0, kernel="rbf", n_initial=128, budget="48 KiB", random_state=0)
    for start in range(0, 2000, 200):
        model.partial_fit(X[start : start + 200], y[start : start + 200])
        assert model.nbytes_ <= 48 * 1024
    assert model.score(X, y) > 0.85


def test_rows_of_unit_length_in_the_kernel_s_space():
    """A kernel without k(x, x) = 1 is normalized; others are not changed."""
    X, y = two_classes(100)
    assert StreamSVC(1.0, kernel="polynomial").fit(X, y).kernel_.diagonal(X) == pytest.approx(1.0)
    assert type(StreamSVC(1.0, kernel=RBF(2.0)).fit(X, y).kernel_) is RBF


# ---- merging --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ellipsoid", ["full", "diagonal"])
def test_merged_ellipsoids_are_nearly_as_good_as_one(ellipsoid):
    settings = {"C": 1.0, "ellipsoid": ellipsoid, "center": True, "scale": False}
    X, y = two_classes(6000, noise=1.0)
    whole = StreamSVC(**settings).fit(X[:4000], y[:4000])
    shards = [StreamSVC(**settings).fit(X[i:4000:4], y[i:4000:4]) for i in range(4)]
    merged = shards[0]
    for shard in shards[1:]:
        merged.merge(shard)
    assert merged.n_seen_ == 4000
    assert merged.confusion_.sum() == 4000
    assert merged.score(X[4000:], y[4000:]) > whole.score(X[4000:], y[4000:]) - 0.01


BALL = {"C": 1.0, "ellipsoid": None, "center": False, "n_initial": 64}


@pytest.mark.parametrize(("ours", "theirs"), [(20, 30), (20, 500), (500, 20), (40, 40), (500, 500), (1, 1)])
def test_balls_are_merged_whether_initialised_or_not(ours, theirs):
    X, y = two_classes(1500)
    left = StreamSVC(**BALL, random_state=0).partial_fit(X[:ours], y[:ours])
    right = StreamSVC(**BALL, random_state=0).partial_fit(X[ours : ours + theirs], y[ours : ours + theirs])
    before = right.to_bytes()
    left.merge(right)
    assert right.to_bytes() == before
    assert left.n_seen_ == left.confusion_.sum() == left._classifier.tournament.rows == ours + theirs
    if ours < 64 and theirs < 64:  # all rows were in memory
        whole = StreamSVC(**BALL, random_state=0).partial_fit(X[: ours + theirs], y[: ours + theirs])
        np.testing.assert_allclose(left.decision_function(X), whole.decision_function(X))
    if min(ours, theirs) > 1:
        _, _, radius = smallest_ball(left, X[: ours + theirs], y[: ours + theirs], 1.0)
        proven = left.guarantee()
        assert proven.least_radius[0] <= radius <= proven.radius[0] * (1 + 1e-9)
    assert left.partial_fit(X[1000:], y[1000:]).score(X, y) > 0.8


def test_late_classes_on_either_side():
    X, y, _ = data(1200)
    settings = LINEAR["one"]
    left = StreamSVC(**settings).partial_fit(X[:600], np.where(y[:600] == "dddd", "a", y[:600]))
    right = StreamSVC(**settings).partial_fit(X[600:], np.where(y[600:] == "c", "a", y[600:]))
    left.merge(right)
    assert left.classes_.tolist() == ["a", "bb", "c", "dddd"]
    assert left.confusion_.sum() == 1200
    assert left.predict_proba(X).shape == (1200, 4)
    left.partial_fit(X, y)
    assert left.score(X, y) > 0.7


@pytest.mark.filterwarnings("ignore:StreamSVC. only")
def test_fitted_shards_with_other_classes_are_merged():
    """A class may be missing in one shard."""
    X, y, _ = data(1200)
    settings = LINEAR["one"]
    left = StreamSVC(**settings).fit(X[:600], np.where(y[:600] == "dddd", "a", y[:600]))
    right = StreamSVC(**settings).fit(X[600:], y[600:])
    assert left.merge(right).classes_.tolist() == ["a", "bb", "c", "dddd"]


@pytest.mark.filterwarnings("ignore:StreamSVC. only")
def test_a_fitted_model_learns_new_classes():
    X, y, _ = data()
    model = StreamSVC(random_state=0).fit(X, y)
    model.partial_fit(X[:5], np.full(5, "e"))
    assert "e" in model.classes_


def test_different_preparations_keep_the_longer_side():
    X, y = two_classes(4000)
    sides = [StreamSVC(1.0, ellipsoid=None, n_initial=1).partial_fit(X[:n], y[:n]) for n in (1500, 2500)]
    for side, keep in zip(sides, (0, 1), strict=True):
        tournament = side._classifier.tournament
        tournament.entrants = [entrant for entrant in tournament.entrants if entrant.inputs == keep]
    coef = sides[1].coef_
    with pytest.warns(UserWarning, match="different preparations"):
        sides[0].merge(sides[1])
    assert sides[0].n_seen_ == 4000
    np.testing.assert_array_equal(sides[0].coef_, coef)
    sides[0].partial_fit(X, y)


def test_merging_refuses_what_does_not_fit():
    X, y, _ = data()
    model = StreamSVC().partial_fit(X, y)
    before = model.to_bytes()
    with pytest.raises(StateError, match="fit_intercept differs"):
        model.merge(StreamSVC(fit_intercept=False).partial_fit(X, y))
    with pytest.raises(StateError, match="announced"):
        model.merge(StreamSVC().partial_fit(X, y, classes=[*np.unique(y), "zz"]))
    with pytest.raises((StateError, DataError), match="labels"):
        model.merge(StreamSVC().partial_fit(X, (y == "a").astype(int)))
    assert model.to_bytes() == before


# ---- what is announced, what is refused -----------------------------------------------------------


def test_announced_classes_are_known_from_the_start():
    X, y, _ = data()
    model = StreamSVC(random_state=0).partial_fit(X[:2], y[:2], classes=["a", "bb", "c", "dddd"])
    assert model.classes_.tolist() == ["a", "bb", "c", "dddd"]
    assert model.decision_function(X).shape == (COUNT, 4)
    assert model.partial_fit(X, y).score(X, y) > 0.75
    with pytest.raises(DataError, match="'e' "):
        model.partial_fit(X[:1], ["e"])


def test_classes_may_be_given_again_but_not_changed():
    X, y, _ = data()
    classes = ["a", "bb", "c", "dddd"]
    model = StreamSVC().partial_fit(X[:9], y[:9], classes=classes).partial_fit(X[9:10], y[9:10], classes=classes)
    with pytest.raises(ValueError, match="'zz' must be announced with the first chunk"):
        model.partial_fit(X, y, classes=[*classes, "zz"])
    with pytest.raises(ValueError, match="'zz' must be announced with the first chunk"):
        StreamSVC().partial_fit(X, y).partial_fit(X[:1], y[:1], classes=[*classes, "zz"])
    assert model.n_seen_ == 10


def test_an_announcement_that_could_not_be_kept_is_forgotten():
    X, y, _ = data()
    model = StreamSVC()
    with pytest.raises(DataError, match="announced"):
        model.partial_fit(X, y, classes=["x", "y"])
    assert model.partial_fit(X, y).n_seen_ == COUNT


def test_a_linear_machine_that_does_not_fit_its_budget():
    X, y, _ = data()
    with pytest.raises(BudgetError, match="4 classes and 5 columns"):
        StreamSVC(budget="2 KiB").partial_fit(X, y)


@pytest.mark.parametrize(
    ("params", "X", "words"),
    [
        ({"C": -1.0}, None, "C must be"),
        ({"C": []}, None, "C must be"),
        ({"C": [1.0, "auto"]}, None, "C must be"),
        ({"ellipsoid": "round"}, None, "ellipsoid must be"),
        ({"class_weight": "even"}, None, "class_weight must be"),
        ({"center": False, "scale": True}, None, "scale=True needs center=True"),
        ({"lookahead": 3}, None, "lookahead is for balls"),
        ({"n_initial": 64}, None, "n_initial is for balls"),
        ({"n_balls": 2, "lookahead": 3}, None, "lookahead needs n_balls=1"),
        ({"n_balls": 2, "ellipsoid": "full"}, None, "excludes n_balls=2"),
        ({"n_balls": 2, "kernel": "rbf"}, None, "n_balls needs kernel='linear'"),
        ({"ellipsoid": "diagonal", "kernel": "rbf"}, None, "ellipsoid='diagonal' needs kernel='linear'"),
        ({"center": True}, "sparse", "sparse rows can't be centered"),
        ({"scale": True}, "sparse", "sparse rows can't be centered"),
    ],
)
def test_parameters_that_make_no_sense(params, X, words):
    rows, y, _ = data()
    with pytest.raises(ValueError, match=words):
        StreamSVC(**params).partial_fit(sparse.csr_matrix(rows) if X else rows, y)


def test_labels_are_needed_and_their_kind_stays():
    X, y, _ = data()
    with pytest.raises(DataError, match="target y is None"):
        StreamSVC().partial_fit(X)
    model = StreamSVC().partial_fit(X, y)
    with pytest.raises(DataError, match="were strings before"):
        model.partial_fit(X, np.arange(COUNT) % 2)
    with pytest.raises(DataError, match="500 rows came with 499 targets"):
        model.partial_fit(X, y[1:])
    assert model.n_seen_ == COUNT
