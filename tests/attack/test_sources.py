"""Malformed sources: each is read to the last row, or refused with one line that names the file.

Files are written by hand (`bad`, `good`) or are seeded mutations of valid files of every format. The command line reads
them in child processes, many per process, so that a crash is reported as a failure with the name of the source.
"""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

N_ROWS = 300
RUNNER = Path(__file__).with_name("run_commands.py")
MOST_MIB = 1_400  # growth of peak memory allowed per source: the largest array of a .npz file, and some more
MOST_PARQUET_MIB = 2_200  # a damaged page may declare 2 GiB, the maximum of the format, which pyarrow allocates
X = np.random.default_rng(0).integers(1, 999, size=(N_ROWS, 4)) / 8


class Source(NamedTuple):
    """A file to read, the expected outcome, and its number of rows if known."""

    name: str
    path: str
    fate: str = "either"  # or "read", or "refused"
    rows: int | None = None
    stdin: bool = False


class Outcome(NamedTuple):
    code: int | None
    stderr: str
    grown: float


# ---- running -------------------------------------------------------------------------------------------


def outcomes(commands: list[tuple[Source, list[str]]], folder: Path) -> list[Outcome]:
    """The outcome of each command; the code is None if a command ended its process."""
    jobs = [{"arguments": arguments, "stdin": source.path if source.stdin else None} for source, arguments in commands]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    results = folder / "results.jsonl"
    found: list[Outcome] = []
    while len(found) < len(jobs):
        results.write_text("")
        command = [sys.executable, str(RUNNER), str(folder / "jobs.json"), str(results), str(len(found))]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        found += [Outcome(line["code"], line["stderr"], line["grown"]) for line in lines if "code" in line]
        if len(found) < len(jobs):
            assert lines, ended.stderr  # no command was run
            found.append(Outcome(None, f"the process ended with {ended.returncode}", 0))
    return found


def learning(source: Source) -> list[str]:
    name = "-" if source.stdin else source.path
    return ["fit", "reservoir", name, "--budget", "5", "-o", str(Path(source.path).parent / "state.mcm")]


def picking(source: Source) -> list[str]:
    """Reads the source again, with all its columns."""
    name = "-" if source.stdin else source.path
    return ["select", name, "-k", "2", "--objective", "logdet", "--kernel", "rbf(99)", "--csv"]


def violation(source: Source, outcome: Outcome) -> str:
    """What is wrong with an outcome; empty if nothing is."""
    name = "standard input" if source.stdin else source.path
    lines = outcome.stderr.splitlines()
    errors = [line for line in lines if line.startswith("modicum: ") and not line.startswith("modicum: warning: ")]
    if outcome.code is None or "Traceback" in outcome.stderr:
        return "crash"
    if outcome.grown > (MOST_PARQUET_MIB if name.endswith(".parquet") else MOST_MIB):
        return f"{outcome.grown:,.0f} MiB"
    if outcome.code == 0:
        rows = re.search(r"([\d,]+) rows (?:learned|chosen)", lines[-1] if lines else "")
        n_rows = int(rows[1].replace(",", "")) if rows else None
        if errors or n_rows is None:
            return "the output does not say what was read"
        if source.fate == "refused" or source.rows not in (None, n_rows):
            return f"{n_rows} rows read; expected {source.rows or source.fate}"
        return ""
    if len(errors) != 1 or lines[-1] != errors[0]:
        return "not one line"
    if source.fate == "read":
        return f"refused; expected {source.rows} rows"
    return "" if name.partition(".npz:")[0] in errors[0] else "the file is not named"


def check(sources: list[Source], folder: Path) -> None:
    commands = [(source, command(source)) for command in (learning, picking) for source in sources]
    found = outcomes(commands, folder)
    wrong = [
        f"{source.name} ({arguments[0]}): {problem}\n    {outcome.stderr.strip()[-400:]}"
        for (source, arguments), outcome in zip(commands, found, strict=True)
        if (problem := violation(source, outcome))
    ]
    assert not wrong, f"{len(wrong)} of {len(commands)}:\n" + "\n".join(wrong)


# ---- sound files ---------------------------------------------------------------------------------------


TABLE = pa.table({**{f"c{j}": X[:, j] for j in range(4)}, "name": [f"row {i}" for i in range(N_ROWS)]})


def csv_bytes(end: str = "\n", delimiter: str = ",") -> bytes:
    lines = [delimiter.join(TABLE.column_names)]
    lines += [delimiter.join([*map(str, row), f"row {i}"]) for i, row in enumerate(X.tolist())]
    return (end.join(lines) + end).encode()


def jsonl_bytes() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode()


def svm_bytes() -> bytes:
    file = io.BytesIO()
    dump_svmlight_file(X, X[:, 0], file, zero_based=False)
    return file.getvalue()


def npy_bytes(array: np.ndarray = X) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz_bytes(save: Any = np.savez_compressed) -> bytes:
    file = io.BytesIO()
    save(file, X=X, y=X[:, 0])
    return file.getvalue()


def sparse_bytes(kind: str) -> bytes:
    file = io.BytesIO()
    rows = scipy.sparse.eye(N_ROWS, 4, 2) if kind == "dia" else scipy.sparse.csr_matrix(X)
    scipy.sparse.save_npz(file, rows.asformat(kind), compressed=False)
    return file.getvalue()


def parquet_bytes(**options: Any) -> bytes:
    file = io.BytesIO()
    pa.parquet.write_table(TABLE, file, row_group_size=100, **options)
    return file.getvalue()


def arrow_bytes(make: Any, compression: str | None = None) -> bytes:
    file = io.BytesIO()
    with make(file, TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=100)
    return file.getvalue()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


SOUND: dict[str, bytes] = {
    "csv": csv_bytes(),
    "tsv": csv_bytes(delimiter="\t"),
    "csv.gz": gzip.compress(csv_bytes()),
    "jsonl": jsonl_bytes(),
    "ndjson.gz": gzip.compress(jsonl_bytes()),
    "svm": svm_bytes(),
    "svm.gz": gzip.compress(svm_bytes()),
    "npy": npy_bytes(),
    "fortran.npy": npy_bytes(np.asfortranarray(X)),
    "compressed.npz": npz_bytes(),
    "stored.npz": npz_bytes(np.savez),
    **{f"{kind}.npz": sparse_bytes(kind) for kind in ("csr", "csc", "coo", "bsr", "dia")},
    "parquet": parquet_bytes(),
    "plain.parquet": parquet_bytes(compression="none", use_dictionary=False),
    "checked.parquet": parquet_bytes(compression="zstd", write_page_checksum=True),
    "arrow": arrow_bytes(pa.ipc.new_file),
    "arrows": arrow_bytes(pa.ipc.new_stream),
    "lz4.feather": arrow_bytes(pa.ipc.new_file, "lz4"),
    "zstd.feather": arrow_bytes(pa.ipc.new_file, "zstd"),
}


# ---- mutations -----------------------------------------------------------------------------------------


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four changed bytes, half of the time near an end, where headers and footers are."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        reach = min(len(data), 600) if rng.random() < 0.5 else len(data)
        at = int(rng.integers(reach)) * (1 if rng.random() < 0.5 else -1)
        changed[at] = rng.integers(256) if rng.random() < 0.7 else changed[at] ^ (1 << rng.integers(8))
    return bytes(changed)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def splice(data: bytes, rng: np.random.Generator) -> bytes:
    """A range of bytes is missing, repeated, or replaced by noise."""
    first, end = np.sort(rng.integers(len(data), size=2))
    end = min(end, first + 64) if rng.random() < 0.7 else end
    return data[:first] + (b"", data[first:end] * 2, rng.bytes(16))[rng.integers(3)] + data[end:]


def number(data: bytes, rng: np.random.Generator) -> bytes:
    """A little-endian number of four or eight bytes that is very large, or negative."""
    size = int(rng.choice([4, 8]))
    at = int(rng.integers(max(len(data) - size, 1)))
    value = int(rng.choice([-1, -(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1, 2**30, 2**31 - 1]))
    return data[:at] + value.to_bytes(size, "little", signed=True) + data[at + size :]


MUTATIONS = (flip, cut, splice, number)


def mutants(folder: Path, seeds: Iterable[int]) -> Iterator[Source]:
    """A damaged file of each format for each seed."""
    for index, (kind, data) in enumerate(SOUND.items()):
        for i in seeds:
            mutate = MUTATIONS[i // 2 % len(MUTATIONS)]
            path = folder / f"{mutate.__name__}-{i}.{kind}"
            damaged = mutate(data, np.random.default_rng([index, i]))
            path.write_bytes(damaged)
            # The content of damaged text is unknown; other files must have all rows.
            rows = None if kind in ("csv", "tsv", "jsonl", "svm") else N_ROWS
            yield Source(path.name, str(path), rows=rows)


# ---- by hand -------------------------------------------------------------------------------------------


def with_cell(row: int, cell: bytes) -> bytes:
    """The CSV file with another cell in column c1."""
    lines = csv_bytes().splitlines(keepends=True)
    cells = lines[row].split(b",")
    lines[row] = b",".join([cells[0], cell, *cells[2:]])
    return b"".join(lines)


def npy_header(text: str, data: bytes = X.tobytes(), version: int = 1) -> bytes:
    """A .npy file with any text for a header."""
    header = text.encode("latin1") + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(2 * version, "little") + header + data


def npy_of(shape: str, dtype: str = "<f8", data: bytes = X.tobytes(), version: int = 1) -> bytes:
    return npy_header(f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}", data, version)


def sparse_of(**arrays: Any) -> bytes:
    """A sparse matrix whose arrays need not fit."""
    sound = scipy.sparse.csr_matrix(X)
    parts = {"indices": sound.indices, "indptr": sound.indptr, "data": sound.data, "shape": sound.shape}
    file = io.BytesIO()
    np.savez(file, **{"format": b"csr", **parts, **arrays})
    return file.getvalue()


def bomb(member: str, megabytes: int, header: bytes = b"") -> bytes:
    """A zip file of a few KiB per megabyte."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(member, "w", force_zip64=True) as out,
    ):
        out.write(header)
        for _ in range(megabytes):
            out.write(bytes(1 << 20))
    return file.getvalue()


def deep(n: int) -> bytes:
    return b'{"a": 1, "b": ' + b"[" * n + b"]" * n + b"}\n"


def changed_checksum(data: bytes) -> bytes:
    """The first member of a zip file with a byte of its data changed."""
    at = data.index(b"NUMPY") + 200
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


LONG = "1" * 200_000
MANY = 40_000  # rows that reach beyond the first MiB
ROW = b"1.25,2.5,3.75,4.5,name of a row\n"
HEADER = b"c0,c1,c2,c3,name\n"
WITHOUT_ENDING = {
    "array.jsonl": N_ROWS,
    "pretty.jsonl": 3,
    "words.jsonl": 1,
}  # from a pipe: JSON, or a column named by its first line


def rows_of(count: int) -> bytes:
    """Rows that are not all alike: constant columns are not learned from."""
    return (ROW + ROW.replace(b"1", b"6")) * (count // 2)


@cache
def good() -> dict[str, tuple[bytes, int]]:
    """Files that look odd but are valid, and their numbers of rows."""
    return {
        "cr.csv": (csv_bytes("\r"), N_ROWS),
        "crlf.csv": (csv_bytes("\r\n"), N_ROWS),
        "cr-long.csv": ((HEADER + rows_of(MANY)).replace(b"\n", b"\r"), MANY),
        "mixed-ends.csv": (csv_bytes("\r\n") + csv_bytes("\n").partition(b"\n")[2], 2 * N_ROWS),
        "bom.csv": (b"\xef\xbb\xbf" + csv_bytes(), N_ROWS),
        "bom.jsonl": (b"\xef\xbb\xbf" + jsonl_bytes(), N_ROWS),
        "no-last-end.csv": (csv_bytes().rstrip(), N_ROWS),
        "no-last-end.jsonl": (jsonl_bytes().rstrip(), N_ROWS),
        "no-last-end.svm": (svm_bytes().rstrip(), N_ROWS),
        "crlf.jsonl": (jsonl_bytes().replace(b"\n", b"\r\n"), N_ROWS),
        "crlf.svm": (svm_bytes().replace(b"\n", b"\r\n"), N_ROWS),
        "blank-lines.csv": (csv_bytes().replace(b"\n", b"\n\n"), N_ROWS),
        "huge-ints.csv": (b"a,b\n1,99999999999999999999\n2,3\n", 2),
        "huge-ints.jsonl": (b'{"a": 1, "b": 99999999999999999999}\n{"a": 1, "b": 2}\n', 2),
        "long-text.csv": (f"a,b\n1,{'x' * 200_000}\n2,y\n".encode(), 2),
        "inches.csv": (b'a,b\n1,5" disk\n2,"3.5"" disk"\n', 2),
        "quoted.csv": (b'a,b\n1,"two\nlines"\n2,"a ""word"""\n', 2),
        "long.csv": (HEADER + rows_of(MANY), MANY),
        "long.csv.gz": (gzip.compress(HEADER + rows_of(MANY), 1), MANY),
        "two-members.csv.gz": (gzip.compress(HEADER + rows_of(10)) + gzip.compress(rows_of(10)), 20),
        "nested.jsonl": (b"".join(deep(20).replace(b"1", b"%d" % i) for i in range(5)), 5),
        "brackets.jsonl": (b'{"a": 1, "b": "' + b"[{" * 500 + b'"}\n', 1),
        # read, and told: endings that are wrong, cells that count as missing, names given to columns
        "gzip.csv": (gzip.compress(csv_bytes()), N_ROWS),
        "plain.csv.gz": (csv_bytes(), N_ROWS),
        "word.csv": (with_cell(250, b"twelve"), N_ROWS),
        "infinity.csv": (with_cell(250, b"inf"), N_ROWS),
        "overflow.csv": (with_cell(250, b"1e999"), N_ROWS),
        "same-names.csv": (csv_bytes().replace(b"c1", b"c0", 1), N_ROWS),
        "long-number.csv": (f"a,b\n1,{LONG}\n2,3\n".encode(), 2),
        "text-only.csv": (b"a,b\nx,y\nu,v\n", 2),
        "nan.jsonl": (jsonl_bytes() + b'{"c0": NaN, "c1": 1, "c2": 1, "c3": 1}\n', N_ROWS + 1),
        "comments.svm": (b"# a\n1 1:2 # b\n\n-1 qid:3 2:1\n", 2),
        "widest.svm": (b"1 1:2 16777216:1\n1 3:1\n", 2),
        "other-members.npz": (zipped(**{"X.npy": npy_bytes(), "notes.txt": b"made on Monday"}), N_ROWS),
        "version2.npy": (npy_of("(300, 4)", version=2), N_ROWS),
        **{f"sound.{kind}": (data, N_ROWS) for kind, data in SOUND.items()},
    }


@cache
def bad() -> dict[str, bytes]:
    return {
        **{
            f"empty.{kind}": b""
            for kind in ("csv", "jsonl", "svm", "npy", "npz", "parquet", "arrow", "arrows", "csv.gz")
        },
        **{f"blank.{kind}": b"\n\n\n" for kind in ("csv", "jsonl", "svm")},
        **{f"noise.{kind}": np.random.default_rng(1).bytes(5_000) for kind in SOUND},
        **{f"zeros.{kind}": bytes(5_000) for kind in SOUND},
        **{f"zip.{kind}": npz_bytes() for kind in ("csv", "jsonl", "svm", "npy", "parquet", "arrow", "tsv")},
        **{f"png.{kind}": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9 for kind in ("csv", "jsonl", "svm")},
        "only-header.csv": HEADER,
        "broken-bytes.csv": with_cell(250, b"1\xff5"),
        "latin1.csv": csv_bytes().replace(b"row", "größe".encode("latin1")),
        "latin1-header.csv": csv_bytes().replace(b"c1", "größe".encode("latin1")),
        "latin1.jsonl": jsonl_bytes().replace(b"row", "größe".encode("latin1")),
        "latin1-keys.jsonl": jsonl_bytes().replace(b"c1", "größe".encode("latin1")),
        **{f"{code}.csv": csv_bytes().decode().encode(code) for code in ("utf-16", "utf-16-le", "utf-32")},
        **{f"{code}.jsonl": jsonl_bytes().decode().encode(code) for code in ("utf-16", "utf-16-le", "utf-32")},
        **{f"{code}.svm": svm_bytes().decode().encode(code) for code in ("utf-16", "utf-16-le")},
        "nul.csv": with_cell(250, b"1\x005"),
        "nul-text.csv": csv_bytes().replace(b"row 9,", b"row\x009,").replace(b"row 7\n", b"row\x007\n"),
        "nul.jsonl": jsonl_bytes().replace(b'row 7"', b'row\x007"'),
        "nul-between.jsonl": jsonl_bytes() + b"\x00\n" + jsonl_bytes(),
        "nul.svm": svm_bytes().replace(b"\n", b"\x00\n", 1),
        "nul-late.jsonl": jsonl_bytes() * 100 + b"\x00\n" + jsonl_bytes(),
        "word-late.csv": HEADER + rows_of(MANY) + b"1,x,3,4,n\n",
        "broken-bytes-late.csv": HEADER + rows_of(MANY) + b"1,\xff,3,4,n\n",
        "overflow.jsonl": jsonl_bytes() + b'{"c0": 1e999, "c1": 1, "c2": 1, "c3": 1}\n',
        "overflow.svm": b"1 1:1e999\n",
        "infinity.npy": npy_bytes(np.where(X.max() == X, np.inf, X)),
        "infinity.npz": sparse_of(data=np.full(X.size, np.inf)),
        "nan.npz": sparse_of(data=np.full(X.size, np.nan)),
        "same-keys.jsonl": jsonl_bytes().replace(b"c1", b"c0"),
        "short-row.csv": csv_bytes() + b"1,2\n",
        "long-row.csv": csv_bytes() + b"1,2,3,4,5,6\n",
        "short-row-late.csv": HEADER + rows_of(MANY) + b"1,2\n",
        "other-header-midway.csv": csv_bytes() + b"x,y\n1,2\n",
        "open-quote.csv": csv_bytes() + b'1,2,3,4,"never closed\n' + rows_of(100),
        "open-quote-long.csv": HEADER + b'1,2,3,4,"never closed\n' + ROW * 400_000,
        "long-name.csv": f"{'a' * 200_000},b\n1,2\n2,3\n".encode(),
        "long-header.csv": (",".join(f"column{i}" for i in range(150_000)) + "\n").encode() + b"1," * 149_999 + b"1\n",
        "long-header-name.csv": b"a" * 2_000_000 + b",b\n1,2\n",
        "long-cell.csv": b"a,b\n1,2\n3," + b"x" * (9 << 20) + b"\n4,5\n",
        "one-line.csv": b"1," * (5 << 20),
        "deep.jsonl": deep(20_000),
        "deeper.jsonl": deep(2_000_000),
        "deep-late.jsonl": jsonl_bytes() * 100 + deep(20_000),
        "deep-objects.jsonl": b'{"a": 1, "b": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}\n",
        "unclosed.jsonl": b'{"a": 1, "b": ' + b"[" * 100_000 + b"\n",
        "many-keys.jsonl": b"".join(b'{"k%d": 1}\n' % i for i in range(20_000)),
        "many-inner-keys.jsonl": b"".join(b'{"a": {"k%d": 1}}\n' % i for i in range(20_000)),
        "no-end.jsonl": b'{"a": "' + b"x" * (9 << 20),
        "long-first.jsonl": b'{"a": 1, "b": "' + b"x" * (2 << 20) + b'"}\n',
        "array.jsonl": b"[" + jsonl_bytes().replace(b"\n", b",") + b"]",
        "pretty.jsonl": json.dumps(TABLE.slice(0, 3).to_pylist(), indent=2).encode(),
        "words.jsonl": b"hello\nworld\n",
        "numbers.jsonl": b"1\n2\n",
        "missing-end.jsonl": jsonl_bytes()[:-3],
        "mixed-types.jsonl": jsonl_bytes() + b'{"c0": "x"}\n',
        "nested-number.jsonl": jsonl_bytes() + b'{"c0": {"x": 1}}\n',
        "two-per-line.jsonl": b'{"a": 1} {"a": 2}\n{"a": 3}\n',
        "giant-column.svm": b"1 1000000000:1\n",
        "beyond-int.svm": b"1 99999999999999999999:1\n",
        "endless-column.svm": b"1 " + LONG.encode() + b":1\n",
        "negative-column.svm": b"1 -5:1\n",
        "unsorted.svm": b"1 5:1 3:1\n",
        "twice.svm": b"1 5:1 5:1\n",
        "giant-between.svm": b"1 1:1 4000000000:1 7:1\n",
        "words.svm": b"hello world\n",
        "no-value.svm": b"1 1:\n",
        "no-column.svm": b"1 :1\n",
        "no-end.svm": b"1 " + b"1:1 " * (4 << 20),
        "two-labels.svm": b"1,2 1:1\n",
        "only-comments.svm": b"# nothing\n# here\n",
        "broken-bytes.svm": b"1 1:1\n\xff\xfe 1:1\n",
        "negative.npy": npy_of("(-1, 8)"),
        "both-negative.npy": npy_of("(-300, -4)"),
        "giant.npy": npy_of("(1000000000000, 8)"),
        "overflow.npy": npy_of("(4611686018427387904, 8)"),
        "too-short.npy": npy_of("(301, 4)"),
        "too-long.npy": npy_of("(200, 4)"),
        "no-columns.npy": npy_of("(300, 0)", data=b""),
        "no-rows.npy": npy_of("(0, 4)", data=b""),
        "flat.npy": npy_of("(1200,)"),
        "scalar.npy": npy_of("()", data=bytes(8)),
        "deep.npy": npy_of("(30, 10, 4)"),
        "text-shape.npy": npy_of("('a', 4)"),
        "float-shape.npy": npy_of("(300.0, 4)"),
        "true-shape.npy": npy_of("(True, 4)", data=bytes(32)),
        "long-shape.npy": npy_of("(" + "1," * 70 + "300, 4)"),
        "no-shape.npy": npy_header("{'descr': '<f8', 'fortran_order': False}"),
        "bad-dtype.npy": npy_of("(300, 4)", "<q9"),
        "objects.npy": npy_of("(300, 4)", "|O"),
        "strings.npy": npy_of("(300, 4)", "|S8"),
        "complex.npy": npy_of("(150, 4)", "<c16"),
        "dates.npy": npy_of("(300, 4)", "<M8[s]"),
        "records.npy": npy_bytes(np.zeros(300, [("a", "<f8"), ("b", "<i4")])),
        "empty-dtype.npy": npy_of("(300, 4)", "|V0", data=b""),
        "code.npy": npy_header("__import__('os').abort()"),
        "deep-header.npy": npy_header("(" * 5_000),
        "nul-header.npy": npy_header("{'descr': '\x00'}"),
        "long-header.npy": npy_header(" " * 60_000),
        "only-magic.npy": b"\x93NUMPY",
        "version9.npy": b"\x93NUMPY\x09\x00" + npy_of("(300, 4)")[8:],
        "pickle.npy": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins\x94.",
        "cut.npz": npz_bytes()[:-30],
        "half.npz": npz_bytes()[:900],
        "checksum.npz": changed_checksum(npz_bytes(np.savez)),
        "no-members.npz": zipped(),
        "other-members-only.npz": zipped(**{"notes.txt": b"made on Monday"}),
        "not-an-array.npz": zipped(**{"X.npy": b"made on Monday"}),
        "cut-array.npz": zipped(**{"X.npy": npy_bytes()[:500]}),
        "giant-array.npz": zipped(**{"X.npy": npy_of("(1000000000000, 8)")}),
        "objects.npz": zipped(**{"X.npy": npy_of("(300, 4)", "|O")}),
        "negative.npz": zipped(**{"X.npy": npy_of("(-1, 8)")}),
        "bomb.npy": bomb("X.npy", 10),
        "indices.npz": sparse_of(indices=np.full(X.size, 2_000_000_000, np.int32)),
        "negative-indices.npz": sparse_of(indices=np.full(X.size, -5, np.int32)),
        "pointers.npz": sparse_of(indptr=np.arange(N_ROWS + 1) * 1_000_000),
        "falling-pointers.npz": sparse_of(indptr=np.r_[0, np.arange(N_ROWS)[::-1] * 4 + 4].astype(np.int32)),
        "negative-pointers.npz": sparse_of(indptr=-np.arange(N_ROWS + 1)),
        "few-pointers.npz": sparse_of(indptr=np.array([0, 4])),
        "sparse-shape.npz": sparse_of(shape=(10**12, 4)),
        "sparse-width.npz": sparse_of(shape=(N_ROWS, 10**12)),
        "sparse-negative.npz": sparse_of(shape=(-1, 4)),
        "sparse-three.npz": sparse_of(shape=(N_ROWS, 2, 2)),
        "sparse-format.npz": sparse_of(format=b"abc"),
        "sparse-text.npz": sparse_of(data=np.array(["a"] * X.size)),
        "sparse-text-indices.npz": sparse_of(indices=np.array(["a"] * X.size)),
        "coo-indices.npz": sparse_of(format=b"coo", row=np.full(X.size, 10**9), col=np.zeros(X.size, int)),
        "coo-shape.npz": sparse_of(
            format=b"coo", row=np.zeros(9, int), col=np.zeros(9, int), data=np.ones(9), shape=(10**11, 4)
        ),
        "dia-offsets.npz": sparse_of(format=b"dia", offsets=np.array([10**9]), data=np.ones((1, 4))),
        "dia-shape.npz": sparse_of(format=b"dia", offsets=np.array([0]), data=np.ones((1, 4)), shape=(10**11, 10**11)),
        "bsr-indices.npz": sparse_of(
            format=b"bsr",
            data=np.ones((4, 2, 2)),
            indices=np.full(4, 10**6),
            indptr=np.arange(N_ROWS // 2 + 1).clip(0, 4),
        ),
        "csc-indices.npz": sparse_of(
            format=b"csc", indices=np.full(X.size, 10**6), indptr=np.array([0, 300, 600, 900, 1200])
        ),
        "not-parquet.parquet": b"PAR1" + bytes(100) + b"PAR1",
        "footer.parquet": b"PAR1" + bytes(100) + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        "only-magic.arrow": b"ARROW1\x00\x00",
        "giant-message.arrows": b"\xff\xff\xff\xff" + (2**31 - 8).to_bytes(4, "little") + bytes(100),
        "cut.arrows": SOUND["arrows"][:-700],
        "cut.csv.gz": gzip.compress(HEADER + rows_of(MANY))[:-9],
        "checksum.csv.gz": gzip.compress(csv_bytes())[:-8] + bytes(8),
        "trailing.csv.gz": gzip.compress(csv_bytes()) + b"more",
        "bomb.csv.gz": gzip.compress(b"a" * (40 << 20), 1),
        "bomb.jsonl.gz": gzip.compress(b"[" * (40 << 20), 1),
        "bomb.svm.gz": gzip.compress(b"1" * (40 << 20), 1),
        "unknown.xyz": b"1,2\n",
    }


def by_hand(folder: Path) -> Iterator[Source]:
    for name, (data, rows) in good().items():
        (folder / name).write_bytes(data)
        yield Source(name, str(folder / name), "read", rows)
    for name, data in bad().items():
        (folder / name).write_bytes(data)
        yield Source(name, str(folder / name), "refused")


def not_files(folder: Path) -> Iterator[Source]:
    """Folders, pipes, devices and links."""
    os.mkfifo(folder / "pipe.csv")
    (folder / "zero.csv").symlink_to("/dev/zero")
    (folder / "nowhere.csv").symlink_to(folder / "nothing.csv")
    (folder / "empty").mkdir()
    (folder / "folder.csv").mkdir()
    (folder / "mixed").mkdir()
    (folder / "mixed" / "a.csv").write_bytes(csv_bytes())
    (folder / "mixed" / "b.npy").write_bytes(npy_bytes())
    (folder / "uneven").mkdir()
    (folder / "uneven" / "a.csv").write_bytes(csv_bytes())
    (folder / "uneven" / "b.csv").write_bytes(b"c0,c1\n1,2\n")
    (folder / "unequal").mkdir()
    (folder / "unequal" / "a.npy").write_bytes(npy_bytes())
    (folder / "unequal" / "b.npy").write_bytes(npy_of("(-1, 4)"))
    for name in (
        "pipe.csv",
        "zero.csv",
        "nowhere.csv",
        "empty",
        "folder.csv",
        "mixed",
        "uneven",
        "unequal",
        "*.nothing",
    ):
        yield Source(name, str(folder / name), "refused")
    (folder / "two.npz").write_bytes(npz_bytes())
    for member in ("y", "z", ""):
        yield Source(f"two.npz:{member}", f"{folder}/two.npz:{member}", "refused")


def piped(folder: Path) -> Iterator[Source]:
    """The same bytes on standard input, where the format is guessed."""
    for name, (data, rows) in good().items():
        if name.endswith((".csv", ".jsonl", ".arrows")):
            (folder / f"pipe-{name}").write_bytes(data)
            yield Source(f"< {name}", str(folder / f"pipe-{name}"), "read", rows, stdin=True)
    for name, data in bad().items():
        if name.endswith((".csv", ".jsonl", ".arrows", ".parquet", ".arrow")) and name != "numbers.jsonl":
            (folder / f"pipe-{name}").write_bytes(data)
            rows = WITHOUT_ENDING.get(name)
            fate = "refused" if rows is None else "read"
            yield Source(f"< {name}", str(folder / f"pipe-{name}"), fate, rows, stdin=True)


# ---- tests ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_malformed_sources(tmp_path):
    makers = (by_hand, not_files, piped, lambda folder: mutants(folder, range(8)))
    check([source for make in makers for source in make(tmp_path)], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4))
def test_many_damaged_files(tmp_path, first):
    check(list(mutants(tmp_path, range(first, 120, 4))), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("member", ["X.npy", "X"])
def test_bombs(tmp_path, member):
    """More than a GiB of zeros in a few MiB."""
    path = tmp_path / "bomb.npz"
    path.write_bytes(bomb(member, 1_100, npy_of("(36044800, 4)", data=b"")))
    check([Source(path.name, str(path), "refused")], tmp_path)
