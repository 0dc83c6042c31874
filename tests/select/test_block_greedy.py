"""BlockGreedy against a slow version with the same blocks, and what must always hold for it."""

import numpy as np
import pytest

from modicum import BlockGreedy, OnlineGreedy
from modicum.kernels import RBF


def slow_log_det(kernel, rows, lam):
    K = kernel(rows, rows)
    return np.linalg.slogdet(K + lam * np.eye(len(K)))[1] if len(rows) else 0.0


def blocks_of(F):
    return [F.blocks.members[block, :size].copy() for block, size in enumerate(F.blocks.sizes)]


def slow_step(F, x, lam, room):
    """Algorithm 3 with its errata, from determinants alone: what taking each slot gains, and the block to join."""
    rows, blocks = F.chosen.values, blocks_of(F)
    k = F.kernel(x[None], rows)[0]
    distances = [F.kernel(rows[b], rows[b]).mean() - 2 * k[b].mean() if len(b) else np.inf for b in blocks]
    home = int(np.argmin(distances))
    mine = blocks[home]
    before = slow_log_det(F.kernel, rows[mine], lam)
    gains = np.full(len(rows), -np.inf)
    for slot in mine:
        gains[slot] = slow_log_det(F.kernel, np.vstack([rows[mine[mine != slot]], x]), lam) - before
    if len(mine) < room:
        joined = slow_log_det(F.kernel, np.vstack([rows[mine], x]), lam) - before
        for other, block in enumerate(blocks):
            if other != home:
                full = slow_log_det(F.kernel, rows[block], lam)
                for slot in block:
                    gains[slot] = joined + slow_log_det(F.kernel, rows[block[block != slot]], lam) - full
    return gains, home


@pytest.mark.nojit
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_every_step_is_the_papers(lam):
    X = np.random.default_rng(0).normal(size=(160, 3))
    model = BlockGreedy(20, block_size=4, neighbors=0, kernel=RBF(1.0), regularization=lam, random_state=0)
    model.partial_fit(X[:20])
    changed = 0
    for x in X[20:]:
        F = model._objective
        gains, home = slow_step(F, x, lam, F.blocks.members.shape[1])
        pays = gains.max() > model.min_gain * abs(F.value_now)
        estimate, rows, clustered = F.estimate, F.chosen.values.copy(), F.n_new + 1 == 20
        model.partial_fit(x[None])
        slots = np.flatnonzero((F.chosen.values != rows).any(axis=1))
        assert len(slots) == pays
        if pays:
            changed += 1
            np.testing.assert_array_equal(F.chosen.values[slots[0]], x)
            assert np.isclose(gains[slots[0]], gains.max(), atol=1e-9)  # the best, or one as good
            if not clustered:
                assert slots[0] in blocks_of(F)[home]
                assert np.isclose(F.estimate, estimate + gains.max(), atol=1e-8)
    assert changed > 20  # a clustering happened on the way


def test_caches_stay_correct():
    X = np.random.default_rng(1).normal(size=(1500, 2))
    model = BlockGreedy(40, block_size=5, kernel=RBF(0.8), min_gain=1e-4, random_state=0)
    for start in range(0, 1500, 100):
        F = model.partial_fit(X[start : start + 100])._objective
        assert F.blocks.sizes.sum() == 40
        assert np.array_equal(np.sort(np.concatenate(blocks_of(F))), np.arange(40))
        total = 0.0
        for block, slots in enumerate(blocks_of(F)):
            n = len(slots)
            K = F.kernel(F.chosen.values[slots], F.chosen.values[slots])
            np.testing.assert_allclose(F.blocks.matrices[block, :n, :n], K, atol=1e-9)
            np.testing.assert_allclose(F.blocks.inverses[block, :n, :n], np.linalg.inv(K + np.eye(n)), atol=1e-7)
            assert np.isclose(F.blocks.within[block], K.sum())
            total += slow_log_det(F.kernel, F.chosen.values[slots], 1.0)
        assert np.isclose(F.estimate, total, atol=1e-7)
        assert model.estimate_ >= model.value_ - 1e-9
    np.testing.assert_array_equal(X[model.prototype_ids_], model.prototypes_)


def test_neighbors_give_the_remaining_variance():
    X = np.random.default_rng(1).normal(size=(900, 3))
    model = BlockGreedy(30, block_size=3, neighbors=6, kernel=RBF(1.2), min_gain=1e-4, random_state=0)
    for start in range(0, 900, 60):
        F = model.partial_fit(X[start : start + 60])._objective
        rows = F.chosen.values
        for j in range(30):
            near = F.neighbors.near[j, : F.neighbors.counts[j]]
            assert j not in near
            assert len(set(near)) == len(near) > 2
            k, K = F.kernel(rows[[j]], rows[near])[0], F.kernel(rows[near], rows[near])
            left = 2.0 - k @ np.linalg.solve(K + np.eye(len(near)), k)
            assert np.isclose(F.neighbors.spare[j], 1 / left, rtol=1e-9)
    exact = np.linalg.inv(F.kernel(rows, rows) + np.eye(30)).diagonal()
    index = [list(F.blocks.members[b]).index(j) for j, b in enumerate(model.blocks_)]
    block = F.blocks.inverses[model.blocks_, index, index]
    assert (np.maximum(F.neighbors.spare, block) <= exact + 1e-9).all()
    assert np.abs(exact - np.maximum(F.neighbors.spare, block)).mean() < 0.5 * np.abs(exact - block).mean()


def test_neighbors_raise_the_determinant():
    X = np.random.default_rng(3).normal(size=(4000, 5))
    params = {"block_size": 4, "kernel": RBF(2.0), "random_state": 0}
    paper, ours = BlockGreedy(80, neighbors=0, **params).fit(X), BlockGreedy(80, **params).fit(X)
    exact = OnlineGreedy(80, kernel=RBF(2.0)).fit(X)
    assert paper.value_ < ours.value_
    assert ours.value_ > 0.98 * exact.value_


def test_useless_exchanges_end(monkeypatch):
    """Where the kernel is wide, blocks overestimate gains."""
    X = np.random.default_rng(0).normal(size=(3000, 5))
    careful = BlockGreedy(50, random_state=0).fit(X)
    monkeypatch.setattr("modicum.select.blocks.block_set.REALIZED", -np.inf)
    careless = BlockGreedy(50, random_state=0).fit(X)
    assert careful.n_swaps_ < 0.9 * careless.n_swaps_
    assert careful.value_ > 0.95 * careless.value_


def test_one_block_is_online_greedy():
    X = np.random.default_rng(2).normal(size=(400, 3))
    params = {"kernel": RBF(1.2), "min_gain": 1e-3}
    block = BlockGreedy(15, block_size=15, random_state=0, **params).fit(X)
    exact = OnlineGreedy(15, **params).fit(X)
    assert set(block.prototype_ids_) == set(exact.prototype_ids_)
    assert np.isclose(block.estimate_, block.value_)
    assert block.guarantee().estimate_error < 1e-9


def test_larger_blocks_estimate_better():
    X = np.random.default_rng(3).normal(size=(3000, 3))
    error = []
    for size in (2, 8, 60):
        model = BlockGreedy(60, block_size=size, kernel=RBF(1.5), random_state=0).fit(X)
        error.append(abs(model.estimate_ - model.value_) / model.value_)
    assert error[0] > error[1] > error[2]


def test_blocks_hold_similar_rows():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [20, 0], [0, 20], [20, 20.0]])
    X = centers[rng.integers(4, size=800)] + rng.normal(size=(800, 2))
    model = BlockGreedy(24, block_size=6, kernel=RBF(2.0), min_gain=1e-4, random_state=0).fit(X)
    corner = (model.prototypes_ > 10) @ [1, 2]
    for block in range(4):
        assert len(set(corner[model.blocks_ == block])) <= 1
    assert np.isclose(model.estimate_, model.value_, rtol=1e-6)  # far corners have nothing to do with each other


def test_equal_rows_do_no_harm():
    model = BlockGreedy(10, block_size=2, kernel=RBF(1.0), random_state=0).fit(np.zeros((200, 2)))
    assert np.isfinite(model.value_)
    model.partial_fit(np.random.default_rng(0).normal(size=(200, 2)))
    assert len(np.unique(model.prototypes_, axis=0)) == 10


def test_memory_is_linear_in_the_number_of_prototypes():
    small, large = (BlockGreedy(b, block_size=10).plan(5).sizes["blocks"] for b in (500, 5000))
    assert large <= 10.1 * small
