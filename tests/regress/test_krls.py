"""KRLS against its definition in plain numpy, and against kernel ridge regression."""

import numpy as np
import pytest
from scipy import sparse

import modicum
from modicum.exceptions import BudgetError, DataError
from modicum.kernels import RBF, median_width
from modicum.regress import KRLS

KERNEL = RBF(1.0)


def data(count=150, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(count, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + noise * rng.normal(size=count) + 5


def learned(model, X, y, chunk):
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk], y[start : start + chunk])
    return model


def least_squares_on_a_dictionary(X, y, threshold, regularization):
    """engel2004: rows that join, and the weights that fit all rows by the combinations that represent them."""
    dictionary, combinations = [], []
    for i in range(len(X)):
        K, k = KERNEL(X[dictionary], X[dictionary]), KERNEL(X[dictionary], X[i : i + 1])[:, 0]
        a = np.linalg.solve(K, k)
        if 1 - k @ a > threshold:
            dictionary.append(i)
            a = np.eye(len(dictionary))[-1]
        combinations.append(a)
    A = np.array([np.pad(a, (0, len(dictionary) - len(a))) for a in combinations])
    AK, K = A @ KERNEL(X[dictionary], X[dictionary]), KERNEL(X[dictionary], X[dictionary])
    return dictionary, np.linalg.solve(AK.T @ AK + regularization * K, AK.T @ y)


@pytest.mark.parametrize("chunk", [9, 37, 150])
@pytest.mark.parametrize("regularization", [0.0, 0.1])
def test_with_room_for_all_it_is_least_squares_on_a_dictionary(regularization, chunk):
    X, y = data()
    model = learned(KRLS(kernel=KERNEL, ald_threshold=0.05, regularization=regularization), X, y, chunk)
    dictionary, weights = least_squares_on_a_dictionary(X, y - model.intercept_, 0.05, regularization)
    np.testing.assert_array_equal(model.prototype_ids_, dictionary)
    np.testing.assert_array_equal(model.prototypes_, X[dictionary])
    np.testing.assert_allclose(model.coef_, weights, atol=1e-6)
    new, _ = data(seed=1)
    np.testing.assert_allclose(model.predict(new), KERNEL(new, X[dictionary]) @ weights + model.intercept_, atol=1e-8)


@pytest.mark.parametrize("regularization", [0.0, 0.1])
def test_when_all_rows_join_it_is_kernel_ridge_regression(regularization):
    X, y = data(80)
    kernel = RBF(0.1)
    model = learned(KRLS(kernel=kernel, ald_threshold=0.0, regularization=regularization), X, y, 30)
    assert model.n_retained_ == 80
    K = kernel(X, X)
    fitted = K @ np.linalg.solve(K + regularization * np.eye(80), y - model.intercept_) + model.intercept_
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-9)


class Marginal:
    """Values at the kept rows as one Gaussian: rows join it by the prior, are observed, and are integrated out."""

    def __init__(self, budget, regularization, intercept):
        self.budget, self.regularization, self.intercept = budget, regularization, intercept
        self.rows, self.mean, self.cov = np.empty((0, 2)), np.empty(0), np.empty((0, 0))

    def learn(self, x, y, threshold):
        K, k = KERNEL(self.rows, self.rows), KERNEL(self.rows, x[None])[:, 0]
        h = np.linalg.solve(K, k)
        delta = 1 - k @ h
        widen = np.vstack([np.eye(len(h)), h])
        mean, cov = widen @ self.mean, widen @ self.cov @ widen.T
        joins = delta > threshold
        if joins:
            cov[-1, -1] += delta / self.regularization
        gain = cov[:, -1] / (1 + cov[-1, -1])
        mean, cov = mean + gain * (y - self.intercept - mean[-1]), cov - np.outer(gain, cov[-1])
        self.rows, self.mean, self.cov = np.vstack([self.rows, x]), mean, cov
        if not joins:
            self.drop(len(h))
        elif len(self.rows) > self.budget:
            Q = np.linalg.inv(KERNEL(self.rows, self.rows))
            errors = np.abs(Q @ self.mean) / np.diag(Q)
            errors[np.diag(Q) < Q[-1, -1]] = np.inf  # more novel than the newcomer
            self.drop(int(np.argmin(errors)))

    def drop(self, j):
        self.rows, self.mean = np.delete(self.rows, j, axis=0), np.delete(self.mean, j)
        self.cov = np.delete(np.delete(self.cov, j, axis=0), j, axis=1)

    def predict(self, X):
        K = KERNEL(self.rows, self.rows)
        return KERNEL(X, self.rows) @ np.linalg.solve(K, self.mean) + self.intercept


@pytest.mark.parametrize("chunk", [50, 300])
def test_once_full_the_others_are_integrated_out(chunk):
    X, y = data(300)
    model = learned(KRLS(12, kernel=KERNEL, regularization=0.05), X, y, chunk)
    twin = Marginal(12, 0.05, model.intercept_)
    for row, target in zip(X, y, strict=True):
        twin.learn(row, target, 1e-3)
    assert model.n_retained_ == 12
    assert set(map(tuple, model.prototypes_)) == set(map(tuple, twin.rows))
    np.testing.assert_array_equal(model.prototypes_, X[model.prototype_ids_])
    np.testing.assert_allclose(model.predict(X), twin.predict(X), atol=1e-6)


def test_a_full_dictionary_learns_from_rows_that_it_does_not_keep():
    X, y = data(1500, noise=0.5)
    new, truth = data(500, seed=1, noise=0.0)
    model = KRLS(20, kernel=KERNEL, regularization=0.1).fit(X, y)
    K = KERNEL(model.prototypes_, model.prototypes_)
    alone = np.linalg.solve(K + 0.1 * np.eye(20), y[model.prototype_ids_] - model.intercept_)
    from_them = KERNEL(new, model.prototypes_) @ alone + model.intercept_
    error = np.mean((model.predict(new) - truth) ** 2)
    assert error < 0.2 * np.mean((from_them - truth) ** 2)
    assert error < 0.03 * truth.var()


def test_swaps_never_lower_the_determinant():
    X, y = data(600)
    model = KRLS(10, kernel=KERNEL)
    values = []
    for start in range(0, 600, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
        values.append(np.linalg.slogdet(KERNEL(model.prototypes_, model.prototypes_))[1])
    assert (np.diff(values[2:]) > -1e-9).all()  # after the first 100 rows, which are learned again
    assert values[-1] > values[2]


def test_merging_is_learning_both_when_all_rows_join():
    kernel = RBF(0.1)
    X, y = data(120)
    y[1::2] = 10 - y[::2]  # both halves have the same mean
    y[60:] = y[:60]
    left, right = (KRLS(kernel=kernel, regularization=0.1) for _ in range(2))
    left.fit(np.repeat(X[:60], 2, axis=0), np.repeat(y[:60], 2))
    right.fit(np.repeat(X[60:], 2, axis=0), np.repeat(y[60:], 2))
    both = left.merge(right)
    K = kernel(X, X)
    fitted = K @ np.linalg.solve(K + 0.05 * np.eye(120), y - 5) + 5
    np.testing.assert_allclose(both.predict(X), fitted, atol=1e-8)


@pytest.mark.parametrize("n_prototypes", [1000, 20])
@pytest.mark.parametrize("sizes", [(40, 500), (500, 40), (300, 300), (30, 40)])
def test_merging_comes_close_to_learning_both(sizes, n_prototypes):
    X, y = data(sum(sizes))
    left, right, all_rows = (KRLS(n_prototypes, ald_threshold=0.01, regularization=0.1) for _ in range(3))
    left.fit(X[: sizes[0]], y[: sizes[0]])
    right.fit(X[sizes[0] :], y[sizes[0] :])
    all_rows.fit(X, y)
    new, truth = data(1000, seed=1, noise=0.0)
    both = left.merge(right)
    assert len(both.prototypes_) <= n_prototypes
    assert (np.diff(both.history_["n_seen"]) > 0).all()
    assert both.score(new, truth) > all_rows.score(new, truth) - 0.02
    both.partial_fit(X, y)


def test_shards_with_other_means_agree_on_the_values():
    X, y = data(800)
    high = X[:, 0] > 0
    y = y + 20 * high
    low, top = KRLS(kernel=KERNEL).fit(X[~high], y[~high]), KRLS(kernel=KERNEL).fit(X[high], y[high])
    assert abs(low.intercept_ - top.intercept_) > 15
    both = low.merge(top)
    inside = np.abs(X[:, 0]) > 0.5  # the step itself is too steep for the kernel
    assert np.abs(both.predict(X) - y)[inside].mean() < 0.8


def test_a_weight_of_two_is_the_row_given_twice():
    X, y = data(300)
    weighted, repeated = (KRLS(kernel=KERNEL).fit(X[:100], y[:100]) for _ in range(2))
    weighted.partial_fit(X[100:], y[100:], np.full(200, 2.0))
    repeated.partial_fit(np.repeat(X[100:], 2, axis=0), np.repeat(y[100:], 2))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-8)


def test_weights_of_shards_are_put_on_one_scale():
    X, y = data(400)
    light, heavy = (KRLS(kernel=KERNEL).fit(X[:200], y[:200]) for _ in range(2))
    ones = KRLS(kernel=KERNEL).fit(X[200:], y[200:], np.full(200, 3.0))
    heavy.merge(ones)
    light.partial_fit(X[200:], y[200:], np.full(200, 3.0))
    np.testing.assert_allclose(heavy.predict(X), light.predict(X), atol=0.02)


def test_width_and_intercept_come_from_the_first_hundred_rows():
    X, y = data(200)
    models = [learned(KRLS(10, kernel="rbf"), X, y, chunk) for chunk in (9, 60, 200)]
    for model in models:
        assert model.kernel_ == RBF(median_width(X[:100]))
        assert model.intercept_ == pytest.approx(y[:100].mean())
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), atol=1e-6)


def test_it_predicts_from_the_first_row_on():
    X, y = data(10)
    model = KRLS(20).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(model.predict(X), y[0])
    assert model.partial_fit(X[1:], y[1:]).score(X, y) > 0.9


def test_sparse_rows_are_learned_as_dense_ones():
    X, y = data(400)
    X = np.where(np.abs(X) < 1, 0, X)
    dense, thin = KRLS(20, kernel="rbf").fit(X, y), KRLS(20, kernel="rbf").fit(sparse.csr_matrix(X), y)
    assert sparse.issparse(thin.prototypes_)
    np.testing.assert_allclose(thin.predict(sparse.csr_matrix(X)), dense.predict(X), atol=1e-6)


def test_a_budget_in_bytes_covers_sparse_rows_that_grow():
    rng = np.random.default_rng(0)
    model = KRLS(None, budget="24 KiB", kernel=RBF(10.0))
    for density in (0.02, 0.2, 0.5):
        model.partial_fit(sparse.random(300, 200, density, "csr", rng=rng), rng.normal(size=300))
        assert model.nbytes_ <= 24 * 1024
        assert len(model.prototype_ids_) == model.n_retained_ == len(model.coef_)


def overlap(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b))


def test_objects_and_a_function_as_kernel(tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdef"), 5)) for _ in range(300)]
    y = np.array([word.count("a") > 0 for word in words], float)
    model = KRLS(30, kernel=overlap).fit(words, y)
    assert model.score(words, y) > 0.5
    assert set(model.prototypes_) <= set(words)
    model.save(tmp_path / "model.mcm")
    again = modicum.load(tmp_path / "model.mcm", kernel=overlap)
    again.partial_fit(words, y)
    np.testing.assert_array_equal(again.predict(words), model.partial_fit(words, y).predict(words))


def test_a_kernel_that_fails_changes_nothing():
    broken = False

    def kernel(A, B):
        return KERNEL(A, B) * (np.nan if broken else 1.0)

    X, y = data()
    model = KRLS(20, kernel=kernel).fit(X, y)
    before = model.to_bytes()
    broken = True
    with pytest.raises(DataError, match="finite"):
        model.partial_fit(X, y)
    assert model.to_bytes() == before


def test_float32_stays_float32():
    X, y = data()
    assert KRLS(20).fit(X.astype(np.float32), y).prototypes_.dtype == np.float32


def test_history_has_the_size_over_the_stream():
    X, y = data(1000)
    history = learned(KRLS(5), X, y, 100).history_
    np.testing.assert_array_equal(history["n_seen"], np.arange(100, 1001, 100))
    assert history["prototypes"].max() == 5


def test_copies_of_rows_and_tiny_thresholds_are_survived():
    X, y = data(100)
    X, y = np.tile(X, (5, 1)), np.tile(y, 5)
    model = learned(KRLS(kernel=RBF(3.0), ald_threshold=0.0, regularization=0.0), X, y, 90)
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y"),
        (np.array([1.0, np.nan, 2.0]), "row 1 .* nan"),
        (np.array([1.0, 2.0]), "3 rows came with 2 targets"),
        (np.ones((3, 2)), "one per row"),
        (np.array(["a", "b", "c"]), "must be numbers"),
    ],
)
def test_targets_are_checked(y, words):
    with pytest.raises(DataError, match=words):
        KRLS(3).partial_fit(np.zeros((3, 2)), y)


def test_a_budget_too_small_is_named():
    with pytest.raises(BudgetError, match="needs a budget of at least"):
        KRLS(None, budget="1 KiB").fit(*data())
    with pytest.raises(BudgetError, match=r"needs a budget of at least .* MiB; got 1 MiB"):
        KRLS(1000, budget="1 MiB").fit(*data())
    with pytest.raises(BudgetError, match="needs a budget of at least 50 rows; got 20"):
        KRLS(50, budget=20).fit(*data())
    with pytest.raises(ValueError, match="n_prototypes=None needs a budget"):
        KRLS(None).fit(*data())


def test_a_budget_of_rows_covers_the_first_rows_too():
    X, y = data(300)
    model = KRLS(None, budget=30, kernel="rbf")
    for i in range(300):
        assert model.partial_fit(X[i : i + 1], y[i : i + 1]).n_retained_ <= 30
    assert model.kernel_ == RBF(median_width(X[:30]))
    assert model.plan(2).rows == 30


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_more_is_held_than_planned(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 300)).astype(dtype)  # many columns: the widths of the kernel count too
    model = KRLS(30, kernel="rbf-ard")
    held = [model.partial_fit(X[i : i + 33], X[i : i + 33, 0]).nbytes_ for i in range(0, 400, 33)]
    planned = model.plan(300, dtype=dtype).nbytes
    row = X.itemsize * 300 + 24
    assert planned - 2048 - row < max(held) <= planned  # 99 of the first 100 rows are held between calls
    sized = KRLS(None, budget="400 KiB", kernel="rbf-ard").fit(X, X[:, 0])
    assert sized.nbytes_ <= sized.plan(300, dtype=dtype).nbytes <= 400 * 1024


def test_picks_are_the_prototypes():
    X, y = data(300)
    picks = KRLS(10).fit(X, y).picks()
    assert (picks.kind, len(picks)) == ("prototype", 10)
    np.testing.assert_array_equal(picks.rows, X[picks.ids])


def test_errors_of_rows_before_they_are_learned():
    """Against a plain loop: each chunk is predicted by the model before it; the weights of old errors fade."""
    X, y = data(400)
    model, errors = KRLS(kernel=KERNEL), np.empty(0)
    for start in range(0, 400, 50):
        chunk = slice(start, start + 50)
        if start >= 100:
            errors = np.append(errors, (y[chunk] - model.predict(X[chunk])) ** 2)
        model.partial_fit(X[chunk], y[chunk])
        fading = np.exp(-np.arange(len(errors))[::-1] / 1000)
        expected = fading @ errors / fading.sum() if len(errors) else y[: start + 50].var()
        np.testing.assert_allclose(model.mean_squared_error_, expected, rtol=1e-2)
        assert model.history_["error"][-1] == model.mean_squared_error_
    assert model.history_["error"][-1] < model.history_["error"][2]


def test_errors_of_both_sides_of_a_merge():
    X, y = data(600)
    one, other = (KRLS(kernel=KERNEL).fit(X[half], y[half]) for half in (slice(300), slice(300, 600)))
    both = sorted([one.mean_squared_error_, other.mean_squared_error_])
    assert both[0] <= one.merge(other).mean_squared_error_ <= both[1]


# ---- widths --------------------------------------------------------------------------------------


def test_widths_are_fitted_to_targets_whatever_the_scales_of_columns():
    X, y = data(900)
    X = np.column_stack([X, np.random.default_rng(2).uniform(-3, 3, 900)])  # the last column is irrelevant
    scales = np.array([1000.0, 1.0, 30.0])
    new, truth = data(300, seed=1, noise=0.0)
    new = np.column_stack([new, np.zeros(300)])
    plain, scaled = KRLS(100).fit(X, y), KRLS(100).fit(X * scales, y)
    assert plain.kernel_.width[2] > 5 * plain.kernel_.width[:2].max()
    for model, rows in ((plain, new), (scaled, new * scales)):
        assert model.score(rows, truth) > 0.99
        assert 0.0 < model.regularization_ < 0.1
        assert model.score(rows, truth) > KRLS(100, kernel="rbf").fit(X, y).score(new, truth)


@pytest.mark.parametrize("chunk", [40, 500, 900])
def test_they_are_those_of_the_first_500_rows_in_any_chunks(chunk):
    X, y = data(700)
    model = learned(KRLS(20), X, y, chunk)
    first = KRLS(20).fit(X[:500], y[:500])
    np.testing.assert_array_equal(model.kernel_.width, first.kernel_.width)
    assert model.intercept_ == pytest.approx(y[:500].mean())


def test_a_short_stream_gets_fitted_widths_at_its_end():
    X, y = data(150)
    model = KRLS(50).partial_fit(X, y)
    model.fit(X, y)
    assert model.kernel_.width.shape == (2,)
    assert model.score(*data(200, seed=1, noise=0.0)) > 0.95


def test_single_rows_cost_few_fits(monkeypatch):
    fits = []
    monkeypatch.setattr(KRLS, "_fitted", lambda self, rows, y: fits.append(len(y)) or (KERNEL, 0.1))
    X, y = data(600)
    learned(KRLS(20), X, y, 1)
    assert fits == [*range(1, 101), 128, 256, 500]


def test_wide_rows_have_one_width():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 600))
    assert np.ndim(KRLS(20).fit(X, X[:, 0]).kernel_.width) == 0


# ---- the tracker ---------------------------------------------------------------------------------


def tracked_exactly(X, y, new, half_life, regularization):
    """The Gaussian process whose kernel fades with the time between rows, asked at the time of the last row."""
    age = np.arange(len(y))[::-1]
    faded = 2.0 ** (-np.abs(age[:, None] - age) / (2 * half_life))
    S = KERNEL(X, X) * faded + regularization * np.eye(len(y))
    return KERNEL(new, X) * 2.0 ** (-age / (2 * half_life)) @ np.linalg.solve(S, y)


@pytest.mark.parametrize("chunk", [1, 40, 300])
@pytest.mark.parametrize("half_life", [5, 200])
def test_the_tracker_is_a_gaussian_process_over_time(half_life, chunk):
    """Exact where all rows are at places that are in the dictionary."""
    rng = np.random.default_rng(0)
    places = rng.uniform(-3, 3, size=(25, 2))
    X = places[rng.integers(25, size=300)]
    y = np.sin(X[:, 0] + np.arange(300) / 50) + rng.normal(0, 0.1, 300)
    model = learned(KRLS(kernel=KERNEL, regularization=0.05, half_life=half_life, ald_threshold=1e-6), X, y, chunk)
    new = rng.uniform(-3, 3, size=(50, 2))
    expected = tracked_exactly(X, y - model.intercept_, new, half_life, 0.05)
    np.testing.assert_allclose(model.predict(new) - model.intercept_, expected, atol=1e-6)


def test_rows_learned_together_or_one_by_one_are_tracked_alike():
    X, y = data(600)
    together, single = (learned(KRLS(15, kernel=KERNEL, half_life=80), X, y, chunk) for chunk in (600, 1))
    np.testing.assert_array_equal(together.prototypes_, single.prototypes_)
    np.testing.assert_allclose(together.predict(X), single.predict(X), atol=1e-8)


def test_a_very_long_half_life_is_none():
    X, y = data(400)
    still, slow = KRLS(20, kernel=KERNEL).fit(X, y), KRLS(20, kernel=KERNEL, half_life=10**12).fit(X, y)
    np.testing.assert_allclose(slow.predict(X), still.predict(X), atol=1e-5)


def test_it_follows_a_world_that_turns_upside_down():
    X, y = data(3000)
    y[1500:] = 10 - y[1500:]
    new, truth = data(500, seed=1, noise=0.0)
    errors = {
        half_life: np.mean((KRLS(60, kernel=KERNEL, half_life=half_life).fit(X, y).predict(new) + truth - 10) ** 2)
        for half_life in (None, 300, "auto")
    }
    assert max(errors[300], errors["auto"]) < 0.1 * errors[None]


def test_automatic_forgetting_says_where_the_world_changed():
    X, y = data(3000)
    assert KRLS(60, kernel=KERNEL, half_life="auto").fit(X, y).changes_ == []
    y[1500:] = 10 - y[1500:]
    (change,) = KRLS(60, kernel=KERNEL, half_life="auto").fit(X, y).changes_
    assert 1450 < change.since < 1550


def test_a_tracker_needs_a_prior():
    with pytest.raises(ValueError, match="half_life needs a regularization above 0"):
        KRLS(regularization=0.0, half_life=10).fit(*data())
