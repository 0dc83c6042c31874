"""Values and ids under slots."""

import numpy as np
import pytest

from modicum.rows import find_slots, put_values


@pytest.mark.parametrize(
    ("slots", "expected"),
    [([1], [0, 10, 2]), ([3, 4], [0, 1, 2, 10, 11]), ([2, 0, 3], [11, 1, 10, 12]), ([], [0, 1, 2])],
)
def test_old_slots_are_replaced_and_new_ones_appended(slots, expected):
    column = np.arange(3)
    values = np.arange(10, 10 + len(slots))
    assert put_values(column, np.array(slots, int), values).tolist() == expected
    assert column.tolist() == [0, 1, 2]  # a copy is changed


def test_words_that_are_longer_are_not_cut():
    column = np.array(["tea", "milk"])
    assert put_values(column, np.array([2]), np.array(["lemonade"])).tolist() == ["tea", "milk", "lemonade"]


def test_the_dtype_stays():
    assert put_values(np.empty(0, np.int32), np.arange(2), np.array([4, 5], np.int32)).dtype == np.int32


def test_slots_of_ids_are_found():
    ids = np.array([7, 3, 9])
    assert find_slots(ids, np.array([9, 4, 7, 100])).tolist() == [2, -1, 0, -1]
    assert find_slots(ids[:0], np.array([9, 4])).tolist() == [-1, -1]
