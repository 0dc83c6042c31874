"""Buffered rows: the first of a stream, with their ids, targets and weights."""

import numpy as np
import pytest
from scipy import sparse

from modicum import state
from modicum.rows import BufferedRows

X = np.arange(12.0).reshape(6, 2)
KINDS = [X, sparse.csr_matrix(X), [f"row {i}" for i in range(6)]]


@pytest.mark.parametrize("rows", KINDS)
def test_chunks_are_appended_in_their_order(rows):
    buffered = BufferedRows(rows, np.arange(6), 10)
    buffered.append(rows[:2], np.array([10, 11]), None, np.array([100, 101]))
    buffered.append(rows[2:2], np.array([], int), None, np.array([], int))
    buffered.append(rows[2:], np.arange(12, 16), np.array([2.0, 3.0, 4.0, 5.0]), np.arange(102, 106))
    held = buffered.rows.values
    if isinstance(rows, list):
        assert held == rows
    else:
        assert np.array_equal(getattr(held, "toarray", lambda: held)(), X)
    assert buffered.ids.tolist() == list(range(100, 106))
    assert buffered.targets.tolist() == list(range(10, 16))
    assert buffered.weights.tolist() == [1, 1, 2, 3, 4, 5]


def test_without_targets_there_are_none():
    buffered = BufferedRows(X, None, 10)
    buffered.append(X, None, None, np.arange(6))
    assert buffered.targets is None


def test_rows_and_targets_have_the_dtype_of_the_first_ones():
    buffered = BufferedRows(X.astype(np.float32), np.array(["a"]), 10)
    buffered.append(X.astype(np.float32), np.array(list("abcdef")), None, np.arange(6))
    assert buffered.rows.values.dtype == np.float32
    assert buffered.targets.dtype.kind == "U"


def test_nothing_is_shared_with_the_caller():
    rows, ids = X.copy(), np.arange(6)
    buffered = BufferedRows(rows, None, 10)
    buffered.append(rows, None, None, ids)
    rows[:], ids[:] = -1, -1
    assert np.array_equal(buffered.rows.values, X)
    assert buffered.ids.tolist() == list(range(6))


def test_bytes_and_a_file():
    buffered = BufferedRows(X, np.arange(6), 10)
    buffered.append(X, np.arange(6), None, np.arange(6))
    assert state.held_bytes(buffered) == 6 * (16 + 8 + 8 + 8)  # rows, ids, targets, weights
    again = state.from_bytes(state.to_bytes({"it": buffered}))["it"]
    again.append(X[:1], np.array([9]), None, np.array([6]))
    assert again.ids.tolist() == list(range(7))
    assert len(again.rows) == 7
