"""Records: the original rows, with all their columns, of the rows that a learner keeps."""

from typing import Any

import numpy as np

from modicum.rows import Rows, RowsOf, find_slots, put_values, take
from modicum.rules.invariants import Array
from modicum.state.part import Part

KEY_BITS = 40  # of a key: the number of the row; the bits above it say which stream it is from
SHORTEST, LONGEST = 16, 1 << 16  # characters of texts in records that have to be shortened


class Records(Part):
    """Original rows under keys, by which the learner knows them, with the ids that the user gave."""

    _invariants = {"keys": Array("int64", "n"), "ids": Array("int64", "n"), "rows": RowsOf("n")}

    def __init__(self, like: Any):
        self.rows = Rows.like(like, 2**62)
        self.keys = np.empty(0, np.int64)
        self.ids = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.keys)

    def update(self, X: Any, keys: np.ndarray, ids: np.ndarray, kept: np.ndarray) -> bool:
        """Keep the records whose keys are in `kept`, and add those of a chunk; whether there were such."""
        stay = np.flatnonzero(np.isin(self.keys, kept))
        if len(stay) < len(self):
            self._keep(stay)
        new = np.flatnonzero(np.isin(keys, kept) & ~np.isin(keys, self.keys))
        if len(new):
            self._add(take(X, new), keys[new], ids[new])
        return len(new) > 0

    def merge(self, other: "Records", kept: np.ndarray) -> None:
        """Keep the records of both sides whose keys are in `kept`."""
        self.update(other.rows.values, other.keys, other.ids, kept)

    def find(self, keys: np.ndarray) -> tuple[Any, np.ndarray]:
        """The original rows of these keys and the user's ids; nulls or zeros, and -1, for keys without a record."""
        slots = find_slots(self.keys, keys)
        ids = np.where(slots >= 0, self.ids[slots] if len(self) else -1, -1)
        rows = self.rows.values
        if hasattr(rows, "schema"):
            import pyarrow as pa

            return rows.take(pa.array(slots, mask=slots < 0)), ids
        found = np.zeros((len(slots), rows.shape[1]), rows.dtype)
        found[slots >= 0] = rows[slots[slots >= 0]]
        return found, ids

    def ids_of(self, column: np.ndarray) -> np.ndarray:
        """Keys as the user's ids; other numbers as they are."""
        column = np.asarray(column)
        return column if not len(column) or column.max() < 2**KEY_BITS else self.find(column)[1]

    def keys_of(self, ids: np.ndarray, absent: int) -> np.ndarray:
        """Keys of the user's ids, `absent` where there is no record."""
        slots = find_slots(self.ids, ids)
        return np.where(slots >= 0, self.keys[slots], absent) if len(self) else np.full(len(ids), absent)

    def shorten(self, room: int) -> bool:
        """Cut long texts until all records fit into `room` bytes, if that is possible; whether any was cut."""
        limit = LONGEST
        before = self.rows.nbytes
        while self.rows.nbytes > room and limit >= SHORTEST and hasattr(self.rows, "shorten"):
            self.rows.shorten(limit)
            limit //= 2
        return self.rows.nbytes < before

    def _keep(self, slots: np.ndarray) -> None:
        self.rows.keep(slots)
        self.keys, self.ids = self.keys[slots], self.ids[slots]

    def _add(self, X: Any, keys: np.ndarray, ids: np.ndarray) -> None:
        slots = np.arange(len(self), len(self) + len(keys))
        self.rows.put(slots, X)
        self.keys, self.ids = put_values(self.keys, slots, keys), put_values(self.ids, slots, ids)
