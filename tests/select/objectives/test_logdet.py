"""The log-determinant's fast gains against determinants computed from scratch."""

import numpy as np
import pytest

from modicum.kernels import RBF
from modicum.select.objectives.logdet import LogDet

pytestmark = pytest.mark.nojit


def log_det(rows, kernel, regularization):
    K = kernel(np.asarray(rows), np.asarray(rows))
    return np.linalg.slogdet(K + regularization * np.eye(len(K)))[1]


@pytest.fixture(params=[1.0, 1e-3, 5.0])
def setting(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    F = LogDet(RBF(1.5), request.param).fitted(X).empty_set(X, 8)
    first = F.look(X[:6])
    for i in range(6):
        first.add(i)
    return F, X, request.param


def test_value_is_the_log_determinant(setting):
    F, X, lam = setting
    assert np.isclose(F.value, log_det(X[:6], F.kernel, lam))


def test_gains_of_joining(setting):
    F, X, lam = setting
    block = F.look(X[6:])
    expected = [log_det([*X[:6], x], F.kernel, lam) - F.value for x in X[6:]]
    np.testing.assert_allclose(block.gains(), expected, atol=1e-9)
    assert np.isclose(block.gain(3), expected[3])


def all_swaps(rows, x, kernel, lam):
    return np.array([log_det([*rows[:j], x, *rows[j + 1 :]], kernel, lam) for j in range(len(rows))])


def test_swaps_of_every_candidate(setting):
    F, X, lam = setting
    gains, slots = F.look(X[6:]).swap_gains()
    for i, x in enumerate(X[6:]):
        values = all_swaps(X[:6], x, F.kernel, lam)
        assert slots[i] == values.argmax()
        assert np.isclose(gains[i], values.max() - F.value, atol=1e-9)


def test_a_block_stays_right_while_the_set_changes(setting):
    """Random changes, each through the block that looked at the set before all of them."""
    F, X, lam = setting
    rng = np.random.default_rng(1)
    rows, block, free = list(X[:6]), F.look(X[6:]), np.ones(34, bool)
    for step, i in enumerate(rng.permutation(34)[:30]):
        if step in (3, 9):
            assert block.add(i) == len(rows)
            rows.append(X[6 + i])
        else:
            slot = int(rng.integers(len(rows)))
            block.swap(i, slot)
            rows[slot] = X[6 + i]
        free[i] = False
        np.testing.assert_array_equal(F.chosen.values, rows)
        assert np.isclose(F.value, log_det(rows, F.kernel, lam), atol=1e-7)
        expected = [log_det([*rows, x], F.kernel, lam) - F.value for x in X[6:]]
        np.testing.assert_allclose(block.gains()[free], np.array(expected)[free], atol=1e-6)
        gains, slots = block.swap_gains()
        values = np.array([all_swaps(rows, x, F.kernel, lam) for x in X[6:]])
        np.testing.assert_allclose(gains[free], (values.max(axis=1) - F.value)[free], atol=1e-6)
        np.testing.assert_allclose(values[np.arange(34), slots][free], values.max(axis=1)[free], atol=1e-6)
        assert np.isneginf(gains[~free]).all()  # no candidate is chosen twice
        assert np.isneginf(block.gains()[~free]).all()


def test_first_swap_is_the_first_that_gains_enough(setting):
    F, X, _ = setting
    block = F.look(X[6:])
    gains, slots = block.swap_gains()
    for least in np.quantile(gains, [0.3, 0.8]):
        enough = np.flatnonzero(gains > least)
        assert block.first_swap(0, least) == (enough[0], slots[enough[0]])
        assert block.first_swap(int(enough[0]) + 1, least) == (enough[1], slots[enough[1]])
    assert block.first_swap(0, gains.max() + 1e-9) is None


def test_a_copy_of_a_chosen_row_adds_the_least():
    X = np.random.default_rng(0).normal(size=(5, 2))
    F = LogDet(RBF(1.0), 1e-12).fitted(X).empty_set(X, 6)
    block = F.look(np.concatenate([X, X[:1]]))
    for i in range(5):
        block.add(i)
    assert np.isclose(block.gains()[5], np.log(2e-12), atol=0.5)
    assert np.isfinite(block.swap_gains()[0][5])


def test_a_specification_is_not_changed_by_use():
    X = np.random.default_rng(0).normal(size=(20, 2))
    spec = LogDet("rbf")
    spec.fitted(X).empty_set(X, 5).look(X).add(0)
    assert vars(spec) == {"kernel": "rbf", "regularization": 1.0}


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="LogDet: regularization must be a number above 0; got 0"):
        LogDet("rbf", 0.0).fitted(np.zeros((3, 2)))
