"""Columns of X, y and weight: which ones, their names and dtypes, and what is read for them."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from modicum.exceptions import DataError, MissingExtraError
from modicum.streams import stream


def one(source, **options):
    """All rows as one chunk."""
    (chunk,) = stream(source, chunk_size=10_000, **options)
    return chunk


TABULAR = ["pandas", "polars", "arrow table", "parquet folder", "arrow", "arrow stream", "csv", "tsv", "jsonl"]


@pytest.mark.parametrize("source", TABULAR, indirect=True)
def test_tables_know_their_columns(source, values):
    rows = stream(source, target="b", weight=0, columns=["d", "c"])
    assert rows.columns == ["d", "c"]
    assert [name for name in rows.table_columns if name != "key"] == ["a", "b", "c", "d", "text"]
    with pytest.raises(DataError, match=r"no column 'bb'\. Did you mean 'b'"):
        stream(source, target="bb")


@pytest.mark.parametrize("source", TABULAR, indirect=True)
@pytest.mark.parametrize("columns", [["d", "c"], "d, c", [3, 2], np.array([3, 2])])
def test_columns_come_in_the_order_asked_for(source, values, columns):
    chunk = one(source, columns=columns, target="b", weight="a")
    np.testing.assert_array_equal(chunk.X, values[:, [3, 2]])
    np.testing.assert_array_equal(chunk.y, values[:, 1])
    np.testing.assert_array_equal(chunk.sample_weight, values[:, 0])


@pytest.mark.parametrize("source", TABULAR, indirect=True)
def test_by_default_all_numbers_but_target_and_weight(source, values):
    rows = stream(source, target="c", weight="a")
    assert rows.columns == ["b", "d"]
    chunk = next(iter(rows))
    np.testing.assert_array_equal(chunk.X, values[:, [1, 3]])
    np.testing.assert_array_equal(chunk.sample_weight, values[:, 0])
    assert chunk.sample_weight.dtype == np.float64


@pytest.mark.parametrize("source", TABULAR, indirect=True)
def test_target_of_text(source):
    y = one(source, target="text").y
    assert y[[0, 500, 1_002]].tolist() == ["row 0", "row 500", "row 1002"]


@pytest.mark.parametrize(
    "source", ["array", "csr", "tensor", "npy glob", "sparse npz", "chunks in a list", "sparse chunks"], indirect=True
)
def test_columns_of_arrays_are_positions(source, values):
    chunk = one(source, columns="3,1", target=-4, weight=2)
    X = chunk.X.toarray() if scipy.sparse.issparse(chunk.X) else chunk.X
    np.testing.assert_array_equal(X, values[:, [3, 1]])
    np.testing.assert_array_equal(chunk.y, values[:, 0])
    np.testing.assert_array_equal(chunk.sample_weight, values[:, 2])
    with pytest.raises(DataError, match=r"no column 'price'. Its columns have no names, only positions: 0 to 3"):
        one(source, columns=["price"])


def test_svmlight_label_is_y_and_columns_fix_the_width(tmp_path):
    (tmp_path / "x.svm").write_text("1 qid:7 1:2 3:4 # first\n-1 2:5\n")
    plain = one(tmp_path / "x.svm")
    assert plain.X.toarray().tolist() == [[2, 0, 4], [0, 5, 0]]
    assert plain.y.tolist() == [1, -1]
    assert plain.X.indices.dtype == np.int32
    assert one(tmp_path / "x.svm", columns=range(6)).X.shape == (2, 6)
    assert one(tmp_path / "x.svm", columns="2,0").X.toarray().tolist() == [[4, 2], [0, 0]]
    (tmp_path / "x.svm").write_text("1 0:2 3:4\n-1 2:5\n")
    assert one(tmp_path / "x.svm").X.toarray().tolist() == [[2, 0, 0, 4], [0, 0, 5, 0]]
    with pytest.raises(DataError, match="only its label, which is y"):
        stream(tmp_path / "x.svm", target="label")


NARROW = [np.float32, np.float16, np.bool_, np.int8, np.uint8, np.int16, np.uint16]
WIDE = [np.float64, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("dtype", NARROW + WIDE)
def test_float32_where_it_is_exact(dtype, tmp_path):
    expected = np.float32 if dtype in NARROW else np.float64
    values = np.array([[0, 1], [1, 1]], dtype)
    columns = {"a": values[:, 0], "b": values[:, 1]}
    np.save(tmp_path / "x.npy", values)
    pa.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    sources = [values, tmp_path / "x.npy", tmp_path / "x.parquet", pd.DataFrame(columns), [values]]
    for source in sources:
        X = one(source).X
        assert X.dtype == expected
        np.testing.assert_array_equal(X, values)
    if dtype != np.float16:
        assert one(pl.DataFrame(columns)).X.dtype == expected
        assert one(scipy.sparse.csc_array(values)).X.dtype == expected


def test_one_wide_column_makes_all_wide(tmp_path):
    narrow, wide = pa.table({"a": np.ones(2, np.float32)}), pa.table({"a": np.full(2, 1 / 3)})
    pa.parquet.write_table(narrow, tmp_path / "0.parquet")
    pa.parquet.write_table(wide, tmp_path / "1.parquet")
    X = one(tmp_path).X  # the second file decides
    assert X.dtype == np.float64
    assert X.ravel().tolist() == [1, 1, 1 / 3, 1 / 3]


def test_labels_keep_their_type(tmp_path):
    (tmp_path / "x.csv").write_text("a,y,z\n1,0,true\n2,1,false\n")
    assert one(tmp_path / "x.csv", target="y").y.dtype == np.int64
    assert one(tmp_path / "x.csv", target="z").y.tolist() == [True, False]
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": pd.Categorical(["u", "v"])})
    assert one(frame, target="y").y.tolist() == ["u", "v"]


def test_dates_in_text_are_labels_as_written(tmp_path):
    (tmp_path / "x.csv").write_text("a,day\n1,2024-01-02\n2,2024-01-03\n")
    assert one(tmp_path / "x.csv", target="day").y.tolist() == ["2024-01-02", "2024-01-03"]


def test_decimals_are_numbers():
    prices = pa.array([Decimal("1.25"), Decimal("2.50")])
    assert one(pa.table({"a": prices})).X.tolist() == [[1.25], [2.5]]


def test_whole_numbers_may_turn_into_others_later(tmp_path):
    n = 300_000  # the file is longer than the head from which types are inferred
    for name, line in (("x.csv", "%s,1\n"), ("x.jsonl", '{"a": %s, "b": 1}\n')):
        header = "a,b\n" if name == "x.csv" else ""
        (tmp_path / name).write_text(header + line % 1 * n + line % 2.5)
        last = list(stream(tmp_path / name))[-1]
        assert last.row_ids[-1] == n
        assert last.X[-1].tolist() == [2.5, 1]


def test_csv_quotes_blank_lines_and_byte_order_mark(tmp_path):
    (tmp_path / "x.csv").write_bytes('\ufeff"a, b",c,d\n\n1,"two\nlines","x, ""y"""\n2,z,\n'.encode())
    rows = stream(tmp_path / "x.csv")
    assert rows.columns == ["a, b"]
    assert [chunk.X.tolist() for chunk in rows] == [[[1], [2]]]
    assert rows.take([0]).to_pylist() == [{"a, b": 1, "c": "two\nlines", "d": 'x, "y"'}]


def test_index_of_a_frame_is_not_a_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index([7, 8], name="key"))
    frame.to_parquet(tmp_path / "x.parquet")
    for source in (frame, tmp_path / "x.parquet"):
        assert stream(source).columns == ["a"]
        assert one(source, columns=["key"]).X.tolist() == [[7], [8]]


def test_only_the_chosen_columns_are_read(tmp_path):
    """The bytes of the other column are destroyed, so that any attempt to read it fails."""
    noise = np.random.default_rng(0).random(1_000)
    table = pa.table({"a": np.arange(1_000.0), "b": noise})
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(table, path, compression="none", use_dictionary=False)
    column = pa.parquet.ParquetFile(path).metadata.row_group(0).column(1)
    data = bytearray(path.read_bytes())
    data[column.data_page_offset : column.data_page_offset + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"x\.parquet"):
        one(path)
    assert one(path, columns="a").X.ravel().tolist() == list(range(1_000))


def test_resuming_skips_row_groups_unread(tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(
        pa.table({"a": np.random.default_rng(0).random(1_000)}), path, row_group_size=100, use_dictionary=False
    )
    page = pa.parquet.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[page : page + 50] = b"\xff" * 50
    path.write_bytes(data)
    assert sum(map(len, stream(path, chunk_size=50, start=100))) == 900
    assert len(stream(path).take([999, 100])) == 2
    with pytest.raises(DataError):
        list(stream(path, chunk_size=50, start=99))


def test_descriptions(tmp_path, table):
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    assert stream(np.zeros((2_000, 3))).description == "2,000 rows x 3 columns of an array"
    assert stream(tmp_path / "x.parquet").description == f"1,003 rows x 4 columns of {tmp_path}/x.parquet"
    assert stream(f"{tmp_path}/*.parquet", passes=2).description.endswith("/*.parquet, 2 passes")
    assert stream(iter([])).description == "rows of a list_iterator"
    assert stream(["a"]).description == "1 row of a list of objects"
    assert repr(stream(["a"])) == "<Stream: 1 row of a list of objects>"


KNOWN = {
    "array",
    "csr",
    "tensor",
    "rows in a list",
    "pandas",
    "polars",
    "arrow table",
    "npy",
    "npz",
    "parquet",
    "arrow",
}


@pytest.mark.parametrize("source", sorted(KNOWN | {"parquet folder", "svmlight", "feather"}), indirect=True)
def test_length_is_known_beforehand(source):
    rows = stream(source, passes=3)
    assert (rows.n_rows, rows.total) == (1_003, 3_009)


@pytest.mark.parametrize("source", ["csv", "jsonl", "arrow stream", "chunks in a list", "data loader"], indirect=True)
def test_length_is_not_known_beforehand(source):
    rows = stream(source, passes=3)
    assert (rows.n_rows, rows.total) == (None, None)
    with pytest.raises(DataError, match="target can be an array only if the number of rows is known in advance"):
        stream(source, target=np.zeros(1_003))


def test_pairs_and_triples_bring_y_and_weight():
    X, y, weight = np.eye(4), np.array(list("abca")), np.array([1, 2, 3, 4])
    chunk = one(iter([(X[:1], y[:1], weight[:1]), (X[1:], y[1:], weight[1:])]))
    assert chunk.y.tolist() == list("abca")
    assert chunk.sample_weight.tolist() == [1, 2, 3, 4]
    words = one(iter([(["u", "v"], [0, 1]), (["w"], [1])]))
    assert (words.X, words.y.tolist()) == (["u", "v", "w"], [0, 1, 1])


def test_lists_of_objects_stay_lists():
    for objects in (["a", "bc"], [("a", 1), ("b", 2)], [[1, 2], [3]], [{1}, {2}], [None], [b"x"]):
        assert objects == one(objects).X
    assert one(np.array(["a", "b"])).X == ["a", "b"]
    assert one([[1, 2], [3, 4]]).X.tolist() == [[1, 2], [3, 4]]


def test_import_is_light_and_pyarrow_is_asked_for_by_name():
    code = """
import sys
import modicum.streams
heavy = {"scipy", "pyarrow", "pandas", "polars", "sklearn", "numba"} & set(sys.modules)
assert not heavy, heavy
sys.modules["pyarrow"] = None
for source in ("x.parquet", "x.csv"):
    open(source, "w").close()
    try:
        modicum.streams.stream(source)
    except ImportError as error:
        print(error)
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert 'reading Parquet needs pyarrow. Install it with: pip install "modicum[cli]"' in run.stdout
    assert "reading CSV needs pyarrow" in run.stdout


def test_a_frame_without_pyarrow_says_what_is_missing(monkeypatch):
    frame = pd.DataFrame({"a": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="reading data frames needs pyarrow"):
        stream(frame)


def _raw(folder, *tables):
    folder.mkdir()
    for i, columns in enumerate(tables):
        pa.parquet.write_table(pa.table(columns), folder / f"{i}.parquet")
    return stream(folder, raw=True)


def test_raw_columns_have_a_type_for_all_files(tmp_path):
    rows = _raw(tmp_path / "ints", {"n": [1, 2], "e": pa.nulls(2)}, {"e": ["x"], "n": [1.5], "more": [0]})
    read = pa.concat_tables(chunk.X for chunk in rows)
    assert read["n"].to_pylist() == rows.take([0, 1, 2])["n"].to_pylist() == [1.0, 2.0, 1.5]
    assert read["e"].to_pylist() == rows.spread(10)["e"].to_pylist() == [None, None, "x"]
    assert any(note.endswith("are left out: more") for note in rows.notes)


def test_raw_columns_without_a_common_type_are_refused(tmp_path):
    rows = _raw(tmp_path / "words", {"a": [1.0], "b": [1]}, {"a": ["word"], "b": [1]})
    for read in (lambda: list(rows), lambda: rows.spread(10)):
        with pytest.raises(DataError, match=r"1\.parquet: column 'a' is string, but double in the first file"):
            read()
    with pytest.raises(DataError, match="can't be read as one table"):
        stream(tmp_path / "words", columns=["b"]).take([0, 1])


def test_a_raw_column_with_a_name_for_places_is_refused_and_two_are_noted(tmp_path):
    (tmp_path / "t.csv").write_text("_file,a\nx,1\ny,2\n")
    with pytest.raises(DataError, match=r"a column is named '_file', which is for the places of rows. Rename it"):
        stream(tmp_path / "t.csv", raw=True)
    (tmp_path / "t.csv").write_text("_file,_row\nx,1\ny,2\n")
    assert "column _file" in " ".join(stream(tmp_path / "t.csv", raw=True).notes)


def test_a_later_csv_file_without_a_column_is_named(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "2.csv").write_text("a\n1\n2\n")
    for raw in (True, False):
        with pytest.raises(DataError, match=r"2\.csv: no column 'b', which the first file has"):
            list(stream(tmp_path, raw=raw))


class TestUnlabelled:
    """Rows of which some have no target."""

    @pytest.mark.parametrize(
        ("labels", "wanted"),
        [
            ([3, None, 5], [3.0, np.nan, 5.0]),
            ([1.0, None, float("nan")], [1.0, np.nan, np.nan]),
            ([True, None, False], [1.0, np.nan, 0.0]),
            ([Decimal("2.00"), None, Decimal("7.00")], [2.0, np.nan, 7.0]),
            (["cat", None, ""], ["cat", "", ""]),
            ([None, None, None], None),
        ],
    )
    @pytest.mark.parametrize("raw", [False, True])
    def test_tables(self, labels, wanted, raw):
        table = pa.table({"a": [1.0, 2.0, 3.0], "y": labels})
        y = one(table, target="y", unlabelled=True, raw=raw).y
        if wanted is not None:
            np.testing.assert_array_equal(y, wanted)
        assert len(y) == 3

    def test_categories(self):
        table = pa.table({"a": [1.0, 2.0, 3.0], "y": pa.array(["cat", None, "dog"]).dictionary_encode()})
        assert one(table, target="y", unlabelled=True).y.tolist() == ["cat", "", "dog"]

    @pytest.mark.parametrize(("cells", "wanted"), [("3,,5", [3, np.nan, 5]), ("cat,,dog", ["cat", "", "dog"])])
    def test_csv(self, tmp_path, cells, wanted):
        (tmp_path / "x.csv").write_text("a,y\n" + "\n".join(f"{i},{cell}" for i, cell in enumerate(cells.split(","))))
        np.testing.assert_array_equal(one(tmp_path / "x.csv", target="y", unlabelled=True).y, wanted)

    def test_arrays(self, tmp_path):
        np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [3.0, np.nan]]))
        np.testing.assert_array_equal(one(tmp_path / "x.npy", target=1, unlabelled=True).y, [2.0, np.nan])

    def test_other_columns_have_no_gaps(self, tmp_path):
        np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [np.nan, np.nan]]))
        with pytest.raises(DataError, match="column 0: missing value"):
            one(tmp_path / "x.npy", target=1, unlabelled=True)
        np.save(tmp_path / "x.npy", np.array([[1.0, np.nan]]))
        with pytest.raises(DataError, match="column 1: missing value"):
            one(tmp_path / "x.npy", weight=1, unlabelled=True)

    @pytest.mark.parametrize(
        ("labels", "kept"),
        [([3, None, 5], [3, 5]), ([None, "cat", " "], ["cat"]), ([True, None, False], [1, 0]), ([1, 2, 3], [1, 2, 3])],
    )
    @pytest.mark.parametrize("raw", [False, True])
    def test_rows_can_be_left_out(self, labels, kept, raw):
        table = pa.table({"a": [1.0, 2.0, 3.0], "y": labels, "w": [1.0, 2.0, 3.0]})
        rows = stream(table, target="y", weight="w", unlabelled="drop", raw=raw)
        (chunk,) = rows
        assert chunk.y.tolist() == kept
        where = [i for i, label in enumerate(labels) if label not in (None, " ")]
        assert chunk.row_ids.tolist() == where
        assert chunk.sample_weight.tolist() == [i + 1.0 for i in where]
        assert rows.position == 3
        left_out = [(i + 1, "no target") for i in range(3) if i not in where]
        assert [(row, why) for _, row, why in rows.bad_rows.first] == left_out
        assert rows.bad_rows.count == len(left_out)

    def test_rows_of_arrays_can_be_left_out_and_resumed(self):
        X, y = np.arange(20.0)[:, None], np.where(np.arange(20) % 5, np.arange(20.0), np.nan)
        whole = stream(X, target=y, unlabelled="drop", chunk_size=4)
        rest = stream(X, target=y, unlabelled="drop", chunk_size=4, start=8)
        seen = [chunk.row_ids.tolist() for chunk in whole]
        assert seen == [[1, 2, 3], [4, 6, 7], [8, 9, 11], [12, 13, 14], [16, 17, 18, 19]]
        assert [chunk.row_ids.tolist() for chunk in rest] == seen[2:]
        assert whole.bad_rows.count == 4
        assert len(list(stream(X[:4], target=np.full(4, None), unlabelled="drop"))) == 0

    def test_other_values_are_refused(self):
        with pytest.raises(ValueError, match="unlabelled must be True, False or 'drop'; got 'maybe'"):
            stream(np.ones((2, 2)), target=1, unlabelled="maybe")

    def test_the_error_names_the_way_out(self):
        with pytest.raises(DataError, match=r'row 2.*missing target. .*leave them out with unlabelled="drop"'):
            one(pa.table({"a": [1.0, 2.0], "y": [1.0, None]}), target="y")

    def test_without_targets(self, tmp_path):
        (tmp_path / "x.svm").write_text("1 1:2\n-1 2:3\n")
        rows = stream(tmp_path / "x.svm").without_targets()
        (chunk,) = rows
        assert chunk.y is None
        assert (rows.width, rows.n_rows, chunk.X.toarray().tolist()) == (2, 2, [[2, 0], [0, 3]])
