"""CSV files as people have them: delimiters, headers, comments and encodings."""

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modicum.exceptions import DataError
from modicum.streams import stream
from modicum.streams.readers.bytes_in import ByteSource
from modicum.streams.readers.csv_files import Csv
from modicum.streams.readers.dialect import MISSING_TEXT, MISSING_VALUE, TextOptions, detect

DELIMITERS = [",", ";", "\t", "|"]


def written(rows, delimiter=",", end="\n") -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    return file.getvalue()


def opened(path: Path, data: str | bytes, delimiter=",", **options) -> Csv:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return Csv(ByteSource(path), delimiter, TextOptions(**options))


def columns(file: Csv) -> dict[str, list]:
    """All columns as they are read."""
    fields = pa.schema([file.read_as(field, False) for field in file.schema])
    batches = list(file.batches(fields, 0, 100))
    return pa.Table.from_batches(batches, fields).to_pydict()


def dialect(text: str, usual=",", **options):
    return detect(text.encode(), "x.csv", TextOptions(**options), usual)


# Without \r, which Python's writer does not quote.
WORDS = st.text(st.sampled_from(',;\t|"\n #1.a') | st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=6)
SHAPES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(WORDS, min_size=width, max_size=width), min_size=1, max_size=8)
)


@pytest.mark.parametrize("delimiter", DELIMITERS)
@given(rows=SHAPES, end=st.sampled_from(["\n", "\r\n"]))
def test_tables_of_any_text_are_read_as_they_were_written(tmp_path_factory, delimiter, rows, end):
    names = [f"n{j}" for j in range(len(rows[0]))]
    text = written([names, *rows], delimiter, end)
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())
    file = Csv(ByteSource(path), options=TextOptions(delimiter, header=True, as_text=frozenset(names)))
    wanted = [[None if cell in MISSING_TEXT else cell for cell in column] for column in zip(*rows, strict=True)]
    assert [*columns(file).values()] == wanted


CELLS = st.sampled_from(["red", "a,b", "x; y", 'say "hi"', "two\nlines", "1 | 2", "tab\there"])


@pytest.mark.parametrize("delimiter", DELIMITERS)
@given(rows=st.lists(st.tuples(st.integers(0, 9999), CELLS, st.integers(-99, 99), CELLS), min_size=2, max_size=40))
def test_the_delimiter_is_detected_around_cells_that_contain_others(delimiter, rows):
    text = written([["id", "first", "n", "second"], *rows], delimiter)
    found = dialect(text)
    assert (found.delimiter, found.names, found.has_header) == (delimiter, ("id", "first", "n", "second"), True)


@pytest.mark.parametrize(
    ("text", "delimiter", "point"),
    [
        ("a,b\n1,2\n", ",", "."),
        ("a;b\n1,5;2,5\n3,5;4\n", ";", ","),
        ("1,5;2,5\n3,5;4,5\n", ";", ","),
        ("1.5;2.5\n3.5;4.5\n", ";", "."),
        ("x\n1,5\n2,5\n", ";", ","),
        ("x\n1\n2\n", ",", "."),
        ("a;b\n1;x, y\n2;x, y\n", ";", "."),
        ("a|b\n1|x\n", "|", "."),
        ("a b\n1   2\n3 4\n", " ", "."),
        ("  1   2\n  3 4\n", " ", "."),
        ("some words\nmore words\n", ",", "."),
        ("one two\n1 2\n3\n", ",", "."),
        ("name\nSmith; John\nDoe; Jane\n", ",", "."),
        ("sep=;\na;b\n1;2\n", ";", "."),
        ('"sep=|"\r\na|b\r\n1|2\r\n', "|", "."),
        ("a\tb,c\n1,5\t2,5\n", "\t", ","),
    ],
)
def test_delimiters(text, delimiter, point):
    found = dialect(text)
    assert (found.delimiter, found.decimal_point) == (delimiter, point)


def test_tsv_files_prefer_tabs_and_options_decide():
    text = "a,x\tb,y\n1,2\t3,4\n"
    assert dialect(text, "\t").delimiter == "\t"
    assert dialect("a,b\n1,2\n", "\t").delimiter == ","
    assert dialect(text, delimiter=",").delimiter == ","
    assert TextOptions("tab").delimiter == TextOptions(r"\t").delimiter == "\t"
    for wrong in ("", ";;", '"', "\n", "é"):
        with pytest.raises(DataError, match="delimiter must be one ASCII character"):
            TextOptions(wrong)


@pytest.mark.parametrize(
    ("text", "has_header", "note"),
    [
        ("a,b\n1,2\n", True, ""),
        ("1,2\n3,4\n", False, ""),
        ("1,NA\n3,4\n", False, ""),
        (",0,1\n0,1.5,2.5\n", True, "columns of x.csv without a name, or with that of another, are named column_1"),
        ("name,day\nx,2024-01-01\n", True, ""),
        ("red,small\nblue,large\ngreen,small\n", True, ""),
        ("red,small\nblue,small\nred,large\n", True, "looks like data (red, small); --no-header reads it as such"),
        ("3,red,2024-01-01\n4,blue,2024-01-02\n", False, "looks like data (3, red, 2024-01-01) and is read as such"),
        ("red,3\nblue,4\nred,5\n", False, "looks like data (red, 3) and is read as such; --header reads it as names"),
        ("red,3.5\nblue,4\n", False, "and is read as such"),
        ("country,2019,2020\nFrance,5,6\nPeru,7,8\n", True, "(country, 2019, 2020); --no-header reads it as such"),
        ("a,b\n", True, ""),
        ("a,b\nx,1\ny,NA\n", True, ""),
    ],
)
def test_headers(text, has_header, note):
    found = dialect(text)
    assert found.has_header is has_header
    assert (note in found.notes[0]) if note else not found.notes
    assert dialect(text, header=True).has_header
    assert not dialect(text, header=False).has_header
    assert not dialect(text, header=True).notes or "named" in dialect(text, header=True).notes[0]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b,a", ["a", "b", "a_2"]),
        ("a,a,a_2,a", ["a", "a_3", "a_2", "a_4"]),
        ("a,,c", ["a", "column_2", "c"]),
        (",column_1,x", ["column_2", "column_1", "x"]),
        (" a , b,c", ["a", "b", "c"]),
    ],
)
def test_names_become_usable(tmp_path, header, names):
    n = len(names)
    file = opened(tmp_path / "x.csv", f"{header}\n" + ",".join(map(str, range(n))) + "\n")
    assert columns(file) == {name: [float(j)] for j, name in enumerate(names)}
    made = [name for name in names if name not in [cell.strip() for cell in header.split(",")]]
    assert all(name in file.notes[0] for name in made)
    assert stream(tmp_path / "x.csv").columns == names


def test_many_equal_names_take_no_time(tmp_path):
    found = dialect(",".join(["a"] * 100_000) + "\n")
    assert len(set(found.names)) == 100_000


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}),
        ("\ufeffsep=;\r\na;b\r\n1,5;2\r\n", {"a": [1.5], "b": [2]}),
        ("# made today\n# by hand, twice\n\na,b\n1,2\n", {"a": [1], "b": [2]}),
        ("#a,b\n1,2\n", {"a": [1], "b": [2]}),
        ("# note\n# a,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        ("# 7 rows\n1,2\n", {"0": [1], "1": [2]}),
        ("#ff0000,1\n#00ff00,2\n", {"#ff0000": ["#00ff00"], "1": [2]}),
        ("  a   b\n 1.5  2\n 3    4  \n", {"a": [1.5, 3], "b": [2, 4]}),
        ('a b\n1 "two  words"\n2 x\n', {"a": [1, 2], "b": ["two  words", "x"]}),
        ("x\n1,5\n2,5\n", {"x": [1.5, 2.5]}),
        ("a;b\n1,5;x\n-2,25;y\n", {"a": [1.5, -2.25], "b": ["x", "y"]}),
    ],
)
def test_beginnings(tmp_path, text, wanted):
    file = opened(tmp_path / "x.csv", text)
    assert columns(file) == wanted
    found, _ = file.gather(np.arange(len(next(iter(wanted.values())))))
    assert file.assemble(found).to_pydict() == wanted
    assert columns(opened(tmp_path / "x.csv", text, skip_bad_rows=True)) == wanted


def test_comments_are_noted(tmp_path):
    assert opened(tmp_path / "x.csv", "# a\n# b\nc,d\n1,2\n").notes == [
        f"2 comment lines at the start of {tmp_path}/x.csv are left out"
    ]


def test_rows_of_errors_are_counted_after_comments(tmp_path):
    (tmp_path / "x.csv").write_text("# c\n#\n\na,b\n1,2\n3\n")
    with pytest.raises(DataError, match=r"data row 2: Expected 2 columns, got 1: 3\. --skip-bad-rows leaves such rows"):
        list(stream(tmp_path / "x.csv"))


def test_latin1_names_the_row_and_the_way_out(tmp_path):
    file = opened(tmp_path / "x.csv", "a,b\n1,Muller\n2,Müller\n".encode("latin1"))
    with pytest.raises(DataError, match=r"x\.csv: data row 2, column 'b': not UTF-8 text\. Save the file as UTF-8"):
        columns(file)
    with pytest.raises(DataError, match=r"data row 2, column 'b': .* save the file as UTF-8"):
        list(stream(tmp_path / "x.csv"))
    late = "a,b\n" + "1,ok\n" * 300_000 + "2,Müller\n"
    file = opened(tmp_path / "x.csv", late.encode("latin1"))
    with pytest.raises(DataError, match=r"data row 300,001, column 'b': not UTF-8 text"):
        columns(file)


class TestTypes:
    def test_spellings_of_pyarrow_are_missing(self):
        assert sorted(MISSING_TEXT) == sorted(pa.csv.ConvertOptions().null_values)

    @pytest.mark.parametrize("spelling", MISSING_VALUE)
    @pytest.mark.parametrize("skip", [False, True])
    def test_missing_numbers(self, tmp_path, spelling, skip):
        text = f"a,b,c,d\n1,x,2024-01-01,true\n{spelling},{spelling},{spelling},{spelling}\n4,y,2024-01-02,false\n"
        file = opened(tmp_path / "x.csv", text, skip_bad_rows=skip)
        found = columns(file)
        assert [str(kind) for kind in file.schema.types] == ["int64", "string", "date32[day]", "bool"]
        assert found["a"] == [1, None, 4]
        assert found["b"] == ["x", None if spelling in MISSING_TEXT else spelling, "y"]
        assert found["c"][1] is None
        assert found["d"] == [True, None, False]
        assert file.bad.count == 0
        taken = file.assemble(file.gather(np.array([1, 2]))[0])
        assert taken["a"].to_pylist() == [None, 4]
        assert taken["b"].to_pylist() == [spelling or None, "y"]

    def test_columns_without_values_are_text(self, tmp_path):
        text = "a,b\n" + "1,\n" * 400_000 + "1,late\n"
        found = columns(opened(tmp_path / "x.csv", text))
        assert found["b"][0] is None
        assert found["b"][-1] == "late"

    def test_as_text_keeps_leading_zeros(self, tmp_path):
        file = opened(tmp_path / "x.csv", "zip,n\n01234,1\n98765,2\n", as_text=frozenset({"zip"}))
        assert columns(file)["zip"] == ["01234", "98765"]
        assert file.assemble(file.gather(np.array([0]))[0])["zip"].to_pylist() == ["01234"]
        assert file.stray_text(["zip"]) is None
        with pytest.raises(DataError, match=r"no column 'zap'\. Did you mean 'zip'"):
            _ = opened(tmp_path / "x.csv", "zip,n\n1,1\n", as_text=frozenset({"zap"})).schema

    def test_large_integers_keep_their_digits(self, tmp_path):
        file = opened(tmp_path / "x.csv", f"id,n\n{2**53 + 1},{2**53}\n{-(2**60) - 1},\n1,3\n")
        assert columns(file) == {"id": [2**53 + 1, -(2**60) - 1, 1], "n": [2.0**53, None, 3.0]}
        assert [str(file.read_as(field, False).type) for field in file.schema] == ["int64", "double"]
