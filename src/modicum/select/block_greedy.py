"""BlockGreedy: OnlineGreedy with blocks of similar prototypes (schlegel2017, Algorithms 2 and 3)."""

from typing import Any

import numpy as np

from modicum.rows import n_rows
from modicum.rules.budget import Plan
from modicum.rules.invariants import Is
from modicum.rules.params import NULL, RANDOM_STATE, Int
from modicum.select.blocks import BlockSet, ConfirmedSet
from modicum.select.blocks.diagonal import BlockDiagonal
from modicum.select.blocks.neighbors import Neighbors
from modicum.select.online_greedy import OnlineGreedy
from modicum.select.selector import BUFFERING, FIXED_BYTES


class BlockGreedy(OnlineGreedy):
    """Prototypes of a kernel representation, chosen from a stream with less work per row.

    Like `OnlineGreedy`, it keeps the rows whose regularized kernel matrix has the largest determinant, but looks at
    most rows through blocks of similar prototypes: a row is compared with the means of all blocks and with the members
    of the nearest one, and is refused if it can't gain enough. What happens to the others depends on `neighbors`:

    - None: all prototypes are considered for removal, and a swap is made if it gains enough by the full matrix. The
      prototypes are those of `OnlineGreedy`, up to a few ties, in 1 to 5 times its speed.
    - a number: the kernel matrix is treated as block-diagonal, as in the paper, which makes everything linear in the
      number of prototypes. A row replaces a prototype of its block, or joins the block while the least useful prototype
      of another one leaves, whichever raises the estimate more.

    After every `n_prototypes` new prototypes, and sooner when a block is full, they are clustered again.

    Guarantee: that of `OnlineGreedy`, plus the error of the estimated gains of swaps where `neighbors` is a number.
    Cost: O(b d + r^2) time per refused row for b prototypes in blocks of r, and O(b d + b r) memory. With neighbors of
    None the full matrix and its inverse come on top: 16 b^2 bytes (16 MB for 1,000 prototypes, 1.6 GB for 10,000), and
    O(b^2) time per row that is not refused at sight.

    Which to use: the default from 200 prototypes on, up to what memory allows; `OnlineGreedy` below, where blocks don't
    pay. `neighbors=10` for thousands of prototypes, and for kernels that are narrow compared with the spread of the
    rows: where all rows are similar, the matrix is far from block-diagonal.

    Parameters
    ----------
    n_prototypes : int or None, default=200
        Prototypes to keep. None: as many as the budget allows.
    budget : int, str or None, default=None
        Bound on everything held: a number of rows, or a size such as "4 MiB".
    block_size : int or None, default=None
        Prototypes per block on average; estimates are better with larger blocks. None: the square root of their number.
    neighbors : int or None, default=None
        Number of most similar prototypes that, with its block, determine how useful a prototype is. None: all others,
        so that swaps are exact. 0: the block alone, as in the paper; this overestimates usefulness, and the determinant
        stays lower.
    kernel : str, Kernel or callable, default="rbf"
        "rbf" takes the median distance of the first rows as its width; `modicum.kernels.RBF(0.5)` has its own.
    regularization : float, default=1.0
        The paper's lambda, added to the diagonal of the kernel matrix.
    min_gain : float, default=1e-3
        What a swap must gain, relative to the present log-determinant.
    random_state : int, Generator or None, default=None
        For the first means of each clustering, which are drawn at random.

    Attributes
    ----------
    prototypes_ : ndarray of shape (b, d), sparse matrix or list
    prototype_ids_ : ndarray of shape (b,)
        Row ids of the prototypes: positions in the stream unless `row_ids` was given.
    value_ : float
        The true log-determinant; with a number of neighbors, computed when asked for in O(b^3).
    estimate_ : float
        What decides: the value itself, or with a number of neighbors the sum over blocks, which is never below it.
    blocks_ : ndarray of shape (b,)
        The block of each prototype.
    kernel_ : Kernel
        The kernel in use, its parameters filled in.
    targets_ : ndarray of shape (b,) or None
        Targets of the prototypes, if the stream has any.
    history_ : dict of arrays
        `n_seen`, `estimate_` (`value`) and `swaps` so far.
    n_swaps_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import BlockGreedy
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> exact = BlockGreedy(40, random_state=0).fit(X)
    >>> blocks = BlockGreedy(40, block_size=8, neighbors=10, random_state=0).fit(X)
    >>> exact.prototypes_.shape, exact.estimate_ == exact.value_, blocks.estimate_ >= blocks.value_
    ((40, 2), True, True)

    References
    ----------
    schlegel2017, Algorithms 2 and 3, Appendices D to F. arthur2007 (first means). Departures: `neighbors`; the screen
    by the means of blocks; the printed gain of joining a block lacks the block's own value, and its comparison is
    inverted: both are corrected; the required gain applies to the better of the two exchanges; blocks are clustered in
    the kernel's feature space, so that any kernel on any rows can be used, hold at most four times their usual size,
    and are clustered from new means, sooner once one is full. With a number of neighbors, 0 included, two more: the
    required gain is relative to the true log-determinant at the last clustering plus what the estimate has risen by
    since, where the paper has the estimate; and it doubles (down again by half) each time that the swaps between two
    clusterings realized less than a hundredth of their estimated gains, so that equally useful prototypes do not keep
    replacing each other.
    """

    _count_param = None
    _invariants = {"_objective": [BUFFERING, Is(BlockSet, limit="_limit"), Is(ConfirmedSet, limit="_limit")]}
    _constraints = {
        **{name: rule for name, rule in OnlineGreedy._constraints.items() if name != "min_distance"},
        "block_size": [NULL, Int(1)],
        "neighbors": [NULL, Int(0)],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        n_prototypes: int | None = 200,
        *,
        budget: int | str | None = None,
        block_size: int | None = None,
        neighbors: int | None = None,
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
        given = (self._objective.kernel, self.regularization, X, self._limit, r)
        self._objective = ConfirmedSet(*given) if self.neighbors is None else BlockSet(*given, self.neighbors)

    def _choose_first(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> None:
        self._objective.fill(X, self._rng)
        for slot in range(n_rows(X)):
            self._record(slot, row_ids[slot], None if y is None else y[slot])

    def _offer_block(self, X: Any, y: np.ndarray | None, row_ids: np.ndarray) -> int:
        changes = self._objective.offer(X, self.min_gain, self._rng)
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
        return self._objective.block_of_slots()

    def _plan(self, n_chosen: int, n_validation: int, row_bytes: int) -> Plan:
        if self.neighbors is None:
            blocks = ConfirmedSet.bytes_for(n_chosen)
        else:
            blocks = BlockDiagonal.bytes_for(n_chosen, self._size_of_blocks(max(1, n_chosen)))
            blocks += Neighbors.bytes_for(n_chosen, self.neighbors) + 8 * n_chosen
        return Plan.of(
            n_chosen,
            prototypes=n_chosen * (row_bytes + 16),
            blocks=blocks,
            history_and_scalars=self._kernel_bytes(row_bytes) + FIXED_BYTES,
        )

    def _required_gain(self) -> float:
        return self._objective.required_gain(self.min_gain) if self._buffered is None else 0.0

    def _exact_set(self) -> Any:
        F = self._set()
        return F.in_full() if isinstance(F, BlockSet) else F

    def _losses(self, F: Any) -> tuple[float, float]:
        return F.losses() if self._buffered is None else super()._losses(F)
