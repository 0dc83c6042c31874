"""URLs are read through fsspec; `memory://` stands for a bucket."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from modicum.exceptions import DataError, MissingExtraError
from modicum.streams import Paths, stream
from modicum.streams.readers import open_reader
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.files import find_files
from modicum.streams.readers.remote import is_url

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket():
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()


def read(source) -> np.ndarray:
    return np.concatenate([chunk.X for chunk in stream(source)])


def error(source) -> str:
    with pytest.raises(DataError) as caught:
        list(stream(source))
    return str(caught.value)


def test_what_is_a_url():
    assert all(map(is_url, ["s3://a/b.csv", "https://a.b/c?d=e", "simplecache::s3://a/b", "memory://x"]))
    assert not any(map(is_url, ["a/b.csv", r"C:\a.csv", "C:/a.csv", "a.npz:X", "//server/x", "x::y.csv", "-"]))


def test_folders_globs_and_files(bucket):
    for i in range(3):
        bucket.pipe(f"/data/{i}.csv", b"x\n%d\n" % i)
    bucket.pipe("/data/README.md", b"x")
    bucket.pipe("/data/3.csv", b"")
    assert read("memory://data").tolist() == [[0], [1], [2]]
    assert open_reader("memory://data", Wanted()).skipped == ["3.csv (empty)", "README.md (unknown format)"]
    assert read("memory://data/[12].csv").tolist() == [[1], [2]]
    assert read(Paths("memory://data/2.csv", "memory://data/0*")).tolist() == [[2], [0]]
    assert stream("memory://data/2.csv").name == "memory://data/2.csv"
    with pytest.warns(UserWarning, match="memory://.*1.csv is named more than once"):
        assert len(read(Paths("memory:///data/1.csv", "memory:///data/*.csv"))) == 3


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "npy", "npz"])
def test_binary_files(bucket, kind):
    X = np.random.default_rng(0).random((1_000, 3))
    table = pa.table(dict(zip("abc", X.T, strict=True)))
    new = {"arrow": pa.ipc.new_file, "arrows": pa.ipc.new_stream}
    with bucket.open(f"/x.{kind}", "wb") as file:
        if kind == "parquet":
            pa.parquet.write_table(table, file, row_group_size=300)
        elif kind in new:
            with new[kind](file, table.schema) as writer:
                writer.write_table(table, max_chunksize=300)
        else:
            (np.save if kind == "npy" else np.savez)(file, X)
    rows = stream(f"memory://x.{kind}", chunk_size=64)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in rows]), X)
    taken = rows.take([700, 3, 4])
    taken = taken if isinstance(taken, np.ndarray) else np.column_stack([taken[name].to_numpy() for name in "abc"])
    np.testing.assert_array_equal(taken, X[[700, 3, 4]])
    resumed = stream(f"memory://x.{kind}", chunk_size=64, start=900)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in resumed]), X[900:])


def test_arrays_stored_by_columns(bucket):
    with bucket.open("/x.npy", "wb") as file:
        np.save(file, np.asfortranarray(np.ones((3, 2))))
    assert "x.npy: it is stored column by column (Fortran order). Download it first." in error("memory://x.npy")


def test_images_keep_their_urls(bucket):
    for name in ("a.png", "below/b.jpg"):
        bucket.pipe(f"/photos/{name}", b"x")
    found = find_files(Paths("memory://photos"))
    assert [*map(str, found.files)] == ["memory:///photos/a.png", "memory:///photos/below/b.jpg"]
    assert all(fsspec.open(str(file)).open().read() == b"x" for file in found.files)


def test_file_urls_are_paths(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text(f"x\n{i}\n")
    for url in (f"file://{tmp_path}", f"file://{tmp_path}/*.csv", Paths(f"file://{tmp_path}/0.csv", f"{tmp_path}/1.*")):
        assert read(url).tolist() == [[0], [1]]
    assert "2.csv: no such file." in error(f"file://{tmp_path}/2.csv")
    (tmp_path / "a b.csv").write_text("x\n5\n")
    assert read(f"file://{tmp_path}/a%20b.csv").tolist() == [[5]]


def test_nothing_there(bucket):
    bucket.pipe("/data/x.csv", b"x\n1\n")
    assert error("memory://data/y.csv") == "memory://data/y.csv: no such file."
    assert error("memory://data/*.parquet") == "memory://data/*.parquet: no file matches."
    assert "Protocol not known: nope" in error("nope://data/x.csv")
    bucket.pipe("/data/x.parquet", b"PAR1")
    assert "memory://data/x.parquet: " in error("memory://data/x.parquet")


@pytest.mark.parametrize("method", ["info", "open"])
def test_a_network_that_does_not_answer(bucket, monkeypatch, method):
    bucket.pipe("/data/x.csv", b"x\n1\n")

    def fail(*args, **options):
        raise ConnectionError("Connection refused\nand much more")

    monkeypatch.setattr(type(bucket), method, fail)
    assert error("memory://data/x.csv") == "memory://data/x.csv: it can't be reached: Connection refused"


def test_a_protocol_whose_package_is_missing(monkeypatch):
    def missing(url, **options):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(MissingExtraError, match=r"^s3://bucket/x.csv: Install s3fs to access S3\.$"):
        stream("s3://bucket/x.csv")


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r'needs fsspec. Install it with: pip install "modicum\[cloud\]"'):
        stream("s3://bucket/x.csv")
