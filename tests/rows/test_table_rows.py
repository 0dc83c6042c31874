"""Kept rows of Arrow tables."""

import numpy as np
import pyarrow as pa
import pytest

from messy import orders
from modicum.rows.table_rows import TableRows, _to_bytes


@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_bytes_are_those_of_the_saved_stream(count):
    table = pa.Table.from_pandas(orders(400), preserve_index=False)
    rows = TableRows(table)
    rows.put(np.arange(count), table.slice(50, count))
    assert rows.nbytes == len(_to_bytes(rows.values)) == rows._fields()["_blob"].nbytes
    rows.keep(np.arange(0, count, 2))
    assert rows.nbytes == len(_to_bytes(rows.values))
