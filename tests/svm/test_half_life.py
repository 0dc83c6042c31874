"""Forgetting: what rows weigh, who answers as the stream changes, and what late labels do to that."""

import numpy as np
import pytest
from scipy import sparse

from modicum import StreamSVC
from modicum.datasets import Generated, autocorrelated, changing, hyperplane
from modicum.drift import Clock
from modicum.evaluate import prequential
from modicum.svm.candidates import HALF_LIVES
from modicum.svm.ellipsoid import Constant, Diagonal, Full, SparseDiagonal
from modicum.svm.inputs import Inputs
from modicum.svm.one_vs_rest import OneVsRest
from modicum.svm.tournament import RECENT, Entrant, Tournament

WIDTH = 4


def data(count=120, seed=0):
    """Rows, signs and costs of two noisy classes."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, WIDTH))
    sign = np.where(Z[:, 0] - Z[:, 1] + 0.4 * rng.normal(size=count) > 0, 1.0, -1.0)
    return Z, sign, rng.uniform(0.2, 5.0, size=count)


def entrant(machine, half_life, C=2.0):
    machines = OneVsRest(machine)
    machines.add_class()
    machines.add_class()
    return Entrant(0, C, machines, None if half_life is None else Clock(half_life))


def precision(machine):
    return np.linalg.inv(machine._covariance) if isinstance(machine, Full) else np.diag(1.0 / machine._variance)


# ---- machines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Full, Diagonal, SparseDiagonal])
@pytest.mark.parametrize("factor", [0.5, 1.6])
def test_fading_scales_what_rows_added_to_the_precision_and_keeps_the_mean(kind, factor):
    machine, (Z, sign, cost) = kind(WIDTH), data()
    machine.learn(sparse.csr_matrix(Z) if kind is SparseDiagonal else Z, sign, cost)
    before, coef = precision(machine), machine.coef.copy()
    machine.fade(factor)
    np.testing.assert_allclose(precision(machine) - np.eye(WIDTH), factor * (before - np.eye(WIDTH)), rtol=1e-8)
    np.testing.assert_array_equal(machine.coef, coef)


def test_a_singular_covariance_can_fade():
    machine = Full(WIDTH)
    machine._covariance = np.diag([1.0, 0.0, -1e-18, 1e-300])
    machine.fade(0.5)
    np.testing.assert_allclose(np.diag(machine._covariance), [1.0, 0.0, 0.0, 0.0], atol=1e-15)


def test_rows_weigh_half_as_much_with_every_half_life():
    """After whole periods, row n adds cost 2**(-age / half_life) z z' to the precision if it violated the margin."""
    Z, sign, _ = data(150)
    one = entrant(Full(WIDTH), 50)
    decisions = one.learn(Z, (sign > 0).astype(np.int64), np.ones(150))[:, 0]
    short = sign * decisions < 1.0
    weights = 2.0 * np.exp2(np.arange(-150, 0) / 50) * short
    assert 30 < short.sum() < 150
    np.testing.assert_allclose(precision(one.machines.machines[0]), np.eye(WIDTH) + (Z * weights[:, None]).T @ Z)


def test_symmetry_survives_many_periods():
    """Rounding that is not symmetric would double with each of them."""
    machine, (Z, sign, cost) = Full(WIDTH), data()
    for _ in range(200):
        machine.learn(Z, sign, cost)
        machine.fade(0.5)
    np.testing.assert_array_equal(machine._covariance, machine._covariance.T)
    assert np.linalg.eigvalsh(machine._covariance).min() > 0


def test_steps_of_constant_size_are_what_is_left_if_all_is_forgotten():
    constant, full, (Z, sign, cost) = Constant(WIDTH), Full(WIDTH), data()
    decisions = constant.learn(Z, sign, cost)
    for i in range(len(Z)):
        np.testing.assert_allclose(full.learn(Z[i : i + 1], sign[i : i + 1], cost[i : i + 1]), decisions[i])
        full.fade(1e-14)
    np.testing.assert_allclose(constant.coef, full.coef)
    again = Constant(WIDTH)
    np.testing.assert_allclose(again.learn(sparse.csr_matrix(Z), sign, cost), decisions, rtol=1e-9)
    assert again.n_core == constant.n_core > 0


def test_a_merged_half_life_keeps_the_mean_of_sides_that_agree():
    """Both means come from the same rows, faded to nothing: twice their sum would be twice the mean."""
    for kind in (Full, Diagonal, Constant):
        ours, (Z, sign, cost) = kind(WIDTH), data()
        ours.learn(Z, sign, cost)
        ours.fade(1e-9)
        coef = ours.coef.copy()
        ours.merge(ours.copied())
        np.testing.assert_allclose(ours.coef, coef, rtol=1e-6)


# ---- rows ---------------------------------------------------------------------------------------------


def test_means_and_deviations_fade():
    X, _, weight = data(150)
    inputs = Inputs(WIDTH, center=True, scale=True, normalize=False, constant=0.0, clock=Clock(50))
    Z = np.concatenate([inputs.update(X[i : i + 7], weight[i : i + 7]) for i in range(0, 150, 7)])
    faded = weight * np.exp2(np.arange(-150, 0) / 50)
    mean = np.average(X, axis=0, weights=faded)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=faded))
    np.testing.assert_allclose(inputs.moments[0], mean)
    np.testing.assert_allclose(Z[-1], (X[-1] - mean) / deviation / np.sqrt(WIDTH))


def test_a_column_that_wakes_up_is_in_bounds():
    """The deviation of a column that was constant for long has faded to nothing when it moves again."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    X[1000:3500, 1] = 0.5
    inputs = Inputs(2, center=True, scale=True, normalize=False, constant=0.0, clock=Clock(50))
    assert np.abs(inputs.update(X, np.ones(4000))).max() < 10


# ---- who answers ----------------------------------------------------------------------------------------


def test_the_leader_has_the_fewest_recent_mistakes():
    Z, sign, _ = data(900)
    codes, weight = (sign * np.repeat([1.0, -1.0, 1.0], 300) > 0).astype(np.int64), np.ones(900)
    field = [entrant(Full(WIDTH), None), entrant(Full(WIDTH), 64), entrant(Constant(WIDTH), None)]
    plain = Inputs(WIDTH, center=False, scale=False, normalize=False, constant=0.0)
    tournament = Tournament([plain], field, eliminate=False)
    tournament.next_ranking = 10_000
    answers = tournament.learn(Z, codes, weight)[:, 0]
    alone = [entrant(Full(WIDTH), None), entrant(Full(WIDTH), 64), entrant(Constant(WIDTH), None)]
    decisions = np.stack([one.learn(Z, codes, weight)[:, 0] for one in alone])
    wrong, leader, mistakes, led = (decisions > 0) != codes, 0, np.zeros(3), set()
    for i in range(900):
        assert answers[i] == decisions[leader, i]
        mistakes = mistakes * 2.0 ** (-1 / RECENT) + wrong[:, i]
        leader = leader if mistakes[leader] <= mistakes.min() else int(mistakes.argmin())
        led.add(leader)
    assert len(led) > 1
    assert tournament.leader is field[leader]
    np.testing.assert_allclose([one.mistakes for one in field], mistakes)


def test_one_candidate_of_each_half_life_is_kept_for_good():
    X, y = Generated(hyperplane(5), 20_000).rows()
    model = StreamSVC(half_life="auto").fit(X, y)
    assert {one["half_life"] for one in model.candidates_} == {None, 0, *HALF_LIVES}
    assert len(model.candidates_) == 2 + len(HALF_LIVES)
    best, *others = model.candidates_
    assert best["mistakes"] <= min(one["mistakes"] for one in others)


ABRUPT = changing([hyperplane(8, random_state=seed) for seed in range(3)], [4000, 8000])


@pytest.mark.parametrize("settings", [{"half_life": 300}, {"half_life": "auto"}])
@pytest.mark.parametrize("ellipsoid", ["full", "diagonal"])
def test_a_stream_that_changes_is_followed(settings, ellipsoid):
    X, y = Generated(ABRUPT, 12_000, random_state=1).rows()
    never = StreamSVC(ellipsoid=ellipsoid).fit(X, y)
    follows = StreamSVC(ellipsoid=ellipsoid, **settings).fit(X, y)
    assert follows.accuracy_ > max(0.88, never.accuracy_ + 0.05)
    sparsely = StreamSVC(ellipsoid=ellipsoid, **settings).fit(sparse.csr_matrix(X), y)
    assert sparsely.accuracy_ > 0.86
    for model in (never, follows):
        assert [any(abs(change.since - row) < 200 for row in (4000, 8000)) for change in model.changes_][:1] == [True]


def test_little_is_lost_on_a_still_stream():
    X, y = Generated(hyperplane(8, noise=0.1), 20_000, random_state=1).rows()
    still, auto = StreamSVC().fit(X, y), StreamSVC(half_life="auto").fit(X, y)
    assert auto.accuracy_ > still.accuracy_ - 0.002
    assert still.changes_ == auto.changes_ == []


def test_probabilities_are_those_of_recent_rows():
    """After a still time without noise, labels are noise: a calibration on all rows would be far too sure."""
    noisy = changing([hyperplane(5, noise=0.0), hyperplane(5, noise=0.4)], [6000])
    X, y = Generated(noisy, 9000).rows()
    model = StreamSVC(half_life=300).fit(X[:8000], y[:8000])
    assert model.predict_proba(X[8000:]).max(axis=1).mean() < 0.7


# ---- labels that come late --------------------------------------------------------------------------------


def test_candidates_are_judged_by_late_labels():
    """Classes come in runs: a short memory repeats the last label, which is of no use 100 rows later."""
    X, y = Generated(autocorrelated(5, same=0.95), 4000).rows()
    at_once, late = StreamSVC(half_life="auto").fit(X, y), StreamSVC(half_life="auto", lag=100).fit(X, y)
    assert at_once.candidates_[0]["half_life"] in (0, 64)
    assert late.candidates_[0]["half_life"] in (None, 1024)
    assert at_once.accuracy_ > late.accuracy_ + 0.05
    scored = prequential(late, X, target=y, chunk_size=100, lag=50)
    assert late.accuracy_ == pytest.approx(scored.score, abs=0.02)


def test_rows_are_judged_by_weights_that_are_as_old_as_the_lag_on_average():
    Z, sign, _ = data(3000)
    codes, weight = (sign > 0).astype(np.int64), np.ones(len(sign))
    one, after, ages = entrant(Full(WIDTH), 64), {}, []
    plain = Inputs(WIDTH, center=False, scale=False, normalize=False, constant=0.0)
    tournament = Tournament([plain], [one], eliminate=False)
    tournament.lag = 90
    for row in range(len(codes)):
        after[one.machines.coefs.tobytes()] = row  # weights after so many rows
        tournament.learn(Z[row : row + 1], codes[row : row + 1], weight[row : row + 1])
        ages.append(row - after[one.past[0].tobytes()])
    assert np.mean(ages[200:]) == pytest.approx(90, rel=0.05)


def test_an_evaluation_says_how_late_labels_are():
    X, y = Generated(autocorrelated(5, same=0.95), 3000).rows()
    asked, told = StreamSVC(half_life="auto", lag=150), StreamSVC(half_life="auto")
    scores = [prequential(model, X, target=y, chunk_size=100, lag=100).score for model in (asked, told)]
    assert scores[0] == scores[1]


# ---- the rest ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"ellipsoid": None}, {"kernel": "rbf"}, {"n_balls": 2}])
def test_balls_can_not_forget(settings):
    with pytest.raises(ValueError, match="half_life needs an ellipsoid"):
        StreamSVC(half_life=100, **settings).fit(np.eye(3), [0, 1, 0])


@pytest.mark.parametrize("half_life", [130, "auto"])
def test_merged_sides_end_at_the_same_time(half_life):
    X, y = Generated(hyperplane(5), 5000).rows()
    params = {"half_life": half_life, "C": 1.0, "scale": False, "ellipsoid": "full"}
    left, right = StreamSVC(**params).fit(X[:2000], y[:2000]), StreamSVC(**params).fit(X[2000:4050], y[2000:4050])
    before = right.to_bytes()
    assert left.merge(right).n_seen_ == 4050
    assert left.score(X[4050:], y[4050:]) > 0.9
    assert right.to_bytes() == before
    assert left.partial_fit(X[4050:], y[4050:]).score(X, y) > 0.9


@pytest.mark.parametrize("half_life", [None, 50, "auto"])
def test_what_is_held_is_planned(half_life):
    X, y = Generated(hyperplane(5), 1100).rows()
    codes = y + 2 * (X[:, 0] > 0)
    model = StreamSVC(half_life=half_life, lag=20)
    for start in range(0, 1100, 100):
        held = model.partial_fit(X[start : start + 100], codes[start : start + 100]).nbytes_
        assert held <= model.plan(5, n_classes=4).nbytes
