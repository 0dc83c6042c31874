"""The exemplar objective against brute force: every cache, gain and swap."""

import numpy as np
import pytest

from modicum._jit import exemplar as jit
from modicum.kernels import as_dissimilarity
from modicum.select.objectives.exemplar import ExemplarObjective
from modicum.select.swaps import grow, improve

pytestmark = pytest.mark.nojit

K = 5


def brute_utility(phantom, exemplars, W, shares, metric):
    """F_C as its definition says."""
    d = as_dissimilarity(metric)
    centers = np.concatenate([phantom, exemplars])
    D = d(centers, W)
    return shares @ (D[0] - D.min(axis=0))


@pytest.fixture(params=["sqeuclidean", "euclidean", "manhattan"])
def metric(request):
    return request.param


@pytest.fixture
def problem(metric):
    """(objective with K exemplars and a weighted validation sample, phantom, generator)."""
    rng = np.random.default_rng(0)
    W, phantom = rng.normal(size=(60, 3)), np.full((1, 3), 0.3)
    shares = rng.dirichlet(np.ones(60))
    F = ExemplarObjective(as_dissimilarity(metric), phantom, W, K, 80)
    F.put_rows(np.arange(60), W, shares)
    block = F.look(rng.normal(size=(20, 3)))
    assert len(grow(block, K, 0.0)) == K
    return F, phantom, rng


def utility(F, phantom, metric, exemplars=None):
    return brute_utility(phantom, F.chosen.values if exemplars is None else exemplars, F.rows.values, F.shares, metric)


def test_value_is_the_definition(problem, metric):
    F, phantom, _ = problem
    assert F.value == pytest.approx(utility(F, phantom, metric), rel=1e-9)


def test_gains_of_adding(problem, metric):
    F, phantom, rng = problem
    candidates = rng.normal(size=(30, 3))
    gains = F.look(candidates).gains()
    for i, candidate in enumerate(candidates):
        with_it = np.concatenate([F.chosen.values, candidate[None]])
        assert gains[i] == pytest.approx(utility(F, phantom, metric, with_it) - F.value, abs=1e-9)


def test_every_swap_of_every_candidate(problem, metric):
    F, phantom, rng = problem
    candidates = rng.normal(size=(30, 3))
    block = F.look(candidates)
    best_gain, best_slot = block.swap_gains()
    for i, candidate in enumerate(candidates):
        removal = F.removal.copy()
        d = F.dissimilarity(candidate[None], F.rows.values)[0]
        gain = jit.swap_scan(d, F.shares, F.near, F.second, F.near_center, removal)
        brute = []
        for j in range(K):
            swapped = F.chosen.values.copy()
            swapped[j] = candidate
            brute.append(utility(F, phantom, metric, swapped) - F.value)
            assert gain - removal[j + 1] == pytest.approx(brute[j], abs=1e-9)
        assert best_gain[i] == pytest.approx(max(brute), abs=1e-9)
        assert brute[best_slot[i]] == pytest.approx(max(brute), abs=1e-9)


def assert_caches_are_right(F):
    D = np.concatenate([F.dissimilarity(F.phantom, F.rows.values), F.dissimilarity(F.chosen.values, F.rows.values)]).T
    order = np.sort(D, axis=1)
    np.testing.assert_allclose(F.to_centers.values[:, : F.n_centers], D, atol=1e-9)
    np.testing.assert_allclose(F.near, order[:, 0], atol=1e-9)
    np.testing.assert_allclose(F.second, order[:, 1], atol=1e-9)
    rows = np.arange(len(D))
    np.testing.assert_allclose(D[rows, F.near_center], F.near, atol=1e-9)
    np.testing.assert_allclose(D[rows, F.second_center], F.second, atol=1e-9)
    np.testing.assert_array_equal(F.to_phantom, F.to_centers.values[:, 0])
    np.testing.assert_array_equal(F.to_exemplars, F.to_centers.values[:, 1 : F.n_centers])
    for j in range(F.n_chosen):
        without = np.delete(D, j + 1, axis=1).min(axis=1)
        if not F.fixed[j]:
            assert F.removal_losses[j] == pytest.approx(F.shares @ (without - F.near), abs=1e-9)


def test_caches_are_right_after_any_sequence_of_changes(problem):
    F, _, rng = problem
    for step in range(150):
        kind = step % 5
        if kind in (0, 1):
            block = F.look(rng.normal(size=(4, 3)))
            block.gains()
            block.swap(int(rng.integers(4)), int(rng.integers(K)))
        elif kind == 2:
            slots = rng.choice(len(F.rows), 3, replace=False)
            F.put_rows(slots, rng.normal(size=(3, 3)), rng.dirichlet(np.ones(len(F.rows))))
        elif kind == 3 and len(F.rows) < 80:
            new = np.arange(len(F.rows), len(F.rows) + 1)
            F.put_rows(new, rng.normal(size=(1, 3)), rng.dirichlet(np.ones(len(F.rows) + 1)))
        elif kind == 4:
            F.move_phantom(rng.normal(size=(1, 3)))
        assert_caches_are_right(F)
    F.keep_rows(np.arange(0, len(F.rows), 2), np.full(-(-len(F.rows) // 2), 1 / -(-len(F.rows) // 2)))
    assert_caches_are_right(F)


def test_growing_is_greedy(metric):
    rng = np.random.default_rng(1)
    W, candidates, phantom = rng.normal(size=(50, 3)), rng.normal(size=(25, 3)), np.zeros((1, 3))
    shares = np.full(50, 1 / 50)
    F = ExemplarObjective(as_dissimilarity(metric), phantom, W, 6, 50)
    F.put_rows(np.arange(50), W, shares)
    picked = [i for i, _ in grow(F.look(candidates), 6, 0.0)]
    greedy: list[int] = []
    for _ in range(6):
        scores = [
            -np.inf if i in greedy else brute_utility(phantom, candidates[[*greedy, i]], W, shares, metric)
            for i in range(25)
        ]
        greedy.append(int(np.argmax(scores)))
    assert picked == greedy


def test_improving_never_lowers_and_ends_where_no_swap_gains_anything(problem):
    F, _, rng = problem
    candidates = rng.normal(size=(40, 3))
    before = F.value
    while True:
        swapped = improve(F.look(candidates), None, 1e-9)
        assert F.value >= before
        before = F.value
        if not swapped:
            break
    gains, _ = F.look(candidates).swap_gains()
    assert gains.max() <= 1e-9


def test_one_swap_is_the_best_swap(problem):
    F, _, rng = problem
    block = F.look(rng.normal(size=(40, 3)))
    gains, _ = block.swap_gains()
    before = F.value
    assert len(improve(block, 1, 0.0)) == 1
    assert F.value - before == pytest.approx(gains.max(), abs=1e-9)


def test_fixed_exemplars_stay(problem):
    F, _, rng = problem
    F.fixed[:3] = True
    F._find_removal_losses()
    held = F.chosen.values[:3].copy()
    improve(F.look(rng.normal(size=(60, 3))), None, 0.0)
    np.testing.assert_array_equal(F.chosen.values[:3], held)
