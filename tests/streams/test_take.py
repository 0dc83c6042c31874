"""Rows by number, with all columns of the source."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from modicum.exceptions import DataError
from modicum.streams import stream

ORDERS = [[5, 999, 5, 0, 1_002, 300], [1_002], list(range(1_003)), []]


def numbers(rows) -> np.ndarray:
    """The numeric columns of what `take` gave."""
    if isinstance(rows, pa.Table):
        return np.column_stack([rows[name].to_numpy() for name in rows.column_names[:4]])
    return rows.toarray() if scipy.sparse.issparse(rows) else np.asarray(rows)


@pytest.mark.parametrize("order", ORDERS, ids=["some", "last", "all", "none"])
def test_rows_come_in_the_order_asked_for(source, values, order):
    rows = stream(source, columns=[1] if not isinstance(source, list) else None, chunk_size=64).take(order)
    np.testing.assert_array_equal(numbers(rows).reshape(len(order), -1 if order else 4), values[order])
    if isinstance(rows, pa.Table) and "text" in rows.column_names:
        assert rows["text"].to_pylist() == [f"row {i}" for i in order]


def test_rows_taken_are_the_rows_given(source):
    rows = stream(source, chunk_size=100, shuffle_buffer=300, random_state=0)
    chunk = next(iter(rows))
    X = chunk.X.toarray() if scipy.sparse.issparse(chunk.X) else chunk.X
    np.testing.assert_array_equal(numbers(rows.take(chunk.row_ids)), X)


def test_rows_that_are_not_there(source):
    with pytest.raises(DataError, match=r"no row 1,003 \(counted from 0\)"):
        stream(source).take([3, 1_003])
    with pytest.raises(DataError, match="row numbers start at 0; got -1"):
        stream(source).take([-1])


def test_objects():
    assert stream(["a", "b", "c"]).take([2, 0, 2]) == ["c", "a", "c"]
    assert stream([["a", "b"], ["c"]]).take(np.array([1])) == [["c"]]


def test_nested_text_of_polars(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "tags": [["u"], ["v", "w"]], "who": [{"name": "x"}, {"name": "y"}]})
    frame.write_ipc(tmp_path / "x.arrow")
    for source in (frame, tmp_path / "x.arrow"):
        assert stream(source).take([1]).to_pylist() == [{"a": 2, "tags": ["v", "w"], "who": {"name": "y"}}]


def test_text_formats_give_the_types_of_their_cells(tmp_path):
    (tmp_path / "x.csv").write_text(
        "id,price,name,when,gap\n7,1,u,2024-01-02,\n8,2,v,2024-01-03,3\n9,2.5,,2024-01-04,\n"
    )
    taken = stream(tmp_path / "x.csv", columns="price").take([2, 0])
    assert taken.drop("when").to_pylist() == [
        {"id": 9, "price": 2.5, "name": None, "gap": None},
        {"id": 7, "price": 1.0, "name": "u", "gap": None},
    ]
    assert taken["id"].type == pa.int64()
    assert pa.types.is_date(taken["when"].type)
    (tmp_path / "x.jsonl").write_text('{"a": 1, "tags": ["u"]}\n{"a": 2, "more": {"k": 1}}\n')
    taken = stream(tmp_path / "x.jsonl").take([1, 0])
    assert taken.to_pylist()[1] == {"a": 1, "tags": ["u"], "more": None}
    assert stream(tmp_path / "x.jsonl").take([0]).to_pylist() == [{"a": 1, "tags": ["u"], "more": None}]


def test_whole_numbers_beyond_the_first_rows_do_not_stop_take(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 300_000 + "1,2.5\n")
    assert stream(tmp_path / "x.csv", columns="a").take([300_000]).to_pylist() == [{"a": 1, "b": 2.5}]
