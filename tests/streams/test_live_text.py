"""Live sources with all that is known about text: dialects, bad rows, raw tables; and options for text in `stream`."""

import bz2
import gzip
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modicum.exceptions import DataError
from modicum.streams import Paths, stream
from modicum.streams.readers import live

pytestmark = pytest.mark.usefixtures("no_waiting")


class Growing:
    """A file that grows; has the interface of a pipe."""

    def __init__(self, path):
        self.source = str(path)
        path.write_bytes(b"")

    def write(self, data):
        with open(self.source, "ab") as file:
            file.write(data)


@pytest.fixture(params=["pipe", "file"])
def growing(request, tmp_path):
    """Where to write, and the options of `stream` to read it live."""
    if request.param == "file":
        file = Growing(tmp_path / "x.csv")
        return file, {"source": file.source, "follow": True}
    return request.getfixturevalue("pipe"), {"source": "-"}


def blocks(rows: int, bad: int, seed: int = 1) -> list[bytes]:
    """Rows of `;`-separated numbers with decimal commas in several blocks, a few of them bad in one of many ways."""
    rng = np.random.default_rng(seed)
    lines = [f'{i};{i / 8:.3f};"t{i}"'.replace(".", ",") for i in range(rows)]
    wrong = ["1;2", "1;2;3;4", "x;1,5;u", "1;1.5;u", "7;y;v", "\udcff;1,0;x"]
    for i in rng.choice(np.arange(20, rows), bad, replace=False):
        lines[i] = wrong[rng.integers(len(wrong))]
    text = [line.encode("utf-8", "surrogateescape") + b"\n" * rng.integers(1, 3) for line in lines]
    return [b"".join(part) for part in np.array_split(np.array(text, object), 7)]


PREAMBLE = b"\xef\xbb\xbfsep=;\n# made by a program\na;b;t\n"


@pytest.mark.parametrize(
    "options", [{}, {"columns": "b"}, {"target": "t"}, {"raw": True}, {"raw": True, "target": "t"}]
)
def test_live_rows_are_those_of_the_finished_file(tmp_path, growing, options):
    """Dialect, rows left out and their numbers: the same as for a file that is read at once, which is the twin."""
    out, source = growing
    parts = blocks(140, 25)
    (tmp_path / "twin.csv").write_bytes(PREAMBLE + b"".join(parts))
    twin = stream(tmp_path / "twin.csv", skip_bad_rows=True, **options)
    wanted = list(twin)

    out.write(PREAMBLE + parts[0])
    rows = stream(**source, skip_bad_rows=True, **options)
    chunks = iter(rows)
    got = [next(chunks)]
    for part in parts[1:]:
        out.write(part)
        got.append(next(chunks))
    assert sum(map(len, got)) == sum(map(len, wanted)) < 140
    assert rows.bad_rows.count == twin.bad_rows.count > 5
    assert [bad[1:] for bad in rows.bad_rows.first] == [bad[1:] for bad in twin.bad_rows.first]
    assert [note.replace(rows.bad_rows.first[0][0], "") for note in rows.notes] == [
        note.replace(twin.bad_rows.first[0][0], "") for note in twin.notes
    ]
    if "raw" in options:
        tables = [
            pa.concat_tables([chunk.X for chunk in part]).drop(["_file"]).combine_chunks() for part in (got, wanted)
        ]
        assert tables[0].to_pydict() == tables[1].to_pydict()
    else:
        assert np.array_equal(*(np.concatenate([chunk.X for chunk in part]) for part in (got, wanted)))
    if "target" in options:
        assert np.array_equal(*(np.concatenate([chunk.y for chunk in part]) for part in (got, wanted)))
    if rows.rereadable:
        ids = np.arange(3, 100, 9)
        assert rows.take(ids).to_pydict() == twin.take(ids).to_pydict()
    chunks.close()


def test_errors_of_later_parts_name_their_rows(growing):
    out, source = growing
    out.write(b"a;b\n" + b"1;2,5\n" * 10)
    chunks = iter(stream(**source))
    assert next(chunks).X[0].tolist() == [1, 2.5]
    out.write(b"1;2,5\n" * 3 + b"1;2;3\n")
    with pytest.raises(DataError, match=r"data row 14: .*3"):
        [*next(chunks).X, *next(chunks).X]


def test_live_rows_without_header(growing):
    out, source = growing
    out.write(b"1 2\n3   4\n")
    chunks = iter(stream(**source, header=False, delimiter="space"))
    assert next(chunks).X.tolist() == [[1, 2], [3, 4]]
    out.write(b" \t\n 5\t6\n")
    assert next(chunks).X.tolist() == [[5, 6]]
    chunks.close()


def test_parts_without_any_row_that_can_be_read(growing):
    out, source = growing
    out.write(b"a;b\n1;2\n")
    rows = stream(**source, skip_bad_rows=True)
    chunks = iter(rows)
    next(chunks)
    rows.on_idle = lambda: out.write(parts.pop(0)) if parts else None
    parts = [b"1\n2\n", b"\n", b"x;y\n", b"3;4;5\n6;7\n1\n", b"8;z\n9;10\n"]
    assert [next(chunks).X.tolist() for _ in range(2)] == [[[6, 7]], [[9, 10]]]
    assert [row for _, row, _ in rows.bad_rows.first] == [2, 3, 4, 5, 7]
    assert rows.bad_rows.count == 6
    chunks.close()


def test_a_long_header(growing):
    """Longer than what is read at a time, and over several lines."""
    out, source = growing
    names = [f'"{i}\n{"x" * 50}"' for i in range(1000)]
    out.write((",".join(names) + "\n" + ",".join("1" * 1000) + "\n").encode())
    chunks = iter(stream(**source))
    assert next(chunks).X.tolist() == [[1] * 1000]
    out.write((",".join("2" * 1000) + "\n").encode())
    assert next(chunks).X.tolist() == [[2] * 1000]
    chunks.close()


def test_live_columns_as_text(growing):
    out, source = growing
    out.write(b"zip,n\n01234,1\n")
    chunks = iter(stream(**source, raw=True, as_text="zip"))
    assert next(chunks).X["zip"].to_pylist() == ["01234"]
    out.write(b"00012,2\n")
    assert next(chunks).X.to_pydict() | {"_file": 0} == {"zip": ["00012"], "n": [2.0], "_file": 0, "_row": [2]}
    chunks.close()


def test_comments_alone_are_not_enough_to_start_with(tmp_path, monkeypatch):
    file = Growing(tmp_path / "x.csv")
    lines = [b"# one\n", b"# two\n\n", b"a;b\n", b"1;2\n"]
    monkeypatch.setattr(live.Wait, "pause", lambda wait: file.write(lines.pop(0)))
    rows = stream(file.source, follow=True)
    assert next(iter(rows)).X.tolist() == [[1, 2]]
    assert rows.columns == ["a", "b"]


def test_live_json_lines_with_bad_rows(pipe):
    pipe.write(b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')
    rows = stream("-", skip_bad_rows=True)
    chunks = iter(rows)
    assert next(chunks).X.ravel().tolist() == [1, 2]
    pipe.write(b'{"a": 3}\n{"a"\n\n{"a": "u"}\n{"a": 4}\n')
    assert next(chunks).X.ravel().tolist() == [3, 4]
    pipe.write(b"[5]\n")
    pipe.close()
    assert sum(map(len, chunks)) == 0
    assert [row for _, row, _ in rows.bad_rows.first] == [4, 5, 7]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_from_a_pipe_is_waited_for(pipe, monkeypatch, indent):
    text = json.dumps([{"a": i} for i in range(3)], indent=indent).encode() + b"\n"
    pieces = [text[:3], text[3:5], text[5:20], text[20:]]

    def write(wait, descriptor):
        if not live.is_readable(descriptor, 0):
            pipe.write(pieces.pop(0)) if pieces else pipe.close()

    monkeypatch.setattr(live.Wait, "until_readable", write)
    rows = stream("-")
    assert not rows.live
    assert [chunk.X.ravel().tolist() for chunk in rows] == [[0, 1, 2]]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_compressed_pipe_fills_its_chunks(pipe, compress):
    pipe.write(compress(b"a;b\n" + b"1;2\n" * 50) + compress(b"3;4\n" * 50))
    pipe.close()
    rows = stream("-", chunk_size=70)
    assert not rows.live
    assert [len(chunk) for chunk in rows] == [70, 30]


def test_a_growing_text(tmp_path):
    file = Growing(tmp_path / "x.txt")
    file.write(b"\xef\xbb\xbf# one\n\ntwo\nthr")
    rows = stream(file.source, follow=True, raw=True)
    chunks = iter(rows)
    assert next(chunks).X["text"].to_pylist() == ["# one", "two"]
    file.write(b"ee\n")
    chunk = next(chunks).X
    assert (chunk["text"].to_pylist(), chunk["_row"].to_pylist()) == (["three"], [3])
    assert rows.take([2, 0])["text"].to_pylist() == ["three", "# one"]
    file.write(b"\xfc\n")
    with pytest.raises(DataError, match=r"x\.txt: data row 4: expected UTF-8"):
        next(chunks)


def test_json_lines_of_any_name_can_grow(tmp_path):
    file = Growing(tmp_path / "events")
    file.write(b'{"a": 1}\n{"a": 2}\n')
    chunks = iter(stream(file.source, follow=True))
    assert next(chunks).X.ravel().tolist() == [1, 2]
    file.write(b'{"a": 3}\n')
    assert next(chunks).X.ravel().tolist() == [3]
    chunks.close()


def test_what_is_not_in_lines_can_not_grow(tmp_path):
    (tmp_path / "x.json").write_text('[{"a": 1},\n{"a": 2}]\n')
    (tmp_path / "x.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))  # whatever its name is
    for name in ("x.json", "x.csv"):
        with pytest.raises(DataError, match="not compressed can grow"):
            stream(tmp_path / name, follow=True)


def write_csv(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("a;t\n" + "".join(f"{row};{row}\n" for row in rows))


def test_paths_are_followed(tmp_path):
    (tmp_path / "two").mkdir()
    write_csv(tmp_path / "one" / "b.csv", [0, 1])
    write_csv(tmp_path / "three.csv", [2])
    paths = Paths(tmp_path / "one", f"{tmp_path}/two/*.csv", tmp_path / "three.csv", tmp_path / "three.csv")
    rows = stream(paths, follow=True, columns="a")
    chunks = iter(rows)
    assert [next(chunks).X.ravel().tolist() for _ in range(2)] == [[0, 1], [2]]
    write_csv(tmp_path / "two" / "c.csv", [3])
    assert next(chunks).X.ravel().tolist() == [3]
    write_csv(tmp_path / "one" / "a.csv", [4])
    (tmp_path / "one" / "readme.md").write_text("a;b")
    assert next(chunks).X.ravel().tolist() == [4]
    names = ["one/b.csv", "three.csv", "two/c.csv", "one/a.csv"]
    assert [os.path.relpath(file, tmp_path) for file in rows.files] == names
    assert rows.take([4, 2])["a"].to_pylist() == [4, 2]
    chunks.close()
    with pytest.warns(match="named more than once"):
        again = stream(paths, files=rows.files, columns="a")
    assert np.concatenate([chunk.X for chunk in again]).ravel().tolist() == [0, 1, 2, 3, 4]
    resumed = iter(stream(paths, files=rows.files, columns="a", follow=True, start=3))
    assert [next(resumed).X.ravel().tolist() for _ in range(2)] == [[3], [4]]
    resumed.close()


def test_files_of_paths_are_listed(tmp_path):
    write_csv(tmp_path / "b" / "1.csv", [0])
    write_csv(tmp_path / "a.csv", [1])
    paths = Paths(tmp_path / "b", tmp_path / "a.csv")
    assert stream(paths).files == [str(tmp_path / "b" / "1.csv"), str(tmp_path / "a.csv")]
    assert stream(paths, files=[str(tmp_path / "a.csv")]).files[0] == str(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"c\.csv: no such file, but it was read before"):
        stream(paths, files=[str(tmp_path / "c.csv")])


def test_remote_files_are_not_followed(tmp_path):
    write_csv(tmp_path / "a.csv", [1])
    for source in ("s3://bucket/x.csv", Paths(tmp_path / "a.csv", "s3://bucket/*.csv")):
        with pytest.raises(DataError, match=r"^s3://bucket/.*\.csv: only local files can be followed.*[^\n]*$"):
            stream(source, follow=True)
    chunks = iter(stream(f"file://{tmp_path}/a.csv", follow=True))
    assert next(chunks).X.tolist() == [[1, 1]]
    chunks.close()


def test_followed_files_are_raw_tables_with_the_types_of_the_first(tmp_path):
    """A later file may look different by itself: its text like numbers, its numbers like text."""
    (tmp_path / "1.csv").write_text("a;t\n" + "".join(f"{i};x{i}\n" for i in range(30)))
    rows = stream(tmp_path, follow=True, raw=True, skip_bad_rows=True, target="t")
    chunks = iter(rows)
    first = next(chunks).X
    (tmp_path / "2.csv").write_text("t,a\n1,7.5\n2,oops\n3,what\n")
    chunk = next(chunks)
    assert chunk.X.schema.field("t").type == first.schema.field("t").type == pa.string()
    assert chunk.X.to_pydict() == {"a": [7.5], "t": ["1"], "_file": [str(tmp_path / "2.csv")], "_row": [1]}
    assert (rows.target, chunk.y.tolist()) == ("t", ["1"])
    assert rows.bad_rows.count == 2
    assert rows.bad_rows.first[1][:2] == (str(tmp_path / "2.csv"), 3)
    assert rows.take([30])["t"].to_pylist() == ["1"]
    (tmp_path / "3.csv").write_text("a,t\n8,x\n\n9,y\n10\n")
    chunk = next(chunks).X
    assert chunk["_row"].to_pylist() == [1, 2]
    assert rows.bad_rows.count == 3
    chunks.close()


def test_followed_files_of_numbers_keep_their_precision(tmp_path):
    pq.write_table(pa.table({"a": np.ones(2, np.float32)}), tmp_path / "1.parquet")
    chunks = iter(stream(tmp_path, follow=True))
    assert next(chunks).X.dtype == np.float32
    pq.write_table(pa.table({"a": np.array([1 / 3])}), tmp_path / "2.parquet")
    assert next(chunks).X[0, 0] == 1 / 3
    pq.write_table(pa.table({"b": [1.0]}), tmp_path / "3.parquet")
    with pytest.raises(DataError, match=r"3\.parquet: no column 'a'"):
        next(chunks)


def test_images_are_followed(tmp_path):
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    rows = stream(tmp_path, follow=True, raw=True)
    chunks = iter(rows)
    assert next(chunks).X["path"].to_pylist() == [str(tmp_path / "b.png")]
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    chunk = next(chunks)
    assert chunk.X["path"].to_pylist() == chunk.X["_file"].to_pylist() == [str(tmp_path / "a.png")]
    assert chunk.row_ids.tolist() == [1]
    assert rows.take([1])["path"].to_pylist() == [str(tmp_path / "a.png")]
    chunks.close()


def test_a_followed_folder_keeps_its_format(tmp_path):
    write_csv(tmp_path / "a.csv", [0])
    chunks = iter(stream(tmp_path, follow=True))
    next(chunks)
    for i in range(20):
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"{i}.parquet")
    with pytest.raises(DataError, match=r"a\.csv \(CSV\) and .*\.parquet \(Parquet\)"):
        next(chunks)


def test_a_followed_folder_waits_for_a_file_that_can_be_read(tmp_path, monkeypatch):
    (tmp_path / "a.csv.part").write_text("")
    (tmp_path / "a.csv").write_text("")
    monkeypatch.setattr(live.Wait, "pause", lambda wait: write_csv(tmp_path / "a.csv", [5]))
    assert next(iter(stream(tmp_path, follow=True))).X.tolist() == [[5, 5]]


def test_options_for_text(tmp_path):
    write_csv(tmp_path / "1.csv", [1, 2])
    (tmp_path / "2.csv").write_text("a;t\n3;4\n5;6;7\n" + "x;8\n" * 9)
    rows = stream(tmp_path, delimiter=";", header=True, skip_bad_rows=True)
    assert np.concatenate([chunk.X for chunk in rows]).tolist() == [[1, 1], [2, 2], [3, 4]]
    assert rows.bad_rows.count == 10
    assert rows.bad_rows.first[0] == (str(tmp_path / "2.csv"), 2, "expected 2 cells, got 3")
    assert len(rows.bad_rows.first) == 5
    (tmp_path / "3.csv").write_text("1;2\n3;4\n")
    assert stream(tmp_path / "3.csv", header=False, as_text=["0"]).columns == ["1"]
    assert stream(tmp_path / "3.csv", header=True).columns == ["1", "2"]
    assert stream(tmp_path / "1.csv").bad_rows.count == 0
    with pytest.raises(DataError, match=r"as_text must be names of columns; got 0"):
        stream(tmp_path, as_text=[0])
    with pytest.raises(DataError, match="set delimiter where it is created"):
        stream(rows, delimiter=";")


def test_notes_of_all_files_that_were_read(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("a;b\n1,5;2\n2,5;3\n")
    rows = stream(tmp_path)
    assert len(rows.notes) == 1
    list(rows)
    assert [f"{i}.csv are read with a decimal comma" in note for i, note in enumerate(rows.notes)] == [True] * 3
    followed = stream(tmp_path, follow=True)
    chunks = iter(followed)
    for _ in range(3):
        next(chunks)
    assert followed.notes == rows.notes
    chunks.close()


def test_options_that_do_not_apply(tmp_path, pipe):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text('{"a": 1, "b": 2}\n')
    (tmp_path / "x.txt").write_text("a;b\n")
    for name, option in [
        ("x.parquet", {"header": False}),
        ("x.parquet", {"as_text": "a"}),
        ("x.txt", {"header": True}),
    ]:
        with pytest.raises(DataError, match=rf"{name}: .*{next(iter(option))}=\S+ is an option for CSV"):
            stream(tmp_path / name, **option)
    for source in (tmp_path / "x.jsonl", tmp_path / "*.jsonl"):
        for follow in (False, True):
            with pytest.raises(
                DataError, match=r"jsonl: delimiter=';' is an option for CSV, but this is JSON lines\.$"
            ):
                stream(source, delimiter=";", follow=follow)
    with pytest.raises(DataError, match="stream: header=True is an option for CSV, but this is of type ndarray"):
        stream(np.eye(2), header=True)
    pipe.write(b'{"a": 1, "b": 2}\n')
    with pytest.raises(DataError, match=r"standard input: delimiter=';' .* but this is JSON"):
        stream("-", delimiter=";")
    assert len(next(iter(stream(tmp_path / "x.parquet", skip_bad_rows=True)))) == 1


def test_rows_from_all_over_a_source_that_continues_another():
    rows = np.arange(1000.0).reshape(-1, 1)
    assert np.array_equal(stream(rows, first_row=50).spread(100), stream(rows).spread(100))
