"""KernelRIM: the form of the thesis as a twin, kernels of all kinds, prototypes, streams, labels, and hostile rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, xlogy
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from modicum import RIM, KernelRIM, load, stream
from modicum.exceptions import DataError, StateError
from modicum.kernels import RBF, Precomputed

LAMBDA = 3e-3


def rings(n=300, seed=0):
    """A disc and a ring around it, and which of both rows belong to."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 0.5 + 3.5 * label + 0.1 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


X, LABEL = rings()
KERNEL = RBF(2.0)


def model(**params):
    return KernelRIM(**{"n_clusters": 2, "kernel": KERNEL, "regularization": LAMBDA, "random_state": 0, **params})


def same(a, b):
    return adjusted_rand_score(a, b) == 1.0


# ---- what is maximised --------------------------------------------------------------------------------


def dual_objective(K, alpha, bias, regularization):
    """F in the coefficients of all rows (eq. 5.5.1), its penalty for a kernel of total variance 1, and its gradient."""
    n = len(K)
    log_p = log_softmax(K @ alpha + bias, axis=1)
    p = np.exp(log_p)
    q = p.mean(axis=0)
    information = (p * log_p).sum() / n - xlogy(q, q).sum()
    penalty = regularization * (K.trace() / n - K.mean())
    excess = log_p - np.log(q)
    residual = p * (excess - (p * excess).sum(axis=1, keepdims=True)) / n
    value = information - penalty * np.einsum("ik,ij,jk->", alpha, K, alpha)
    return value, K @ (residual - 2 * penalty * alpha), residual.sum(axis=0)


def ascend(K, alpha, bias, regularization):
    """The maximum of F that L-BFGS reaches from a model."""

    def loss(params):
        value, by_alpha, by_bias = dual_objective(K, params[:-2].reshape(-1, 2), params[-2:], regularization)
        return -value, -np.append(by_alpha, by_bias)

    return -minimize(loss, np.append(alpha, bias), jac=True, method="L-BFGS-B", options={"ftol": 1e-12}).fun


@pytest.mark.parametrize("regularization", [1e-3, 1e-2])
def test_the_form_of_the_thesis_is_at_its_maximum(regularization):
    rows, _ = rings(80)
    found = model(n_prototypes=None, regularization=regularization, tol=1e-12).fit(rows)
    K = KERNEL(rows, found.prototypes_)
    np.testing.assert_allclose(
        found.predict_proba(rows), np.exp(log_softmax(K @ found.dual_coef_.T + found.intercept_, axis=1)), atol=1e-6
    )
    at = [int(np.flatnonzero((rows == b).all(axis=1))[0]) for b in found.prototypes_]
    alpha = np.zeros((80, 2))
    alpha[at] = found.dual_coef_.T
    K = KERNEL(rows, rows)
    value = dual_objective(K, alpha, found.intercept_, regularization)[0]
    further = ascend(K, alpha, found.intercept_, regularization)
    assert value == pytest.approx(further, abs=1e-4)
    assert value < ascend(K, alpha, found.intercept_, 0.8 * regularization) - 1e-3  # the penalty is noticeable


def test_all_prototypes_are_all_rows():
    """Prototypes that span all rows give the same functions."""
    rows = X[:100]
    exact, chosen = (model(n_prototypes=n, tol=1e-9).fit(rows) for n in (None, 100))
    assert same(exact.predict(rows), chosen.predict(rows))
    assert chosen.mutual_information_ == pytest.approx(exact.mutual_information_, abs=2e-3)


def test_a_linear_kernel_is_rim():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3)) + 6 * np.eye(3)[np.arange(200) % 3]
    rows -= rows.mean(axis=0)
    kernel = model(n_clusters=3, kernel="linear", tol=1e-9).fit(rows)
    linear = RIM(n_clusters=3, regularization=LAMBDA, tol=1e-9, random_state=0).fit(rows)
    assert same(kernel.predict(rows), linear.predict(rows))
    assert kernel.mutual_information_ == pytest.approx(linear.mutual_information_, abs=1e-4)


@pytest.mark.parametrize("n_prototypes", [30, 250, None])
def test_rings(n_prototypes):
    found = model(n_prototypes=n_prototypes).fit(X)
    assert same(found.predict(X), LABEL)
    assert len(found.prototypes_) <= (n_prototypes or len(X))
    assert found.dual_coef_.shape == (2, len(found.prototypes_))
    logits = found.kernel_(X, found.prototypes_) @ found.dual_coef_.T + found.intercept_
    np.testing.assert_allclose(found.predict_proba(X), np.exp(log_softmax(logits, axis=1)), atol=1e-6)


def test_the_number_of_clusters_is_found():
    rng = np.random.default_rng(0)
    label = np.arange(300) % 3
    rows = rng.normal(size=(300, 2)) + 12 * np.array([[0, 0], [1, 0], [0, 1]])[label]
    found = KernelRIM(20, regularization=0.02, random_state=0).fit(rows)
    assert same(found.predict(rows), label)


# ---- rows and kernels of all kinds --------------------------------------------------------------------


def test_a_precomputed_matrix():
    """Rows are row numbers."""
    numbers = np.arange(len(X))[:, None]
    by_number = model(kernel=Precomputed(KERNEL(X, X)), n_prototypes=None).fit(numbers)
    by_row = model(n_prototypes=None).fit(X)
    np.testing.assert_allclose(by_number.predict_proba(numbers), by_row.predict_proba(X), atol=1e-6)
    assert by_number.uncertain(3).ids.tolist() == by_row.uncertain(3).ids.tolist()


def cycle_or_star(rng, star):
    n = int(rng.integers(5, 9))
    edges = [(0, i) for i in range(1, n)] if star else [(i, (i + 1) % n) for i in range(n)]
    return edges, ["a"] * n


@pytest.mark.parametrize("n_prototypes", [10, None])
def test_graphs(n_prototypes, tmp_path):
    rng = np.random.default_rng(0)
    label = rng.permutation(np.arange(80) % 2)
    graphs = [cycle_or_star(rng, star) for star in label]
    found = model(kernel="wl", n_prototypes=n_prototypes).fit(graphs)
    assert same(found.predict(graphs), label)
    assert found.uncertain(2).rows[0] in graphs
    assert [len(picks) for picks in found.typical(3)] == [3, 3]
    found.save(tmp_path / "graphs.mcm")
    np.testing.assert_array_equal(load(tmp_path / "graphs.mcm").predict_proba(graphs), found.predict_proba(graphs))


def common_letters(a, b):
    return float(sum(min(a.count(c), b.count(c)) for c in set(a)))


@pytest.mark.parametrize("n_prototypes", [6, None])
def test_a_function_must_be_given_again(n_prototypes, tmp_path):
    words = ["aab", "abb", "aba", "bba", "xyz", "xxz", "zyx", "yyz"] * 4
    found = model(kernel=common_letters, n_prototypes=n_prototypes).fit(words)
    assert same(found.predict(words), [word[0] in "ab" for word in words])
    found.save(tmp_path / "words.mcm")
    with pytest.raises(StateError, match=r"common_letters.*kernel"):
        load(tmp_path / "words.mcm")
    again = load(tmp_path / "words.mcm", kernel=common_letters)
    np.testing.assert_array_equal(again.predict_proba(words), found.predict_proba(words))
    again.partial_fit(["ab", "xy"] * 20)
    assert same(again.predict(words), found.predict(words))


def test_sparse_rows_and_single_precision():
    dense, thin = model().fit(X), model().fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-4)
    single = model().fit(X.astype(np.float32))
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert same(single.predict(X.astype(np.float32)), LABEL)


# ---- streams and labels -------------------------------------------------------------------------------


def test_a_sorted_stream_in_a_budget():
    rows, label = rings(1200)
    found = model(budget=240, n_prototypes=40).fit(stream(rows[np.argsort(label)], chunk_size=100))
    assert found.n_retained_ <= 240
    assert adjusted_rand_score(found.predict(rows), label) > 0.98


@pytest.mark.parametrize("n_prototypes", [40, None])
def test_four_shards(n_prototypes):
    order = np.argsort(LABEL, kind="stable")  # each shard has seen one cluster
    first, *others = [model(budget=200, n_prototypes=n_prototypes).fit(X[shard]) for shard in np.array_split(order, 4)]
    for other in others:
        first.merge(other)
    assert first.n_retained_ <= 200
    assert adjusted_rand_score(first.predict(X), LABEL) > 0.98


def test_clusters_keep_their_numbers():
    found = model(budget=200, n_prototypes=40)
    before = found.partial_fit(X[:100]).predict(X)
    for chunk in np.array_split(X[100:], 4):
        assert (found.partial_fit(chunk).predict(X) == before).mean() > 0.98


def test_a_label_for_each_ring():
    y = np.full(len(X), "", "U5")
    for k, name in enumerate(("disc", "ring")):
        y[np.flatnonzero(np.equal(LABEL, k))[:2]] = name
    found = model().fit(X, y)
    np.testing.assert_array_equal(found.predict(X), np.array(["disc", "ring"])[LABEL])


def test_a_weight_of_three_is_a_row_three_times():
    weight = np.random.default_rng(0).choice([1, 3], 100)
    weighted = model(n_prototypes=None).fit(X[:100], sample_weight=weight)
    repeated = model(n_prototypes=None).fit(np.repeat(X[:100], weight, axis=0))
    assert weighted.mutual_information_ == pytest.approx(repeated.mutual_information_, abs=1e-3)
    assert same(weighted.predict(X), repeated.predict(X))


# ---- hostile rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_prototypes", [20, None])
@pytest.mark.parametrize(
    "rows",
    [
        X[:1],
        X[:2],
        np.ones((30, 2)),
        np.repeat(X[:4], 20, axis=0),
        X[:, :1],
        X + 1e8,
        np.random.default_rng(0).normal(size=(20, 100)),
    ],
    ids=["one row", "two rows", "constant", "duplicates", "one column", "a large offset", "wide"],
)
def test_hostile_rows(rows, n_prototypes):
    found = model(kernel="rbf", n_prototypes=n_prototypes).fit(rows)
    np.testing.assert_allclose(found.predict_proba(rows).sum(axis=1), 1.0, atol=1e-6)
    assert 1 <= found.n_clusters_ <= 2
    assert np.isfinite(found.mutual_information_)


def test_refusals():
    bad = X.copy()
    bad[7, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model().fit(bad)
    with pytest.raises(DataError, match="row numbers from 0 to 299"):
        model(kernel=Precomputed(KERNEL(X, X))).fit(np.array([[0], [300]]))
    with pytest.raises(ValueError, match="n_prototypes"):
        model(n_prototypes=0).fit(X)


@pytest.mark.parametrize("learner", [RIM(6), KernelRIM(6, n_prototypes=200), KernelRIM(6, n_prototypes=None)])
def test_merging_learners_of_larger_and_smaller_rows(learner):
    """A budget in bytes holds fewer rows of the larger ones."""
    learner.set_params(budget="96 KiB", regularization=1e-3, max_iter=20, random_state=0)
    labels = np.arange(200) % 4 - 1
    rows = [sparse.random(200, 100, density=density, format="csr", random_state=0) for density in (0.01, 0.3)]
    for mine, theirs in (rows, rows[::-1]):
        merged, other = (clone(learner).partial_fit(some, labels) for some in (mine, theirs))
        before = other.to_bytes()
        merged.merge(other)
        assert merged.n_seen_ == 400
        assert merged.nbytes_ <= 96 * 1024
        assert other.to_bytes() == before
        assert len(merged.partial_fit(theirs).predict(mine)) == 200


def test_many_prototypes_are_chosen_by_the_seed():
    rows = np.random.default_rng(0).normal(size=(1500, 8))
    one, other = (KernelRIM(n_clusters=3, n_prototypes=250, regularization=1e-3, random_state=0) for _ in range(2))
    for first in range(0, 1500, 500):
        one.partial_fit(rows[first : first + 500])
        other.partial_fit(rows[first : first + 500])
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))


def test_distances_are_no_kernel():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    numbers = np.arange(50)[:, None]
    with pytest.raises(DataError, match="not positive definite"):
        KernelRIM(n_clusters=2, kernel=Precomputed(-RBF(1.0)(rows, rows)), n_prototypes=None).fit(numbers)


def test_another_kernel_needs_another_fit():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    found = KernelRIM(n_clusters=2, n_prototypes=20, regularization=1e-3, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="kernel was set after"):
        found.set_params(kernel="linear").partial_fit(rows)
