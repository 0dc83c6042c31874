"""Rows that can't be read are left out if asked, in every pass alike. The twins parse with Python's own modules."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from modicum.exceptions import DataError
from modicum.streams.readers import bytes_in, csv_files
from modicum.streams.readers.base import BadRows
from modicum.streams.readers.bytes_in import ByteSource
from modicum.streams.readers.columns import Wanted
from modicum.streams.readers.csv_files import Csv
from modicum.streams.readers.dialect import MISSING_VALUE, TextOptions
from modicum.streams.readers.json_lines import JsonLines
from modicum.streams.readers.tables import Tables

SKIP = TextOptions(skip_bad_rows=True)


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def twin(path, columns) -> tuple[list[list[str]], list[int]]:
    """Rows of a CSV file that have the width of the header and numbers in some columns; and numbers of the others."""
    kept, bad = [], []
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        header, *rows = filter(None, csv.reader(file))
        for i, row in enumerate(rows, 1):
            good = len(row) == len(header) and all(is_number(row[j]) for j in columns)
            (kept if good else bad).append(row if good else i)
    return kept, bad


@pytest.fixture(params=[0.005, 0.05])
def messy(request, tmp_path, monkeypatch):
    """A CSV file of several blocks, in which a share of the rows is bad in one of many ways."""
    monkeypatch.setattr(csv_files, "TEXT_BYTES", 2_000)
    rng = np.random.default_rng(3)
    lines = ["a,b,text"]
    for i in range(5_000):
        line = f"{i},{rng.normal():.3f},t{i}"
        if rng.random() < request.param:
            wrong = [f"{i}", f"{i},1,x,y", f"{i},1..2,x", f"x{i},1,y", f'"{i}, {i}",2,z', f"{i},1.5.,x", f"{i},12:30,x"]
            line = wrong[rng.integers(len(wrong))]
        elif rng.random() < 0.02:
            line = f'{i}, 2.5 ,"two\n""lines"", {i}"\n'
        lines.append(line)
    (tmp_path / "x.csv").write_text("\n".join(lines))
    return tmp_path / "x.csv"


@pytest.mark.parametrize(("chosen", "judged"), [(None, [0, 1]), (["a"], [0]), (["b"], [1])])
def test_rows_of_csv(messy, chosen, judged):
    kept, bad = twin(messy, judged)
    file = Csv(ByteSource(messy), options=SKIP)
    reader = Tables([file], "x", Wanted(chosen))
    for _ in range(2):  # each pass counts again
        X = np.concatenate([X for X, *_ in reader.blocks(0, 100)])
        assert np.array_equal(X, [[float(row[j]) for j in judged] for row in kept])
        assert file.bad.count == len(bad) > 0
        assert [row for _, row, _ in file.bad.first] == bad[:5]
    rows = np.arange(0, len(kept), 7)
    assert reader.take(rows)["text"].to_pylist() == [kept[i][2] for i in rows]
    assert Tables([Csv(ByteSource(messy), options=SKIP)], "x", Wanted(chosen)).take(rows) == reader.take(rows)


def test_rows_of_a_folder(tmp_path, messy):
    """All files are judged by the types of the first, also by `take` before anything was read."""
    second = tmp_path / "y.csv"
    second.write_text("a,b,text\n" + "".join(f"{i},u{i},{i}\n" if i % 3 else f"{i},1,{i}\n" for i in range(60)))
    files = [Csv(ByteSource(path), options=SKIP) for path in (messy, second)]
    reader = Tables(files, "x", Wanted())
    kept = twin(messy, [0, 1])[0] + twin(second, [0, 1])[0]
    n = len(kept)
    assert reader.take(np.arange(n - 25, n))["a"].to_pylist() == [float(row[0]) for row in kept[-25:]]
    assert sum(len(X) for X, *_ in reader.blocks(0, 100)) == n
    assert files[1].bad.count == 40


def test_reasons(tmp_path):
    rows = ["1,2024-01-01,true,x"] * 50
    rows[3], rows[5], rows[9] = "1,2", "u,2024-01-01,true,x", "1,2024-01-01,true,\udcfc"
    (tmp_path / "x.csv").write_bytes("\n".join(["a,b,c,d", *rows]).encode("utf-8", "surrogateescape"))
    file = Csv(ByteSource(tmp_path / "x.csv"), options=SKIP)
    Tables([file], "x", Wanted(["a"], target="d"))
    list(file.batches(file.reading, 0, 10))
    assert [bad[1:] for bad in file.bad.first] == [
        (4, "expected 4 cells, got 2"),
        (6, "column 'a': 'u' is not a number"),
        (10, "column 'd': not UTF-8 text"),
    ]


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        ("2024-01-01", "2024-13-01", "is not a date"),
        ("2024-01-01 10:00:00", "soon", "is not timestamp[s]"),
        ("true", "maybe", "is not true or false"),
        (str(2**60), "1.5", "is not a whole number"),
    ],
)
def test_other_types(tmp_path, good, bad, reason):
    """The types are those of the first MiB."""
    rows = [f"{good},1"] * 200_000 + [f"{bad},2", f"{good},3", f"{MISSING_VALUE[-1]},4"]
    (tmp_path / "x.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    file = Csv(ByteSource(tmp_path / "x.csv"), options=SKIP)
    fields = pa.schema([file.read_as(field, False) for field in file.schema])
    read = pa.Table.from_batches(list(file.batches(fields, 0, 10)))
    assert read["b"].to_pylist()[-3:] == [1, 3, 4]
    assert read["a"].to_pylist()[-1] is None
    assert file.bad.first == [(file.name, 200_001, f"column 'a': {bad!r} {reason}")]


def test_bytes_that_are_not_utf8_can_be_anywhere(tmp_path):
    """Also in rows of wrong length, and in columns that are not read."""
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,x\n2,\xfc,3\n\xfc,x\n4,\xfc\n5,y\n" + b"6,z\n" * 20)
    file = Csv(ByteSource(tmp_path / "x.csv"), options=SKIP)
    reader = Tables([file], "x", Wanted(["a"]))
    assert np.concatenate([X for X, *_ in reader.blocks(0, 10)])[:4, 0].tolist() == [1, 4, 5, 6]
    assert file.bad.count == 2
    assert reader.take(np.array([0, 1, 2]))["b"].to_pylist() == ["x", "\ufffd", "y"]


def test_without_skipping_the_error_tells_how(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 300_000 + "1,y\n")
    reader = Tables([Csv(ByteSource(tmp_path / "x.csv"))], "x", Wanted())
    with pytest.raises(DataError, match=r"300,001, column 'b': 'y' is not a number.*--skip-bad-rows leaves such rows"):
        list(reader.blocks(0, 1000))
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n[2]\n')
    with pytest.raises(DataError, match=r"data row 2: expected a JSON object.*--skip-bad-rows leaves such rows out"):
        list(Tables([JsonLines(ByteSource(tmp_path / "x.jsonl"))], "x", Wanted()).blocks(0, 1000))


def test_a_column_with_many_words_stays_text(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{i},{i if i % 5 else f'{i}b'}\n" for i in range(100)))
    assert str(Csv(ByteSource(tmp_path / "x.csv"), options=SKIP).schema.field("b").type) == "string"


WRONG_LINES = ["{", "[1]", '{"a": "u"}', '{"a": 1, "b": 2}', '{"a": 1} {"a": 2}', "\udcfc", '{"a": [1]}', '{"b":"x"']


@pytest.mark.parametrize("options", [{"share": 0.001}, {"share": 0.2}])
def test_lines_of_json(tmp_path, monkeypatch, options):
    monkeypatch.setattr(bytes_in, "TEXT_BYTES", 2_000)
    rng = np.random.default_rng(5)
    lines, kept, bad = [], [], []
    for i in range(4_000):
        if wrong := rng.random() < options["share"]:
            lines.append(WRONG_LINES[rng.integers(len(WRONG_LINES))])
        else:
            lines.append(json.dumps({"a": i / 2, "b": f"t{i}"}) + "\n" * (i % 50 == 0))
        (bad if wrong else kept).append(len(bad) + len(kept) + 1 if wrong else i)
    (tmp_path / "x.jsonl").write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    file = JsonLines(ByteSource(tmp_path / "x.jsonl"), options=SKIP)
    reader = Tables([file], "x", Wanted(["a"], target="b"))
    for _ in range(2):
        X, y = (np.concatenate(parts) for parts in list(zip(*reader.blocks(0, 100), strict=True))[:2])
        assert X[:, 0].tolist() == [i / 2 for i in kept]
        assert y.tolist() == [f"t{i}" for i in kept]
        assert file.bad.count == len(bad) > 0
        assert [row for _, row, _ in file.bad.first] == bad[:5]
    rows = np.arange(0, len(kept), 11)
    assert reader.take(rows)["b"].to_pylist() == [f"t{kept[i]}" for i in rows]


def test_json_values_that_only_pyarrow_rejects(tmp_path):
    lines = [json.dumps({"a": 2**60 + i}) for i in range(30)]
    lines[7] = '{"a": 1.5}'
    (tmp_path / "x.jsonl").write_text("\n".join(lines[:7] + lines[8:]) + "\n" * 2**20 + lines[7])
    file = JsonLines(ByteSource(tmp_path / "x.jsonl"), options=SKIP)
    reader = Tables([file], "x", Wanted())
    assert sum(len(X) for X, *_ in reader.blocks(0, 100)) == 29
    assert file.bad.first == [(file.name, 30, "a value does not match its column")]


def test_only_the_first_bad_rows_are_remembered():
    bad = BadRows("x")
    for row in range(100, 0, -1):
        bad.add(row, "why")
    assert bad.count == 100
    assert bad.first == [("x", row + 1, "why") for row in range(1, 6)]
