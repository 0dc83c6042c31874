"""The sparse Gaussian process that forgets: sums against those with the weights of the law, and drifting streams."""

import numpy as np
import pytest

from modicum import SparseGPRegressor, stream
from modicum.datasets import Generated, linear
from modicum.evaluate import prequential
from modicum.kernels import RBF

KERNEL, NOISE = 1.5 * RBF([1.0, 2.0, 0.8]), 0.05


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    return X, 3 + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)


def new_world(n, seed=0):
    """Rows in whose second half other columns count."""
    X, y = data(n, seed)
    columns = np.where(np.arange(n)[:, None] < n // 2, [0, 1, 2], [1, 2, 0])
    return np.take_along_axis(X, columns, axis=1), y


def given(n_active=20, **params):
    """A regressor with fixed hyper-parameters."""
    return SparseGPRegressor(n_active, kernel=KERNEL, noise=NOISE, random_state=0, **params)


def learned(model, X, y, chunk):
    for start in range(0, len(y), chunk):
        model.partial_fit(X[start : start + chunk], y[start : start + chunk])
    return model


def law(n, half_life):
    return 2.0 ** (-np.arange(n - 1.0, -1, -1) / half_life)


def sums(model, X, y, weights):
    z = np.column_stack([KERNEL(X, model.active_), np.ones(len(y)), y])
    return z.T @ (weights[:, None] * z)


# ---- twins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [100, 700])
@pytest.mark.parametrize("half_life", [1, 60, 1000])
def test_rows_weigh_what_the_half_life_says(half_life, chunk):
    """Without swaps no sum is estimated, and the law is exact."""
    X, y = data(700)
    model = learned(given(15, n_validation=50, min_gain=1e9, half_life=half_life), X, y, chunk)
    weights = law(700, half_life)
    np.testing.assert_allclose(model._model.moments.sums, sums(model, X, y, weights), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model._model.targets.mean, [np.average(y, weights=weights)], rtol=1e-9)
    np.testing.assert_allclose(model._model.sample.total_weight, weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("half_life", [40, 400])
def test_while_the_sample_holds_all_rows_swaps_change_no_weight(half_life):
    X, y = data(700)
    model = learned(given(15, n_validation=700, half_life=half_life), X, y, 70)
    assert model.n_swaps_ > 0
    expected = sums(model, X, y, law(700, half_life))
    np.testing.assert_allclose(model._model.moments.sums, expected, rtol=1e-6, atol=1e-6)


def test_an_old_world_keeps_its_share_through_swaps_and_merges():
    """Counted by targets, whose sums are carried from one set of active rows to the next."""
    X, _ = data(3000)
    y = np.where(np.arange(3000) < 2000, 1.0, 0.0)
    model = learned(given(15, n_validation=100, robust=False, half_life=500), X, y, 100)
    share, weights = model._model.moments.sums[-1, -2] / model._model.moments.count, law(3000, 500)
    np.testing.assert_allclose(share, weights[:2000].sum() / weights.sum(), rtol=0.02)
    other = learned(given(15, n_validation=100, robust=False, half_life=500), X[:300], np.full(300, 1.0), 100)
    model.merge(other)  # both end now
    expected = (weights[:2000].sum() + law(300, 500).sum()) / (weights.sum() + law(300, 500).sum())
    np.testing.assert_allclose(model._model.targets.mean, [expected], rtol=1e-9)
    share = model._model.moments.sums[-1, -2] / model._model.moments.count
    np.testing.assert_allclose(share, expected, rtol=0.1)  # translated by a sample of both


def test_with_room_for_all_rows_old_ones_have_more_noise():
    """The exact Gaussian process in which the noise of a row doubles every half-life."""
    X, y = data(60)
    T, _ = data(20, 1)
    weights = law(60, 25)
    center = np.average(y, weights=weights)
    S = KERNEL(X, X) + np.diag(NOISE / weights)
    model = learned(given(60, half_life=25), X, y, 17)
    expected = center + KERNEL(T, X) @ np.linalg.solve(S, y - center)
    np.testing.assert_allclose(model.predict(T), expected, atol=0.01)
    assert np.abs(given(60).fit(X, y).predict(T) - expected).max() > 0.05


def test_a_very_long_half_life_is_none():
    X, y = data(800)
    still = learned(given(15, n_validation=100), X, y, 100)
    slow = learned(given(15, n_validation=100, half_life=10**12), X, y, 100)
    np.testing.assert_allclose(slow._model.moments.count, still._model.moments.count, rtol=1e-6)
    T, _ = data(300, 1)
    assert np.sqrt(np.mean((slow.predict(T) - still.predict(T)) ** 2)) < 0.1


# ---- the sample, the schedule and the errors -----------------------------------------------------


def test_the_validation_sample_is_of_the_present():
    X, y = data(3000)
    model = learned(given(10, n_validation=100, half_life=200), X, y, 100)
    ages = 2999 - model._model.sample.row_ids
    assert np.sort(ages)[50] < 400  # without forgetting, 1,500
    assert len(model._model.calibration.errors) <= 2 * 200


def test_hyperparameters_are_adapted_once_in_a_half_life():
    X, y = data(1900)
    model = SparseGPRegressor(6, half_life=300, random_state=0)
    fitted_at = set()
    for start in range(0, 1900, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
        fitted_at.add(model._model.fitted_at)
    assert len([row for row in fitted_at if row > 1000]) == 3  # without forgetting, never


def test_outliers_weigh_little_in_a_stream_that_turns():
    X, y = Generated(linear(3, turn=40.0), 2000, random_state=0).rows()
    bad = np.random.default_rng(1).random(2000) < 0.05
    dirty = np.where(bad, y + 100, y)
    errors = {}
    for half_life in (None, 300):
        model = learned(SparseGPRegressor(8, half_life=half_life, random_state=0), X[:1900], dirty[:1900], 100)
        assert model._model._has_tails
        errors[half_life] = np.sqrt(np.mean((model.predict(X[1900:]) - y[1900:]) ** 2))
    assert errors[300] < 0.5
    assert errors[300] < 0.8 * errors[None]


# ---- streams that change -------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", [300, "auto"])
def test_it_learns_a_new_world(half_life):
    X, y = new_world(1400)
    model = learned(SparseGPRegressor(15, half_life=half_life, random_state=0), X, y, 100)
    still = learned(SparseGPRegressor(15, random_state=0), X, y, 100)
    T, truth = new_world(200, seed=1)
    error, of_still = (np.sqrt(np.mean((it.predict(T[100:]) - truth[100:]) ** 2)) for it in (model, still))
    assert error < 0.5 * of_still


def test_automatic_forgetting_says_where_the_world_changed():
    X, y = new_world(2000)
    (change,) = learned(SparseGPRegressor(15, half_life="auto", random_state=0), X, y, 100).changes_
    assert 950 < change.since < 1050


def test_a_still_stream_loses_nothing_with_automatic_forgetting():
    X, y = data(2000)
    runs = {
        half_life: prequential(
            SparseGPRegressor(10, half_life=half_life, random_state=0), stream(X, target=y, chunk_size=100), "rmse"
        )
        for half_life in (None, "auto")
    }
    assert runs["auto"].score < 1.03 * runs[None].score


def test_saved_midway_it_goes_on_bit_for_bit():
    X, y = data(1200)
    model = learned(SparseGPRegressor(6, half_life=300, random_state=0), X[:800], y[:800], 100)
    copy = SparseGPRegressor.from_bytes(model.to_bytes())
    for one in (model, copy):
        learned(one, X[800:], y[800:], 100)
    assert model.to_bytes() == copy.to_bytes()


def test_the_process_of_active_rows_alone_can_not_forget():
    with pytest.raises(ValueError, match='half_life is for predictor="projected"'):
        SparseGPRegressor(5, predictor="active", half_life=100).fit(*data(20))
    assert not SparseGPRegressor(5, predictor="active").traits.forgets
