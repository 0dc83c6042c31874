"""Kept rows under slots: the three kinds against a plain list."""

import copy
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from modicum import state
from modicum.rows import DenseRows, ObjectRows, Rows, RowsOf, SparseRows, take
from modicum.rules.invariants import Scope, Violation

KINDS = ("dense", "sparse", "objects")


def made(kind, numbers):
    """Rows that differ, one per number."""
    if kind == "objects":
        return [f"row {i}" for i in numbers]
    dense = np.array([[i, 0, -i] for i in numbers], np.float32).reshape(-1, 3)
    return dense if kind == "dense" else sparse.csr_matrix(dense)


def numbers_of(rows):
    if isinstance(rows.values, list):
        return [int(value[4:]) for value in rows.values]
    values = rows.values.toarray() if sparse.issparse(rows.values) else rows.values
    assert np.array_equal(values[:, 2], -values[:, 0])
    return values[:, 0].astype(int).tolist()


@pytest.mark.parametrize(("kind", "cls"), [("dense", DenseRows), ("sparse", SparseRows), ("objects", ObjectRows)])
def test_the_kind_is_that_of_the_example(kind, cls):
    rows = Rows.like(made(kind, [1]), 5)
    assert type(rows) is cls
    assert rows.kind == kind
    assert len(rows) == 0
    if kind != "objects":
        assert rows.values.dtype == np.float32
        assert rows.values.shape == (0, 3)


@st.composite
def changes(draw):
    """Writes into old and new slots, and drops, that a list can follow."""
    count, steps = 0, []
    for _ in range(draw(st.integers(1, 8))):
        if count and draw(st.booleans()) and draw(st.booleans()):
            kept = draw(st.lists(st.integers(0, count - 1), unique=True))
            steps.append(("keep", kept))
            count = len(kept)
        else:
            old = draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
            new = draw(st.integers(0, 4))
            steps.append(("put", [*old, *range(count, count + new)]))
            count += new
    return steps


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(steps=changes())
def test_put_and_keep_as_a_list_does(kind, steps):
    rows, expected, fresh = Rows.like(made(kind, [0]), 40), [], iter(range(1, 1000))
    for verb, slots in steps:
        index = np.array(slots, np.int64)
        if verb == "keep":
            rows.keep(index)
            expected = [expected[slot] for slot in slots]
        else:
            numbers = [next(fresh) for _ in slots]
            rows.put(index, made(kind, numbers))
            expected += [None] * (max([len(expected) - 1, *slots]) + 1 - len(expected))
            for slot, number in zip(slots, numbers, strict=True):
                expected[slot] = number
        assert len(rows) == len(expected)
        assert numbers_of(rows) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_put_is_not_the_callers(kind):
    X = made(kind, [1, 2])
    rows = Rows.like(X, 4)
    rows.put(np.arange(2), X)
    if kind == "objects":
        X[0] = "row 9"
    elif kind == "sparse":
        X.data[:] = 9
    else:
        X[:] = 9
    assert numbers_of(rows) == [1, 2]


def test_dense_rows_grow_by_doubling_up_to_the_limit():
    rows, rooms = DenseRows(np.float32, 3, 100), []
    for i in range(100):
        rows.put(np.array([i]), made("dense", [i]))
        rooms.append(len(rows._room))
    assert len(set(rooms)) <= 8  # each is an allocation, and a copy of all rows
    assert max(rooms) == 100
    assert numbers_of(rows) == list(range(100))


def test_dense_rows_are_written_in_place_once_they_are_full():
    rows = DenseRows(np.float64, 3, 4)
    rows.put(np.arange(4), np.zeros((4, 3)))
    room = rows._room
    rows.put(np.array([2]), np.ones((1, 3)))
    assert rows._room is room
    assert rows.values[2].tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_those_of_the_rows_held(kind):
    X = made(kind, range(1, 8))
    rows = Rows.like(X, 50)
    rows.put(np.arange(7), X)
    expected = {
        "dense": 7 * 3 * 4,
        "sparse": 14 * (4 + 4) + 8 * 4 if kind == "sparse" else 0,  # two values per row, and where rows start
        "objects": sum(map(sys.getsizeof, X)) if kind == "objects" else 0,
    }
    assert rows.nbytes == state.held_bytes(rows) == expected[kind]
    rows.keep(np.array([0, 1]))
    assert rows.nbytes < expected[kind] / 2


@pytest.mark.parametrize("kind", KINDS)
def test_copies_and_loaded_states_continue_identically(kind):
    rows = Rows.like(made(kind, [0]), 10)
    rows.put(np.arange(5), made(kind, range(5)))
    packed = state.to_bytes({"rows": rows})
    twin, again = copy.deepcopy(rows), state.from_bytes(packed)["rows"]
    for each in (twin, again):
        each.put(np.array([1, 5]), made(kind, [11, 15]))
        assert numbers_of(each) == [0, 11, 2, 3, 4, 15]
    assert numbers_of(rows) == [0, 1, 2, 3, 4]
    assert state.to_bytes({"rows": rows}) == packed


def test_objects_of_a_copy_are_the_same_objects():
    rows = ObjectRows()
    rows.put(np.arange(1), [["a list"]])
    assert copy.deepcopy(rows).values[0] is rows.values[0]


def test_unused_room_is_not_saved():
    rows = DenseRows(np.float64, 3, 1000)
    rows.put(np.arange(400), np.ones((400, 3)))
    assert len(rows._room) == 800
    assert len(state.to_bytes({"rows": rows})) < 400 * 24 + 2000


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ({}, None),
        ({"n": 3}, "size 3"),
        ({"n_features": 4}, "size 4"),
        ({"dtype": "float64"}, "float64"),
        ({"kind": "sparse"}, "dense rows"),
    ],
)
def test_the_rule_for_rows(sizes, wrong):
    rows = Rows.like(made("dense", [0]), 10)
    rows.put(np.arange(5), made("dense", range(5)))
    scope = Scope(None, {"n": 5, "n_features": 3, "dtype": "float32", "kind": "dense"} | sizes)
    if wrong is None:
        RowsOf("n").check(rows, scope)
        RowsOf("n", most=lambda _: 5).check(rows, scope)
        with pytest.raises(Violation, match="at most 4"):
            RowsOf("n", most=lambda _: 4).check(rows, scope)
        rows.values[2, 1] = np.nan
        wrong = "finite"
    with pytest.raises(Violation, match=wrong):
        RowsOf("n").check(rows, scope)


def test_taking_slots_of_kept_rows():
    rows = Rows.like(made("sparse", [0]), 10)
    rows.put(np.arange(5), made("sparse", range(5)))
    assert take(rows.values, np.array([4, 0])).toarray()[:, 0].tolist() == [4, 0]


def test_indices_of_sparse_rows_have_32_bits():
    X = sparse.random(5, 8, 0.5, format="csr", random_state=0)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    rows = Rows.like(X, 10)
    rows.put(np.arange(5), X)
    assert rows.values.indices.dtype == rows.values.indptr.dtype == np.int32
    assert (rows.values != X).nnz == 0
