"""Text files and folders of images are tables of one column of strings."""

import gzip
import os

import numpy as np
import pyarrow as pa
import pytest

from modicum.exceptions import DataError
from modicum.streams import Paths
from modicum.streams.readers.bytes_in import ByteSource
from modicum.streams.readers.files import find_files
from modicum.streams.readers.images import Images
from modicum.streams.readers.lines import Lines


def texts(file, column: str, size: int = 1_000, start: int = 0) -> list[str]:
    return [cell for batch in file.batches(file.schema, start, size) for cell in batch.column(column).to_pylist()]


def taken(file, rows) -> pa.Table:
    found, _ = file.gather(np.array(rows))
    return file.assemble(found)


LINES = [f"line {i}, “quoted”" for i in range(300_000)]  # several blocks


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n \n"])
@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_a_row_per_line(tmp_path, name, end):
    data = ("\ufeff" + end.join(LINES)).encode()
    (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    found = find_files(Paths(tmp_path / name))
    assert found.format.name == "text"
    file = Lines(ByteSource(found.files[0]))
    assert file.schema == pa.schema([("text", pa.string())])
    assert texts(file, "text") == texts(file, "text") == LINES
    assert taken(file, [0, 5, 299_999])["text"].to_pylist() == [LINES[0], LINES[5], LINES[-1]]
    assert taken(file, []).schema == file.schema


def test_lines_that_are_not_text(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"one\n\ntwo\n\xff\xfe three\n")
    file = Lines(ByteSource(tmp_path / "x.txt"))
    for read in (lambda: texts(file, "text"), lambda: taken(file, [0])):
        with pytest.raises(DataError, match=r"x\.txt: data row 3: expected UTF-8 text; got b'\\xff\\xfe three'"):
            read()


@pytest.mark.parametrize(
    ("data", "what"),
    [(b" \n", "the file is empty"), ("a\n".encode("utf-16"), "UTF-16"), (b"a\0\n", "NUL"), (b"PK\x03\x04", "zip")],
)
def test_files_that_are_not_lines(tmp_path, data, what):
    (tmp_path / "x.txt").write_bytes(data)
    with pytest.raises(DataError, match=rf"x\.txt: .*{what}"):
        Lines(ByteSource(tmp_path / "x.txt")).schema  # noqa: B018


def folder_of(folder, *names: str):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return folder


def relative(found, folder) -> list[str]:
    return [os.path.relpath(file, folder) for file in found.files]


def test_images_are_searched_in_subfolders(tmp_path):
    names = ["a.PNG", "b/c.jpeg", "b/d/e.webp", "b/f.TIFF", "z.gif"]
    folder_of(tmp_path, *names, "README.md", ".cache/g.png", "b/Thumbs.db", "_old/h.png", "b/._c.jpeg")
    found = find_files(Paths(tmp_path))
    assert (found.format.name, relative(found, tmp_path)) == ("images", names)
    assert sorted(found.skipped) == [
        "README.md (unknown format)",
        "b/._c.jpeg (hidden)",
        "b/Thumbs.db (unknown format)",
    ]
    file = Images(found.files, "photos")
    field = file.schema.field("path")
    assert (file.n_rows, field.type, field.metadata) == (5, pa.string(), {b"modicum": b"image"})
    assert texts(file, "path", 2) == [f"{tmp_path}/{name}" for name in names]
    assert texts(file, "path", 2, start=3) == [f"{tmp_path}/{name}" for name in names[3:]]
    table = taken(file, [1, 4])
    assert table["path"].to_pylist() == [f"{tmp_path}/b/c.jpeg", f"{tmp_path}/z.gif"]
    assert table.schema.field("path").metadata == {b"modicum": b"image"}
    assert taken(file, [7]).num_rows == 0


def test_images_in_subfolders_alone(tmp_path):
    folder_of(tmp_path, "cats/1.jpg", "dogs/1.jpg", "dogs/labels.csv", "about.md", "cats/2.jpg")
    found = find_files(Paths(tmp_path))
    assert relative(found, tmp_path) == ["cats/1.jpg", "cats/2.jpg", "dogs/1.jpg"]
    assert found.skipped == ["about.md (unknown format)", "dogs/labels.csv (CSV)"]


def test_images_decide_only_if_they_are_most(tmp_path):
    folder_of(tmp_path, "1.csv", "2.csv", "plot.png", "sub/3.png", "sub/4.png", "sub/5.png")
    found = find_files(Paths(tmp_path))
    assert (found.format.name, relative(found, tmp_path)) == ("CSV", ["1.csv", "2.csv"])
    assert found.skipped == ["plot.png (images)"]
    folder_of(tmp_path, "6.png", "7.png")
    assert len(find_files(Paths(tmp_path)).files) == 6


def test_images_by_glob_and_by_name(tmp_path):
    folder_of(tmp_path, "1.png", "2.jpg", "b/3.bmp")
    assert relative(find_files(Paths(f"{tmp_path}/*")), tmp_path) == ["1.png", "2.jpg"]
    assert relative(find_files(Paths(f"{tmp_path}/**/*.bmp", tmp_path / "2.jpg")), tmp_path) == ["b/3.bmp", "2.jpg"]


def test_an_image_with_another_ending_is_still_a_path(tmp_path):
    (tmp_path / "x.jpg").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "y.picture").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert find_files(Paths(tmp_path / "x.jpg", tmp_path / "y.picture")).format.name == "images"


def test_names_that_are_not_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.png"
    with open(path, "wb"):
        pass
    with pytest.raises(DataError, match=r"the name of this file is not UTF-8 text\. Rename it\."):
        Images(find_files(Paths(tmp_path)).files, "photos")
