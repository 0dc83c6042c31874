"""Packing: every value that a state may hold is restored exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from modicum.exceptions import StateError
from modicum.state import files as state
from modicum.state import held_bytes

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(values)
def test_plain_values_come_back(value):
    assert state.from_bytes(state.to_bytes({"value": value}))["value"] == value


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_come_back_bit_for_bit(array):
    again = state.from_bytes(state.to_bytes({"a": array}))["a"]
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()


def test_everything_else_comes_back():
    rng = np.random.default_rng(3)
    rng.normal(size=5)
    content = {
        "generator": rng,
        "tuple": (1, "two", None),
        "words": np.array(["a", "bc"]),
        "objects": np.array([["x"], {"y": 1}, None], object),
        "sparse": sparse.csr_matrix(np.eye(3)),
        "scalar": np.float32(1.5),
    }
    again = state.from_bytes(state.to_bytes(content))
    assert again["tuple"] == content["tuple"]
    assert again["words"].tolist() == ["a", "bc"]
    assert again["objects"].tolist() == content["objects"].tolist()
    assert (again["sparse"] != content["sparse"]).nnz == 0
    assert type(again["scalar"]) is np.float32
    np.testing.assert_array_equal(again["generator"].normal(size=9), rng.normal(size=9))


def test_values_that_can_not_be_saved_are_named():
    with pytest.raises(StateError, match="set"):
        state.to_bytes({"bad": {1, 2}})


def test_keys_of_a_nested_dict_may_be_anything():
    counts = {(1, "a"): 2, None: 3, 4.5: np.arange(3)}
    again = state.from_bytes(state.to_bytes({"counts": counts}))["counts"]
    assert list(again) == [(1, "a"), None, 4.5]
    assert again[4.5].tolist() == [0, 1, 2]


def test_only_the_outermost_keys_must_be_strings():
    with pytest.raises(StateError, match="keys in a state file must be strings"):
        state.to_bytes({1: 2})


def test_bytes_of_sparse_matrices_are_counted():
    matrix = sparse.csr_matrix(np.eye(3, 5))
    assert held_bytes({"matrix": matrix}) == 3 * 8 + matrix.indices.nbytes + matrix.indptr.nbytes
