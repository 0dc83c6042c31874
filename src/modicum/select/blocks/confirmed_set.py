"""The prototypes of BlockGreedy with the full factor: blocks screen candidates, and the factor confirms their swaps.

With M the indicators of the blocks, each divided by the block's size, A the regularized kernel matrix and k the kernel
values of a candidate, any vector w bounds the candidate's variance v: v <= k(x, x) + lambda - 2 k.w + w'A w. Here w is
the best one in the span of M (all blocks, by their means), corrected within the nearest block. Means describe what
distant blocks have in common, which is most of a wide kernel; the block itself is what matters to a narrow one.
"""

from typing import Any

import numpy as np

from modicum._jit import block_screen as jit
from modicum.numeric.linalg import Inverse
from modicum.rows import n_rows, take
from modicum.rules.invariants import Array, Whole
from modicum.select.blocks.clustering import cluster, means_of, spread_means
from modicum.select.blocks.diagonal import ROOM
from modicum.select.objectives.logdet import LogDet, LogDetBlock

ROUNDS = 2  # of k-means: blocks only screen here
UNSCREENED = 8  # blocks of candidates scored without a screen after one that was of no use


class ConfirmedSet(LogDet):
    """Prototypes with the inverse of their regularized kernel matrix, in blocks that screen candidates.

    A candidate is refused at sight if adding it gains no more than the loss of the least useful prototype and the
    required gain: this is what the theorem of schlegel2017 needs of rows that were refused. The remaining ones are
    scored exactly, all prototypes being considered for removal.
    """

    _invariants = {
        "block_size": Whole(1),
        "block_of": Array("int64", "limit", low=0),
        "n_new": Whole(0),
        "n_unscreened": Whole(0),
    }

    def __init__(self, kernel: Any, lam: float, like: Any, limit: int, block_size: int):
        super().__init__(kernel, lam)
        vars(self).update(vars(LogDet.empty_set(self, like, limit)))
        self.block_size = block_size
        self.block_of = np.zeros(limit, np.int64)
        self.n_new = 0  # prototypes since the last clustering
        self.n_unscreened = 0  # blocks of candidates that are still to be scored without a screen

    @staticmethod
    def bytes_for(limit: int) -> int:
        return 16 * limit * limit + 8 * limit

    @property
    def estimate(self) -> float:
        """What decides: the value itself."""
        return self.value

    def required_gain(self, min_gain: float) -> float:
        """What a swap must gain."""
        return min_gain * abs(self.value)

    def losses(self) -> tuple[float, float]:
        """The loss of removing the least useful prototype; swaps with it are not underestimated."""
        return self.least_loss(), 0.0

    def block_of_slots(self) -> np.ndarray:
        """The block of each prototype."""
        return self.block_of

    @property
    def _n_blocks(self) -> int:
        return max(1, self.limit // self.block_size)

    @property
    def _capacity(self) -> int:
        return min(self.limit, ROOM * self.block_size)

    def fill(self, X: Any, rng: np.random.Generator) -> None:
        """Choose the first rows, all of them."""
        self.chosen.put(np.arange(n_rows(X)), X)
        K = self.kernel(X, X)
        self.inverse = Inverse.of(K + self.regularization * np.eye(len(K)), self.limit)
        self._cluster(K, rng)

    def offer(self, X: Any, min_gain: float, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Offer candidates in their order; returns the swaps as (candidate, slot) pairs."""
        K, own = self.kernel(X, self.chosen.values), self.kernel.diagonal(X)
        believed = self._believed(K, own, float(np.exp(self.required_gain(min_gain))))
        if not len(believed):
            return []
        block = LogDetBlock(self, take(X, believed), to_chosen=K[believed])
        changes: list[tuple[int, int]] = []
        start = 0
        while found := block.first_swap(start, self.required_gain(min_gain)):
            i, slot = found
            block.swap(i, slot, start=i)
            self._move(slot, block.K[i])
            if self.n_new >= self.n_chosen:
                self._cluster(self.inverse.matrix - self.regularization * np.eye(self.n_chosen), rng)
            changes.append((int(believed[i]), slot))
            start = i + 1
        return changes

    def _believed(self, K: np.ndarray, own: np.ndarray, least: float) -> np.ndarray:
        """Candidates that may multiply the determinant by more than `least`; all, while a screen would refuse few."""
        if self.n_unscreened:
            self.n_unscreened -= 1
            return np.arange(len(K))
        believed = np.flatnonzero(self._screen(K, own) > least)
        if 2 * len(believed) > len(K):
            self.n_unscreened = UNSCREENED
        return believed

    def _screen(self, K: np.ndarray, own: np.ndarray) -> np.ndarray:
        """About the most that each candidate multiplies the determinant by."""
        A, lam = self.inverse.matrix, self.regularization
        p = np.ascontiguousarray(np.diagonal(self.inverse.inverse))
        blocks, block_of, sizes = np.unique(self.block_of, return_inverse=True, return_counts=True)
        members, starts = np.argsort(block_of, kind="stable"), np.append(0, np.cumsum(sizes))
        sums = np.zeros((len(blocks), len(A)))
        jit.add_up_blocks(A, block_of, sums)
        shared = np.ascontiguousarray(sums.T / sizes)
        between = np.add.reduceat(shared[members], starts[:-1]) / sizes[:, None]
        coarse, local = np.linalg.inv(between), np.empty((len(blocks), sizes.max(), sizes.max()))
        jit.invert_blocks(A, members, starts, shared, coarse, lam, local)
        G, within, factors = K @ means_of(block_of, len(blocks)), between.diagonal() - lam / sizes, np.empty(len(K))
        jit.screen(K, G, own + lam, p, members, starts, shared, coarse, within, local, factors)
        return factors

    def _move(self, slot: int, k: np.ndarray) -> None:
        """The row now in a slot joins the block of the most similar prototype, unless that is full."""
        others = np.abs(k)
        others[slot] = -1.0
        home = self.block_of[others.argmax()]
        if np.count_nonzero(self.block_of == home) < self._capacity:  # blocks stay small
            self.block_of[slot] = home
        self.n_new += 1

    def _cluster(self, K: np.ndarray, rng: np.random.Generator) -> None:
        self.block_of = cluster(K, spread_means(K, self._n_blocks, rng), self._capacity, ROUNDS)
        self.n_new = 0
