"""Compressed files and standard input, whatever their names are."""

import bz2
import gzip
import io
import lzma
import sys
import types

import numpy as np
import pyarrow as pa
import pytest

from modicum.exceptions import DataError
from modicum.streams import stream
from modicum.streams.readers.bytes_in import COMPRESSIONS, decompressed

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}
CSV = b"a,b\n" + b"".join(b"%d,%f\n" % (i, i / 7) for i in range(5_000))
ROWS = np.loadtxt(io.BytesIO(CSV), delimiter=",", skiprows=1)


def read(source) -> np.ndarray:
    return np.concatenate([chunk.X for chunk in stream(source)])


class Pipe(io.RawIOBase):
    """Bytes that come a few at a time and can't be read again."""

    def __init__(self, data: bytes, step: int):
        self._data, self._step = io.BytesIO(data), step

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        return self._data.readinto(memoryview(buffer)[: self._step])


def feed(monkeypatch, data: bytes, step: int = 1_000) -> None:
    pipe = io.BufferedReader(Pipe(data, step))
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=pipe))


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.csv.zst", "x", "x.data"])
@pytest.mark.parametrize("kind", COMPRESS)
def test_the_first_bytes_decide_not_the_name(tmp_path, kind, name):
    (tmp_path / name).write_bytes(COMPRESS[kind](CSV))
    np.testing.assert_array_equal(read(tmp_path / name), ROWS)


@pytest.mark.parametrize("kind", COMPRESS)
def test_parts_one_after_the_other_are_one_file(tmp_path, kind):
    half = CSV.index(b"\n", len(CSV) // 2) + 1
    (tmp_path / "x.csv").write_bytes(COMPRESS[kind](CSV[:half]) + COMPRESS[kind](CSV[half:]))
    np.testing.assert_array_equal(read(tmp_path / "x.csv"), ROWS)


@pytest.mark.parametrize("step", [1, 7, 1_000])
@pytest.mark.parametrize("kind", COMPRESS)
def test_standard_input_may_be_compressed(monkeypatch, kind, step):
    data = CSV[: CSV.index(b"\n", 2_000) + 1]
    feed(monkeypatch, COMPRESS[kind](data), step)
    np.testing.assert_array_equal(read("-"), ROWS[: data.count(b"\n") - 1])


def test_plain_text_named_gz_is_read(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(CSV)
    np.testing.assert_array_equal(read(tmp_path / "x.csv.gz"), ROWS)


@pytest.mark.parametrize("share", [0.3, 0.999])
@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("line", ["x.csv", "x.jsonl", "x.json", "x.svm"])
def test_cut_off(tmp_path, line, kind, share):
    text = {"x.csv": b"%d,1\n", "x.jsonl": b'{"a": %d}\n', "x.json": b'{"a": %d},\n', "x.svm": b"1 1:%d\n"}[line]
    noise = np.random.default_rng(0).integers(0, 10**9, 20_000)
    data = COMPRESS[kind](b"[" * (line == "x.json") + b"".join(text % x for x in noise))
    (tmp_path / line).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(DataError, match=rf"{line}: ([Cc]ompressed file ended|Truncated compressed)"):
        read(tmp_path / line)


@pytest.mark.parametrize("kind", COMPRESS)
def test_cut_off_on_standard_input(monkeypatch, kind):
    data = COMPRESS[kind](CSV)
    feed(monkeypatch, data[: len(data) // 2])
    with pytest.raises(DataError, match=r"standard input: (Compressed file ended|Truncated compressed)"):
        read("-")


@pytest.mark.parametrize("kind", COMPRESS)
def test_damaged(tmp_path, kind):
    data = bytearray(COMPRESS[kind](CSV))
    data[len(data) // 2 : len(data) // 2 + 50] = bytes(50)
    (tmp_path / "x.csv").write_bytes(data)
    with pytest.raises(DataError, match=r"x\.csv: "):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize("mark", COMPRESSIONS)
def test_plain_bytes_are_left_alone(mark):
    for n in range(len(mark)):
        for plain in (mark[:n], mark[:n] + b"other"):
            assert decompressed(io.BufferedReader(Pipe(plain, 1))).read() == plain
            assert decompressed(io.BytesIO(plain)).read() == plain


def test_input_starts_where_it_is_not_at_its_beginning():
    file = io.BytesIO(b"a line that the shell has read\na,b\n1,2\n")
    file.readline()
    assert decompressed(file).read() == b"a,b\n1,2\n"


def test_parquet_inside_gzip_is_refused(tmp_path):
    for name in ("x.parquet.gz", "x.data"):
        (tmp_path / name).write_bytes(gzip.compress(b"PAR1\x15\0\0\0\xff"))
        with pytest.raises(DataError, match=f"{name}: unknown format"):
            stream(tmp_path / name)
