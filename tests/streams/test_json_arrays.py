"""JSON arrays are read as if each element were on a line of its own."""

import io
import json
import sys
import tracemalloc
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modicum.exceptions import DataError
from modicum.streams import stream
from modicum.streams.readers import json_arrays
from modicum.streams.readers.json_arrays import _ARRAY, _lines

RECORDS = [{"a": i / 8, "s": f'"x", [{i}] \\ }} \n é', "deep": {"list": [{"k": ",]"}] * (i % 3)}} for i in range(2_000)]


def read(source, **options) -> np.ndarray:
    return np.concatenate([chunk.X for chunk in stream(source, **options)])


def error(source) -> str:
    with pytest.raises(DataError) as caught:
        list(stream(source))
    return str(caught.value)


LAYOUTS = {
    "compact": lambda rows: json.dumps(rows, separators=(",", ":")),
    "indented": lambda rows: json.dumps(rows, indent=2),
    "windows": lambda rows: json.dumps(rows, indent=2, ensure_ascii=False).replace("\n", "\r\n"),
    "a row per line": lambda rows: "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n",
    "with a mark": lambda rows: "\ufeff" + json.dumps(rows),
    "in an object": lambda rows: json.dumps({'the "rows"': rows}),
    "in an indented object": lambda rows: json.dumps({"rows": rows}, indent=4),
    "lines": lambda rows: "\n".join(map(json.dumps, rows)),
}


@pytest.mark.parametrize("step", [1_000, 1 << 22])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path, monkeypatch, layout, step):
    monkeypatch.setattr(json_arrays, "TEXT_BYTES", step)
    (tmp_path / "x.json").write_text(LAYOUTS[layout](RECORDS), newline="")
    rows = stream(tmp_path / "x.json", chunk_size=150)
    assert (rows.columns, rows.rereadable) == (["a"], True)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in rows]).ravel(), [r["a"] for r in RECORDS])
    assert rows.take([1_999, 5]).to_pylist() == [RECORDS[1_999], RECORDS[5]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_standard_input(monkeypatch, layout):
    text = LAYOUTS[layout](RECORDS * 20).encode()  # more than is looked at beforehand
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(text)))
    np.testing.assert_array_equal(read("-").ravel(), [r["a"] for r in RECORDS] * 20)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab"\\[]{},:\n\r é')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('k"\\,]}', max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text('k"\\,]}', max_size=3), VALUES, max_size=3)), st.sampled_from([None, 1]))
def test_cuts_are_where_a_parser_cuts(rows, indent):
    text = json.dumps(rows, indent=indent, ensure_ascii=False).encode()
    lines = b"".join(_lines(io.BytesIO(text), _ARRAY)).split(b"\n")
    assert [json.loads(line) for line in lines if line.strip()] == rows


def test_memory_does_not_grow_with_the_array(monkeypatch):
    monkeypatch.setattr(json_arrays, "TEXT_BYTES", 1 << 14)
    text = io.BytesIO(json.dumps(RECORDS * 20).encode())
    tracemalloc.start()
    n = sum(piece.count(b"\n") for piece in _lines(text, _ARRAY))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 40_000
    assert peak < 1 << 20 < len(text.getbuffer())


def test_one_object_is_one_row(tmp_path):
    for i, indent in enumerate((None, 2)):
        (tmp_path / f"{i}.json").write_text(json.dumps({"a": i, "list": [1]}, indent=indent))
    assert read(tmp_path).tolist() == [[0], [1]]
    assert stream(tmp_path).take([1])["list"].to_pylist() == [[1]]


def test_an_object_per_line_is_not_unpacked(tmp_path):
    line = '{"list": [{"b": 1}], "a": 1}\n'
    for text in (line, line * 3):
        (tmp_path / "x.json").write_text(text)
        assert stream(tmp_path / "x.json").columns == ["a"]


@pytest.mark.parametrize("n", [10, 200_000])
def test_cut_off(tmp_path, n):
    text = json.dumps([{"a": i} for i in range(n)])
    for end in (-1, -5):
        (tmp_path / "x.json").write_text(text[:end])
        assert f"x.json: data row {n:,}: the file ends within its JSON array." in error(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty."),
        ("[]", "the file is empty."),
        ("[", "data row 1: the file ends within its JSON array."),
        ('[{"a": 1', "data row 1: the file ends within its JSON array."),
        ("[1, 2]", "data row 1: expected a JSON object; got '1'."),
        ('[{"a": 1}, [2]]', "data row 2: expected a JSON object; got '[2]'."),
        ('[{"a": 1}, {"a": 1}}', "more follows the JSON array"),
        ('[{"a": 1}] [{"a": 1}]', "more follows the JSON array: '[{\"a\":1}]'."),
        ('[{"a": 1}, {"a": "u"}]', "data row 2, column 'a': 'u' is text; expected a number."),
        ('[{"a": 1}, {"a": 1 "b": 2}]', "data row 2: expected a JSON object"),
        ('{"rows": [{"a": 1}],\n "more": 1}', "more follows the JSON array: ',\"more\":1}'. Expected"),
        ('{"rows": [{"a": 1}]', "the file ends before its JSON object does. Is it complete?"),
        ('{\n"meta": {},\n"rows": [{"a": 1}]', "an object over several lines. Expected an array of objects"),
        ('[{"a": 1, "b": ' + "[" * 65 + "]" * 65 + "}]", "data row 1: objects and lists are nested more than 64 deep."),
        ('[{"a": 1}, {"b": ' + "[" * 200_000, "data row 2: the file ends within its JSON array."),
        ('{"a": ' + "[" * 200_000, "data row 1: expected a JSON object"),
        ('[{"a": "' + "x" * 2**21 + '"}]', "the first element of its JSON array is longer than 1 MiB."),
        ('[{"a": 1}, {"a": "' + "x" * 2**24 + '"}]', "data row 2: an element of its JSON array is longer than 4 MiB."),
        ("[\0]", "it contains NUL bytes"),
    ],
)
def test_errors(tmp_path, text, what):
    (tmp_path / "x.json").write_text(text)
    message = error(tmp_path / "x.json")
    assert f"x.json: {what}" in message


def test_not_utf8(tmp_path):
    (tmp_path / "x.json").write_bytes(b'[{"a": 1}, {"a": 2, "s": "\xff"}]')
    assert "x.json: data row 2: expected UTF-8 text" in error(tmp_path / "x.json")
