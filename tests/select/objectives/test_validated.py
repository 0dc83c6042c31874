"""Variance reduction, prediction error and projected error against Gaussian processes computed from scratch."""

import copy

import numpy as np
import pytest

from modicum import state
from modicum.kernels import RBF, Matern32
from modicum.kernels.projected_process import JITTER, inverse_factor
from modicum.select.objectives import projected_error
from modicum.select.objectives.error import PredictionError
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.projected_error import Estimate, ProjectedError
from modicum.select.objectives.variance import VarianceReduction
from modicum.select.swaps import grow, improve

OBJECTIVES = [VarianceReduction, PredictionError, ProjectedError]
KERNEL, NOISE = 1.7 * RBF([1.0, 2.0, 0.7]), 0.05


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


def value_from_scratch(cls, kernel, noise, A, y_A, W, y_W, shares):
    """The definitions, without any formula of the modules."""
    K, K_W = kernel(A, A), kernel(W, A)
    if cls is VarianceReduction:
        return shares @ np.diagonal(K_W @ np.linalg.solve(K + noise * np.eye(len(A)), K_W.T))
    if cls is PredictionError:
        return -shares @ (y_W - K_W @ np.linalg.solve(K + noise * np.eye(len(A)), y_A)) ** 2
    # the least squares problem itself, with weights as root factors and the regularizer as further rows
    root = np.sqrt(len(W) * shares)
    values, vectors = np.linalg.eigh(K * (1 + JITTER * np.eye(len(K))))
    ridge = np.sqrt(noise * np.maximum(values, 0))[:, None] * vectors.T
    left = np.concatenate([root[:, None] * K_W, ridge])
    right = np.concatenate([root * y_W, np.zeros(len(A))])
    beta = np.linalg.lstsq(left, right, rcond=1e-13)[0]
    return -np.sum((left @ beta - right) ** 2) / len(W)


class Case:
    """An objective with a set, and the same by hand."""

    def __init__(self, cls, n_chosen=12, n_rows=60, seed=0, kernel=KERNEL):
        self.cls, self.kernel, self.rng = cls, kernel, np.random.default_rng(seed)
        self.W, self.y_W = data(n_rows, seed + 1)
        self.shares = self.rng.dirichlet(np.ones(n_rows))
        self.A, self.y_A = data(n_chosen, seed + 2)
        spec = cls(kernel, NOISE)
        self.F = spec.fitted(self.W).empty_set(self.W, n_chosen + 5, n_rows)
        assert vars(spec) == {"kernel": kernel, "noise": NOISE}
        self.F.put_rows(np.arange(n_rows), self.W, self.shares, self.y_W)
        block = self.F.look(self.A, self.y_A)
        assert [block.add(i) for i in range(n_chosen)] == list(range(n_chosen))

    def value(self, A=None, y_A=None):
        A, y_A = (self.A, self.y_A) if A is None else (A, y_A)
        return value_from_scratch(self.cls, self.kernel, NOISE, A, y_A, self.W, self.y_W, self.shares)

    def with_row(self, slot, x, y):
        A, y_A = list(self.A), list(self.y_A)
        A[slot : slot + 1], y_A[slot : slot + 1] = [x], [y]
        return np.array(A), np.array(y_A)

    def put(self, slot, x, y):
        self.A, self.y_A = self.with_row(slot, x, y)


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_values_and_gains_are_those_of_the_definition(cls):
    case = Case(cls)
    value = case.value()
    assert np.isclose(case.F.value, value)
    B, y_B = data(7, 9)
    block = case.F.look(B, y_B)
    joined = [case.value(*case.with_row(len(case.A), x, y)) - value for x, y in zip(B, y_B, strict=True)]
    assert np.allclose(block.gains(), joined, atol=1e-9)
    assert np.allclose([block.gain(i) for i in range(7)], joined, atol=1e-9)
    swapped = np.array(
        [[case.value(*case.with_row(j, x, y)) - value for j in range(len(case.A))] for x, y in zip(B, y_B, strict=True)]
    )
    gains, slots = block.swap_gains()
    assert np.allclose(gains, swapped.max(axis=1), atol=1e-9)
    assert np.array_equal(slots, swapped.argmax(axis=1))
    for i in range(7):
        gain, slot = block.swap_gain(i)
        assert slot == slots[i]
        assert np.isclose(gain, gains[i])


@pytest.mark.parametrize("cls", OBJECTIVES)
@pytest.mark.parametrize("kernel", [KERNEL, Matern32(1.5)])
def test_values_stay_right_after_many_changes(cls, kernel):
    case = Case(cls, kernel=kernel)
    for step in range(60):
        if step % 10 == 9:  # the validation sample changes too
            slots = case.rng.choice(len(case.W), 4, replace=False)
            case.W[slots], case.y_W[slots] = data(4, 100 + step)
            case.shares = case.rng.dirichlet(np.ones(len(case.W)))
            case.F.put_rows(slots, case.W[slots], case.shares, case.y_W[slots])
        B, y_B = data(3, 1000 + step)
        block = case.F.look(B, y_B)
        before = case.F.value
        gain, slot = block.swap_gain(1)
        if case.F.n_chosen < case.F.limit and step % 7 == 0:
            gain, slot = block.gain(1), block.add(1)
        else:
            block.swap(1, slot)
        case.put(slot, B[1], y_B[1])
        assert np.isclose(case.F.value, case.value(), rtol=1e-7)
        assert np.isclose(case.F.value - before, gain, rtol=1e-6, atol=1e-9)
    assert np.array_equal(case.F.chosen.values, case.A)


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_a_weight_of_two_is_the_row_twice(cls):
    X, y = data(30)
    A, y_A = data(6, 5)
    B, y_B = data(4, 6)
    twice = np.repeat(np.arange(30), np.where(np.arange(30) < 10, 2, 1))
    values = []
    for rows, shares in ((X, np.bincount(twice) / len(twice)), (X[twice], np.full(len(twice), 1 / len(twice)))):
        # the projected process counts rows, so as many must be there on both sides
        noise = NOISE * len(rows) / len(twice) if cls is ProjectedError else NOISE
        F = cls(KERNEL, noise).empty_set(X, 6, len(rows))
        F.put_rows(np.arange(len(rows)), rows, shares, y if rows is X else y[twice])
        block = F.look(A, y_A)
        for i in range(6):
            block.add(i)
        values.append((F.value, *F.look(B, y_B).swap_gains()[0]))
    assert np.allclose(values[0], values[1])


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_dropped_rows_no_longer_count(cls):
    case = Case(cls)
    stay = np.arange(0, 60, 3)
    case.W, case.y_W, case.shares = case.W[stay], case.y_W[stay], np.full(20, 1 / 20)
    case.F.keep_rows(stay, case.shares)
    assert np.isclose(case.F.value, case.value())


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_rows_added_one_by_one_or_together_give_the_same(cls):
    X, y = data(80)
    A, y_A = data(8, 5)
    values = []
    for step in (1, 8, 80):
        F = cls(KERNEL, NOISE).empty_set(X, 8, 40)
        block = F.look(A, y_A)
        for i in range(8):
            block.add(i)
        for start in range(0, 80, step):
            part = np.arange(start, start + step)[-40:]
            count = min(40, start + step)
            F.put_rows(part % 40, X[part], np.full(count, 1 / count), y[part])  # the latest 40 rows stay
        values.append((F.value, *F.look(A + 0.1, y_A).swap_gains()[0]))
    assert np.allclose(values, values[0])


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_copies_and_a_single_row_do_no_harm(cls):
    X, y = data(20)
    F = cls(KERNEL, NOISE).empty_set(X, 8, 20)
    F.put_rows(np.arange(20), X, np.full(20, 1 / 20), y)
    block = F.look(np.concatenate([X[:5], X[:5]]), np.concatenate([y[:5], y[:5]]))
    for i in (0, 1, 5, 6, 2, 7):  # copies of chosen rows among them
        block.add(i)
    gains, _ = F.look(X, y).swap_gains()
    assert np.isfinite(gains).all()
    assert np.isfinite(F.value)
    alone = cls(KERNEL, NOISE).empty_set(X, 1, 20)
    alone.put_rows(np.arange(20), X, np.full(20, 1 / 20), y)
    block = alone.look(X, y)
    block.add(int(np.argmax(block.gains())))
    assert block.swap_gains()[0].max() <= 0  # the best alone is the best swap too


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_stream_greedy_raises_the_value_by_what_it_says(cls):
    X, y = data(300)
    F = cls(KERNEL, NOISE).empty_set(X, 10, 100)
    F.put_rows(np.arange(100), X[:100], np.full(100, 0.01), y[:100])
    for start in range(0, 300, 60):
        block = F.look(X[start : start + 60], y[start : start + 60])
        grow(block, F.limit - F.n_chosen, -np.inf)
        before = F.value
        assert improve(block, None, 1e-6) is not None
        assert F.value >= before
    assert F.n_chosen == 10


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_a_candidate_is_chosen_once(cls):
    F = Case(cls).F
    block = F.look(*data(6, 3))
    block.add(2)
    block.swap(4, 0)
    assert np.flatnonzero(block.gains() == -np.inf).tolist() == [2, 4]
    assert np.flatnonzero(block.swap_gains()[0] == -np.inf).tolist() == [2, 4]
    assert block.gain(2) == block.swap_gain(4)[0] == -np.inf


@pytest.mark.parametrize("cls", [*OBJECTIVES, LogDet])
def test_candidates_that_are_dropped_do_not_matter_to_others(cls):
    some, (B, y_B) = np.array([0, 2, 5]), data(6, 3)
    found = []
    for _ in range(2):
        F = Case(cls).F if cls is not LogDet else LogDet(KERNEL, NOISE).empty_set(B, 12, 0)
        if cls is LogDet:
            F.look(*data(12, 2)).add_all()
        found.append(F.look(B, y_B))
    found[1].keep(some)
    for whole, part in ((2, 1), (5, 2)):
        expected, gains = found[0].swap_gains(), found[1].swap_gains()
        for of_all, of_some in zip(expected, gains, strict=True):
            assert np.allclose(of_all[some], of_some)
        found[0].swap(whole, 3)
        found[1].swap(part, 3)
    assert np.isclose(found[0].objective.value, found[1].objective.value)


def test_variance_never_falls_and_projected_error_never_rises():
    for cls in (VarianceReduction, ProjectedError):
        F = Case(cls).F
        assert (F.look(*data(40, 3)).gains() >= 0).all()


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_copies_and_loaded_states_continue_identically(cls):
    F = Case(cls).F
    packed = state.to_bytes({"F": F})
    again = state.from_bytes(packed)["F"]
    twin = copy.deepcopy(F)
    B, y_B = data(5, 3)
    for G in (F, again, twin):
        G.look(B, y_B).swap(2, 4)
    assert state.to_bytes({"F": F}) == state.to_bytes({"F": again}) == state.to_bytes({"F": twin}) != packed
    assert state.held_bytes(F) <= cls.set_bytes(F.limit, 60, 24) + 8 * 60 + 200


@pytest.mark.parametrize("cls", OBJECTIVES)
def test_drift_is_repaired(cls):
    """Hundreds of changes of a nearly singular matrix: the caches are still correct."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = np.sin(X[:, 0])
    F = cls(RBF(2.0), 1e-6).empty_set(X, 20, 50)
    F.put_rows(np.arange(50), X[:50], np.full(50, 1 / 50), y[:50])
    block = F.look(X[:20], y[:20])
    for i in range(20):
        block.add(i)
    block = F.look(X, y)
    for i in range(200):
        block.swap(i, int(rng.integers(20)))
    assert np.allclose(F.features.values, F._features(F.rows.values), atol=1e-5)


def test_collinear_kernel_values_leave_gains_their_digits():
    """Widths far beyond the rows' spread: pivots are a billionth of the matrix' entries."""
    X, y = data(300)
    kernel = 500.0 * RBF([4.0, 10.0, 12.0])
    F = ProjectedError(kernel, 0.05).empty_set(X, 15, 300)
    shares = np.full(300, 1 / 300)
    F.put_rows(np.arange(300), X, shares, y)
    block = F.look(X[:50], y[:50])
    grow(block, 15, -np.inf)
    for _ in range(20):
        gains, slots = block.swap_gains()
        i = int(np.argmax(gains))
        before = F.value
        block.swap(i, slots[i])
        expected = value_from_scratch(ProjectedError, kernel, 0.05, F.chosen.values, None, X, y, shares)
        assert np.isclose(F.value, expected, rtol=1e-6)
        assert np.isclose(F.value - before, gains[i], rtol=1e-3, atol=1e-6 * abs(before))


def test_factors_of_matrices_that_are_not_definite():
    A = np.ones((4, 4))
    J = inverse_factor(A)
    assert np.isfinite(J).all()
    assert np.allclose(J @ A @ J.T, np.diag([1.0, 0, 0, 0]), atol=1e-3)
    assert inverse_factor(np.empty((0, 0))).shape == (0, 0)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="VarianceReduction: noise must be"):
        VarianceReduction("rbf", -1.0).fitted(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="PredictionError: kernel must be"):
        PredictionError("none such").fitted(np.zeros((3, 1)))
    assert repr(PredictionError("rbf", 0.2)) == "PredictionError('rbf', 0.2)"


def crowded(n_chosen, n_rows, seed=0, kernel=KERNEL):
    """A set on so many validation rows that estimates pay, and the rows it was chosen from."""
    X, y = data(n_rows + 400, seed)
    F = ProjectedError(kernel, NOISE).empty_set(X, n_chosen, n_rows)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, n_rows)
    F.put_rows(np.arange(n_rows), X[:n_rows], weights / weights.sum(), y[:n_rows])
    F.look(X[:n_chosen], y[:n_chosen]).add_all()
    return F, X[n_rows:], y[n_rows:]


@pytest.mark.parametrize(("kernel", "error"), [(KERNEL, 1e-6), (Matern32(1.5), 1e-12)])  # of single precision, or not
def test_estimates_with_all_rows_are_the_exact_gains(kernel, error):
    F, B, y_B = crowded(8, 300, kernel=kernel)
    assert np.allclose(Estimate(F, 1).swap_gains(B), F.look(B, y_B).swap_gains()[0], atol=error)


def test_promising_candidates_are_those_that_gain_most(monkeypatch):
    monkeypatch.setattr(projected_error, "ESTIMATE_ROWS", 150)
    found_shares = []
    for seed in range(3):
        F, B, y_B = crowded(12, 1200, seed)
        gains, _ = F.look(B, y_B).swap_gains()
        least = np.sort(gains)[-40]  # of 400
        found = F.promising(B, least)
        assert len(found) <= 100
        assert (np.diff(found) > 0).all()
        found_shares.append(np.isin(np.flatnonzero(gains > 1.2 * least), found).mean())
    assert np.mean(found_shares) > 0.9


def test_with_few_validation_rows_all_candidates_are_promising():
    F, B, _ = crowded(12, 1100)
    assert len(F.promising(B, np.inf)) == len(B)


def test_errors_of_smooth_functions_never_rise_by_swaps():
    """Chosen rows that are nearly copies: without the digits of the smallest pivots, swaps would raise the error."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(500, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=500)
    F = ProjectedError(2.0 * RBF([1.0, 4.0]), 0.04).empty_set(X, 20, 500)
    F.put_rows(np.arange(500), X, np.full(500, 1 / 500), y)
    F.look(X[:20], y[:20]).add_all()
    block = F.look(X[20:], y[20:])
    for _ in range(4):
        before, swapped = F.value, improve(block, None, 1e-5)
        assert F.value >= before + 0.99e-5 * len(swapped)


def test_rows_that_join_together_make_the_same_set():
    X, y = data(30)
    sets = [ProjectedError(KERNEL, NOISE).empty_set(X, 30, 50) for _ in range(2)]
    sets[0].look(X, y).add_all()
    block = sets[1].look(X, y)
    for i in range(30):
        block.add(i)
    assert np.allclose(sets[0].M, sets[1].M, rtol=1e-12)
    assert all(np.array_equal(F.chosen.values, X) and np.array_equal(F.targets, y) for F in sets)
