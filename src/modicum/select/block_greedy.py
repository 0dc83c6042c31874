"""BlockGreedy: OnlineGreedy at a cost linear in the number of prototypes (schlegel2017, Algorithms 2 and 3)."""

from typing import Any

import numpy as np

from modicum.rows import n_rows
from modicum.rules.budget import Plan
from modicum.rules.invariants import Is
from modicum.rules.params import NULL, RANDOM_STATE, Int
from modicum.select.blocks import BlockSet
from modicum.select.blocks.diagonal import BlockDiagonal
from modicum.select.blocks.neighbors import Neighbors
from modicum.select.online_greedy import OnlineGreedy
from modicum.select.selector import BUFFERING, FIXED_BYTES


class BlockGreedy(OnlineGreedy):
    """Prototypes of a kernel representation, chosen from a stream at a cost linear in their number.

    Like `OnlineGreedy`, it keeps the rows whose regularized kernel matrix has the largest determinant, but treats that
    matrix as block-diagonal: prototypes are clustered into blocks, and a row is compared with its nearest block only.
    It replaces a prototype there, or joins the block while the least useful prototype of another block leaves,
    whichever raises the estimate more. After every `n_prototypes` new prototypes they are clustered again.

    Guarantee: that of `OnlineGreedy` plus the error of the estimated gains of swaps, see `guarantee`.
    Cost: O(b d + r^2) time per row for b prototypes in blocks of r, O(b d + b r) memory.

    Which to use: `OnlineGreedy` up to a few hundred prototypes, this one beyond, and for kernels that are narrow
    compared with the spread of the rows: where all rows are similar, the matrix is far from block-diagonal.

    Parameters
    ----------
    n_prototypes : int or None, default=200
        Prototypes to keep. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: a number of rows, or a size such as "4 MiB".
    block_size : int or None, default=None
        Prototypes per block on average; estimates are better with larger blocks. None: the square root of their number.
    neighbors : int, default=10
        Number of most similar prototypes that, with its block, determine how useful a prototype is. 0: the block alone,
        as in the paper; this overestimates usefulness, and the determinant stays lower.
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    regularization : float, default=1.0
        The paper's lambda, added to the diagonal of the kernel matrix.
    min_gain : float, default=1e-3
        What a swap must gain, relative to the present log-determinant.
    random_state : int, Generator or None, default=None
        For the means of the first clustering, which are drawn at random.

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    prototype_ids_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The true log-determinant, computed when asked for in O(b^3).
    estimate_ : float
        The estimate used for decisions: the sum over blocks. It is never below `value_`.
    blocks_ : ndarray of shape (b,)
        The block of each prototype.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        `n_seen`, the estimate (`value`) and `swaps` so far.
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
    gain of joining a block lacks the block's own value, and its comparison is inverted: both are corrected; the
    required gain applies to the better of the two exchanges; blocks are clustered in the kernel's feature space, so
    that any kernel on any rows can be used, and hold at most four times their usual size.
    """

    _count_param = None
    _invariants = {"_objective": [BUFFERING, Is(BlockSet, limit="_limit")]}
    _constraints = {
        **{name: rule for name, rule in OnlineGreedy._constraints.items() if name != "min_distance"},
        "block_size": [NULL, Int(1)],
        "neighbors": [Int(0)],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        n_prototypes: int | None = 200,
        *,
        budget: int | str | None = None,
        block_size: int | None = None,
        neighbors: int = 10,
        kernel: Any = "rbf",
        regularization: float = 1.0,
        min_gain: float = 1e-3,
        random_state: Any = None,
    ):
        self.n_prototypes = n_prototypes
        self.budget = budget
        self.block_size = block_size
        self.neighbors = neighbors
        self.kernel = kernel
        self.regularization = regularization
        self.min_gain = min_gain
        self.random_state = random_state

    def _initialize(self, X: Any) -> None:
        super()._initialize(X)
        r = self._size_of_blocks(self._limit)
        self._objective = BlockSet(self._objective.kernel, self.regularization, X, self._limit, r, self.neighbors)

    def _choose_first(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        self._objective.fill(X, self._rng)
        for slot in range(n_rows(X)):
            self._record(slot, row_ids[slot], None if y is None else y[slot])

    def _offer_block(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> int:
        changes = self._objective.offer(X, self.min_gain)
        for i, slot in changes:
            self._record(slot, row_ids[i], None if y is None else y[i])
        return len(changes)

    def _size_of_blocks(self, n_chosen: int) -> int:
        return min(n_chosen, self.block_size or max(1, round(np.sqrt(n_chosen))))

    def _value_now(self) -> float:
        return self._objective.estimate

    @property
    def estimate_(self) -> float:
        F = self._set()
        return F.estimate if self._buffered is None else F.value

    @property
    def blocks_(self) -> np.ndarray:
        if self._buffered is not None:
            return np.zeros(len(self._buffered), np.int64)
        return self._objective.blocks.block_of_slots(self._objective.n_chosen)

    def _plan(self, n_chosen: int, n_validation: int, row_bytes: int) -> Plan:
        blocks = BlockDiagonal.bytes_for(n_chosen, self._size_of_blocks(max(1, n_chosen)))
        return Plan.of(
            n_chosen,
            prototypes=n_chosen * (row_bytes + 16),
            blocks=blocks + Neighbors.bytes_for(n_chosen, self.neighbors) + 8 * n_chosen,
            history_and_scalars=self._kernel_bytes(row_bytes) + FIXED_BYTES,
        )

    def _required_gain(self) -> float:
        return self._objective.required_gain(self.min_gain) if self._buffered is None else 0.0

    def _losses(self, F: Any) -> tuple[float, float]:
        return F.losses() if self._buffered is None else super()._losses(F)
