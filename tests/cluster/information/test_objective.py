"""The objective of RIM against a slow twin from the thesis' formulas, and its gradient against differences."""

import numpy as np
import pytest
from scipy import sparse

from modicum.cluster.information import objective
from modicum.cluster.information.kernel_features import KernelFeatures
from modicum.cluster.information.objective import Labelled, Objective
from modicum.cluster.information.priors import Prior
from modicum.kernels import RBF

N, WIDTH, K, LAMBDA = 60, 3, 4, 0.01


def some_rows(seed=0):
    return np.random.default_rng(seed).normal(size=(N, WIDTH))


def some_shares(seed=0):
    shares = np.random.default_rng(seed).uniform(0.1, 1.0, N)
    return shares / shares.sum()


def some_params(width, seed=1):
    return np.random.default_rng(seed).normal(size=(width + 1) * K)


def by_definition(X, shares, W, b, log_d, labels=None, tau=1.0):
    """F of eq. 5.3.2 with 5.4.1 and 5.6, row by row and category by category."""
    p = [[np.exp(W[:, k] @ x + b[k]) for k in range(K)] for x in X]
    p = [[value / sum(row) for value in row] for row in p]
    q = [sum(s * row[k] for s, row in zip(shares, p, strict=True)) for k in range(K)]
    conditional_entropy = -sum(s * sum(v * np.log(v) for v in row) for s, row in zip(shares, p, strict=True))
    divergence = sum(q[k] * (np.log(q[k]) - log_d[k]) for k in range(K))
    penalty = LAMBDA * sum(W[:, k] @ W[:, k] for k in range(K))
    known = [] if labels is None else [np.log(p[i][k]) for i, k in zip(labels.rows, labels.categories, strict=True)]
    weights = None if labels is None else labels.weights
    return tau * (-conditional_entropy - divergence) - penalty + (np.average(known, weights=weights) if known else 0.0)


def kernel_rows():
    X = some_rows()
    return KernelFeatures.of(RBF(1.5), X[:20], X, np.full(N, 1 / N))(X)


ROWS = {
    "dense": some_rows,
    "sparse": lambda: sparse.csr_matrix(some_rows() * (some_rows(5) > 0)),
    "kernel": kernel_rows,
}
PRIORS = {"uniform": Prior(), "given": Prior([0.5, 0.3, 0.1]), "power law": Prior("power law")}
SOME = np.array([0, 7, 20]), np.array([1, 0, 2])
LABELS = {"none": None, "some": Labelled(*SOME), "weighted": Labelled(*SOME, np.array([1.0, 5.0, 0.5]))}


def make(rows="dense", prior="uniform", labels="none", tau=1.0, shares=None):
    X = ROWS[rows]()
    log_d = PRIORS[prior].log_proportions(np.array([0.2, 0.4, 0.1, 0.3]))
    shares = np.full(N, 1 / N) if shares is None else shares
    return X, log_d, Objective(X, shares, K, LAMBDA, log_prior=log_d, labels=LABELS[labels], tau=tau)


CASES = [
    {},
    {"shares": some_shares()},
    {"rows": "sparse", "shares": some_shares()},
    {"rows": "kernel"},
    {"prior": "given"},
    {"prior": "power law", "shares": some_shares()},
    {"labels": "some", "tau": 0.5},
    {"labels": "weighted"},
    {"rows": "kernel", "labels": "some", "prior": "given", "tau": 2.0, "shares": some_shares()},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case) or "plain")
def test_value_is_that_of_the_formulas(case):
    X, log_d, objective = make(**case)
    params = some_params(X.shape[1])
    dense = X.toarray() if sparse.issparse(X) else X
    labels, tau = LABELS[case.get("labels", "none")], case.get("tau", 1.0)
    expected = by_definition(dense, objective.shares, *objective.unpack(params), log_d, labels, tau)
    assert -objective(params)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case) or "plain")
def test_gradient_is_that_of_differences(case):
    X, _, objective = make(**case)
    params, step = some_params(X.shape[1]), 1e-5
    moves = step * np.eye(len(params))
    numerical = [(objective(params + move)[0] - objective(params - move)[0]) / (2 * step) for move in moves]
    np.testing.assert_allclose(objective(params)[1], numerical, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case) or "plain")
def test_tiles_add_up(case, monkeypatch):
    X, _, whole = make(**case)
    value, gradient = whole(some_params(X.shape[1]))
    monkeypatch.setattr(objective, "TILE", 7)
    _, _, tiled = make(**case)
    other, slope = tiled(some_params(X.shape[1]))
    assert other == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(slope, gradient, atol=1e-12)


def test_float32_rows_give_nearly_the_same():
    X, _, objective = make()
    single = Objective(X.astype(np.float32), objective.shares, K, LAMBDA)
    value, gradient = objective(some_params(WIDTH))
    other, slope = single(some_params(WIDTH))
    assert other == pytest.approx(value, abs=1e-5)
    np.testing.assert_allclose(slope, gradient, atol=1e-5)
    assert slope.dtype == np.float64


def test_information_is_at_most_the_logarithm_of_the_categories():
    _, _, objective = make()
    far = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]).T * 50
    params = objective.pack(far, np.zeros(K))
    assert -objective(params)[0] <= np.log(K) - objective.regularization * np.vdot(far, far) + 1e-12
    assert -objective(np.zeros_like(params))[0] == pytest.approx(0.0)  # the same probabilities for all rows


def test_a_constant_added_to_all_biases_changes_nothing():
    X, _, objective = make()
    params = some_params(X.shape[1])
    raised = params.copy()
    raised[-K:] += 3.0
    value, gradient = objective(params)
    assert objective(raised)[0] == pytest.approx(value)
    assert gradient[-K:].sum() == pytest.approx(0.0, abs=1e-12)
