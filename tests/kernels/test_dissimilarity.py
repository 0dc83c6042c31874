"""Dissimilarities against scipy's and scikit-learn's, dense and sparse, in both precisions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from modicum.exceptions import DataError
from modicum.kernels import as_dissimilarity
from modicum.kernels.dissimilarity import metric_names


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 6)), rng.normal(size=(70, 6))


@pytest.mark.parametrize("name", [name for name in metric_names() if name != "edit-distance"])
def test_every_name_is_scikit_learns(name, pair):
    A, B = pair
    if name in PAIRWISE_BOOLEAN_FUNCTIONS:
        A, B = (np.where(np.abs(X) > 0.5, X, 0) for X in pair)
        expected = pairwise_distances(A != 0, B != 0, metric=name)
    else:
        expected = pairwise_distances(A, B, metric=name)
    np.testing.assert_allclose(as_dissimilarity(name)(A, B), np.maximum(expected, 0), atol=1e-10)


@pytest.mark.parametrize("name", ["sqeuclidean", "euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_in_both_precisions(name, dtype, pair):
    A, B = (X.astype(dtype) for X in pair)
    found = as_dissimilarity(name)(A, B)
    assert found.dtype == dtype
    expected = pairwise_distances(A.astype(float), B.astype(float), metric=name)
    np.testing.assert_allclose(found, expected, atol=2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", ["sqeuclidean", "euclidean", "cosine", "manhattan"])
def test_sparse_equals_dense(name, pair):
    A, B = (np.where(np.abs(X) > 1, X, 0) for X in pair)
    found = as_dissimilarity(name)(sparse.csr_matrix(A), sparse.csr_matrix(B))
    np.testing.assert_allclose(found, as_dissimilarity(name)(A, B), atol=1e-12)


def test_far_from_the_origin_few_digits_are_lost():
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(40, 3)).astype(np.float32) + np.float32(1000) for _ in range(2))
    expected = pairwise_distances(A.astype(float), B.astype(float), metric="sqeuclidean")
    np.testing.assert_allclose(as_dissimilarity("sqeuclidean")(A, B), expected, rtol=1e-3, atol=1e-4)


def test_a_row_of_zeros_is_at_cosine_distance_1():
    assert as_dissimilarity("cosine")(np.zeros((1, 3)), np.ones((2, 3))).tolist() == [[1.0, 1.0]]


def test_negative_or_undefined_answers_are_refused():
    for value in (-1.0, np.nan):
        with pytest.raises(DataError, match="from 0 up"):
            as_dissimilarity(lambda a, b, value=value: value)(np.ones((2, 2)), np.ones((2, 2)))


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"cosine.*got 'near'"):
        as_dissimilarity("near")
