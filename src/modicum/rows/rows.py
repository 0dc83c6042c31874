"""Kept rows: containers that grow up to a limit and are then written in place.

Three kinds with the same methods: dense arrays, sparse matrices, and any Python objects. Indices into them are called
slots.
"""

import sys
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from modicum.rows.kinds import as_csr, bytes_of, is_sparse, is_table, n_rows, take
from modicum.rules.invariants import ANYTHING, LIMIT, Array, Bound, Each, Is, Scope, Sparse, Violation, Whole
from modicum.state.part import Part


class Rows(Part):
    """Rows under slots 0 .. len - 1. Subclasses hold them; `like` picks the one that fits an example."""

    kind: ClassVar[str]
    values: Any

    @staticmethod
    def like(X: Any, limit: int) -> "Rows":
        """An empty container for at most `limit` rows such as those of X."""
        if isinstance(X, list):
            return ObjectRows()
        if is_table(X):
            from modicum.rows.table_rows import TableRows

            return TableRows(X)
        return SparseRows(X.dtype, X.shape[1]) if is_sparse(X) else DenseRows(X.dtype, X.shape[1], limit)

    def __len__(self) -> int:
        return n_rows(self.values)

    @abstractmethod
    def put(self, slots: np.ndarray, X: Any) -> None:
        """Put rows of X into the given slots; those from the present length on, in order, are new."""

    def keep(self, slots: np.ndarray) -> None:
        """Drop all other slots; the kept ones are renumbered."""
        self.values = take(self.values, slots)

    @property
    @abstractmethod
    def nbytes(self) -> int: ...


class DenseRows(Rows):
    """Rows of a dense array. The allocation is doubled up to the limit, so growing row by row is cheap."""

    kind = "dense"
    _invariants = {
        "_room": Array("of", "n", "width", finite=False),
        "_count": Whole("n", "n"),
        "_limit": LIMIT,
    }

    def __init__(self, dtype: Any, width: int, limit: int):
        self._room = np.empty((0, width), dtype)
        self._count = 0
        self._limit = limit

    @property
    def values(self) -> np.ndarray:
        return self._room[: self._count]

    def put(self, slots: np.ndarray, X: Any) -> None:
        needed = max(self._count, int(slots.max(initial=-1)) + 1)
        if needed > len(self._room):
            room = np.empty((max(needed, min(2 * needed, self._limit)), self._room.shape[1]), self._room.dtype)
            room[: self._count] = self.values
            self._room = room
        self._room[slots] = X
        self._count = needed

    def keep(self, slots: np.ndarray) -> None:
        self._room = self.values[slots]
        self._count = len(self._room)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes  # plans cover the unused allocation, up to the limit

    def _fields(self) -> dict[str, Any]:
        return {"_room": self.values, "_count": self._count, "_limit": self._limit}


class SparseRows(Rows):
    """Rows of a CSR matrix, which is rebuilt when some change: O(non-zeros) per chunk."""

    kind = "sparse"
    _invariants = {
        "values": Sparse("n", "width", "of"),
    }

    def __init__(self, dtype: Any, width: int):
        self.values = sparse.csr_matrix((0, width), dtype=dtype)

    def put(self, slots: np.ndarray, X: Any) -> None:
        count = len(self)
        order = np.arange(max(count, int(slots.max(initial=-1)) + 1))
        order[slots] = count + np.arange(n_rows(X))
        both = sparse.vstack([self.values, X], format="csr", dtype=self.values.dtype)[order]
        index = np.int32 if max(both.nnz, both.shape[1]) < 2**31 else np.int64  # whatever X has
        indices, indptr = (part.astype(index, copy=False) for part in (both.indices, both.indptr))
        self.values = as_csr(both.data, indices, indptr, both.shape[1])

    @property
    def nbytes(self) -> int:
        return bytes_of(self.values)


class ObjectRows(Rows):
    """Any Python objects. Their size is that of `sys.getsizeof`: a lower bound for nested ones."""

    kind = "objects"
    _invariants = {
        "values": Each(ANYTHING, "n"),
    }

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "ObjectRows":
        same = ObjectRows()
        same.values = list(self.values)  # objects are never changed
        return same

    def put(self, slots: np.ndarray, X: Any) -> None:
        self.values += [None] * (int(slots.max(initial=-1)) + 1 - len(self))
        for slot, value in zip(slots, X, strict=True):
            self.values[slot] = value

    @property
    def nbytes(self) -> int:
        return sum(sys.getsizeof(value) for value in self.values)


class RowsOf(Is):
    """The rule for rows as a learner takes them: of its kind, width and dtype, and finite."""

    def __init__(self, n: Bound, *, most: Bound = None):
        super().__init__(Rows, n=n, width="n_features", of="dtype", at_most={} if most is None else {"n": most})

    def check(self, value: Any, scope: Scope) -> None:
        super().check(value, scope)
        if value.kind != scope["kind"]:
            raise Violation(f"{scope['kind']}; got {value.kind} rows")
        if value.kind == "dense":
            Array("dtype", None, None).check(value.values, scope)
