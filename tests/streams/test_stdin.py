"""`-` is standard input."""

import io
import subprocess
import sys
import types

import numpy as np
import pyarrow as pa
import pytest

from modicum.exceptions import DataError
from modicum.streams import stream


def feed(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))


def arrow_stream(table: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=777)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow"])
def test_format_is_detected_by_the_first_bytes(monkeypatch, kind):
    a = np.arange(200_000) / 2  # more than the head that is inspected
    text = {
        "csv": lambda: "a,s\n" + "".join(f"{x},u\n" for x in a),
        "jsonl": lambda: "\n" + "".join(f'{{"a": {x}, "s": "u"}}\n' for x in a),
    }
    data = text[kind]().encode() if kind in text else arrow_stream(pa.table({"a": a, "s": ["u"] * len(a)}))
    feed(monkeypatch, data)
    rows = stream("-", target="s", chunk_size=30_000)
    assert (rows.columns, rows.rereadable, rows.description) == (["a"], False, "1 column of standard input")
    chunks = list(rows)
    assert [len(chunk) for chunk in chunks] == [30_000] * 6 + [20_000]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]).ravel(), a)
    assert set(chunks[-1].y) == {"u"}
    with pytest.raises(DataError, match="standard input can be read only once"):
        list(rows)


def test_errors_name_the_row(monkeypatch):
    feed(monkeypatch, b"a\n" + b"1\n" * 600_000 + b"x\n")
    with pytest.raises(DataError, match=r"standard input: data row 600,001, column 'a'.*'x'"):
        list(stream("-"))


def test_passes_are_refused(monkeypatch):
    feed(monkeypatch, b"a\n1\n")
    with pytest.raises(DataError, match="passes=2"):
        stream("-", passes=2)


def test_a_pipe_that_is_left_early_does_not_hang():
    code = "from modicum.streams import stream; print(len(next(iter(stream('-', chunk_size=10)))))"
    text = "a,b\n" + "1,2\n" * 1_000_000
    run = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr, run.returncode) == ("10\n", "", 0)
