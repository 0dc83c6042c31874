"""Ellipsoids against the closed form of what they solve, and against plain loops."""

import numpy as np
import pytest
from scipy import sparse

from modicum import state
from modicum.svm.ellipsoid import Diagonal, Full, SparseDiagonal

pytestmark = pytest.mark.nojit

WIDTH = 4


def data(count=120, seed=0):
    """Rows with zeros, signs and costs of two noisy classes."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, WIDTH)) * (rng.random((count, WIDTH)) < 0.7)
    sign = np.where(Z[:, 0] - Z[:, 1] + 0.4 * rng.normal(size=count) > 0, 1.0, -1.0)
    return Z, sign, rng.uniform(0.2, 5.0, size=count)


def learned(machine, rows, chunk=1000):
    """The machine, and the rows that violated the margin when they were learned."""
    Z, sign, cost = rows
    decisions = [
        machine.learn(Z[i : i + chunk], sign[i : i + chunk], cost[i : i + chunk]) for i in range(0, 120, chunk)
    ]
    return machine, sign * np.concatenate(decisions) < 1.0


def ridge(Z, sign, cost):
    """Least |w|^2 + sum cost (sign - w.z)^2, and its covariance."""
    covariance = np.linalg.inv(np.eye(Z.shape[1]) + (Z * cost[:, None]).T @ Z)
    return covariance @ (Z.T @ (cost * sign)), covariance


def test_full_is_the_ridge_solution_of_the_margin_violations():
    rows = data()
    machine, short = learned(Full(WIDTH), rows)
    weights, covariance = ridge(*(part[short] for part in rows))
    np.testing.assert_allclose(machine.coef, weights, atol=1e-10)
    np.testing.assert_allclose(machine._covariance, covariance, atol=1e-10)
    np.testing.assert_allclose(machine._covariance, machine._covariance.T, atol=1e-14)
    assert machine.n_core == short.sum() < 120


def test_full_decides_before_it_learns():
    Z, sign, cost = data()
    decisions = Full(WIDTH).learn(Z, sign, cost)
    for i in range(120):
        short = sign[:i] * decisions[:i] < 1.0
        weights, _ = ridge(Z[:i][short], sign[:i][short], cost[:i][short])
        assert decisions[i] == pytest.approx(Z[i] @ weights, abs=1e-9)


def by_hand(Z, sign, cost, skips_certain=False):
    """crammer2009, Figure 1, one column at a time and r = 1 / cost; the rule of dredze2008 by one deviation."""
    mean, variance, decisions = np.zeros(WIDTH), np.ones(WIDTH), []
    for z, s, c in zip(Z, sign, cost, strict=True):
        decisions.append(mean @ z)
        is_certain = s * decisions[-1] >= np.sqrt(variance @ z**2)
        if s * decisions[-1] < 1 and not (skips_certain and is_certain):
            gain = 1 / (variance @ z**2 + 1 / c)
            mean = mean + gain * (1 - s * decisions[-1]) * s * variance * z
            variance = variance - gain * (variance * z) ** 2
    return mean, variance, np.array(decisions)


@pytest.mark.parametrize("kind", [Diagonal, SparseDiagonal])
def test_diagonal_is_the_loop_of_the_paper(kind):
    Z, sign, cost = data()
    mean, variance, decisions = by_hand(Z, sign, cost)
    machine = kind(WIDTH)
    rows = sparse.csr_matrix(Z) if kind is SparseDiagonal else Z
    np.testing.assert_allclose(machine.learn(rows, sign, cost), decisions, atol=1e-12)
    np.testing.assert_allclose(machine.coef, mean, atol=1e-12)
    np.testing.assert_allclose(machine._variance, variance, atol=1e-12)
    assert machine.n_core == (sign * decisions < 1).sum()


def skipping(machine):
    machine.skips_certain = True
    return machine


@pytest.mark.parametrize("kind", [Diagonal, SparseDiagonal])
def test_diagonal_skips_what_it_is_certain_of(kind):
    Z, sign, cost = data()
    mean, variance, decisions = by_hand(Z, sign, cost, skips_certain=True)
    machine = skipping(kind(WIDTH))
    rows = sparse.csr_matrix(Z) if kind is SparseDiagonal else Z
    np.testing.assert_allclose(machine.learn(rows, sign, cost), decisions, atol=1e-12)
    np.testing.assert_allclose(machine.coef, mean, atol=1e-12)
    np.testing.assert_allclose(machine._variance, variance, atol=1e-12)
    assert machine.n_core < 0.7 * (sign * decisions < 1).sum()


def test_full_is_the_ridge_solution_of_the_rows_that_it_is_not_certain_of():
    Z, sign, cost = data()
    machine, learned_rows = skipping(Full(WIDTH)), []
    for i in range(120):
        weights, covariance = ridge(*(part[learned_rows] for part in (Z, sign, cost)))
        margin = sign[i] * (Z[i] @ weights)
        if margin < min(1.0, 2.0 * np.sqrt(Z[i] @ covariance @ Z[i])):
            learned_rows.append(i)
    machine.learn(Z, sign, cost)
    np.testing.assert_allclose(machine.coef, ridge(Z[learned_rows], sign[learned_rows], cost[learned_rows])[0])
    assert machine.n_core == len(learned_rows) < 0.7 * learned(Full(WIDTH), (Z, sign, cost))[1].sum()


def test_full_takes_sparse_rows():
    Z, sign, cost = data()
    dense, thin = Full(WIDTH), Full(WIDTH)
    np.testing.assert_array_equal(thin.learn(sparse.csr_matrix(Z), sign, cost), dense.learn(Z, sign, cost))
    np.testing.assert_array_equal(thin.coef, dense.coef)


@pytest.mark.parametrize("kind", [Diagonal, SparseDiagonal, Full])
class TestEveryKind:
    def test_a_new_machine_has_the_same_rule(self, kind):
        assert skipping(kind(WIDTH)).blank().skips_certain
        assert not kind(WIDTH).blank().skips_certain

    def rows(self, kind, **options):
        Z, *rest = data(**options)
        return (sparse.csr_matrix(Z) if kind is SparseDiagonal else Z, *rest)

    def test_any_chunks_give_the_same_bits(self, kind):
        rows = self.rows(kind)
        whole = learned(kind(WIDTH), rows)[0]
        for chunk in (1, 7):
            other = learned(kind(WIDTH), rows, chunk)[0]
            assert state.to_bytes({"machine": other}) == state.to_bytes({"machine": whole})

    def test_a_mirrored_machine_saw_the_opposite_signs(self, kind):
        Z, sign, cost = self.rows(kind)
        machine = learned(kind(WIDTH), (Z, sign, cost))[0]
        opposite = learned(kind(WIDTH), (Z, -sign, cost))[0]
        mirror, coef = machine.mirrored(), machine.coef.copy()
        np.testing.assert_array_equal(mirror.coef, opposite.coef)
        mirror.learn(Z, -sign, cost)
        np.testing.assert_array_equal(machine.coef, coef)  # the copy is independent

    def test_merging_with_nothing_changes_nothing(self, kind):
        rows = self.rows(kind)
        machine, empty = learned(kind(WIDTH), rows)[0], kind(WIDTH)
        coef, n_core = machine.coef.copy(), machine.n_core
        machine.merge(kind(WIDTH))
        np.testing.assert_allclose(machine.coef, coef, atol=1e-12)
        empty.merge(machine)
        np.testing.assert_allclose(empty.coef, coef, atol=1e-12)
        assert empty.n_core == machine.n_core == n_core

    def test_merging_goes_both_ways_and_leaves_the_other_alone(self, kind):
        ours, theirs = (learned(kind(WIDTH), self.rows(kind, seed=seed))[0] for seed in (1, 2))
        before, back = state.to_bytes({"machine": theirs}), theirs.copied()
        back.merge(ours)
        ours.merge(theirs)
        np.testing.assert_allclose(ours.coef, back.coef, atol=1e-10)
        assert state.to_bytes({"machine": theirs}) == before


def test_merged_full_is_the_ridge_solution_of_both():
    first, second = data(seed=1), data(seed=2)
    (ours, short), (theirs, also_short) = learned(Full(WIDTH), first), learned(Full(WIDTH), second)
    ours.merge(theirs)
    both = [np.concatenate([a[short], b[also_short]]) for a, b in zip(first, second, strict=True)]
    weights, covariance = ridge(*both)
    np.testing.assert_allclose(ours.coef, weights, atol=1e-9)
    np.testing.assert_allclose(ours._covariance, covariance, atol=1e-9)
    assert ours.n_core == short.sum() + also_short.sum()


def test_merged_diagonals_add_their_precisions():
    ours, theirs = (learned(Diagonal(WIDTH), data(seed=seed))[0] for seed in (1, 2))
    precision = 1 / ours._variance + 1 / theirs._variance - 1
    information = ours.coef / ours._variance + theirs.coef / theirs._variance
    ours.merge(theirs)
    np.testing.assert_allclose(ours._variance, 1 / precision)
    np.testing.assert_allclose(ours.coef, information / precision)


def test_a_reflected_machine_saw_a_column_of_the_opposite_sign():
    Z, sign, cost = data()
    flipped = Z * np.array([1.0, 1.0, -1.0, 1.0])
    machine, twin = (
        learned(Full(WIDTH), (Z, sign, cost))[0].reflected(2),
        learned(Full(WIDTH), (flipped, sign, cost))[0],
    )
    np.testing.assert_array_equal(machine.coef, twin.coef)
    np.testing.assert_array_equal(machine._covariance, twin._covariance)


@pytest.mark.parametrize("kind", [Diagonal, Full])
def test_a_large_C_is_stable(kind):
    Z, sign, _ = data(2000)
    machine = kind(WIDTH)
    for _ in range(5):
        machine.learn(Z, sign, np.full(2000, 1e9))
    assert np.mean(sign * machine.decide(Z) > 0) > 0.85
    assert (machine._variance if kind is Diagonal else np.linalg.eigvalsh(machine._covariance)).min() > -1e-12
