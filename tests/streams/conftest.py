"""One table of 1,003 rows in every format that `stream` reads."""

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from modicum.streams import Paths
from modicum.streams.readers import live

N_ROWS = 1_003  # not a multiple of any chunk size in these tests
NAMES = ["a", "b", "c", "d"]

# Multiples of 1/8 are written and read back exactly by all formats; half of them 0, for the sparse ones.
VALUES = np.random.default_rng(7).integers(-40, 40, size=(N_ROWS, 4)) / 8
VALUES[np.random.default_rng(8).random((N_ROWS, 4)) < 0.5] = 0
VALUES[0] = 1 / 8  # a row without zeros: sparse formats see all columns


@pytest.fixture
def values() -> np.ndarray:
    return VALUES


@pytest.fixture
def table() -> pa.Table:
    """The values, with a column of text beside them."""
    columns = dict(zip(NAMES, VALUES.T, strict=True))
    return pa.table({**columns, "text": [f"row {i}" for i in range(N_ROWS)]})


class Tensor:
    """The methods of a torch tensor that a reader uses."""

    def __init__(self, values: np.ndarray):
        self._values = values
        self.ndim, self.shape, self.dtype = values.ndim, values.shape, "torch.float64"

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> np.ndarray:
        return self._values

    def __array__(self, *args: Any) -> np.ndarray:
        raise RuntimeError("can't convert a tensor that requires grad")

    def __getitem__(self, rows: slice) -> "Tensor":
        return Tensor(self._values[rows])


class Loader:
    """Like a torch DataLoader: can be iterated again, yields lists of tensors of different lengths."""

    def __init__(self, values: np.ndarray):
        self._values = values

    def __iter__(self) -> Any:
        for rows in np.split(self._values, [10, 10, 11, 500]):
            yield [Tensor(rows), Tensor(rows[:, 0])]


def _parquet(folder: Path, table: pa.Table) -> Path:
    pa.parquet.write_table(table, folder / "x.parquet", row_group_size=97)
    return folder / "x.parquet"


def _parquet_folder(folder: Path, table: pa.Table) -> Path:
    for i, first in enumerate(range(0, len(table), 401)):
        pa.parquet.write_table(table.slice(first, 401), folder / f"table-{i}.parquet", row_group_size=100)
    (folder / "_SUCCESS").touch()
    return folder


def _arrow(folder: Path, table: pa.Table) -> Path:
    with pa.ipc.new_file(str(folder / "x.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=111)
    return folder / "x.arrow"


def _arrow_stream(folder: Path, table: pa.Table) -> Path:
    with pa.ipc.new_stream(str(folder / "x.arrows"), table.schema) as file:
        file.write_table(table, max_chunksize=111)
    return folder / "x.arrows"


def _feather(folder: Path, table: pa.Table) -> Path:
    pa.feather.write_feather(table, folder / "x.feather", compression="lz4", chunksize=200)
    return folder / "x.feather"


def _csv_text(table: pa.Table, delimiter: str = ",") -> bytes:
    file = io.BytesIO()
    pa.csv.write_csv(table, file, pa.csv.WriteOptions(delimiter=delimiter))
    return file.getvalue()


def _json_text(table: pa.Table) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())


def _json_array(table: pa.Table) -> bytes:
    return json.dumps(table.to_pylist(), indent=1).encode()


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


def _written(name: str, text: Callable[[pa.Table], bytes]) -> Callable[[Path, pa.Table], Path]:
    def write(folder: Path, table: pa.Table) -> Path:
        data = text(table)
        (folder / name).write_bytes(COMPRESS.get(Path(name).suffix, bytes)(data))
        return folder / name

    return write


def _csv_glob(folder: Path, table: pa.Table) -> str:
    for i, first in enumerate(range(0, len(table), 300)):
        (folder / f"table{i}.csv").write_bytes(_csv_text(table.slice(first, 300)))
    (folder / "notes.txt").touch()
    return f"{folder}/table*.csv"


def _paths(folder: Path, table: pa.Table) -> Paths:
    """The last files first: a file, a glob and a folder."""
    (folder / "more").mkdir(exist_ok=True)
    for i, first in enumerate(range(0, len(table), 300)):
        (folder / ("more" if i == 3 else ".") / f"{9 - i}.csv").write_bytes(_csv_text(table.slice(first, 300)))
    return Paths(folder / "9.csv", f"{folder}/8.c*", f"file://{folder}/7.csv", folder / "more")


def _remote_parquet(folder: Path, table: pa.Table) -> str:
    import fsspec

    files = fsspec.filesystem("memory")
    for i, first in enumerate(range(0, len(table), 401)):
        with files.open(f"{folder}/{i}.parquet", "wb") as file:
            pa.parquet.write_table(table.slice(first, 401), file, row_group_size=100)
    return f"memory:/{folder}/*.parquet"


def _remote_json(folder: Path, table: pa.Table) -> str:
    import fsspec

    fsspec.filesystem("memory").pipe(f"{folder}/x.json.gz", gzip.compress(_json_array(table)))
    return f"memory:/{folder}/x.json.gz"


def _npy(folder: Path, table: pa.Table) -> Path:
    np.save(folder / "x.npy", VALUES)
    return folder / "x.npy"


def _npy_glob(folder: Path, table: pa.Table) -> str:
    np.save(folder / "0.npy", VALUES[:500])
    np.save(folder / "1.npy", np.asfortranarray(VALUES[500:]))
    return f"{folder}/*.npy"


def _npz(folder: Path, table: pa.Table) -> Path:
    np.savez_compressed(folder / "x.npz", X=VALUES, y=VALUES[:, 0])
    return folder / "x.npz"


def _sparse_npz(folder: Path, table: pa.Table) -> Path:
    scipy.sparse.save_npz(folder / "s.npz", scipy.sparse.csr_matrix(VALUES))
    return folder / "s.npz"


def _svmlight_text(table: pa.Table) -> bytes:
    file = io.BytesIO()
    dump_svmlight_file(VALUES, VALUES[:, 0], file, zero_based=False)
    return file.getvalue()


def _svmlight_folder(folder: Path, table: pa.Table) -> Path:
    lines = _svmlight_text(table).splitlines(keepends=True)
    (folder / "0.svm").write_bytes(b"# a comment\n" + b"".join(lines[:600]))
    (folder / "1.svm").write_bytes(b"\n" + b"".join(lines[600:]))
    return folder


SOURCES: dict[str, Callable[[Path, pa.Table], Any]] = {
    "array": lambda folder, table: VALUES,
    "fortran array": lambda folder, table: np.asfortranarray(VALUES),
    "tensor": lambda folder, table: Tensor(VALUES),
    "csr": lambda folder, table: scipy.sparse.csr_array(VALUES),
    "coo": lambda folder, table: scipy.sparse.coo_matrix(VALUES),
    "rows in a list": lambda folder, table: VALUES.tolist(),
    "pandas": lambda folder, table: table.to_pandas().set_index(pd.Index(range(5, N_ROWS + 5), name="key")),
    "polars": lambda folder, table: pl.from_arrow(table),
    "arrow table": lambda folder, table: table,
    "record batch": lambda folder, table: table.combine_chunks().to_batches()[0],
    "npy": _npy,
    "npy glob": _npy_glob,
    "npz": _npz,
    "npz by name": lambda folder, table: f"{_npz(folder, table)}:X",
    "sparse npz": _sparse_npz,
    "parquet": _parquet,
    "parquet folder": _parquet_folder,
    "arrow": _arrow,
    "arrow stream": _arrow_stream,
    "feather": _feather,
    "csv": _written("x.csv", _csv_text),
    "csv.gz": _written("x.csv.gz", _csv_text),
    "csv.bz2": _written("x.csv.bz2", _csv_text),
    "csv.zst": _written("x.csv.zst", _csv_text),
    "csv that is xz": _written("x.csv", lambda table: lzma.compress(_csv_text(table))),
    "csv of unknown ending": _written("x.data", _csv_text),
    "paths": _paths,
    "parquet behind a URL": _remote_parquet,
    "json.gz behind a URL": _remote_json,
    "json": _written("x.json", _json_array),
    "json of lines": _written("x.json.xz", _json_text),
    "json of an object": _written("x.json", lambda table: b'{"rows":' + _json_array(table) + b"}"),
    "csv without header": _written("x.csv", lambda table: _csv_text(table.drop("text")).partition(b"\n")[2]),
    "tsv": _written("x.tsv", lambda table: _csv_text(table, "\t")),
    "csv glob": _csv_glob,
    "jsonl": _written("x.jsonl", _json_text),
    "ndjson.gz": _written("x.ndjson.gz", _json_text),
    "svmlight": _written("x.svm", _svmlight_text),
    "libsvm.gz": _written("x.libsvm.gz", _svmlight_text),
    "svmlight folder": _svmlight_folder,
    "chunks in a list": lambda folder, table: np.split(VALUES, [10, 10, 11, 500]),
    "data loader": lambda folder, table: Loader(VALUES),
    "sparse chunks": lambda folder, table: [scipy.sparse.csr_matrix(VALUES[:7]), scipy.sparse.coo_array(VALUES[7:])],
}
ONCE: dict[str, Callable[[Path, pa.Table], Any]] = {
    "generator": lambda folder, table: (VALUES[i : i + 13] for i in range(0, N_ROWS, 13)),
    "generator of pairs": lambda folder, table: (
        (VALUES[i : i + 13], VALUES[i : i + 13, 0]) for i in range(0, 1003, 13)
    ),
    "record batch reader": lambda folder, table: table.to_reader(max_chunksize=50),
}


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path, table: pa.Table) -> Any:
    """A source that can be read again."""
    return SOURCES[request.param](tmp_path, table)


@pytest.fixture(params=SOURCES | ONCE)
def new_source(request: pytest.FixtureRequest, tmp_path: Path, table: pa.Table) -> Callable[[], Any]:
    """A function that creates the source, which may be one that can be read only once."""
    return lambda: (SOURCES | ONCE)[request.param](tmp_path, table)


@pytest.fixture(params=ONCE)
def one_shot(request: pytest.FixtureRequest, tmp_path: Path, table: pa.Table) -> Any:
    return ONCE[request.param](tmp_path, table)


@pytest.fixture
def no_waiting(monkeypatch):
    """Nothing in tests of live sources depends on times, so that none need be long."""
    monkeypatch.setattr(live, "POLL", 0.001)
    monkeypatch.setattr(live, "HEAD_SECONDS", 0.0)


@pytest.fixture
def pipe(monkeypatch):
    """The writing end of a pipe that is standard input."""
    reading, writing = os.pipe()
    with open(reading, "rb") as stdin, open(writing, "wb", buffering=0) as out:
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=stdin))
        yield out
