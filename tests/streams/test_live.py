"""Pipes, growing files and growing folders are read as their rows come."""

import os
import sys
import types

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modicum.exceptions import DataError
from modicum.streams import stream
from modicum.streams.readers import live

pytestmark = pytest.mark.usefixtures("no_waiting")


def csv(rows) -> bytes:
    return b"".join(b"%d,%d\n" % (i, 2 * i) for i in rows)


def jsonl(rows) -> bytes:
    return b"".join(b'{"a": %d, "b": %d}\n' % (i, 2 * i) for i in rows)


def expected(rows) -> list[list[int]]:
    return [[i, 2 * i] for i in rows]


@pytest.mark.parametrize(("head", "text"), [(b"a,b\n", csv), (b"", csv), (b"", jsonl)], ids=["csv", "bare", "jsonl"])
def test_a_chunk_is_what_has_come(pipe, head, text):
    """The writer sends more only after it has seen a chunk of what it sent before."""
    pipe.write(head + text(range(10)))
    chunks = iter(stream("-", chunk_size=100))
    assert next(chunks).X.tolist() == expected(range(10))
    pipe.write(text(range(10, 13)))
    chunk = next(chunks)
    assert chunk.X.tolist() == expected(range(10, 13))
    assert chunk.row_ids.tolist() == [10, 11, 12]
    pipe.write(text(range(13, 263)) + text([263])[:2])  # the last row is not whole yet
    assert [len(next(chunks)) for _ in range(3)] == [100, 100, 50]
    pipe.write(text([263])[2:-1])
    pipe.close()
    assert next(chunks).X.tolist() == expected([263])  # the end of the input ends it
    assert next(chunks, None) is None


def test_an_arrow_stream_is_read_batch_by_batch(pipe):
    batch = pa.record_batch({"a": np.arange(5.0)})
    with pa.ipc.new_stream(pipe, batch.schema) as writer:
        writer.write_batch(batch)
        chunks = iter(stream("-"))
        for _ in range(3):
            assert next(chunks).X.ravel().tolist() == [0, 1, 2, 3, 4]
            writer.write_batch(batch)
        assert next(chunks).X.ravel().tolist() == [0, 1, 2, 3, 4]
    pipe.close()
    assert next(chunks, None) is None


def test_rows_of_errors_are_counted_over_all_that_came(pipe):
    pipe.write(b"a,b\n" + csv(range(10)))
    chunks = iter(stream("-"))
    next(chunks)
    pipe.write(b"\n\n")
    pipe.write(csv(range(4)) + b"x,3\n")
    with pytest.raises(DataError, match=r"standard input: data row 15, column 'a'.*'x'"):
        list(chunks)


def test_a_quoted_cell_may_come_in_pieces(pipe):
    pipe.write(b'a,s\n1,"x"\n2,"y\n')
    chunks = iter(stream("-", target="s"))
    assert next(chunks).y.tolist() == ["x"]
    pipe.write(b'y ""z"" y"\n3,t\n')
    assert next(chunks).y.tolist() == ['y\ny "z" y', "t"]
    pipe.write(b'4,"never closed\n')
    pipe.close()
    with pytest.raises(DataError, match="never closed"):
        list(chunks)


CELLS = st.text(st.sampled_from('ab"\n,'), max_size=6)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6), st.integers(0, 80))
def test_whole_rows_are_those_that_a_csv_reader_finds(rows, cut):
    import csv as python_csv
    import io

    out = io.StringIO()
    python_csv.writer(out, lineterminator="\n").writerows(rows)
    text = out.getvalue()[:cut]
    lines = [""]
    for row in rows:
        line = io.StringIO()
        python_csv.writer(line, lineterminator="\n").writerow(row)
        lines.append(lines[-1] + line.getvalue())
    assert live.whole_rows(text.encode(), ",") == max(len(line) for line in lines if len(line) <= len(text))


def test_types_are_not_inferred_from_a_header_alone(pipe, monkeypatch):
    lines = [b"a,b\n", csv([1])]

    def write(wait, descriptor):
        if not live.is_readable(descriptor, 0):
            pipe.write(lines.pop(0))

    monkeypatch.setattr(live.Wait, "until_readable", write)
    assert next(iter(stream("-"))).X.tolist() == expected([1])


def test_a_redirected_file_fills_its_chunks(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_bytes(b"a,b\n" + csv(range(500)))
    with open(tmp_path / "rows.csv", "rb") as file:
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=file))
        rows = stream("-", chunk_size=200)
        assert not rows.live
        assert [len(chunk) for chunk in rows] == [200, 200, 100]


def test_idle_is_called_while_nothing_comes(pipe):
    pipe.write(b"a,b\n" + csv([0]))
    rows = stream("-")
    chunks = iter(rows)
    next(chunks)
    rows.on_idle = lambda: pipe.write(csv([1]))
    assert next(chunks).X.tolist()[0] == [1, 2]


def test_stop_ends_the_wait_and_no_row_is_lost(pipe):
    pipe.write(b"a,b\n" + csv([0]))
    rows = stream("-")
    chunks = iter(rows)
    rows.stop()  # while it does not wait
    assert len(next(chunks)) == 1
    with pytest.raises(live.Stopped):
        next(chunks)


@pytest.mark.parametrize(
    ("name", "head", "text"), [("x.csv", b"a,b\n", csv), ("x.tsv", b"a\tb\n", None), ("x.jsonl", b"", jsonl)]
)
def test_a_growing_file_is_followed(tmp_path, name, head, text):
    text = text or (lambda rows: csv(rows).replace(b",", b"\t"))
    path = tmp_path / name
    path.write_bytes(head + text(range(5)) + text([5])[:2])
    rows = stream(path, follow=True, chunk_size=4)
    chunks = iter(rows)
    assert [len(next(chunks)) for _ in range(2)] == [4, 1]
    with open(path, "ab") as file:
        file.write(text([5])[2:] + text(range(6, 8)))
    assert next(chunks).X.tolist() == expected([5, 6, 7])
    assert rows.take([6, 0])["b"].to_pylist() == [12, 0]
    chunks.close()


def test_a_file_that_shrinks_is_an_error(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + csv(range(5)))
    chunks = iter(stream(path, follow=True))
    next(chunks)
    path.write_bytes(b"a,b\n")
    with pytest.raises(DataError, match=r"x\.csv: 24 bytes of it were read, but now it has 4"):
        next(chunks)


def test_rows_skipped_by_start_are_skipped_in_a_growing_file(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n" + csv(range(10)))
    chunk = next(iter(stream(tmp_path / "x.csv", follow=True, start=7)))
    assert chunk.row_ids.tolist() == [7, 8, 9]


def write_parquet(path, rows):
    pq.write_table(pa.table({"a": np.array(rows, float), "s": ["t"] * len(rows)}), path)


def write_csv(path, rows):
    path.write_text("a,s\n" + "".join(f"{row},t\n" for row in rows))


@pytest.mark.parametrize(("ending", "write"), [("parquet", write_parquet), ("csv", write_csv)])
@pytest.mark.parametrize("pattern", ["", "*"])
def test_new_files_of_a_folder_are_read_after_the_others(tmp_path, ending, write, pattern):
    write(tmp_path / f"b.{ending}", [0, 1])
    write(tmp_path / f"c.{ending}", [2])
    rows = stream(f"{tmp_path}/{pattern}", follow=True)
    chunks = iter(rows)
    assert [next(chunks).X.ravel().tolist() for _ in range(2)] == [[0, 1], [2]]
    write(tmp_path / f"a.{ending}", [3, 4])
    chunk = next(chunks)
    assert (chunk.X.ravel().tolist(), chunk.row_ids.tolist()) == ([3, 4], [3, 4])
    assert [os.path.basename(file)[0] for file in rows.files] == ["b", "c", "a"]
    assert rows.take([4, 2])["a"].to_pylist() == [4, 2]
    chunks.close()
    again = stream(f"{tmp_path}/{pattern}", files=rows.files)
    assert np.concatenate([chunk.X for chunk in again]).ravel().tolist() == [0, 1, 2, 3, 4]


def test_a_folder_may_be_empty_at_first(tmp_path, monkeypatch):
    monkeypatch.setattr(live.Wait, "pause", lambda wait: write_csv(tmp_path / "a.csv", [7, 8]))
    assert next(iter(stream(tmp_path, follow=True))).X.ravel().tolist() == [7, 8]


def test_a_file_is_read_only_when_it_has_stopped_growing(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write_csv(path, [0])
    pauses = []

    def pause(wait):
        pauses.append(path.stat().st_size)
        if len(pauses) < 4:
            write_csv(path, range(len(pauses) + 1))

    monkeypatch.setattr(live.Wait, "pause", pause)
    assert len(next(iter(stream(tmp_path, follow=True)))) == 4
    assert len(pauses) == 4


def test_a_file_of_a_folder_that_changes_after_it_was_read_is_an_error(tmp_path):
    write_csv(tmp_path / "a.csv", [0])
    chunks = iter(stream(tmp_path, follow=True))
    next(chunks)
    write_csv(tmp_path / "a.csv", [0, 1])
    with pytest.raises(DataError, match=r"a\.csv: 8 bytes of it were read, but now it has 12"):
        next(chunks)


def test_what_can_not_be_followed_is_told(tmp_path):
    write_parquet(tmp_path / "a.parquet", [0])
    with pytest.raises(DataError, match=r"a\.parquet: only CSV, TSV, JSON lines and text .* follow the folder"):
        stream(tmp_path / "a.parquet", follow=True)
    with pytest.raises(DataError, match="follow=True needs a file or a folder; got ndarray"):
        stream(np.eye(2), follow=True)
    write_csv(tmp_path / "a.csv", [0])
    with pytest.raises(DataError, match="passes=2 needs one"):
        stream(tmp_path / "a.csv", follow=True, passes=2)


def test_rows_may_be_numbered_from_where_another_source_ended():
    rows = stream(np.eye(3), first_row=10)
    assert next(iter(rows)).row_ids.tolist() == [10, 11, 12]
    assert rows.take([11]).tolist() == [[0, 1, 0]]
    with pytest.raises(DataError, match="row numbers start at 10; got 9"):
        rows.take([9])
