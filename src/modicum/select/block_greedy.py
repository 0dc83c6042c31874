"""BlockGreedy: OnlineGreedy at a cost linear in the number of prototypes (schlegel2017, Algorithms 2 and 3)."""

from typing import Any

import numpy as np

from modicum._jit import block_greedy as jit
from modicum.kernels import Kernel
from modicum.rows import Rows, RowsOf, n_rows, take
from modicum.rules.budget import Plan
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import NULL, Int
from modicum.select.objectives.logdet import SMALLEST_LEFT
from modicum.select.online_greedy import OnlineGreedy
from modicum.select.selector import HISTORY_BYTES, WAITS
from modicum.state.part import Part

KEPT = 0.01  # part of the claimed gains that must have come true: they are large claims, but not out of nothing
ROOM = 4  # a block may grow to so many times its usual size: memory stays linear in the number of prototypes


class Blocks(Part):
    """Prototypes in blocks that are taken to have nothing to do with each other.

    The kernel matrix is treated as block-diagonal, so its determinant is the product of the blocks'. Each block
    has the inverse of its regularized kernel matrix. `estimate` is the log-determinant so obtained.

    How useful a prototype is, which decides who leaves, is judged by the others of its block and by its neighbors, the
    most similar prototypes wherever they are: their blocks alone make prototypes look more useful than they are.
    """

    _invariants = {
        "kernel": Is(Kernel),
        "lam": Real(above=0.0),
        "chosen": RowsOf("limit"),
        "estimate": Real(),
        "n_new": Whole(0, "limit"),
        "claimed": Real(),
        "value_then": Real(),
        "estimate_then": Real(),
        "caution": Real(1.0),
        "members": Array("int64", "n_blocks", "room", low=0, below="limit"),
        "sizes": Array("int64", "n_blocks", low=0, high="room"),
        "matrices": Array("float64", "n_blocks", "room", "room"),
        "inverses": Array("float64", "n_blocks", "room", "room"),
        "within": Array("float64", "n_blocks"),
        "own": Array("float64", "limit"),
        "spare": Array("float64", "limit"),
        "near": Array("int64", "limit", "m", low=0, below="limit"),
        "similar": Array("float64", "limit", "m"),
        "among": Array("float64", "limit", "m", "m"),
        "counts": Array("int64", "limit", low=0, high="m"),
    }

    def __init__(self, kernel: Kernel, lam: float, like: Any, limit: int, block_size: int, neighbors: int):
        n_blocks, room, m = max(1, limit // block_size), min(limit, ROOM * block_size), min(neighbors, limit - 1)
        self.kernel = kernel
        self.lam = lam
        self.chosen = Rows.like(like, limit)
        self.estimate = 0.0
        self.n_new = 0  # prototypes since the last clustering
        self.claimed = 0.0  # what they were taken to gain
        self.value_then = self.estimate_then = 0.0  # the true log-determinant and the estimate at that time
        self.caution = 1.0  # how many times the threshold a gain must exceed
        self.members = np.zeros((n_blocks, room), np.int64)
        self.sizes = np.zeros(n_blocks, np.int64)
        self.matrices = np.zeros((n_blocks, room, room))
        self.inverses = np.zeros((n_blocks, room, room))
        self.within = np.zeros(n_blocks)
        self.own = np.zeros(limit)
        self.spare = np.zeros(limit)
        self.near = np.zeros((limit, m), np.int64)
        self.similar = np.zeros((limit, m))
        self.among = np.zeros((limit, m, m))
        self.counts = np.zeros(limit, np.int64)

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    @property
    def value(self) -> float:
        """The true log-determinant, computed now."""
        return self._log_det(self.kernel(self.chosen.values, self.chosen.values))

    @property
    def value_now(self) -> float:
        """The true log-determinant at the last clustering, and what the estimate has risen by since."""
        return self.value_then + self.estimate - self.estimate_then

    def _log_det(self, K: np.ndarray) -> float:
        return float(np.linalg.slogdet(K + self.lam * np.eye(len(K)))[1])

    @property
    def least_gain(self) -> float:
        return float(np.log(self.lam))

    def block_of_slots(self) -> np.ndarray:
        """The block of each prototype."""
        block_of = np.zeros(self.n_chosen, np.int64)
        for block, size in enumerate(self.sizes):
            block_of[self.members[block, :size]] = block
        return block_of

    def fill(self, X: Any, rng: np.random.Generator) -> None:
        """The first rows, all of them."""
        self.chosen.put(np.arange(n_rows(X)), X)
        K = self.kernel(X, X)
        self.value_then = self._log_det(K)
        self._rebuild(K, self._cluster(K, _spread_means(K, len(self.sizes), rng)))

    def offer(self, X: Any, threshold: float, relative: bool) -> list[tuple[int, int]]:
        """Let candidates, in their order, take the places of prototypes; returns (candidate, slot) pairs."""
        K, own = self.kernel(X, self.chosen.values), self.kernel.diagonal(X)
        floor = self._floor(own)
        blocks = (self.members, self.sizes, self.inverses, self.within)
        neighbors = (self.near, self.similar, self.among, self.counts, self.spare)
        changes: list[tuple[int, int]] = []
        at = 0
        while at < len(K):
            least = np.exp(self.least_gain_of_swap(threshold, relative))
            i, factor, block, leaves, place = jit.first_exchange(
                K, own, self.lam, floor, at, least, self.own, *blocks, *neighbors
            )
            if i < 0:
                break
            slot = int(self.members[leaves, place])
            row, at = take(X, slice(i, i + 1)), i + 1
            self.chosen.put(np.array([slot]), row)
            self._exchange(block, leaves, place, K[i], own[i], floor)
            self.claimed += float(np.log(factor))
            changes.append((i, slot))
            if self.n_new == self.n_chosen:
                self._cluster_again()
            K[at:, slot] = self.kernel(row, take(X, slice(at, None)))[0]
        return changes

    def least_gain_of_swap(self, threshold: float, relative: bool) -> float:
        """What a candidate must be taken to gain."""
        return self.caution * threshold * (abs(self.value_now) if relative else 1.0)

    def losses(self) -> tuple[float, float]:
        """What the set loses with its least useful prototype, and by how much a swap with it may be underrated.

        A block and neighbors are some of the prototypes, so they leave too much variance of every row. Of a candidate
        that overrates the gain. Of the prototype that leaves it overrates the loss, and so underrates the gain: by
        (loss as estimated) - (true loss). A candidate whose block has no room left is compared with that block alone.
        """
        K, slots = self.kernel(self.chosen.values, self.chosen.values), np.arange(self.n_chosen)
        true = -np.log(np.linalg.inv(K + self.lam * np.eye(len(K))).diagonal() * self.lam)
        block_of, kept = self.block_of_slots(), self.spare.copy()
        for block, size in enumerate(self.sizes):
            members = self.members[block, :size]
            kept[members] = np.maximum(kept[members], self.inverses[block, :size, :size].diagonal())
        estimated = -np.log(kept * self.lam)
        full = [slots[block_of == block] for block in np.flatnonzero(self.sizes == self.members.shape[1])]
        least = [choice[estimated[choice].argmin()] for choice in (slots, *full)]
        worst = least[int(estimated[least].argmax())]
        return float(true[worst]), float(estimated[worst] - true[worst])

    def _floor(self, own: np.ndarray) -> float:
        """No set of rows leaves less variance of another than lambda; less is due to rounding of kernel values."""
        return max(self.lam, SMALLEST_LEFT * float(own.max() + self.lam))

    def _exchange(self, block: int, leaves: int, place: int, k: np.ndarray, own: float, floor: float) -> None:
        """The prototype at a place of block `leaves` goes; a row with kernel values k joins `block` under its slot."""
        slot = self.members[leaves, place]
        blocks = (self.members, self.sizes, self.matrices, self.inverses, self.within)
        self.estimate += jit.remove_member(leaves, place, *blocks)
        self.estimate += jit.add_member(block, slot, k, own, self.lam, floor, *blocks)
        self.own[slot] = k[slot] = own
        self.n_new += 1
        if self.near.shape[1]:
            neighbors = (self.near, self.similar, self.among, self.counts)
            jit.update_neighbors(slot, k, self.own, self.lam, floor, *neighbors, self.spare)
            self._find_neighbors(slot, k, floor)

    def _find_neighbors(self, slot: int, k: np.ndarray, floor: float) -> None:
        """The prototypes most similar to the one in `slot`, k being its kernel values with all of them."""
        others = np.abs(k)
        others[slot] = -1.0
        m = self.near.shape[1]
        near = np.sort(np.argpartition(-others, m - 1)[:m])
        rows = take(self.chosen.values, near)
        self.near[slot], self.similar[slot], self.counts[slot] = near, k[near], m
        self.among[slot] = self.kernel(rows, rows)
        jit.spare_among(slot, self.own, self.lam, floor, self.counts, self.similar, self.among, self.spare)

    def _cluster_again(self) -> None:
        """Cluster anew, and see what came of the gains that the exchanges since the last time were taken for.

        Where the kernel reaches far beyond a block, prototypes that are in truth as good as each other keep taking each
        other's places; asking for more each time that little came of it brings that to an end.
        """
        K, before = self.kernel(self.chosen.values, self.chosen.values), self.value_then
        self.value_then = self._log_det(K)
        kept_promise = self.value_then - before >= KEPT * self.claimed
        self.caution = max(1.0, self.caution / 2) if kept_promise else 2 * self.caution
        self.claimed = 0.0
        self._rebuild(K, self._cluster(K, _means_of(self.block_of_slots(), len(self.sizes))))

    def _cluster(self, K: np.ndarray, means: np.ndarray) -> np.ndarray:
        """k-means in the kernel's feature space; `means` (rows x blocks) holds each row's part of each mean."""
        block_of, sizes = np.empty(len(K), np.int64), np.empty_like(self.sizes)
        for _ in range(max(2, len(K) // len(sizes))):  # the paper's limit: exact clusters are not needed
            shared = K @ means
            distance = np.diagonal(K)[:, None] - 2 * shared + np.einsum("ij,ij->j", means, shared)
            before = block_of.copy()
            order = np.argsort(distance.min(axis=1), kind="stable")  # rows nearest to a block first
            jit.assign(distance, order, self.members.shape[1], block_of, sizes)
            if np.array_equal(before, block_of):
                break
            for block in np.flatnonzero(sizes == 0):  # nobody came: start anew from the row that fits worst
                block_of[np.argmax(distance[np.arange(len(K)), block_of])] = block
            means = _means_of(block_of, len(sizes))
        return block_of

    def _rebuild(self, K: np.ndarray, block_of: np.ndarray) -> None:
        """Every block anew from the kernel matrix of the prototypes."""
        floor = self._floor(np.diagonal(K))
        self.own[:] = np.diagonal(K)
        self.sizes[:], self.within[:], self.estimate, self.n_new = 0, 0.0, 0.0, 0
        blocks = (self.members, self.sizes, self.matrices, self.inverses, self.within)
        for slot, block in enumerate(block_of):
            self.estimate += jit.add_member(block, slot, K[slot], K[slot, slot], self.lam, floor, *blocks)
        self.estimate_then = self.estimate
        if self.near.shape[1]:
            for slot in range(len(K)):
                self._find_neighbors(slot, K[slot], floor)


def _means_of(block_of: np.ndarray, n_blocks: int) -> np.ndarray:
    """Means as weights of rows, rows x blocks."""
    belongs = block_of[:, None] == np.arange(n_blocks)
    return belongs / np.maximum(belongs.sum(axis=0), 1)


def _spread_means(K: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """First means by the rule of arthur2007: rows drawn in proportion to their squared distance to those drawn."""
    distance = np.full(len(K), np.inf)
    means = np.zeros((len(K), count))
    row = int(rng.integers(len(K)))
    for block in range(count):
        means[row, block] = 1.0
        distance = np.minimum(distance, np.maximum(np.diagonal(K) - 2 * K[row] + K[row, row], 0.0))
        total = float(distance.sum())
        row = int(rng.choice(len(K), p=distance / total)) if total > 0 else int(rng.integers(len(K)))
    return means


class BlockGreedy(OnlineGreedy):
    """Prototypes of a kernel representation, chosen from a stream at a cost linear in their number.

    As `OnlineGreedy`, it keeps the rows whose regularized kernel matrix has the largest determinant, but treats that
    matrix as block-diagonal: prototypes are clustered into blocks, and a row is compared with its nearest block only.
    It takes the place of a prototype there, or joins the block while the least useful prototype of another
    block leaves, whichever raises the estimate more. After every `budget` new prototypes they are clustered again.

    Guarantee: that of `OnlineGreedy` with the error of the estimated gains of swaps on top, see `guarantee`.
    Cost: O(b d + r^2) time per row for b prototypes in blocks of r, O(b d + b r) memory.

    Which to take: `OnlineGreedy` up to a few hundred prototypes, this one beyond, and for kernels whose reach is short
    against the spread of the rows: where all rows are alike, nothing is block-diagonal.

    Parameters
    ----------
    budget : int or str, default=200
        Prototypes to keep, or a size such as "4 MiB" for all that is held.
    block_size : int or None, default=None
        Prototypes per block on average; larger blocks estimate better. None: the root of their number.
    neighbors : int, default=10
        How useful a prototype is, is judged by so many of its most similar ones beside those of its block. 0: by its
        block alone, as in the paper; that overrates prototypes, and the determinant stays lower.
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    regularization : float, default=1.0
        The paper's lambda, added to the diagonal of the kernel matrix.
    threshold : float, default=1e-3
        What a swap must gain.
    relative : bool, default=True
        Whether the threshold is a part of the present log-determinant, or a number by itself.
    random_state : int, Generator or None, default=None
        The first clustering draws its means at random.

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    indices_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The true log-determinant, computed when asked for in O(b^3).
    estimate_ : float
        The estimate that decided: the sum over blocks. It is never below `value_`.
    blocks_ : ndarray of shape (b,)
        The block of each prototype.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        Rows offered, the estimate and swaps so far, over the stream.
    n_swaps_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import BlockGreedy
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = BlockGreedy(40, block_size=8, random_state=0).fit(X)
    >>> model.prototypes_.shape, model.value_ <= model.estimate_
    ((40, 2), True)

    References
    ----------
    schlegel2017, Algorithms 2 and 3, Appendices D to F. arthur2007 (first means). Departures: `neighbors`; the printed
    gain of joining a block lacks the block's own value, and its comparison is inverted: both are mended; the threshold
    is on the better of the two exchanges; blocks are clustered in the kernel's feature space, so that any kernel on any
    rows will do, and may hold at most four times their usual size.
    """

    _invariants = {"_F": [WAITS, Is(Blocks, limit="_limit")]}
    _constraints = {**OnlineGreedy._constraints, "block_size": [NULL, Int(1)], "neighbors": [Int(0)]}

    def __init__(
        self,
        budget: int | str = 200,
        *,
        block_size: int | None = None,
        neighbors: int = 10,
        kernel: Any = "rbf",
        regularization: float = 1.0,
        threshold: float = 1e-3,
        relative: bool = True,
        random_state: Any = None,
    ):
        super().__init__(
            budget,
            kernel=kernel,
            regularization=regularization,
            threshold=threshold,
            relative=relative,
            random_state=random_state,
        )
        self.block_size = block_size
        self.neighbors = neighbors

    def _start(self, X: Any) -> None:
        super()._start(X)
        r = self._size_of_blocks(self._limit)
        self._F = Blocks(self._F.kernel, self.regularization, X, self._limit, r, self.neighbors)

    def _join(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        self._F.fill(X, self._rng)
        for slot in range(n_rows(X)):
            self._place(slot, row_ids[slot], None if y is None else y[slot])

    def _consider(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> int:
        changes = self._F.offer(X, self.threshold, self.relative)
        for i, slot in changes:
            self._place(slot, row_ids[i], None if y is None else y[i])
        self.n_swaps_ += len(changes)
        return len(changes)

    def _size_of_blocks(self, n_chosen: int) -> int:
        return min(n_chosen, self.block_size or max(1, round(np.sqrt(n_chosen))))

    def _value_now(self) -> float:
        return self._F.estimate

    @property
    def estimate_(self) -> float:
        F = self._set()
        return F.estimate if self._waiting is None else F.value

    @property
    def blocks_(self) -> np.ndarray:
        self._check_fitted()
        return self._F.block_of_slots() if self._waiting is None else np.zeros(self._n_retained(), np.int64)

    def plan(self, n_features: int, dtype: Any = np.float64) -> Plan:
        """What will be held for dense rows of `n_features` columns, in bytes, before any data is seen."""
        row = n_features * np.dtype(dtype).itemsize
        b = self._most_chosen(row)
        return Plan.of(
            b,
            prototypes=b * (row + 16),
            blocks=self._block_bytes(b),
            history_and_scalars=self._bytes_for(0, row),
        )

    def _bytes_for(self, n_chosen: int, row_bytes: int) -> int:
        return n_chosen * (row_bytes + 16) + self._block_bytes(n_chosen) + HISTORY_BYTES + 2048

    def _block_bytes(self, n_chosen: int) -> int:
        r = self._size_of_blocks(max(1, n_chosen))
        room = min(n_chosen, ROOM * r)
        m = min(self.neighbors, max(0, n_chosen - 1))
        return max(1, n_chosen // r) * (16 * room * room + 8 * room + 16) + n_chosen * (8 * m * m + 16 * m + 24)

    def _threshold_now(self) -> float:
        return self._F.least_gain_of_swap(self.threshold, self.relative) if self._waiting is None else 0.0

    def _losses(self, F: Any) -> tuple[float, float]:
        return F.losses() if self._waiting is None else super()._losses(F)
