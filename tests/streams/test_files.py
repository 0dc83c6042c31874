"""Which files of a folder, a glob or several paths are read, and as what."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import modicum.streams
from modicum.exceptions import DataError, DataWarning
from modicum.streams import Paths, stream
from modicum.streams.readers import open_reader
from modicum.streams.readers.columns import Wanted


def write(folder, **files: str) -> None:
    """Files with these names and contents; __ stands for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def read(source) -> list[float]:
    return np.concatenate([chunk.X for chunk in stream(source)]).ravel().tolist()


def skipped(source) -> list[str]:
    return open_reader(source, Wanted()).skipped


def error(source) -> str:
    with pytest.raises(DataError) as caught:
        list(stream(source))
    return str(caught.value)


def test_paths_are_read_in_the_given_order(tmp_path):
    for name, value in {"a": 1, "b": 2, "c": 3}.items():
        (tmp_path / name).mkdir()
        write(tmp_path / name, y__csv=f"x\n{value}5\n", x__csv=f"x\n{value}0\n")
    paths = Paths(tmp_path / "c", f"{tmp_path}/a/*.csv", f"{tmp_path}/b/y.csv")
    assert read(paths) == [30, 35, 10, 15, 25]
    assert stream(paths).take([4, 0])["x"].to_pylist() == [25, 30]
    assert stream(paths).description == "1 column of 3 sources (c, ...)"
    assert stream(Paths(f"{tmp_path}/b")).name == f"{tmp_path}/b"
    assert "Paths" in modicum.streams.__all__


def test_paths_of_arrays(tmp_path):
    for name in "ab":
        np.savez(tmp_path / f"{name}.npz", X=np.eye(2), Z=np.eye(3))
    both = Paths(f"{tmp_path}/a.npz:X", f"{tmp_path}/b.npz:X")
    assert stream(both).n_rows == 4
    assert "a.npz (npz, array X) and " in error(Paths(f"{tmp_path}/a.npz:X", f"{tmp_path}/b.npz:Z"))


def test_a_file_named_twice_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a__csv="x\n1\n", b__csv="x\n2\n")
    with pytest.warns(DataWarning, match=r"^b\.csv \(and 1 more\) is named more than once, and read once\.$") as caught:
        assert read(Paths("b.csv", "*.csv", tmp_path / "a.csv")) == [2, 1]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(Paths("b.csv", "a.csv")) == [2, 1]


def test_paths_must_be_of_one_format(tmp_path):
    write(tmp_path, a__csv="x\n1\n", b__tsv="x\n2\n")
    message = error(Paths(tmp_path / "a.csv", tmp_path / "b.tsv"))
    assert message.startswith("2 sources (a.csv, ...): all files must have the same format; got ")
    assert "a.csv (CSV) and " in message
    assert "b.tsv (TSV)" in message


def test_paths_that_are_none():
    for wrong in ([], [["a.csv", "b.csv"]], [3], [""], [b"a.csv"], ["-", "a.csv"]):
        with pytest.raises(DataError, match=r"^Paths: "):
            Paths(*wrong)
    assert "no-such.csv: no such file" in error(Paths("no-such.csv"))


def test_stray_files_of_a_folder_are_skipped(tmp_path):
    write(tmp_path, a__csv="x\n1\n", b__csv="x\n2\n", c__csv="", README__md="x", readme__txt="x", _SUCCESS="")
    write(tmp_path, __DS_Store="x", __a__csv__crc="x", Thumbs__db="x", schema__sql="x")
    assert read(tmp_path) == [1, 2]
    assert sorted(skipped(tmp_path)) == [
        ".DS_Store (hidden)",
        ".a.csv.crc (hidden)",
        "README.md (unknown format)",
        "Thumbs.db (unknown format)",
        "_SUCCESS (hidden)",
        "c.csv (empty)",
        "readme.txt (notes)",
        "schema.sql (unknown format)",
    ]
    assert skipped(f"{tmp_path}/[abc].csv") == ["c.csv (empty)"]
    assert skipped(tmp_path / "a.csv") == []
    assert skipped(np.eye(2)) == []


def test_notes_are_data_in_a_data_format(tmp_path):
    write(tmp_path, notes__csv="x\n1\n", manifest__json="{}", LICENSE__txt="x")
    assert read(tmp_path) == [1]
    assert sorted(skipped(tmp_path)) == ["LICENSE.txt (notes)", "manifest.json (notes)"]


def test_files_that_are_all_empty(tmp_path):
    write(tmp_path, a__csv="", b__csv="")
    assert "a.csv: the file is empty." in error(tmp_path)
    assert "b.csv: the file is empty." in error(tmp_path / "b.csv")


def test_few_files_of_another_format_are_skipped(tmp_path):
    write(tmp_path, **{f"{i:02}__csv": f"x\n{i}\n" for i in range(10)}, other__jsonl='{"x": 1}')
    assert read(tmp_path) == list(range(10))
    assert skipped(tmp_path) == ["other.jsonl (JSON lines)"]
    (tmp_path / "09.csv").unlink()  # now it is one in ten
    message = error(tmp_path)
    assert "00.csv (CSV) and " in message
    assert "other.jsonl (JSON lines). Give a glob such as *.csv." in message


def test_a_folder_of_tables_is_not_searched_below(tmp_path):
    write(tmp_path, a__csv="x\n1\n")
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", b__csv="x\n2\n")
    assert read(tmp_path) == [1]
    (tmp_path / "a.csv").unlink()
    assert "the folder has no files. To include subfolders: " in error(tmp_path)
    assert "only folders match. To read their files: " in error(f"{tmp_path}/b*")
    assert read(f"{tmp_path}/b*/*") == [2]


def test_parts_without_an_ending(tmp_path):
    for i in range(3):
        (tmp_path / f"part-0000{i}").write_text(f"a,b\n{i},1\n{i},2\n")
    (tmp_path / "_SUCCESS").touch()
    assert read(tmp_path) == [0, 1, 0, 2, 1, 1, 1, 2, 2, 1, 2, 2]
    assert stream(f"{tmp_path}/part-*").columns == ["a", "b"]


def saved(write_to):
    def write_file(path) -> None:
        with open(path, "wb") as file:
            write_to(file)

    return write_file


def arrow(path, new) -> None:
    table = pa.table({"x": [1.0, 2.0]})
    with new(str(path), table.schema) as file:
        file.write_table(table)


@pytest.mark.parametrize(
    "write_file",
    [
        lambda path: pa.parquet.write_table(pa.table({"x": [1.0, 2.0]}), path),
        lambda path: arrow(path, pa.ipc.new_file),
        lambda path: arrow(path, pa.ipc.new_stream),
        saved(lambda file: np.save(file, np.array([[1.0], [2.0]]))),
        saved(lambda file: np.savez(file, np.array([[1.0], [2.0]]))),
        lambda path: path.write_text('{"x": 1}\n{"x": 2}\n'),
        lambda path: path.write_text('[{"x": 1}, {"x": 2}]'),
        lambda path: path.write_text("x,text\n1,a\n2,b\n"),
        lambda path: path.write_text('\ufeffx\ttext\n1,"a\tb"\n'.replace(",", "\t") + "2\tb\n"),
        lambda path: path.write_text("0 1:1 # one\n1 1:2\n"),
    ],
)
def test_a_file_of_unknown_ending_is_told_by_its_first_bytes(tmp_path, write_file):
    path = tmp_path / "x.unknown"
    write_file(path)
    chunk = next(iter(stream(path)))
    X = chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X
    np.testing.assert_array_equal(X, [[1], [2]])


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"Dear all,\nthis is\na letter, or two, or\n", b"\0" * 100, b"PK\x03\x04", b"\xff\xfea\0", b"%PDF"],
)
def test_a_file_that_can_not_be_told(tmp_path, data):
    (tmp_path / "x.unknown").write_bytes(data)
    assert "x.unknown: " in error(tmp_path / "x.unknown")


def test_unknown_formats_name_the_known_ones(tmp_path):
    write(tmp_path, x__pdf="%PDF")
    for source in (tmp_path / "x.pdf", tmp_path, f"{tmp_path}/*.pdf"):
        message = error(source)
        assert "x.pdf: unknown format. The name must end in one of: .parquet" in message
        assert "(text formats also with .gz .bz2 .xz .zst)" in message
