"""Answers are the same in whatever form they come, and what is ignored or assumed is said."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modicum.crowd.answers import Answers
from modicum.crowd.reading import as_answers
from modicum.exceptions import DataError
from modicum.streams import stream

NAMES = ("worker", "task", "item", "group")
ROWS = [
    ("ann", "t1", "007", "a"),
    ("ann", "t1", "7", "a"),
    ("ann", "t1", "dög ✓.png", "b"),
    ("bob", "t2", "007", "1"),
    ("bob", "t2", "7", "2"),
]
COLUMNS = {name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)}
TURK = {"worker": "WorkerId", "task": "HITId", "item": "Input.image*", "group": "Answer.group*"}


def rows_of(answers):
    return list(zip(*(getattr(answers, name).tolist() for name in NAMES), strict=True))


def write_csv(path, rows, header=NAMES, sep=","):
    path.write_text("\n".join(sep.join(map(str, row)) for row in [header, *rows]) + "\n", encoding="utf-8")
    return path


def as_csv(folder):
    return write_csv(folder / "answers.csv", ROWS)


def as_gzip(folder):
    with gzip.open(folder / "answers.csv.gz", "wb") as file:
        file.write(as_csv(folder).read_bytes())
    return folder / "answers.csv.gz"


def as_json_lines(folder):
    path = folder / "answers.jsonl"
    path.write_text("\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS), encoding="utf-8")
    return str(path)


def as_parquet(folder):
    pq.write_table(pa.table(COLUMNS), folder / "answers.parquet")
    return folder / "answers.parquet"


def as_two_files(folder):
    first = write_csv(folder / "1.csv", ROWS[:3])
    second = write_csv(folder / "2.csv", [("later", *row[::-1]) for row in ROWS[3:]], ("extra", *NAMES[::-1]))
    return [first, str(second)]


def as_stream(folder):
    return stream(as_parquet(folder), raw=True, chunk_size=2)


SOURCES = {
    "CSV": as_csv,
    "semicolons": lambda folder: write_csv(folder / "answers.csv", ROWS, sep=";"),
    "gzip": as_gzip,
    "JSON lines": as_json_lines,
    "Parquet": as_parquet,
    "two files, other columns": as_two_files,
    "stream": as_stream,
    "mapping": lambda folder: COLUMNS,
    "mapping of arrays": lambda folder: {name: np.array(column) for name, column in COLUMNS.items()},
    "pandas": lambda folder: pd.DataFrame(COLUMNS),
    "pandas categories": lambda folder: pd.DataFrame(COLUMNS).astype("category"),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
    "Arrow": lambda folder: pa.table(COLUMNS),
    "mappings": lambda folder: [dict(zip(NAMES, row, strict=True)) for row in ROWS],
    "rows": lambda folder: ROWS,
    "rows one by one": lambda folder: iter(ROWS),
    "array": lambda folder: np.array(ROWS),
    "structured array": lambda folder: np.array(ROWS, [(name, "U20") for name in NAMES]),
    "answers": lambda folder: Answers(*(np.array(COLUMNS[name]) for name in NAMES)),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_all_sources_give_the_same_answers(make, tmp_path):
    answers = as_answers(make(tmp_path))

    assert rows_of(answers) == ROWS
    assert answers.notes == () or "separate" in answers.notes[0]  # of files of semicolons
    assert answers.n_answers == 2


@pytest.mark.parametrize(
    "column",
    [
        [3, 1, 2],
        np.array([3, 1, 2], np.uint8),
        np.array([3.0, 1.0, 2.0]),
        [3, 1.0, np.int64(2)],
        pd.array([3, 1, 2], "Int64"),
        pa.array([3, 1, 2]),
        pa.chunked_array([[3.0], [1.0, 2.0]]),
    ],
)
def test_whole_numbers_stay_numbers(column):
    answers = as_answers({"worker": ["w"] * 3, "task": [1] * 3, "item": column, "group": [1, 1, 2]})

    assert answers.item.dtype == np.int64
    assert answers.item.tolist() == [3, 1, 2]


def test_a_number_among_texts_is_a_text_without_decimals():
    answers = as_answers([("w", 1, 3.0, 1), ("w", 1, "b", 1), ("w", 1, 2.5, 1), ("w", 1, True, 1)])

    assert answers.item.tolist() == ["3", "b", "2.5", "True"]


def test_numbers_beyond_int64_are_texts():
    assert as_answers([("w", 2**64, "a", 1), ("w", 2**64, "b", 1)]).task.tolist() == ["18446744073709551616"] * 2
    assert as_answers([("w", -(2**63), "a", 1), ("w", 2**63 - 1, "b", 1)]).task.dtype == np.int64


def test_blanks_around_names_are_removed_and_inner_ones_kept(tmp_path):
    messy = [(" ann", "t1", "a  b ", "x"), ("ann", "t1 ", '"c, ""d"""', " x"), ("ann", "t1", "e\u00a0", "y")]
    answers = as_answers(write_csv(tmp_path / "messy.csv", messy))

    assert answers.worker.tolist() == ["ann"] * 3
    assert answers.item.tolist() == ["a  b", 'c, "d"', "e"]
    assert answers.group.tolist() == ["x", "x", "y"]


@pytest.mark.parametrize("blank", ["", "   ", None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("column", [2, 3])
def test_rows_without_item_or_group_are_ignored_and_counted(blank, column):
    rows = [list(row) for row in ROWS]
    rows[1][column] = blank
    answers = as_answers(rows)

    assert rows_of(answers) == [ROWS[0], *ROWS[2:]]
    assert answers.notes == ("1 row without an item or a group, ignored",)


def test_a_blank_cell_of_a_file_is_an_item_left_out(tmp_path):
    answers = as_answers(write_csv(tmp_path / "a.csv", [*ROWS, ("bob", "t2", "x.png", ""), ("bob", "t2", "y.png", "")]))

    assert rows_of(answers) == ROWS
    assert answers.notes == ("2 rows without an item or a group, ignored",)


def test_a_row_that_is_all_blank_needs_no_worker():
    assert rows_of(as_answers([*ROWS, (None, None, None, None)])) == ROWS


@pytest.mark.parametrize("role", ["worker", "task"])
def test_a_row_without_worker_or_task_is_refused(role, tmp_path):
    rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    rows[3][role] = " "
    with pytest.raises(DataError, match=f"1 row without a {role}, as row 4"):
        as_answers(rows)
    with pytest.raises(DataError, match=r"1 row without a .*, as .*answers.csv row 4"):
        as_answers(write_csv(tmp_path / "answers.csv", [row.values() for row in rows]))


def test_without_workers_each_task_has_an_unknown_one():
    answers = as_answers([dict(zip(NAMES[1:], row[1:], strict=True)) for row in ROWS])

    assert answers.worker.tolist() == ["task t1"] * 3 + ["task t2"] * 2
    assert answers.task.tolist() == [row[1] for row in ROWS]
    assert answers.notes == (
        "the list: no column 'worker', so each task is taken to have one answer, of an unknown worker",
    )


def test_a_column_that_may_be_of_the_workers_is_named():
    (note,) = as_answers({"WorkerId": COLUMNS["worker"]} | {name: COLUMNS[name] for name in NAMES[1:]}).notes

    assert note.endswith("If it is 'WorkerId', map it: columns='worker=WorkerId'")


def test_without_tasks_each_worker_has_one():
    answers = as_answers({name: COLUMNS[name] for name in NAMES if name != "task"})

    assert answers.task.tolist() == answers.worker.tolist() == COLUMNS["worker"]
    assert "no column 'task', so each worker is taken to have one answer" in answers.notes[0]


def test_without_tasks_a_worker_who_saw_an_item_twice_is_refused():
    with pytest.raises(DataError, match=r"the worker ann has the item b more than once.*Map the column of tasks"):
        as_answers(
            {"worker": ["bob", "ann", "ann", "ann"], "item": ["b", "a", "b", "b"], "group": [1, 1, 2, 1]},
        )


def test_without_workers_and_tasks_nothing_tells_answers_apart():
    with pytest.raises(DataError, match=r"no column of workers and none of tasks.*It has: item, group"):
        as_answers({"item": ["a", "b"], "group": [1, 2]})


def test_answers_with_one_item_are_noted():
    answers = as_answers([*ROWS, ("eve", "t3", "7", "1"), ("eve", "t4", "7", "1")])

    assert answers.notes == ("2 answers with one item, which gives no pairs",)
    assert len(answers.pairs()) == 3 + 1


def test_an_item_twice_in_an_answer_is_refused():
    with pytest.raises(DataError, match=r"ann.* has the item .*7.* twice in the task .*t1"):
        as_answers([*ROWS, ROWS[1]])


def write_turk(path, **changed):
    header = ["HITId", "Reward", "WorkerId", "Input.image1", "Input.image2", "Input.image10", "Input.image11"]
    header += ["Answer.group10", "Answer.group2", "Answer.group1", "Answer.group_comment"]
    rows = [
        ["h1", "$0.05", "ann", "007", "7", "x.png", "lonely", "b", "a", "a", "nice"],
        ["h1", "$0.05", "bob", "007", "7", "x.png", "lonely", "", "2", "1", '"so, ""so"""'],
        ["h2", "$0.05", "ann", "y.png", "7", "z.png", "lonely", "3", "2", "1", ""],
    ]
    return write_csv(path, rows, [changed.get(name, name) for name in header])


def test_a_row_of_mechanical_turk_is_an_answer(tmp_path):
    answers = as_answers(write_turk(tmp_path / "results.csv"), TURK)

    assert rows_of(answers) == [
        *(("ann", "h1", "007", "a"), ("ann", "h1", "7", "a"), ("ann", "h1", "x.png", "b")),
        *(("bob", "h1", "007", "1"), ("bob", "h1", "7", "2")),
        *(("ann", "h2", "y.png", "1"), ("ann", "h2", "7", "2"), ("ann", "h2", "z.png", "3")),
    ]
    assert answers.notes[0].endswith("without a partner are ignored: Input.image11, Answer.group_comment")
    assert answers.notes[1:] == ("1 row without an item or a group, ignored",)


def test_a_map_may_be_a_text(tmp_path):
    path = write_turk(tmp_path / "results.csv", **{"Input.image1": '"Input, image1"', "Answer.group1": "a=group1"})
    answers = as_answers(path, "worker=WorkerId,task=HITId,item=Input, image*,group=a=group*")

    assert rows_of(answers)[0] == ("ann", "h1", "007", "a")


def test_rows_of_mechanical_turk_without_workers_are_of_unknown_ones(tmp_path):
    path = write_turk(tmp_path / "results.csv")
    answers = as_answers([path], {name: TURK[name] for name in NAMES[1:]})

    assert answers.n_answers == 3  # two of them to the same task
    assert answers.worker[-1] == f"{path} row 3"
    assert "each row is taken for the answer of an unknown worker. If it is 'WorkerId'" in answers.notes[1]


def test_rows_of_mechanical_turk_without_tasks_are_tasks(tmp_path):
    answers = as_answers(write_turk(tmp_path / "results.csv"), {n: TURK[n] for n in ("worker", "item", "group")})

    assert answers.n_answers == 3  # ann answered two tasks
    assert np.unique(answers.worker).tolist() == ["ann", "bob"]


def test_cells_of_wide_rows_of_several_types():
    row = {"worker": "w", "task": 1, "item1": 5, "item2": "b", "item3": "c", "group1": 1.0, "group2": 2, "group3": None}
    answers = as_answers([row], {"item": "item*", "group": "group*"})

    assert rows_of(answers) == [("w", 1, "5", 1), ("w", 1, "b", 2)]


def test_rows_of_arrays_are_mapped_by_position():
    swapped = [row[::-1] for row in ROWS]

    assert rows_of(as_answers(swapped, {"worker": 3, "task": 2, "item": 1, "group": 0})) == ROWS
    assert rows_of(as_answers(np.array(swapped), dict(zip(NAMES, "3210", strict=True)))) == ROWS


def test_numbers_in_npy_files(tmp_path):
    np.save(tmp_path / "answers.npy", [[1, 1, 5, 0], [1, 1, 6, 1]])

    assert rows_of(as_answers(tmp_path / "answers.npy")) == [(1, 1, 5, 0), (1, 1, 6, 1)]
    assert as_answers(tmp_path / "answers.npy", {"worker": 1, "task": 0, "item": 2, "group": 3}).item.tolist() == [5, 6]


def test_a_missing_column_is_named_with_those_there_are_and_a_map(tmp_path):
    with pytest.raises(DataError) as caught:
        as_answers(write_turk(tmp_path / "results.csv"))

    told = str(caught.value)
    assert told.startswith(
        f"{tmp_path / 'results.csv'}: no column 'item' for the items. It has: HITId, Reward, WorkerId"
    )
    assert told.endswith("columns='worker=WorkerId,task=HITId,item=Input.image*,group=Answer.group*'.")


def test_a_mapped_column_that_is_missing_is_refused(tmp_path):
    with pytest.raises(DataError, match="no column 'WorkerID' for the workers"):
        as_answers(write_turk(tmp_path / "results.csv"), TURK | {"worker": "WorkerID"})
    with pytest.raises(DataError, match=r"no columns 'Input.picture\*' for the items"):
        as_answers(write_turk(tmp_path / "results.csv"), TURK | {"item": "Input.picture*"})
    with pytest.raises(DataError, match=r"no column 'HIT\*' has a partner 'Answer.group\*'"):
        as_answers(write_turk(tmp_path / "results.csv"), TURK | {"item": "HIT*"})


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"wroker": "WorkerId"}, "maps worker, task, item and group; got 'wroker'"),
        ("WorkerId,HITId", "must be a map such as .* got 'WorkerId,HITId'"),
        ({"worker": None}, "must be a name or a position; got None"),
        ({"item": "Input.image*"}, r"a \* stands once in the columns of both item and group"),
        ({"item": "*.image*", "group": "*"}, r"a \* stands once"),
        ({"worker": "W*"}, r"a \* stands once"),
    ],
)
def test_a_wrong_map_is_refused(columns, told):
    with pytest.raises(ValueError, match=told):
        as_answers(ROWS, columns)


def test_what_is_in_a_pattern_is_taken_literally():
    rows = [{"worker": "w", "task": 1, "a.1": "x", "g(1": 1, "ab1": "no", "a.2": "y", "g(2": 1}]

    assert as_answers(rows, {"item": "a.*", "group": "g(*"}).item.tolist() == ["x", "y"]


@pytest.mark.parametrize("text", ["", "worker,task,item,group\n"])
def test_an_empty_file_is_refused(text, tmp_path):
    (tmp_path / "empty.csv").write_text(text)
    with pytest.raises(DataError, match=r"empty\.csv"):
        as_answers(tmp_path / "empty.csv")


@pytest.mark.parametrize(
    "source", [[], {}, pa.table(COLUMNS).slice(0, 0), np.empty((0, 4)), {name: [] for name in NAMES}]
)
def test_no_rows_are_refused(source):
    with pytest.raises(DataError, match="there are no answers in it"):
        as_answers(source)


def test_rows_that_are_all_blank_are_refused():
    with pytest.raises(DataError, match="no row has both an item and a group"):
        as_answers([(*row[:3], "") for row in ROWS])


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (7, "can't read answers from int"),
        (b"answers.csv", "can't read answers from bytes"),
        ([row[:3] for row in ROWS], "got 3 columns"),
        ([ROWS[0], ROWS[1][:3]], "rows of 3 and of 4"),
        ([ROWS[0], "a"], "rows .*, or mappings; got str, tuple"),
        (np.array(ROWS)[0], r"got the shape \(4,\)"),
        (COLUMNS | {"item": ["a"]}, "must have one length; got worker 5, task 5, item 1"),
        (COLUMNS | {"item": "abcde"}, "column 'item' must be a list or an array of names; got 'abcde'"),
        (COLUMNS | {"item": [["a"]] * 5}, "must have one name in each row; got lists or mappings"),
        (pa.table(COLUMNS | {"item": [["a"]] * 5}), "must have one name in each row; got list"),
        ("no_such_file.csv", "no_such_file.csv"),
    ],
)
def test_what_holds_no_answers_is_refused(source, told):
    with pytest.raises(DataError, match=told):
        as_answers(source)


def test_a_stream_of_numbers_only_is_refused(tmp_path):
    with pytest.raises(DataError, match="raw=True"):
        as_answers(stream(write_csv(tmp_path / "a.csv", [(1, 1, 1, 1), (1, 1, 2, 1)])))


def test_options_for_files_are_passed_on(tmp_path):
    path = write_csv(tmp_path / "a.csv", [*ROWS, ("too", "few")], sep="|")
    answers = as_answers(path, delimiter="|", skip_bad_rows=True)

    assert rows_of(answers) == ROWS
    assert "1 bad rows left out, the first is" in answers.notes[-1]


def test_columns_that_do_not_matter_may_hold_anything(tmp_path):
    rows = [(i // 20, i // 20, i % 20, i % 3, "late" if i == 99_999 else 5, "x" * 20) for i in range(100_000)]
    path = write_csv(tmp_path / "large.csv", rows, (*NAMES, "seconds", "filling"))
    answers = as_answers(path)

    assert len(answers) == 100_000  # though the type of "seconds" differs after the first MiB
    assert answers.n_answers == 5_000
