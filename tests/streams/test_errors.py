"""Errors name the file, row, column and value, and the remedy."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from modicum.exceptions import DataError
from modicum.streams import stream


def error(source, **options) -> str:
    with pytest.raises(DataError) as caught:
        list(stream(source, **options))
    return str(caught.value)


MANY = 300_000  # rows that reach beyond the first MiB, from which types are inferred


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("x.csv", "a,b\n1,2\n3,\n", "x.csv: data row 2, column 'b': missing value."),
        ("x.csv", "a,b\n1,2\nNaN,3\n", "x.csv: data row 2, column 'a': missing value."),
        ("x.csv", "1,2\n3,\n", "x.csv: data row 2, column '1': missing value."),
        ("x.csv", "a,b\n1,2\n3,4\nx1,5\n", "x.csv: data row 3, column 'a': 'x1' is not a number"),
        ("x.csv", "a,b\n1,2\n3\n", "x.csv: data row 2: Expected 2 columns, got 1: 3"),
        ("x.csv", "1,2\n3,4,5\n", "x.csv: data row 2: Expected 2 columns, got 3: 3,4,5"),
        ("x.csv", "a,b\n" + "1,2\n" * MANY + "1,y\n", "data row 300,001, column 'b': "),
        ("x.csv", "a,b\n" + "1,2\n" * MANY + "1,y\n", "'y'"),
        ("x.csv", "a,b\n" + "1,2\n" * MANY + "1\n", "data row 300,001: Expected 2 columns, got 1: 1"),
        ("x.csv", "a,b\nu,v\n", "no column for X is numeric: a (string), b (string)."),
        ("x.csv", "", "x.csv: the file is empty."),
        ("x.csv", "a,b\n", "x.csv: no row below the header has its 2 columns."),
        ("x.csv", "a,b\n1,2\n3,inf\n", "x.csv: data row 2, column 'b': inf is not a finite number."),
        ("x.csv", "a" * 2**21, "x.csv: the first line is longer than 1 MiB."),
        ("x.csv", "a" * 2**18 + ",b\n1,2\n", "x.csv: the first line can't be read as CSV: field larger than"),
        ("x.csv", "a,b\n" + "1,x\n" * 9 + "1," + "x" * 2**24 + "\n", "x.csv: a row is longer than 4 MiB."),
        ("x.csv", 'a,b\n1,"x\n2,y\n', "x.csv: a quote at the start of a cell is never closed"),
        ("x.csv", "a,b\n1,\0\n", "x.csv: it contains NUL bytes"),
        ("x.jsonl", '{"a":1} {"a":2}\n', "x.jsonl: data row 1: expected a JSON object; got"),
        (
            "x.jsonl",
            '{"a":1}\n{"a":1,"b":' + "[" * 65 + "]" * 65 + "}\n",
            "x.jsonl: data row 2: objects and lists are nested more than 64 deep.",
        ),
        ("x.jsonl", "".join(f'{{"k{i}":1}}\n' for i in range(9_000)), "9,000 objects with 9,000 different keys"),
        ("x.jsonl", '{"a":1}\n{"a":"' + "x" * 2**24, "x.jsonl: a line is longer than 4 MiB."),
        ("x.svm", "1 1000000000:1\n", "x.svm: data row 1: column numbers may be at most 16,777,216; got 1000000000."),
        ("x.svm", "1 1:inf\n", "x.svm: data row 1, column 0: inf is not a finite number."),
        ("x.jsonl", "\n \n", "x.jsonl: the file is empty."),
        ("x.jsonl", '{"a":1}\n\n{"b":2}\n', "x.jsonl: data row 2, column 'a': missing value."),
        (
            "x.jsonl",
            '{"a":1}\n{"a":"u"}\n',
            "x.jsonl: data row 2, column 'a': 'u' is text; expected a number.",
        ),
        ("x.jsonl", '{"a":1}\n{"a":\n', "x.jsonl: data row 2: expected a JSON object; got '{\"a\":'."),
        ("x.jsonl", "[1, 2]\n", "x.jsonl: data row 1: expected a JSON object"),
        (
            "x.jsonl",
            '{"a":1}\n' * MANY + '{"a":true}\n',
            "data row 300,001, column 'a': True is true or false",
        ),
        (
            "x.jsonl",
            '{"a":1}\n' * MANY + '{"a":null}\n',
            "data row 300,001, column 'a': missing value.",
        ),
        ("x.svm", "1 1:2\n1 2:nan\n", "x.svm: data row 2, column 1: missing value."),
        ("x.svm", "nan 1:2\n", "x.svm: data row 1, column 'label': missing value."),
        ("x.svm", "# c\n1 1:2\n\n1 2:1 z\n", "x.svm: data row 2: expected column:value; got 'z'."),
        (
            "x.svm",
            "1 1:2\n1 2:1 1:1\n",
            "x.svm: data row 2: Feature indices in SVMlight/LibSVM data file should be sorted",
        ),
        ("x.svm", "1 1:2\none 2:1\n", "x.svm: data row 2: could not convert string to float: b'one'"),
        ("x.parquet", "a,b\n1,2\n", "x.parquet: Parquet magic bytes not found"),
        ("x.arrow", "a,b\n1,2\n", "x.arrow: "),
        ("x.npy", "a,b\n1,2\n", "x.npy: can't be read as a .npy file of numbers"),
        ("x.dat", "one\ntwo\n", "x.dat: unknown format. The name must end in one of: .parquet"),
    ],
)
def test_text(tmp_path, name, text, where):
    (tmp_path / name).write_text(text)
    message = error(tmp_path / name)
    assert message.startswith(str(tmp_path))
    assert where in message


def test_rows_are_counted_within_the_file(tmp_path):
    (tmp_path / "1.csv").write_text("a\n1\n2\n3\n")
    (tmp_path / "2.csv").write_text("a\n1\nz\n3\n")
    assert "2.csv: data row 2, column 'a': " in error(tmp_path)
    assert "'z'" in error(tmp_path)
    (tmp_path / "2.csv").write_text("b\n1\n")
    assert "2.csv: no column 'a', which the first file has." in error(tmp_path)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_cells_of_tables(tmp_path, missing):
    table = pa.table({"a": [1.0] * 40 + [missing], "b": [1.0] * 41, "s": ["u"] * 40 + [None]})
    pa.parquet.write_table(table.slice(0, 10), tmp_path / "0.parquet")
    pa.parquet.write_table(table.slice(10), tmp_path / "1.parquet", row_group_size=7)
    for options in ({}, {"columns": "b", "target": "a"}, {"columns": "b", "weight": "a"}, {"start": 25}):
        message = error(tmp_path, chunk_size=5, **options)
        what = "target" if "target" in options else "value"
        assert f"1.parquet: data row 31, column 'a': missing {what}." in message
    assert "column 's': missing target" in error(tmp_path, columns="b", target="s")
    assert "a DataFrame: data row 41, " in error(pl.from_arrow(table))
    assert "a DataFrame: data row 41, " in error(table.to_pandas())


def test_missing_cells_of_npy_files(tmp_path):
    X = np.zeros((100, 3), np.float32)
    X[57, 2] = np.nan
    np.save(tmp_path / "x.npy", X)
    assert "x.npy: data row 58, column 2: missing value." in error(tmp_path / "x.npy", chunk_size=10)
    assert len(list(stream(tmp_path / "x.npy", columns=[0, 1]))) == 1


def test_labels_of_npy_files_are_checked_too(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [3.0, np.nan]]))
    for option in ("target", "weight"):
        what = "target" if option == "target" else "value"
        assert f"data row 2, column 1: missing {what}" in error(tmp_path / "x.npy", **{option: 1})


@pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.gz", "x.svm.gz"])
def test_files_cut_short(tmp_path, name):
    noise = np.random.default_rng(0).random(200_000)
    line = {"x.csv.gz": "%s,1\n", "x.jsonl.gz": '{"a": %s}\n', "x.svm.gz": "1 1:%s\n"}[name]
    whole = gzip.compress("".join(line % x for x in noise).encode(), 1)
    (tmp_path / name).write_bytes(whole[: len(whole) * 3 // 4])
    assert f"{name}: Compressed file ended before" in error(tmp_path / name)


def test_a_column_asked_for_must_be_numeric(tmp_path, table):
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    assert "x.parquet: column 'text' is string, not a number. Leave it out" in error(tmp_path, columns="a,text")
    assert "column 'text' is string" in error(tmp_path, weight="text")


def test_files_of_a_folder_must_agree(tmp_path, table):
    pa.parquet.write_table(table, tmp_path / "0.parquet")
    pa.parquet.write_table(table.drop("b"), tmp_path / "1.parquet")
    assert "1.parquet: no column 'b', which the first file has." in error(tmp_path)
    pa.parquet.write_table(table.set_column(1, "b", table["text"]), tmp_path / "1.parquet")
    assert "1.parquet: column 'b' is string" in error(tmp_path)
    np.save(tmp_path / "2.npy", np.eye(2))
    assert "must have the same format; got" in error(tmp_path)
    np.save(tmp_path / "3.npy", np.eye(3))
    assert "3.npy: 3 columns; expected 2." in error(f"{tmp_path}/*.npy")


def test_nothing_there(tmp_path):
    assert "no such file" in error(tmp_path / "x.csv")
    assert "no file matches" in error(f"{tmp_path}/*.csv")
    assert "the folder has no files" in error(tmp_path)
    assert "can't read rows from int" in error(3)


def test_columns_that_are_named_twice(tmp_path):
    table = pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"])
    assert "2 columns are named 'a'" in error(table, columns="a")
    assert "2 columns are named 'a'" in error(table)


def test_npz_lists_its_arrays(tmp_path):
    np.savez(tmp_path / "x.npz", train=np.eye(2), test=np.eye(3), y=np.ones(3))
    message = error(tmp_path / "x.npz")
    assert "2 of its arrays are 2-D" in message
    assert "it has: train, test, y." in message
    assert "no array 'X'" in error(f"{tmp_path}/x.npz:X")
    assert stream(f"{tmp_path}/x.npz:test").n_rows == 3
    assert "shape (3,)" in error(f"{tmp_path}/x.npz:y")
    assert "no such file" in error(f"{tmp_path}/y.npz:y")


def test_arrays_must_be_tables_of_numbers():
    assert "got shape (3,). Use reshape(-1, 1)" in error(np.zeros(3))
    assert "got shape (3, 2, 2). Use reshape" in error(np.zeros((3, 2, 2)))
    assert "must be numbers; got <U1" in error(np.array([["a", "b"]]))
    assert "could not convert string to float: 'a'" in error(np.array([["a", 1]], dtype=object))
    assert "must be numbers; got complex128" in error(np.eye(2) * 1j)
    assert "0 columns; expected at least one" in error(np.zeros((3, 0)))
    assert "no column is left for X" in error(np.zeros((3, 1)), target=0)
    assert "a list of numbers is not a list of rows" in error([1, 2, 3])
    assert "not a table with columns" in error(pd.Series([1.0]))
    assert "at least one column; got none" in error(np.eye(2), columns=[])


def test_target_arrays_must_fit():
    assert "target has shape (3,); expected (2,)" in error(np.eye(2), target=np.zeros(3))
    assert "weight has shape (2, 2); expected (2,)" in error(np.eye(2), weight=np.eye(2))
    assert "weights must be numbers" in error(np.eye(2), weight=["u", "v"])
    assert "target must be the name or position of a column, or an array; got True" in error(np.eye(2), target=True)
    assert "target='y' names a column, but objects have no columns" in error(["a"], target="y")


def test_chunks_must_agree():
    assert "a list, chunk 3: 3 columns, but the first chunk had 2." in error([np.eye(2), np.eye(2), np.eye(3)])
    assert "chunk 2: list, but the first chunk was ndarray" in error([np.eye(2), ["a"]])
    assert "chunk 2: y must be in every chunk or in none" in error([(np.eye(2), [0, 1]), np.eye(2)])
    assert "chunk 1: y has shape (3,), but X has 2 rows" in error(iter([(np.eye(2), [0, 1, 2])]))
    assert "chunk 2: expected a 2-D array, a list, or a pair (X, y); got 1-D ndarray" in error((np.eye(2), np.ones(2)))
    assert "chunk 1: expected a 2-D array, a list, or a pair (X, y); got str" in error(iter(["u", "v"]))
    assert "already have a target" in error([(np.eye(2), [0, 1])], target=0)
    assert "objects have no columns" in error(iter([["a"]]), columns=[0])


@pytest.mark.parametrize("cell", [b"\xff", b"1\xff5"])
def test_a_column_with_broken_bytes_is_not_left_out(tmp_path, cell):
    rows = [b"%d,%d" % (i, i) for i in range(500)]
    rows[250] = b"250," + cell
    (tmp_path / "x.csv").write_bytes(b"\n".join([b"a,b", *rows]))
    assert "x.csv: data row 251, column 'b': " in error(tmp_path / "x.csv")
    assert "is not UTF-8 text. Correct it, or choose other columns" in error(tmp_path / "x.csv")
    chosen = stream(tmp_path / "x.csv", columns="a")
    assert sum(len(chunk) for chunk in chosen) == 500
    assert "\ufffd" in chosen.take([250])["b"].to_pylist()[0]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "this is UTF-16 text. Save it as UTF-8."),
        ("größe,b\n1,2\n".encode("latin1"), "the first line is not UTF-8 text."),
        (b"PK\x03\x04", "this is a zip file."),
    ],
)
def test_files_that_are_not_utf8_text(tmp_path, data, what):
    (tmp_path / "x.csv").write_bytes(data)
    assert f"x.csv: {what}" in error(tmp_path / "x.csv")


def test_columns_left_out_are_known(table):
    assert stream(table).left_out == {"text": "string"}
    assert stream(table, target="text").left_out == {}
    assert stream(table, columns="a").left_out == {}


def test_an_array_of_a_npz_file_has_a_gib_at_most(tmp_path, monkeypatch):
    np.savez(tmp_path / "x.npz", X=np.eye(2), other=np.ones(9))
    monkeypatch.setattr("modicum.streams.readers.array_files.MOST_BYTES", 31)
    assert "x.npz: 32 bytes, but arrays in .npz files may have at most 1 GiB." in error(tmp_path / "x.npz")
    monkeypatch.setattr("modicum.streams.readers.array_files.MOST_BYTES", 32)
    assert stream(tmp_path / "x.npz").n_rows == 2
