"""The prototypes of BlockGreedy: their blocks, their neighbors, and how far estimated gains are trusted."""

from typing import Any

import numpy as np

from modicum._jit import block_greedy as jit
from modicum.kernels import Kernel
from modicum.numeric.linalg import Inverse
from modicum.rows import Rows, RowsOf, n_rows, take
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.select.blocks.clustering import cluster, spread_means
from modicum.select.blocks.diagonal import BlockDiagonal
from modicum.select.blocks.neighbors import Neighbors
from modicum.select.objectives.logdet import SMALLEST_LEFT, LogDet
from modicum.state.part import Part

REALIZED = 0.01  # the share of the estimated gains that must have been realized: estimates are usually far too high

AGAIN = 8  # clusterings per `n_prototypes` new prototypes, at most


class BlockSet(Part):
    """Prototypes in blocks that are treated as independent of each other.

    The usefulness of a prototype decides which one leaves. It is estimated from the others of its block and from its
    neighbors, the most similar prototypes in any block: blocks alone overestimate it.
    """

    _invariants = {
        "kernel": Is(Kernel),
        "lam": Real(above=0.0),
        "chosen": RowsOf("limit"),
        "own": Array("float64", "limit"),
        "blocks": Is(BlockDiagonal, limit="limit"),
        "neighbors": Is(Neighbors, limit="limit"),
        "n_new": Whole(0, "limit"),
        "claimed": Real(),
        "value_then": Real(),
        "estimate_then": Real(),
        "caution": Real(1.0),
    }

    def __init__(self, kernel: Kernel, lam: float, like: Any, limit: int, block_size: int, neighbors: int):
        self.kernel = kernel
        self.lam = lam
        self.chosen = Rows.like(like, limit)
        self.own = np.zeros(limit)  # k(x, x) of the prototypes
        self.blocks = BlockDiagonal(limit, block_size)
        self.neighbors = Neighbors(limit, neighbors)
        self.n_new = 0  # prototypes since the last clustering
        self.claimed = 0.0  # their estimated gains
        self.value_then = self.estimate_then = 0.0  # the true log-determinant and the estimate at that time
        self.caution = 1.0  # factor on the gain that a swap must have

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    @property
    def estimate(self) -> float:
        """The log-determinant of the block-diagonal matrix."""
        return self.blocks.log_det

    @property
    def value(self) -> float:
        """The true log-determinant, computed now."""
        return self._log_det(self.kernel(self.chosen.values, self.chosen.values))

    @property
    def value_now(self) -> float:
        """The true log-determinant at the last clustering, plus what the estimate has risen by since."""
        return self.value_then + self.estimate - self.estimate_then

    @property
    def least_gain(self) -> float:
        return float(np.log(self.lam))

    def block_of_slots(self) -> np.ndarray:
        """The block of each prototype."""
        return self.blocks.block_of_slots(self.n_chosen)

    def required_gain(self, min_gain: float) -> float:
        """What the estimated gain of a swap must exceed."""
        return self.caution * min_gain * abs(self.value_now)

    # ---- changes ---------------------------------------------------------------------------------

    def fill(self, X: Any, rng: np.random.Generator) -> None:
        """Choose the first rows, all of them."""
        self.chosen.put(np.arange(n_rows(X)), X)
        K = self.kernel(X, X)
        self.value_then = self._log_det(K)
        self._rebuild(K, rng)

    def offer(self, X: Any, min_gain: float, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Offer candidates in their order; returns the swaps as (candidate, slot) pairs."""
        K, own = self.kernel(X, self.chosen.values), self.kernel.diagonal(X)
        floor, start = self._floor(own), 0
        members, sizes, _, inverses, within = self.blocks.arrays
        changes: list[tuple[int, int]] = []
        while start < len(K):
            least = np.exp(self.required_gain(min_gain))
            i, factor, block, leaves, index = jit.first_exchange(
                K,
                own,
                self.lam,
                floor,
                start,
                least,
                self.own,
                members,
                sizes,
                inverses,
                within,
                *self.neighbors.arrays,
            )
            if i < 0:
                break
            slot = int(members[leaves, index])
            row, start = take(X, slice(i, i + 1)), i + 1
            self.chosen.put(np.array([slot]), row)
            self._exchange(block, leaves, index, K[i], own[i], floor)
            self.claimed += float(np.log(factor))
            changes.append((i, slot))
            if self.n_new == self.n_chosen or self._is_short_of_room(block):
                self._cluster_again(rng)
            K[start:, slot] = self.kernel(row, take(X, slice(start, None)))[0]
        return changes

    def _exchange(self, block: int, leaves: int, index: int, k: np.ndarray, own: float, floor: float) -> None:
        """The prototype at an index of block `leaves` leaves; a row with kernel values k joins `block` in its slot."""
        slot = self.blocks.members[leaves, index]
        self.blocks.take_out(leaves, index)
        self.blocks.put_in(block, slot, k, own, self.lam, floor)
        self.own[slot] = k[slot] = own
        self.n_new += 1
        self.neighbors.replace(slot, k, self.kernel, self.chosen.values, self.own, self.lam, floor)

    def _is_short_of_room(self, block: int) -> bool:
        """Whether a block is full, and the last clustering is not too recent.

        Rows near a full block can only replace its own members, and rows of a new region may all belong to one.
        """
        return self.blocks.sizes[block] == self.blocks.capacity and self.n_new >= self.n_chosen / AGAIN

    def _cluster_again(self, rng: np.random.Generator) -> None:
        """Cluster again from new means, and compare the gain since the last time with the estimated gains of the swaps.

        Where the kernel is wide compared with a block, equally useful prototypes keep replacing each other. A larger
        required gain, each time that little of the estimated gains was realized, ends this.
        """
        K, before = self.kernel(self.chosen.values, self.chosen.values), self.value_then
        self.value_then = self._log_det(K)
        is_realized = self.value_then - before >= REALIZED * self.claimed
        self.caution = max(1.0, self.caution / 2) if is_realized else 2 * self.caution
        self.claimed = 0.0
        self._rebuild(K, rng)

    def _rebuild(self, K: np.ndarray, rng: np.random.Generator) -> None:
        """Compute blocks and neighbors from the kernel matrix of the prototypes."""
        floor, means = self._floor(np.diagonal(K)), spread_means(K, len(self.blocks.sizes), rng)
        self.own[:] = np.diagonal(K)
        self.blocks.rebuild(K, cluster(K, means, self.blocks.capacity), self.lam, floor)
        self.n_new, self.estimate_then = 0, self.estimate
        self.neighbors.rebuild(K, self.lam, floor)

    def _floor(self, own: np.ndarray) -> float:
        """No set of rows leaves less variance of another than lambda; less is due to rounding of kernel values."""
        return max(self.lam, SMALLEST_LEFT * float(own.max() + self.lam))

    def _log_det(self, K: np.ndarray) -> float:
        return float(np.linalg.slogdet(K + self.lam * np.eye(len(K)))[1])

    # ---- for guarantees -----------------------------------------------------------------------

    def in_full(self) -> LogDet:
        """The same prototypes with the full kernel matrix, for the time of a call."""
        rows = self.chosen.values
        full = LogDet(self.kernel, self.lam).empty_set(rows, self.n_chosen)
        full.chosen.put(np.arange(self.n_chosen), rows)
        full.inverse = Inverse.of(self.kernel(rows, rows) + self.lam * np.eye(self.n_chosen), self.n_chosen)
        return full

    def losses(self) -> tuple[float, float]:
        """The loss of removing the least useful prototype, and by how much a swap with it may be underestimated.

        A block and neighbors are only some of the prototypes, so they leave too much variance of every row. For a
        candidate this overestimates the gain. For the prototype that leaves it overestimates the loss, and so
        underestimates the gain: by (estimated loss) - (true loss). A candidate whose block is full is compared with
        that block alone.
        """
        K, slots = self.kernel(self.chosen.values, self.chosen.values), np.arange(self.n_chosen)
        true = -np.log(np.linalg.inv(K + self.lam * np.eye(len(K))).diagonal() * self.lam)
        estimated = -np.log(np.maximum(self.neighbors.spare, self.blocks.precisions(self.n_chosen)) * self.lam)
        block_of = self.block_of_slots()
        full = [slots[block_of == block] for block in np.flatnonzero(self.blocks.sizes == self.blocks.capacity)]
        least = [choice[estimated[choice].argmin()] for choice in (slots, *full)]
        worst = least[int(estimated[least].argmax())]
        return float(true[worst]), float(estimated[worst] - true[worst])
