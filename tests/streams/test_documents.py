"""Text files of which each is a document: any names, subfolders, encodings, and files that are no text."""

import gzip
from itertools import islice

import pytest

from modicum.exceptions import DataError
from modicum.streams import Paths, stream
from modicum.streams.readers import documents
from modicum.streams.readers.files import find_files, find_files_so_far


@pytest.fixture
def folder(tmp_path):
    """A folder with ten documents, in subfolders and with names of all kinds."""
    for i in range(10):
        path = tmp_path / "texts" / ["", "a", "a/b"][i % 3] / f"{i}{['', '.txt', '.'][i % 3]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"document {i}\nof two lines")
    return tmp_path / "texts"


def read(source, **options):
    rows = stream(source, documents="files", raw=True, **options)
    return rows, [text for chunk in rows for text in chunk.X["text"].to_pylist()]


def test_a_row_per_file(folder):
    rows, texts = read(folder, chunk_size=3)
    assert (rows.n_rows, rows.table_columns) == (10, ["path", "text"])
    assert sorted(texts) == [f"document {i}\nof two lines" for i in range(10)]
    assert [len(chunk) for chunk in rows] == [3, 3, 3, 1]
    taken = rows.take([7, 2])
    assert taken["text"].to_pylist() == [texts[7], texts[2]]
    assert taken["path"].to_pylist() == [rows.files[7], rows.files[2]]
    assert read(folder, start=6)[1] == texts[6:]
    assert len(rows.spread(4)) >= 4


def test_by_glob_name_and_several(folder):
    assert len(read(f"{folder}/*")[1]) == 4
    assert read(folder / "0")[1] == ["document 0\nof two lines"]
    assert len(read(Paths(folder / "a", folder / "0"))[1]) == 7


def test_files_of_other_formats_are_skipped(folder):
    for name in ("empty.txt", ".hidden", "README.txt"):
        (folder / name).write_text("" if name == "empty.txt" else "x")
    (folder / "picture.png").write_bytes(b"x")
    rows, texts = read(folder)
    assert len(texts) == 10
    assert sorted(rows.skipped) == [
        ".hidden (hidden)",
        "README.txt (notes)",
        "empty.txt (empty)",
        "picture.png (images)",
    ]


def test_compressed_and_old_encodings(tmp_path):
    (tmp_path / "1.txt.gz").write_bytes(gzip.compress("\ufeffnaïve".encode()))
    (tmp_path / "2.txt").write_bytes("café €".encode("cp1252"))
    (tmp_path / "3.txt").write_bytes(b"\x81 no encoding")
    rows, texts = read(tmp_path)
    assert texts == ["naïve", "café €", "\ufffd no encoding"]
    assert rows.notes == [f"2 of 3 files of {tmp_path} are not UTF-8, and read as Windows-1252: {tmp_path / '2.txt'}"]


@pytest.mark.parametrize(
    ("data", "what"),
    [(b"a\0b", "NUL"), ("text".encode("utf-16"), "UTF-16"), (b"PK\x03\x04", "zip"), (b"x" * 99, "64 MiB")],
)
def test_files_that_are_no_text(folder, monkeypatch, data, what):
    monkeypatch.setattr(documents, "LONGEST", 50)
    (folder / "zz.txt").write_bytes(data)
    with pytest.raises(DataError, match=rf"zz\.txt: .*{what}"):
        read(folder)
    rows, texts = read(folder, skip_bad_rows=True)
    assert texts[-1] is None
    assert rows.bad_rows.count == 1
    assert what in rows.bad_rows.first[0][2]


def test_large_documents_are_read_a_few_at_a_time(folder, monkeypatch):
    monkeypatch.setattr(documents, "BYTES_AT_ONCE", 40)
    found = documents.Documents(find_files(Paths(folder), "files").files, "texts")
    assert [len(batch) for batch in found.batches(found.schema, 0, 100)] == [2, 2, 2, 2, 2]


def test_rows_of_other_kinds_are_not_documents(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="documents='files' is an option for text, but this is CSV"):
        read(tmp_path / "t.csv")
    with pytest.raises(DataError, match='documents must be "lines" or "files"; got \'pages\''):
        stream(tmp_path / "t.csv", documents="pages")
    assert find_files_so_far(Paths(tmp_path / "none*"), "files") is None
    with pytest.raises(DataError, match="documents='files' needs files"):
        stream("-", documents="files")


def test_new_files_are_followed(folder):
    rows = stream(folder, documents="files", raw=True, follow=True)
    chunks = islice(rows, 10)
    assert sum(len(chunk) for chunk in chunks) == 10
