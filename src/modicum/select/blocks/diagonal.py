"""A block-diagonal kernel matrix whose rows are added, removed and moved (schlegel2017, Algorithms 2 and 3)."""

import numpy as np

from modicum._jit import block_greedy as jit
from modicum.rules.invariants import Array, Real
from modicum.state.part import Part

ROOM = 4  # a block may grow to this many times its usual size: memory stays linear in the number of prototypes


class BlockDiagonal(Part):
    """The kernel matrices of the blocks, and the inverses of the regularized ones.

    `log_det` is the logarithm of the product of their determinants; `within` has the sum of the kernel values inside
    each block.
    """

    _invariants = {
        "log_det": Real(),
        "members": Array("int64", "n_blocks", "room", low=0, below="limit"),
        "sizes": Array("int64", "n_blocks", low=0, high="room"),
        "matrices": Array("float64", "n_blocks", "room", "room"),
        "inverses": Array("float64", "n_blocks", "room", "room"),
        "within": Array("float64", "n_blocks"),
    }

    def __init__(self, limit: int, block_size: int):
        n_blocks, room = _shape(limit, block_size)
        self.log_det = 0.0
        self.members = np.zeros((n_blocks, room), np.int64)
        self.sizes = np.zeros(n_blocks, np.int64)
        self.matrices = np.zeros((n_blocks, room, room))
        self.inverses = np.zeros((n_blocks, room, room))
        self.within = np.zeros(n_blocks)

    @staticmethod
    def bytes_for(limit: int, block_size: int) -> int:
        n_blocks, room = _shape(limit, block_size)
        return n_blocks * (16 * room * room + 8 * room + 16)

    @property
    def capacity(self) -> int:
        """Prototypes that a block has room for."""
        return self.members.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the loops need to change blocks."""
        return self.members, self.sizes, self.matrices, self.inverses, self.within

    def block_of_slots(self, count: int) -> np.ndarray:
        """The block of each of `count` prototypes."""
        block_of = np.zeros(count, np.int64)
        for block, size in enumerate(self.sizes):
            block_of[self.members[block, :size]] = block
        return block_of

    def precisions(self, count: int) -> np.ndarray:
        """1 / (the variance that the others of its block leave of it), for each of `count` prototypes."""
        out = np.zeros(count)
        for block, size in enumerate(self.sizes):
            out[self.members[block, :size]] = self.inverses[block, :size, :size].diagonal()
        return out

    def take_out(self, block: int, index: int) -> None:
        """Remove the prototype at an index of a block."""
        self.log_det += jit.remove_member(block, index, *self.arrays)

    def put_in(self, block: int, slot: int, k: np.ndarray, own: float, lam: float, floor: float) -> None:
        """Add a row with kernel values k against all slots to a block, under `slot`."""
        self.log_det += jit.add_member(block, slot, k, own, lam, floor, *self.arrays)

    def rebuild(self, K: np.ndarray, block_of: np.ndarray, lam: float, floor: float) -> None:
        """Compute every block from the kernel matrix of the prototypes."""
        self.sizes[:], self.within[:], self.log_det = 0, 0.0, 0.0
        for slot, block in enumerate(block_of):
            self.put_in(block, slot, K[slot], K[slot, slot], lam, floor)


def _shape(limit: int, block_size: int) -> tuple[int, int]:
    """Number of blocks, and room in each."""
    return max(1, limit // block_size), min(limit, ROOM * block_size)
