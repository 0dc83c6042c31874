"""Sources are cut into pieces that together are all rows, each once, with their numbers."""

import os

import numpy as np
import pytest

from modicum.distribute import shards
from modicum.distribute.shards import Files, as_descriptions, as_files, deal, find_pieces, split_spans
from modicum.exceptions import DataError
from modicum.streams import stream

X_COLUMNS = ["x0", "x1", "x2", "x3"]


def all_rows(files, n_shards):
    """Rows and ids of all pieces, in the order of the ids."""
    source = files.open()
    chunks = [
        chunk for own in deal(find_pieces(files, n_shards).pieces, n_shards) for p in own for chunk in p.of(source)
    ]
    ids = np.concatenate([chunk.row_ids for chunk in chunks])
    order = np.argsort(ids)
    return np.concatenate([chunk.X for chunk in chunks])[order], ids[order]


@pytest.mark.parametrize("n_shards", [1, 2, 5, 12, 30])
def test_row_groups_are_dealt_and_each_row_is_read_once(rows, folder, n_shards):
    X, ids = all_rows(Files((str(folder),), {"columns": X_COLUMNS, "chunk_size": 130}, "job"), n_shards)
    np.testing.assert_array_equal(X, rows[0])
    np.testing.assert_array_equal(ids, np.arange(len(X)))


def test_pieces_are_row_groups_if_there_are_enough(folder):
    found = find_pieces(Files((str(folder),), {}, "job"), 4)
    assert [piece.rows for piece in found.pieces] == [(at, at + 500) for at in range(0, 6_000, 500)]
    assert found.n_rows == 6_000


def test_many_small_row_groups_are_joined_to_fewer_pieces(rows, folder, monkeypatch):
    monkeypatch.setattr(shards, "PIECES", 2)
    files = Files((str(folder),), {"columns": X_COLUMNS}, "job")
    assert [piece.rows for piece in find_pieces(files, 2).pieces] == [
        (0, 2_000),
        (2_000, 4_000),
        (4_000, 6_000),
    ]
    X, ids = all_rows(files, 2)
    np.testing.assert_array_equal(X, rows[0])
    np.testing.assert_array_equal(ids, np.arange(len(X)))


def test_arrays_are_cut_evenly(tmp_path, rows):
    np.save(tmp_path / "rows.npy", rows[0])
    X, ids = all_rows(Files((str(tmp_path / "rows.npy"),), {}, "job"), 7)
    np.testing.assert_array_equal(X, rows[0])
    np.testing.assert_array_equal(ids, np.arange(len(X)))


def test_text_files_are_pieces_whose_rows_have_different_numbers(tmp_path):
    for name, text in (("a", "x,y\n1,2\n3,4\n"), ("b", "y,x\n6,5\n"), ("c", "x,y\n7,8\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    X, ids = all_rows(Files((str(tmp_path / "*.csv"),), {}, "job"), 2)
    np.testing.assert_array_equal(X, [[1, 2], [3, 4], [5, 6], [7, 8]])  # by names of columns
    assert len(set(ids.tolist())) == 4


def test_spans_are_cut_until_there_are_enough():
    assert split_spans([(0, 3)], 5) == [(0, 1), (1, 2), (2, 3)]
    assert split_spans([(0, 10), (10, 12)], 2) == [(0, 10), (10, 12)]
    assert split_spans([], 3) == []


class TestPart:
    def test_parts_of_any_stream(self, rows, folder):
        X, y = rows
        for source, how in ((X, {"target": y}), (folder, {"columns": X_COLUMNS, "target": "label"})):
            part = stream(source, chunk_size=300, first_row=10, **how).part(450, 1_700)
            chunks = list(part)
            np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), X[450:1_700])
            np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y[450:1_700])
            np.testing.assert_array_equal(np.concatenate([chunk.row_ids for chunk in chunks]), np.arange(460, 1_710))
            assert [len(chunk) for chunk in chunks] == [300, 300, 300, 300, 50]
            assert (part.n_rows, part.position) == (1_250, 1_250)

    def test_rows_are_taken_by_their_numbers(self, rows):
        part = stream(rows[0], first_row=10).part(450, 1_700)
        np.testing.assert_array_equal(part.take([461, 460]), rows[0][[451, 450]])
        for outside in (459, 1_710):
            with pytest.raises(DataError, match="row"):
                part.take([outside])
        assert len(part.spread(64)) == 64

    def test_an_empty_part_has_no_rows(self, folder):
        assert list(stream(folder).part(500, 500)) == []

    def test_parts_that_are_not_there_are_refused(self, rows):
        for first, end in ((-1, 5), (3, 2), (0, 6_001)):
            with pytest.raises(DataError, match="no rows"):
                stream(rows[0]).part(first, end)
        with pytest.raises(DataError, match="not known"):
            stream(iter([rows[0]])).part(0, 1)


class TestSources:
    def test_what_workers_can_not_read(self):
        with pytest.raises(DataError, match="standard input"):
            as_files("-", {}, "job")
        assert as_files(np.zeros((3, 2)), {}, "job") is None
        assert as_descriptions([np.zeros((3, 2))], {}, "job") is None
        with pytest.raises(DataError, match="'source'"):
            as_descriptions([{"target": "y"}], {}, "job")

    def test_descriptions_may_differ_in_how_they_are_read(self):
        found = as_descriptions(["a.csv", {"source": "b.csv", "delimiter": ";"}], {"target": "y"}, "job")
        assert [files.paths for files in found] == [(os.path.abspath("a.csv"),), (os.path.abspath("b.csv"),)]
        assert [files.reading for files in found] == [{"target": "y"}, {"target": "y", "delimiter": ";"}]
