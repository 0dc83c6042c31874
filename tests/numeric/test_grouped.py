"""Groups of sparse rows against loops over dense ones."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse

from modicum.numeric.grouped import dots, weighted_sums


def test_groups_of_sparse_rows():
    rng = np.random.default_rng(0)
    X = sparse.random(30, 8, 0.2, format="csr", random_state=0)
    starts, group = np.array([0, 1, 12]), np.repeat([0, 1, 2], [1, 11, 18])
    weights, vectors = rng.normal(size=30), rng.normal(size=(3, 8))
    rows = X.toarray()
    assert_allclose(weighted_sums(X, weights, starts), [weights[group == g] @ rows[group == g] for g in range(3)])
    assert_allclose(dots(X, vectors, group), [row @ vectors[g] for row, g in zip(rows, group, strict=True)])
