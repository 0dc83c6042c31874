"""The sparse Gaussian process against exact and batch ones computed from scratch."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SklearnRBF
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import modicum
from modicum.kernels import RBF, Matern52
from modicum.kernels.projected_process import JITTER, Moments, fit_projected, log_likelihood, projected_posterior
from modicum.regress.calibration import Calibration, likeliest_factors
from modicum.regress.sparse_gp import SparseGPRegressor
from modicum.regress.tails import errors_have_tails, fit_freedom, tail_scale, targets_have_tails

KERNEL, NOISE = 1.5 * RBF([1.0, 2.0, 0.8]), 0.05


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    return X, 3 + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)


def given(n_active=20, **params):
    """A regressor with fixed hyper-parameters."""
    return SparseGPRegressor(n_active, kernel=KERNEL, noise=NOISE, random_state=0, **params)


def batch_projected(A, X, y, T):
    """Mean and standard deviation of the projected process, by the textbook."""
    offset = y.mean()
    K_A = KERNEL(A, A) * (1 + JITTER * np.eye(len(A)))
    K, K_T = KERNEL(X, A), KERNEL(T, A)
    S = np.linalg.inv(K_A + K.T @ K / NOISE)
    mean = offset + K_T @ S @ K.T @ (y - offset) / NOISE
    variance = KERNEL.diagonal(T) - np.diagonal(K_T @ np.linalg.inv(K_A) @ K_T.T) + np.diagonal(K_T @ S @ K_T.T)
    return mean, np.sqrt(variance + NOISE)


# ---- twins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("predictor", ["projected", "active"])
@pytest.mark.parametrize("objective", ["error", "variance", "logdet"])
def test_with_room_for_all_rows_it_is_the_exact_gaussian_process(objective, predictor):
    X, y = data(60)
    T, _ = data(20, 1)
    model = given(60, objective=objective, predictor=predictor)
    for start in range(0, 60, 17):
        model.partial_fit(X[start : start + 17], y[start : start + 17])
    twin = GaussianProcessRegressor(
        ConstantKernel(1.5) * SklearnRBF([1.0, 2.0, 0.8]) + WhiteKernel(NOISE), optimizer=None
    ).fit(X, y - y.mean())
    mean, std = model.predict(T, return_std=True)
    expected_mean, expected_std = twin.predict(T, return_std=True)
    assert model.is_exact_
    assert np.allclose(mean, expected_mean + y.mean())
    assert np.allclose(std, expected_std)
    assert np.array_equal(model.predict(T), mean)


@pytest.mark.parametrize("objective", ["error", "variance", "logdet"])
def test_without_swaps_the_projected_process_is_that_of_the_batch(objective):
    X, y = data(700)
    T, _ = data(30, 1)
    model = given(15, objective=objective, n_validation=50, min_gain=1e9)
    for start in range(0, 700, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.n_swaps_ == 0
    mean, std = batch_projected(model.active_, X, y, T)
    posterior = model._model.posterior()
    assert np.allclose(posterior.at(T)[0], mean, rtol=1e-6)
    assert np.allclose(np.sqrt(posterior.at(T)[1] + NOISE), std, rtol=1e-5)
    of_function, of_noise = likeliest_factors(model._model.calibration.errors)
    scaled = np.sqrt(of_function * (std**2 - NOISE) + of_noise * NOISE)
    assert np.allclose(model.predict(T, return_std=True)[1], scaled, rtol=1e-5)


def test_while_the_sample_is_everything_swaps_lose_nothing():
    X, y = data(400)
    T, _ = data(30, 1)
    model = given(15, n_validation=500)
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    model.refine()
    assert model.n_swaps_ > 0
    assert np.allclose(model.predict(T), batch_projected(model.active_, X, y, T)[0], rtol=1e-6)
    assert np.array_equal(X[model.active_ids_], model.active_)


def test_the_papers_predictor_learns_from_active_rows_only():
    X, y = data(400)
    T, _ = data(30, 1)
    model = given(15, predictor="active").fit(X, y)
    K = KERNEL(model.active_, model.active_) + NOISE * np.eye(15)
    expected = y.mean() + KERNEL(T, model.active_) @ np.linalg.solve(K, y[model.active_ids_] - y.mean())
    assert np.allclose(model.predict(T), expected)


# ---- sums that are translated --------------------------------------------------------------------


def test_moments_of_kept_features_stay_exact_and_others_are_regressed():
    rng = np.random.default_rng(0)
    X, y = data(1000)
    A, B = X[:6], X[6:9]
    sample = rng.choice(1000, 300, replace=False)
    moments = Moments()
    moments.initialize(KERNEL(X[:500], A), y[:500])
    moments.add(KERNEL(X[500:], A), y[500:])
    old, new = KERNEL(X, A), KERNEL(X, np.concatenate([A[:4], B]))
    kept = np.array([0, 1, 2, 3, -1, -1, -1])
    # the same by hand, row by row: every row gets the prediction of least squares, and the sample's residuals spread
    z = np.column_stack([old, np.ones(1000), y])
    T = np.linalg.lstsq(z[sample], new[sample][:, 4:], rcond=None)[0]
    imputed = np.column_stack([old[:, :4], z @ T, np.ones(1000), y])
    R = np.zeros((300, 9))
    R[:, 4:7] = new[sample][:, 4:] - z[sample] @ T
    expected = imputed.T @ imputed + 1000 / 300 * R.T @ R
    moments.translate(old[sample], new[sample], kept, y[sample])
    assert np.allclose(moments.sums, expected)
    exact = np.column_stack([new, np.ones(1000), y])
    exact = exact.T @ exact
    stays = [0, 1, 2, 3, 7, 8]
    assert np.allclose(moments.sums[np.ix_(stays, stays)], exact[np.ix_(stays, stays)])
    assert np.abs(moments.sums - exact).max() < 0.1 * np.abs(exact).max()
    assert np.linalg.eigvalsh(moments.sums).min() > -1e-6
    assert moments.count == 1000
    assert np.isclose(moments.mean_target, y.mean())


def test_sums_that_no_sample_would_show_are_brought_within_the_bounds_of_chance():
    """As after rounding in a direction that the active rows hardly had, which the next translation amplifies."""
    X, y = data(2000)
    old, new = KERNEL(X, X[:6]), KERNEL(X, X[:7])
    old[:, 5] = old[:, 4] + 1e-7 * old[:, 5]  # nearly a copy
    moments = Moments()
    moments.initialize(old, y)
    moments.sums[5, 5] *= 1 + 1e-9
    kept = np.array([0, 1, 2, 3, 4, -1, -1])
    moments.translate(old[::4], new[::4], kept, y[::4])
    exact = np.column_stack([new, np.ones(2000), y])
    exact = exact.T @ exact
    size = np.sqrt(exact.diagonal())
    error = np.abs(moments.sums - exact) / np.outer(size, size)
    assert error.max() < 2  # not 1e-9 divided by 1e-7 squared
    assert np.linalg.eigvalsh(moments.sums).min() > 0


def test_a_sample_of_all_rows_translates_exactly():
    X, y = data(300)
    old, new = KERNEL(X, X[:5]), (2 * Matern52(1.3))(X, X[5:12])
    moments = Moments()
    moments.initialize(old, y)
    moments.translate(old, new, np.full(7, -1), y)
    exact = np.column_stack([new, np.ones(300), y])
    assert np.allclose(moments.sums, exact.T @ exact, rtol=1e-5)


def test_translated_sums_predict_better_than_the_sample_and_nearly_as_well_as_all_rows():
    """Averages over streams; single ones may go either way."""
    T, y_T = data(500, 99)
    errors = []
    for seed in range(6):
        X, y = data(4000, seed)
        model = given(40, n_validation=200).set_params(random_state=seed)
        for start in range(0, 4000, 500):
            model.partial_fit(X[start : start + 500], y[start : start + 500])
        assert model.n_swaps_ > 20
        all_rows, sample = Moments(), Moments()
        A = model._model.active
        all_rows.initialize(A.features(X), y)
        sample.initialize(A.features(A.validation_rows), A.validation_targets)
        predictions = [model.predict(T)] + [
            projected_posterior(KERNEL, NOISE, model.active_, moments).mean(T) for moments in (all_rows, sample)
        ]
        errors.append([np.mean((p - y_T) ** 2) for p in predictions])
    translated, exact, from_sample = np.mean(errors, axis=0)
    assert exact < translated < exact + 0.6 * (from_sample - exact)


# ---- hyper-parameters ----------------------------------------------------------------------------


def test_likelihood_of_the_projected_process_and_its_gradient():
    X, y = data(50)
    y, A = y - y.mean(), X[:8]
    K_A, K = KERNEL(A, A) * (1 + JITTER * np.eye(8)), KERNEL(X, A)
    S = K @ np.linalg.solve(K_A, K.T) + NOISE * np.eye(50)
    value, gradient = log_likelihood(KERNEL, NOISE, A, X, y)
    assert np.isclose(value, multivariate_normal(np.zeros(50), S).logpdf(y))
    log_params = np.append(KERNEL.log_params, np.log(NOISE))

    def at(log_params):
        return log_likelihood(KERNEL.with_log_params(log_params[:-1]), np.exp(log_params[-1]), A, X, y)[0]

    assert np.allclose(gradient, approx_fprime(log_params, at, 1e-6), rtol=1e-3, atol=1e-3)


def test_fits_raise_the_likelihood_from_any_noise():
    X, y = data(400)
    y, A = y - y.mean(), X[:20]
    for noise in (1e-8, 0.05, 10.0):
        kernel, fitted_noise, value = fit_projected(KERNEL, noise, A, X, y, 10)
        assert np.isclose(value, log_likelihood(kernel, fitted_noise, A, X, y)[0])
        assert value > log_likelihood(KERNEL, noise, A, X, y)[0]
        assert value > log_likelihood(KERNEL, np.var(y), A, X, y)[0]


def test_hyperparameters_are_adapted_unless_they_are_given():
    X, y = data(800)
    T, y_T = data(500, 1)
    fixed = given(20).fit(X, y)
    assert fixed.kernel_ == KERNEL
    assert fixed.noise_ == NOISE
    assert fixed.log_likelihood_ is None
    adapted = SparseGPRegressor(20, random_state=0).fit(X, y)
    fitted_once = SparseGPRegressor(20, adapt=False, random_state=0).fit(X, y)
    assert min(adapted.score(T, y_T), fitted_once.score(T, y_T)) > 0.97 > fixed.score(T, y_T)
    once, later = (
        log_likelihood(its.kernel_, its.noise_, its.active_, X, y - y.mean())[0] for its in (fitted_once, adapted)
    )
    assert later > once
    assert adapted.kernel_.kernel.width.shape == (3,)
    assert np.isfinite(adapted.log_likelihood_)
    with pytest.raises(ValueError, match='adapt=True is for predictor="projected"'):
        SparseGPRegressor(adapt=True, predictor="active").fit(X, y)


def test_widths_come_from_the_data_also_with_noise_given():
    X, y = data(100)
    model = SparseGPRegressor(10, kernel="rbf", noise=0.1, random_state=0).fit(X, y)
    assert model.kernel_ == RBF().fitted(X)


# ---- calibration ---------------------------------------------------------------------------------


def test_factors_are_those_of_the_variances_that_made_the_errors():
    rng = np.random.default_rng(0)
    variances = rng.exponential(size=1000)
    errors = rng.normal(size=1000) * np.sqrt(0.3 * variances + 2.0 * 0.1)
    calibration = Calibration()
    calibration.judge(errors**2, variances, 0.1)
    # false alarms: the estimates' standard deviations are about 0.03 and 0.2
    assert np.allclose(likeliest_factors(calibration.errors), [0.3, 2.0], atol=[0.15, 1.0])
    calibration.judge(np.full(5000, 4.0), np.zeros(5000), 1.0)
    assert calibration.errors.shape == (1024, 3)
    assert np.isclose(likeliest_factors(calibration.errors)[1], 4.0, rtol=1e-3)


def test_intervals_cover_what_they_say():
    X, y = data(6000)
    T, y_T = data(4000, 1)
    model = SparseGPRegressor(15, n_validation=400, random_state=0)  # too few active rows: noise is not all there is
    for start in range(0, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
    mean, std = model.predict(T, return_std=True)
    for level, z in ((0.68, 1.0), (0.95, 1.96)):
        assert abs(np.mean(np.abs(y_T - mean) < z * std) - level) < 0.05
    assert 0.5 < model.mean_squared_error_ / np.mean((y_T - mean) ** 2) < 2
    one_chunk = SparseGPRegressor(15, random_state=0).partial_fit(X[:450], y[:450])  # nothing was predicted before
    mean, std = one_chunk.predict(T, return_std=True)
    assert 0.9 < np.mean(np.abs(y_T - mean) < 1.96 * std) < 0.99
    far = model.predict(T[:1] + 1000, return_std=True)
    assert np.isclose(far[0][0], y.mean())
    assert far[1][0] >= model.predict(T, return_std=True)[1].max()


@pytest.mark.parametrize("key", ["column", "target"])
@pytest.mark.filterwarnings("ignore::modicum.exceptions.OrderWarning")
def test_sorted_rows_teach_nearly_what_shuffled_ones_do(key):
    X, y = data(4000)
    T, y_T = data(4000, 1)
    order = np.argsort(X[:, 0] if key == "column" else y)
    errors = np.zeros(2)
    for seed in (1, 0):  # one sample of 400 rows alone changes errors by a tenth
        shuffled, in_order = (SparseGPRegressor(30, n_validation=400, random_state=seed) for _ in range(2))
        for start in range(0, 4000, 500):
            rows = slice(start, start + 500)
            shuffled.partial_fit(X[rows], y[rows])
            in_order.partial_fit(X[order[rows]], y[order[rows]])
        mean, std = in_order.predict(T, return_std=True)
        errors += np.mean((mean - y_T) ** 2), np.mean((shuffled.predict(T) - y_T) ** 2)
    assert errors[0] < 1.15 * errors[1]
    assert 0.92 < np.mean(np.abs(mean - y_T) < 1.96 * std) < 0.975  # rows of all kinds, not the next ones
    assert in_order.mean_squared_error_ > 1.3 * shuffled.mean_squared_error_  # of the next ones


def test_errors_at_the_sample_are_raised_to_those_at_other_rows():
    found = []
    for seed in range(3):
        X, y = data(3000, seed)
        T, y_T = data(3000, seed + 10)
        model = given(20, n_validation=150)
        for start in range(0, 3000, 500):
            model.partial_fit(X[start : start + 500], y[start : start + 500])
        posterior, A = model._model.posterior(), model._model.active
        as_they_are = np.mean((posterior.mean(A.validation_rows) - A.validation_targets) ** 2)
        raised = model._model._sample_errors(posterior)[:, 0].mean()
        found.append([as_they_are, raised, np.mean((posterior.mean(T) - y_T) ** 2)])
    as_they_are, raised, of_others = np.mean(found, axis=0)
    assert as_they_are < 0.6 * of_others
    assert 0.75 * of_others < raised < 1.25 * of_others


def test_a_kernel_that_reaches_far_costs_no_digits():
    """Widths grow until all active rows are nearly alike; sums of products then hold few digits of what matters."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(4000, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + rng.normal(0, 0.1, 4000)
    model = SparseGPRegressor(50, n_validation=600, random_state=0)
    for start in range(0, 3000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        assert model.mean_squared_error_ < (2.0 if start == 0 else 0.015)  # of rows predicted before they were learned
    model.refine()
    assert np.sqrt(np.mean((model.predict(X[3000:]) - y[3000:]) ** 2)) < 0.11


def test_shards_learn_what_the_whole_stream_teaches():
    X, y = data(3000)
    T, y_T = data(500, 1)
    shards = [given(30, n_validation=300).set_params(random_state=seed) for seed in range(3)]
    for seed, shard in enumerate(shards):
        shard.fit(X[seed::3], y[seed::3])
    alone = shards[0].score(T, y_T)
    merged = shards[0].merge(shards[1]).merge(shards[2])
    assert merged.n_seen_ == 3000
    assert np.isclose(merged._model.moments.count, 3000)
    assert np.isclose(merged._model.moments.mean_target, y.mean())
    assert merged.score(T, y_T) > alone
    assert len(merged.active_) == 30


def test_small_shards_merge_into_the_exact_process():
    X, y = data(40)
    T, _ = data(10, 1)
    left, right = given(50).fit(X[:25], y[:25]), given(50).fit(X[25:], y[25:])
    whole = given(50).fit(X, y)
    assert np.allclose(left.merge(right).predict(T), whole.predict(T))
    assert left.is_exact_


def test_objects_and_functions():
    def common_letters(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(300)]
    y = np.array([word.count("a") + word.count("b") for word in words], float)
    model = SparseGPRegressor(40, kernel=common_letters, n_validation=200, random_state=0).fit(words, y)
    assert model.score(words, y) > 0.5
    assert isinstance(model.active_, list)
    again = modicum.Learner.from_bytes(model.to_bytes(), kernel=common_letters)
    assert np.array_equal(again.predict(words[:9]), model.predict(words[:9]))


def test_constant_targets_and_copies_of_one_row():
    X = np.zeros((300, 2))
    model = SparseGPRegressor(5, random_state=0).fit(X, np.full(300, 7.0))
    mean, std = model.predict(X[:2], return_std=True)
    assert np.allclose(mean, 7.0)
    assert np.isfinite(std).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("predictor", ["projected", "active"])
@pytest.mark.parametrize("objective", ["error", "variance", "logdet"])
def test_no_more_is_held_than_planned(objective, predictor, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 300)).astype(dtype)  # many columns: the widths of the kernel count too
    y = X[:, 0].astype(np.float64)
    model = SparseGPRegressor(4, n_validation=50, noise=0.1, objective=objective, predictor=predictor, random_state=0)
    held = [model.partial_fit(X[i : i + 400], y[i : i + 400]).nbytes_ for i in range(0, 1600, 400)]
    planned = model.plan(300, dtype=dtype)
    assert max(held) <= planned.nbytes < max(held) + 2048
    assert planned.rows == 54 == model.n_retained_


def test_a_budget_bounds_active_and_validation_rows_together():
    X, y = data(1500)
    model = given(20, budget=100).fit(X, y)
    assert model.n_retained_ == model.plan(3).rows == 100
    assert given(20, budget=None).plan(3).rows == 2020
    assert given(20, n_validation=300, budget=None).plan(3).rows == 320
    sized = given(20, budget="96 KiB").fit(X, y)
    assert 20 < sized.n_retained_ == sized.plan(3).rows
    assert sized.nbytes_ <= 96 * 1024
    with pytest.raises(modicum.exceptions.BudgetError, match="needs a budget of at least 320 rows; got 100"):
        given(20, n_validation=300, budget=100).fit(X, y)
    with pytest.raises(modicum.exceptions.BudgetError, match="SparseGPRegressor with 20 active rows"):
        given(20, budget="8 KiB").fit(X, y)
    with pytest.raises(ValueError, match="n_validation must be at least n_active"):
        given(20, n_validation=10).fit(X, y)


def test_picks_are_the_active_rows():
    X, y = data(600)
    picks = given(20).fit(X, y).picks()
    assert picks.kind == "active row"
    assert np.array_equal(picks.rows, X[picks.ids])
    assert np.array_equal(picks.targets, y[picks.ids])


def test_history_and_table():
    X, y = data(1200)
    model = given(20).fit(X, y)
    history = model.history_
    assert list(history) == ["n_seen", "value", "swaps", "error", "noise"]
    assert all(np.isfinite(column).all() for column in history.values())
    assert set(model.table(X[:3])) == {"prediction", "std"}


# ---- outliers ------------------------------------------------------------------------------------


def student_process(X, y, T, freedom):
    """Mean of the exact Gaussian process with Student noise, by expectation-maximization over all rows."""
    weights, scale, K = np.ones(len(y)), 1.0, KERNEL(X, X)
    weights[np.abs(y - np.median(y)) > 10] = 1e-6
    for _ in range(50):
        offset = weights @ y / weights.sum()
        alpha = np.linalg.solve(K + np.diag(scale * NOISE / weights), y - offset)
        ratios = (y - offset - K @ alpha) ** 2 / NOISE
        weights = (freedom + 1) / (freedom + ratios / scale)
        scale = np.mean(weights * ratios)
    return offset + KERNEL(T, X) @ alpha


def with_outliers(n, seed=0):
    X, y = data(n, seed)
    rng = np.random.default_rng(seed + 100)
    wrong = rng.choice(n, n // 50, replace=False)
    y[wrong] += rng.choice([-1, 1], len(wrong)) * rng.uniform(20, 100, len(wrong))
    return X, y


def test_with_outliers_it_is_close_to_the_exact_process_with_student_noise():
    X, y = with_outliers(600)
    T, y_T = data(300, 1)
    model = given(60, n_validation=600).fit(X, y)
    twin = student_process(X, y, T, model._model.tails.freedom)
    plain = given(60, n_validation=600, robust=False).fit(X, y)
    assert np.mean((twin - y_T) ** 2) < 0.1  # the noise alone gives 0.04
    assert np.mean((model.predict(T) - twin) ** 2) < 0.02
    assert np.mean((plain.predict(T) - y_T) ** 2) > 0.5


def test_outliers_of_a_stream_cost_little_and_clean_rows_nothing():
    T, y_T = data(2000, 1)
    models = {}
    for name, (X, y), robust in (
        ("clean", data(3000), "auto"),
        ("as before", data(3000), False),
        ("robust", with_outliers(3000), "auto"),
    ):
        models[name] = SparseGPRegressor(30, n_validation=500, robust=robust, random_state=0)
        for start in range(0, 3000, 500):
            models[name].partial_fit(X[start : start + 500], y[start : start + 500])
    assert np.array_equal(models["clean"].predict(T), models["as before"].predict(T))
    mean, std = models["robust"].predict(T, return_std=True)
    assert np.mean((mean - y_T) ** 2) < 1.2 * np.mean((models["clean"].predict(T) - y_T) ** 2)
    assert 0.92 < np.mean(np.abs(mean - y_T) < 1.96 * std) < 0.985
    again = modicum.Learner.from_bytes(models["robust"].to_bytes())
    X, y = with_outliers(500, 5)
    assert np.array_equal(again.partial_fit(X, y).predict(T), models["robust"].partial_fit(X, y).predict(T))
    assert models["robust"].merge(again).score(T, y_T) > 0.95
    with pytest.raises(ValueError, match='robust=True is for predictor="projected"'):
        SparseGPRegressor(robust=True, predictor="active").fit(X, y)


def test_freedom_of_student_noise_is_found_and_gaussian_noise_is_told_from_it():
    rng = np.random.default_rng(0)
    student, gaussian = rng.standard_t(2.0, 4000), rng.normal(size=4000)
    freedom, gain = fit_freedom(student**2)
    assert freedom == 2.0
    assert errors_have_tails(student**2)
    assert targets_have_tails(student)
    assert np.isclose(tail_scale(student**2, 2.0), 1.0, rtol=0.15)  # standard deviation about 0.04
    assert gain > 400 > 0 > fit_freedom(gaussian**2)[1]
    assert not errors_have_tails(gaussian**2)
    assert not targets_have_tails(gaussian)


def test_where_most_errors_nearly_vanish_the_scale_of_tails_does_not():
    ratios = np.full(200, 1e-310)
    ratios[:40] = np.linspace(0.5, 4.0, 40)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        assert tail_scale(ratios, 2.0) > 0
        assert np.isfinite(fit_freedom(ratios)[1])
