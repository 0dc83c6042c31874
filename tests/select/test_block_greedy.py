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
    model = BlockGreedy(40, block_size=5, neighbors=10, kernel=RBF(0.8), min_gain=1e-4, random_state=0)
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
    paper, ours = (BlockGreedy(80, neighbors=m, **params).fit(X) for m in (0, 10))
    exact = OnlineGreedy(80, kernel=RBF(2.0)).fit(X)
    assert paper.value_ < ours.value_
    assert ours.value_ > 0.98 * exact.value_


def test_useless_exchanges_end(monkeypatch):
    """Where the kernel is wide, blocks overestimate gains."""
    X = np.random.default_rng(0).normal(size=(3000, 5))
    careful = BlockGreedy(50, neighbors=10, random_state=0).fit(X)
    monkeypatch.setattr("modicum.select.blocks.block_set.REALIZED", -np.inf)
    careless = BlockGreedy(50, neighbors=10, random_state=0).fit(X)
    assert careful.n_swaps_ < 0.9 * careless.n_swaps_
    assert careful.value_ > 0.95 * careless.value_


def test_one_block_is_online_greedy():
    X = np.random.default_rng(2).normal(size=(400, 3))
    params = {"kernel": RBF(1.2), "min_gain": 1e-3}
    block = BlockGreedy(15, block_size=15, neighbors=10, random_state=0, **params).fit(X)
    exact = OnlineGreedy(15, **params).fit(X)
    assert set(block.prototype_ids_) == set(exact.prototype_ids_)
    assert np.isclose(block.estimate_, block.value_)
    assert block.guarantee().estimate_error < 1e-9


def test_larger_blocks_estimate_better():
    X = np.random.default_rng(3).normal(size=(3000, 3))
    error = []
    for size in (2, 8, 60):
        model = BlockGreedy(60, block_size=size, neighbors=10, kernel=RBF(1.5), random_state=0).fit(X)
        error.append(abs(model.estimate_ - model.value_) / model.value_)
    assert error[0] > error[1] > error[2]


def test_blocks_hold_similar_rows():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [20, 0], [0, 20], [20, 20.0]])
    X = centers[rng.integers(4, size=800)] + rng.normal(size=(800, 2))
    model = BlockGreedy(24, block_size=6, neighbors=10, kernel=RBF(2.0), min_gain=1e-4, random_state=0).fit(X)
    corner = (model.prototypes_ > 10) @ [1, 2]
    for block in range(4):
        assert len(set(corner[model.blocks_ == block])) <= 1
    assert np.isclose(model.estimate_, model.value_, rtol=1e-6)  # far corners have nothing to do with each other


@pytest.mark.parametrize("neighbors", [None, 10])
def test_equal_rows_do_no_harm(neighbors):
    model = BlockGreedy(10, block_size=2, neighbors=neighbors, kernel=RBF(1.0), random_state=0).fit(np.zeros((200, 2)))
    assert np.isfinite(model.value_)
    model.partial_fit(np.random.default_rng(0).normal(size=(200, 2)))
    assert len(np.unique(model.prototypes_, axis=0)) == 10


def test_memory_is_linear_in_the_number_of_prototypes():
    small, large = (BlockGreedy(b, block_size=10, neighbors=10).plan(5).sizes["blocks"] for b in (500, 5000))
    assert large <= 10.1 * small


# ---- exact swaps -----------------------------------------------------------------------------------------


def walk(n, d=5):
    """Rows ordered by time: a random walk that returns."""
    rng = np.random.default_rng(0)
    X = np.zeros((n, d))
    for i in range(1, n):
        X[i] = 0.99 * X[i - 1] + 0.1 * rng.normal(size=d)
    return X


@pytest.mark.nojit
@pytest.mark.parametrize("lam", [1.0, 0.1])
def test_the_screen_is_the_best_combination_of_all_means_and_one_block(lam):
    X = np.random.default_rng(0).normal(size=(260, 3))
    model = BlockGreedy(30, block_size=5, kernel=RBF(1.5), regularization=lam, random_state=0).fit(X[:200])
    F = model._objective
    rows, A, p, block_of = F.chosen.values, F.inverse.matrix, F.inverse.inverse.diagonal(), model.blocks_
    K = F.kernel(X[200:], rows)
    means = (block_of[:, None] == np.arange(6)) / np.bincount(block_of, minlength=6)
    assert len(np.unique(block_of)) == 6
    for k, factor in zip(K, F._screen(K, np.ones(60)), strict=True):
        home = np.argmin(np.diag(means.T @ (A - lam * np.eye(30)) @ means) - 2 * k @ means)
        mine = np.flatnonzero(block_of == home)
        span = np.column_stack([means, np.eye(30)[:, mine]])
        w = span @ np.linalg.pinv(span.T @ A @ span) @ (span.T @ k)
        bound = 1 + lam - w @ k
        assert bound >= 1 + lam - k @ np.linalg.solve(A, k) - 1e-9
        assert np.isclose(factor, max(p.max() * bound, (p[mine] * bound + w[mine] ** 2).max()))


@pytest.mark.parametrize("min_gain", [1e-3, 1e-4])
@pytest.mark.parametrize("data", ["walk", "sorted", "narrow"])
def test_exact_swaps_are_those_of_online_greedy(data, min_gain):
    X = walk(4000) if data == "walk" else np.random.default_rng(1).normal(size=(4000, 3))
    if data == "sorted":
        X = X[np.argsort(X[:, 0])]
    params = {"kernel": RBF(0.5 if data == "narrow" else 1.5), "min_gain": min_gain}
    blocks, exact = BlockGreedy(100, random_state=0, **params).fit(X), OnlineGreedy(100, **params).fit(X)
    assert abs(blocks.value_ / exact.value_ - 1) < 2e-3
    assert abs(blocks.n_swaps_ - exact.n_swaps_) <= 0.02 * exact.n_swaps_
    assert blocks.estimate_ == blocks.value_
    A = blocks.kernel_(blocks.prototypes_, blocks.prototypes_) + np.eye(100)
    assert np.isclose(blocks.value_, np.linalg.slogdet(A)[1])


def test_a_screen_that_refuses_little_is_left_out_for_a_while(monkeypatch):
    X = np.random.default_rng(1).normal(size=(6000, 3))
    model = BlockGreedy(50, kernel=RBF(0.7), random_state=0).fit(X[:1000])
    believed = model._objective._believed
    K, own = model.kernel_(X[1000:1100], model.prototypes_), np.ones(100)
    assert len(believed(K, own, 1e9)) == 0  # nothing gains as much
    assert len(believed(K, own, 0.0)) == 100
    assert [len(believed(K, own, 1e9)) for _ in range(9)] == [100] * 8 + [0]


# ---- sorted rows -----------------------------------------------------------------------------------------


def groups(count=40, each=80):
    """Groups of similar rows, far from each other, one after the other."""
    rng = np.random.default_rng(0)
    return np.concatenate([center + rng.normal(size=(each, 4)) for center in 6 * rng.normal(size=(count, 4))])


def test_sorted_rows_find_room():
    """Rows of a new region must not replace each other alone."""
    X, params = groups(), {"kernel": RBF(2.0)}
    exact = OnlineGreedy(100, **params).fit(X)
    blocks = BlockGreedy(100, block_size=5, neighbors=10, random_state=0, **params).fit(X)
    assert blocks.value_ > 0.98 * exact.value_


@pytest.mark.parametrize("neighbors", [None, 10])
def test_shards_that_differ_merge(neighbors):
    X, params = groups(), {"kernel": RBF(2.0)}
    one = OnlineGreedy(100, **params).fit(X)
    make = BlockGreedy(100, block_size=5, neighbors=neighbors, random_state=0, **params)
    first, *others = (BlockGreedy(**make.get_params()).fit(part) for part in np.split(X, 8))
    for other in others:
        first.merge(other)
    assert first.value_ > 0.97 * one.value_
