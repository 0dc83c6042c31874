"""Rows of any kind: kept under slots, buffered, sampled."""

from modicum.rows.bottom_k import BottomK
from modicum.rows.buffered import BufferedRows
from modicum.rows.kinds import (
    TARGET_BYTES,
    are_objects,
    as_csr,
    average_bytes,
    bytes_of,
    bytes_with_target,
    equal_rows,
    is_sparse,
    is_table,
    n_rows,
    take,
    take_all,
)
from modicum.rows.rows import DenseRows, ObjectRows, Rows, RowsOf, SparseRows
from modicum.rows.slots import find_slots, put_values
from modicum.rows.table_rows import TableRows  # files refer to it by name

__all__ = [
    "TARGET_BYTES",
    "BottomK",
    "BufferedRows",
    "DenseRows",
    "ObjectRows",
    "Rows",
    "RowsOf",
    "SparseRows",
    "TableRows",
    "are_objects",
    "as_csr",
    "average_bytes",
    "bytes_of",
    "bytes_with_target",
    "equal_rows",
    "find_slots",
    "is_sparse",
    "is_table",
    "n_rows",
    "put_values",
    "take",
    "take_all",
]
