"""Labels of any kind, in any order, and those that are refused."""

import numpy as np
import pytest

from modicum import state
from modicum.contract.labels import Labels, clean_labels
from modicum.exceptions import DataError

KINDS = {
    "ints": np.array([30, -2, 7, 30, 0]),
    "small ints": np.array([3, 2, 7, 3, 0], np.uint8),
    "floats": np.array([3.0, -2.0, 0.0, 3.0, 1e9]),
    "truth": np.array([True, False, True, False, True]),
    "strings": np.array(["b", "a", "zebra", "b", ""]),
    "large ints": np.array([2**60, 2**60 + 1, -(2**62), 2**60, 5]),
}


def known(y):
    labels = Labels()
    for label in y:
        if labels.codes(np.array([label]))[0] < 0:
            labels.add(label)
    return labels


@pytest.mark.parametrize("y", KINDS.values(), ids=KINDS)
def test_codes_are_positions_in_the_order_of_first_rows(y):
    labels = known(y)
    first = list(dict.fromkeys(y.tolist()))
    assert labels.values.tolist() == first
    assert len(labels) == len(first)
    assert labels.codes(y).tolist() == [first.index(label) for label in y.tolist()]
    assert [labels.code_of(label) for label in y.tolist()] == labels.codes(y).tolist()
    assert labels.sorted.tolist() == sorted(first)
    np.testing.assert_array_equal(labels.values[labels.order], np.unique(y))


@pytest.mark.parametrize("y", KINDS.values(), ids=KINDS)
def test_files_contain_them(y):
    labels = known(y)
    assert labels.code_of(y[0].item()) == 0  # a table that is made when asked for is not saved
    again = state.from_bytes(state.to_bytes({"labels": labels}))["labels"]
    assert again.values.dtype == labels.values.dtype
    np.testing.assert_array_equal(again.codes(y), labels.codes(y))
    again.add(np.array(["new"] if y.dtype.kind == "U" else [99]).astype(y.dtype)[0])


def test_new_labels_have_no_code():
    labels = known(np.array([3, 1]))
    assert labels.codes(np.array([1, 2, 3, 9, -5])).tolist() == [1, -1, 0, -1, -1]
    assert labels.code_of(2) is None
    labels.add(2)
    assert labels.code_of(2) == 2
    assert Labels().codes(np.array(["a", "b"])).tolist() == [-1, -1]


def test_longer_strings_are_not_cut():
    labels = known(np.array(["b", "a"]))
    assert labels.codes(np.array(["b", "bb", "a"])).tolist() == [0, -1, 1]
    labels.add(np.array(["bb"])[0])
    assert labels.sorted.tolist() == ["a", "b", "bb"]


def test_wider_numbers_are_not_cut():
    labels = known(np.array([1, 2], np.int8))
    labels.add(np.int64(70000))
    assert labels.sorted.tolist() == [1, 2, 70000]


def test_large_numbers_of_another_type_are_the_same_labels():
    large = np.array([2**60, 2**60 + 1])
    labels = known(large)
    assert labels.codes(large.astype(np.uint64)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("known_ones", "come"),
    [([1, 2], ["1", "2"]), (["1"], [1]), ([1, 0], [True, False]), ([True], [1.0]), ([b"a"], ["a"])],
)
def test_kinds_do_not_mix(known_ones, come):
    with pytest.raises(DataError, match=r"were .* before"):
        known(np.array(known_ones)).check(np.array(come))


@pytest.mark.parametrize(("known_ones", "come"), [([1, 2], [1.0, 3.0]), (["a"], ["long"]), ([1], [2**60])])
def test_numbers_are_numbers_and_strings_are_strings(known_ones, come):
    known(np.array(known_ones)).check(np.array(come))
    Labels().check(np.array(come))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2], np.array([1, 2])),
        (["a", "bb"], np.array(["a", "bb"])),
        (np.array(["a", "bb"], object), np.array(["a", "bb"])),
        (np.array([1, 2], object), np.array([1, 2])),
        (np.array([True, False], object), np.array([True, False])),
        (np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0], np.float32)),
        ((3, 4), np.array([3, 4])),
    ],
)
def test_arrays_of_objects_become_plain(given, expected):
    y = clean_labels(given, "Model")
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0.0, np.nan], "row 1 of this chunk is nan"),
        ([np.inf, 0.0], "row 0 of this chunk is inf"),
        ([0.5, 1.0], "continuous"),
        (np.array([None, "a"], object), "Unknown label type"),
        (np.array(["a", np.nan], object), "strings in some rows and numbers in others"),
        (np.array([1, "a"], object), "strings in some rows and numbers in others"),
        (np.array([(1, 2), (3,)], object), "Unknown label type"),
        (np.array([2**70, 1], object), "Unknown label type"),
        ([1 + 2j], "complex"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
    ],
)
def test_what_names_no_class_is_refused(given, words):
    with pytest.raises(DataError, match=words):
        clean_labels(given, "Model")


def test_a_column_is_taken_with_a_warning_and_a_table_refused():
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning):
        assert clean_labels([[1], [2]], "Model").tolist() == [1, 2]
    with pytest.raises(ValueError, match="1d array"):
        clean_labels([[1, 2], [2, 3]], "Model")


@pytest.mark.parametrize("gap", [float("nan"), None, 3])
@pytest.mark.parametrize("kind", [list, tuple, lambda y: np.array(y, object)])
def test_gaps_among_names_are_no_names(gap, kind):
    with pytest.raises(DataError, match=r"[Ll]abels"):
        clean_labels(kind(["a", "b", gap]), "StreamSVC")
