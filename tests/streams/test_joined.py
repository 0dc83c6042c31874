"""Consecutive rows with the same value in a column as one document, whatever the chunks and files are."""

from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modicum.exceptions import DataError
from modicum.streams import stream
from modicum.streams.readers import joined

CHAPTERS = [1, 1, 1, 2, 3, 3, 1, 1, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6]
TABLE = pa.table(
    {
        "chapter": CHAPTERS,
        "author": [f"author {chapter}" for chapter in CHAPTERS],
        "line": [f"line {i}" if i != 4 else None for i in range(len(CHAPTERS))],
        "n": range(len(CHAPTERS)),
    }
)


def twin():
    """The documents of the table, by groupby."""
    groups = [list(rows) for _, rows in groupby(TABLE.to_pylist(), key=lambda row: row["chapter"])]
    return [{**rows[0], "line": "\n".join(row["line"] for row in rows if row["line"] is not None)} for rows in groups]


def read(rows):
    return [row for chunk in rows for row in chunk.X.select(TABLE.column_names).to_pylist()]


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_chunks_and_row_groups_do_not_matter(tmp_path, size):
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=size)
    rows = stream(tmp_path / "t.parquet", raw=True, chunk_size=size).joined("chapter")
    assert read(rows) == twin()
    assert [int(i) for chunk in rows for i in chunk.row_ids] == list(range(7))
    resumed = stream(tmp_path / "t.parquet", raw=True, chunk_size=size, start=4).joined("chapter")
    assert read(resumed) == twin()[4:]
    taken = rows.take([6, 2])
    assert taken["chapter"].to_pylist() == [6, 3]


def test_documents_across_files(tmp_path):
    for i, rows in enumerate((TABLE[:11], TABLE[11:])):
        pq.write_table(rows, tmp_path / f"{i}.parquet")
    assert read(stream(tmp_path, raw=True).joined("chapter")) == twin()


def test_targets_are_those_of_the_first_row(tmp_path):
    rows = stream(TABLE, raw=True, target="n", chunk_size=2).joined("chapter")
    assert [int(y) for chunk in rows for y in chunk.y] == [row["n"] for row in twin()]


def test_what_can_not_be_joined(monkeypatch):
    with pytest.raises(DataError, match="no column 'page'"):
        stream(TABLE, raw=True).joined("page")
    with pytest.raises(DataError, match="only rows of tables can be joined"):
        stream(TABLE).joined("chapter")
    monkeypatch.setattr(joined, "LONGEST", 200)
    with pytest.raises(DataError, match="document 5 of column 'chapter' is longer than 64 MiB"):
        read(stream(TABLE, raw=True, chunk_size=1).joined("chapter"))
