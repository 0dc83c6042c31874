"""Rows of any kind: what they are, how many, how large, and which of them."""

import numpy as np
import pytest
from scipy import sparse

from modicum.rows import are_objects, as_csr, average_bytes, equal_rows, is_sparse, n_rows, take

DENSE = np.arange(12.0).reshape(4, 3)
WORDS = ["tea", "coffee", "", "milk"]


def csr(values):
    return sparse.csr_matrix(np.asarray(values, float))


def as_list(rows):
    return rows if isinstance(rows, list) else (rows.toarray() if is_sparse(rows) else rows).tolist()


@pytest.mark.parametrize("rows", [DENSE, csr(DENSE), WORDS])
@pytest.mark.parametrize(
    "index", [slice(1, 3), slice(None, None, 2), slice(3, 1), slice(2, 99), np.array([3, 0, 3]), np.array([], int)]
)
def test_take_is_the_same_for_all_kinds(rows, index):
    expected = [as_list(rows)[i] for i in np.arange(4)[index]]
    taken = take(rows, index)
    assert type(taken) is type(rows)
    assert n_rows(taken) == len(expected)
    assert as_list(taken) == expected


def test_consecutive_sparse_rows_share_memory():
    rows = csr(DENSE)
    taken = take(rows, slice(1, 3))
    assert np.shares_memory(taken.data, rows.data)
    taken.check_format(full_check=True)
    assert not np.shares_memory(take(rows, np.array([1, 2])).data, rows.data)


def test_as_csr_copies_nothing():
    whole = csr(DENSE)
    made = as_csr(whole.data, whole.indices, whole.indptr, 3)
    assert made.data is whole.data
    assert (made != whole).nnz == 0


@pytest.mark.parametrize("kind", [np.asarray, csr])
def test_equal_rows_are_found_entry_by_entry(kind):
    other = DENSE.copy()
    other[1, 2] += 1e-12
    other[3] = 0
    assert equal_rows(kind(DENSE), kind(other)).tolist() == [True, False, True, False]


def test_equal_objects_are_found():
    assert equal_rows(WORDS, ["tea", "Coffee", "", "milk "]).tolist() == [True, False, True, False]
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        equal_rows(WORDS, WORDS[:3])


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 12), (np.float64, 24)])
def test_dense_rows_have_an_exact_size(dtype, size):
    assert average_bytes(DENSE.astype(dtype)) == size


def test_rows_of_different_sizes_are_estimated_with_a_margin():
    thin = sparse.random(100, 50, 0.1, format="csr", random_state=0)
    held = thin.data.nbytes + thin.indices.nbytes + thin.indptr.nbytes
    assert held <= 100 * average_bytes(thin) <= 1.3 * held
    held = sum(word.__sizeof__() for word in WORDS)
    assert held < 4 * average_bytes(WORDS) < 1.5 * held + 32


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (WORDS, True),
        ([{"a": 1}], True),
        ([([(0, 1)], ["C", "O"])], True),  # a graph: lists of different lengths inside
        ([[1.0, 2.0]], False),
        ([np.array([1, 2])], False),
        ([[True, False]], False),
        (np.array(WORDS), True),
        (np.array(WORDS, object), True),
        (DENSE, False),
        (csr(DENSE), False),
    ],
)
def test_objects_are_distinguished_from_numbers(rows, expected):
    assert are_objects(rows) is expected
