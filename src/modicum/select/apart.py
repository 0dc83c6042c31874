"""Picks that are apart: no two of them within a distance, which leaves out duplicates and near duplicates."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from modicum.numeric.distances import SPARSE_ROUNDING, square_distances, square_norms
from modicum.rows import is_sparse, take

Close = Callable[[Any, Any], np.ndarray]  # rows x rows: whether two rows are too close to be picked both


def within(distance: float) -> Close:
    """Whether rows of numbers are within a Euclidean distance of each other, without loss of digits."""

    def close(A: Any, B: Any) -> np.ndarray:
        if not is_sparse(A):
            return cdist(A, B) <= distance
        rounding = SPARSE_ROUNDING * (square_norms(A)[:, None] + square_norms(B))
        return square_distances(A, B) <= distance**2 + rounding

    return close


def first_apart(X: Any, most: int, close: Close) -> tuple[np.ndarray, np.ndarray]:
    """(first, owners): the first rows of which no two are close, up to `most`, and of each row the one it is close to.

    The owner is a position in `first`, the row's own if it is one of them; -1 for rows that are close to none.
    """
    n = X.shape[0]
    first: list[int] = []
    owners = np.full(n, -1)
    while len(first) < most and (owners < 0).any():
        i = int(np.argmax(owners < 0))
        near = close(take(X, slice(i, i + 1)), X)[0]
        near[i] = True
        owners[near & (owners < 0)] = len(first)
        first.append(i)
    return np.array(first), owners


class ApartBlock:
    """A block of candidates of which only those are chosen that are not close to a chosen row.

    A candidate that is close to exactly one chosen row can still replace that one.
    """

    def __init__(self, block: Any, close: Close):
        self._block = block
        self._close = close
        self.objective = block.objective
        self.candidates = block.candidates
        self._is_close = close(block.candidates, block.objective.chosen.values)  # (B, K)

    def gains(self) -> np.ndarray:
        return np.where(self._is_close.any(axis=1), -np.inf, self._block.gains())

    def gain(self, i: int) -> float:
        return -np.inf if self._is_close[i].any() else self._block.gain(i)

    def swap_gains(self) -> tuple[np.ndarray, np.ndarray]:
        gains, slots = self._block.swap_gains()
        count = self._is_close.sum(axis=1)
        one = np.flatnonzero(count == 1)
        slots[one] = self._is_close[one].argmax(axis=1)
        gains[one] = self._block.gains_of(one, slots[one])
        gains[count > 1] = -np.inf
        return gains, slots

    def swap_gain(self, i: int) -> tuple[float, int]:
        slots = np.flatnonzero(self._is_close[i])
        if len(slots) > 1:
            return -np.inf, int(slots[0])
        if len(slots) == 1:
            return float(self._block.gains_of(np.array([i]), slots)[0]), int(slots[0])
        return self._block.swap_gain(i)

    def first_swap(self, start: int, min_gain: float) -> tuple[int, int] | None:
        """The first candidate from `start` on with a swap that gains more than `min_gain`, and the swap's slot."""
        gains, slots = self.swap_gains()
        found = start + np.flatnonzero(gains[start:] > min_gain)
        return (int(found[0]), int(slots[found[0]])) if len(found) else None

    def add(self, i: int, **kwargs: int) -> int:
        slot = self._block.add(i, **kwargs)
        self._is_close = np.column_stack([self._is_close, self._close_to(i)])
        return slot

    def swap(self, i: int, slot: int, **kwargs: int) -> None:
        self._block.swap(i, slot, **kwargs)
        self._is_close[:, slot] = self._close_to(i)

    def _close_to(self, i: int) -> np.ndarray:
        return self._close(self.candidates, take(self.candidates, slice(i, i + 1)))[:, 0]
