"""The most similar prototypes of each prototype, which show how useful it is beyond its block."""

from typing import Any

import numpy as np

from modicum._jit import block_greedy as jit
from modicum.kernels import Kernel
from modicum.rows import take
from modicum.rules.invariants import Array
from modicum.state.part import Part


class Neighbors(Part):
    """Up to m neighbors per prototype: their slots (`near`), kernel values with it (`similar`) and `among` themselves.

    `spare` is 1 / (the variance that the neighbors leave of a prototype): the factor of the determinant when it is
    removed, as estimated from them.
    """

    _invariants = {
        "near": Array("int64", "limit", "m", low=0, below="limit"),
        "similar": Array("float64", "limit", "m"),
        "among": Array("float64", "limit", "m", "m"),
        "counts": Array("int64", "limit", low=0, high="m"),
        "spare": Array("float64", "limit"),
    }

    def __init__(self, limit: int, count: int):
        m = min(count, limit - 1)
        self.near = np.zeros((limit, m), np.int64)
        self.similar = np.zeros((limit, m))
        self.among = np.zeros((limit, m, m))
        self.counts = np.zeros(limit, np.int64)
        self.spare = np.zeros(limit)

    @staticmethod
    def bytes_for(limit: int, count: int) -> int:
        m = min(count, max(0, limit - 1))
        return limit * (8 * m * m + 16 * m + 16)

    @property
    def m(self) -> int:
        return self.near.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the loops need."""
        return self.near, self.similar, self.among, self.counts, self.spare

    def rebuild(self, K: np.ndarray, lam: float, floor: float) -> None:
        """Find the neighbors of all prototypes, whose kernel matrix is K."""
        if not self.m:
            return
        others = np.abs(K)
        np.fill_diagonal(others, -1.0)
        self.near[:] = np.sort(np.argpartition(-others, self.m - 1, axis=1)[:, : self.m], axis=1)
        self.similar[:] = np.take_along_axis(K, self.near, axis=1)
        self.among[:] = K[self.near[:, :, None], self.near[:, None, :]]
        self.counts[:] = self.m
        for slot in range(len(K)):
            jit.spare_among(slot, K.diagonal(), lam, floor, self.counts, self.similar, self.among, self.spare)

    def replace(
        self, slot: int, k: np.ndarray, kernel: Kernel, rows: Any, own: np.ndarray, lam: float, floor: float
    ) -> None:
        """Another row is in `slot`, k being its kernel values with all prototypes, itself included."""
        if self.m:
            jit.update_neighbors(slot, k, own, lam, floor, *self.arrays)
            self.find(slot, k, kernel, rows, own, lam, floor)

    def find(
        self, slot: int, k: np.ndarray, kernel: Kernel, rows: Any, own: np.ndarray, lam: float, floor: float
    ) -> None:
        """Find the prototypes most similar to the one in `slot`."""
        others = np.abs(k)
        others[slot] = -1.0
        near = np.sort(np.argpartition(-others, self.m - 1)[: self.m])
        near_rows = take(rows, near)
        self.near[slot], self.similar[slot], self.counts[slot] = near, k[near], self.m
        self.among[slot] = kernel(near_rows, near_rows)
        jit.spare_among(slot, own, lam, floor, self.counts, self.similar, self.among, self.spare)
