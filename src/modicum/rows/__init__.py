"""Rows of any kind: kept under slots, buffered, sampled."""

from modicum.rows.bottom_k import BottomK
from modicum.rows.kinds import are_objects, as_csr, average_bytes, equal_rows, is_sparse, n_rows, take
from modicum.rows.rows import DenseRows, ObjectRows, Rows, RowsOf, SparseRows
from modicum.rows.slots import put_values
from modicum.rows.waiting import Waiting

__all__ = [
    "BottomK",
    "DenseRows",
    "ObjectRows",
    "Rows",
    "RowsOf",
    "SparseRows",
    "Waiting",
    "are_objects",
    "as_csr",
    "average_bytes",
    "equal_rows",
    "is_sparse",
    "n_rows",
    "put_values",
    "take",
]
