"""The first rows of a stream, which balls are initialised with."""

from typing import Any

import numpy as np

from modicum.rows import Rows, RowsOf, n_rows, put_values
from modicum.rules.invariants import ABSENT, Array, Whole
from modicum.state.part import Part

ROW_NUMBERS = 16  # bytes beside each row: its code and its weight
RARE = 0.1  # a class is rare if it has less than this share of an even share of the rows
WAIT = 16  # times as many rows as balls are initialised with are held while a class is rare: then 80 of 1%


class FirstRows(Part):
    """All rows so far with codes and weights, held until there are `limit` of them (a power of two, or the next below).

    Each time their number has doubled, balls are initialised with all of them again: a ball that learned them one by
    one would always depend on their order. While a class is rare, rows are held until there are `room` of them. Balls
    are then initialised with `limit` rows, taken from the classes in turn, and learn the others one by one. Otherwise
    a ball would already be too large for rows of the rare class to be outside.
    """

    _invariants = {
        "rows": RowsOf("n", most=lambda its: max(its["limit"], its["room"])),
        "codes": Array("int64", "n", low=0, below="n_classes"),
        "weights": Array("float64", "n", above=0.0),
        "limit": Whole(2),
        "room": [ABSENT, Whole("limit")],
    }
    room = 0  # rows that are held while a class is rare; 0 in states of versions that did not wait

    def __init__(self, like: Any, limit: int, room: int):
        self.rows = Rows.like(like, room)
        self.codes = np.empty(0, np.int64)
        self.weights = np.empty(0)
        self.limit = limit
        self.room = room

    def __len__(self) -> int:
        return len(self.codes)

    def append(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        slots = np.arange(len(self), len(self) + n_rows(X))
        self.rows.put(slots, X)
        self.codes = put_values(self.codes, slots, codes)
        self.weights = put_values(self.weights, slots, weight)

    def are_complete(self, n_classes: int) -> bool:
        """Whether there is no room for twice as many; while one of the known classes is rare, there is more of it."""
        counts = np.bincount(self.codes, minlength=max(2, n_classes))  # a single class is no problem yet
        return 2 * len(self) > (max(self.limit, self.room) if is_rare(counts) else self.limit)

    @property
    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows to initialise with, and of the others; both in the order of the stream."""
        if len(self) <= self.limit:
            return np.arange(len(self)), np.empty(0, np.intp)
        turns = np.empty(len(self), np.intp)  # how many rows of the same class are before each row
        for code in np.unique(self.codes):
            own = np.flatnonzero(self.codes == code)
            turns[own] = np.arange(len(own))
        order = np.argsort(turns, kind="stable")
        return np.sort(order[: self.limit]), np.sort(order[self.limit :])

    @staticmethod
    def size(room: int, row_bytes: int) -> int:
        """The most bytes held, of dense rows."""
        return room * (row_bytes + ROW_NUMBERS) + 16


def is_rare(counts: np.ndarray) -> bool:
    """Whether the rarest of these classes is rare."""
    return bool(len(counts) * counts.min() < RARE * counts.sum())
