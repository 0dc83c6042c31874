"""RIM: a plain twin, numbers of clusters, units, streams, labels, and hostile rows."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, xlogy
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from modicum import RIM, load, stream
from modicum.exceptions import BudgetError, DataError

LAMBDA = 1e-3


def blobs(n=600, k=5, d=3, seed=0, spread=12.0):
    """Rows of k clusters of unit variance at corners of a cube, in random order, and their clusters."""
    rng = np.random.default_rng(seed)
    centers = spread / 2 * rng.permutation(list(product([-1.0, 1.0], repeat=d)))[:k]
    label = rng.permutation(np.arange(n) % k)
    return centers[label] + rng.normal(size=(n, d)), label


X, LABEL = blobs()


def model(max_clusters=50, **params):
    return RIM(max_clusters, **{"regularization": LAMBDA, "random_state": 0, **params})


def same(a, b):
    return adjusted_rand_score(a, b) == 1.0


def objective(rows, coef, intercept, regularization, weight=None):
    """F of a model for rows as they are given (eq. 5.3.2); the penalty is for rows of total variance 1."""
    share = np.full(len(rows), 1 / len(rows)) if weight is None else weight / weight.sum()
    log_p = log_softmax(rows @ coef.T + intercept, axis=1)
    p = np.exp(log_p)
    sizes = share @ p
    variance = share @ ((rows - share @ rows) ** 2).sum(axis=1)
    information = share @ (p * log_p).sum(axis=1) - xlogy(sizes, sizes).sum()
    return information - regularization * variance * (coef**2).sum()


# ---- what is maximised --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("regularization", [1e-3, 1e-2])
def test_a_plain_twin_finds_no_better_model(seed, regularization):
    """L-BFGS on numerical gradients of a plain objective, started from the true centers."""
    rows, label = blobs(90, 3, 2, seed, spread=5.0)
    found = model(n_clusters=3, regularization=regularization, tol=1e-9).fit(rows)
    assert found.n_clusters_ == 3

    def loss(params):
        return -objective(rows, params[:6].reshape(3, 2), params[6:], regularization)

    centers = np.array([rows[label == k].mean(axis=0) for k in range(3)]) - rows.mean(axis=0)
    start = np.append(centers, -centers @ rows.mean(axis=0) - (centers**2).sum(axis=1) / 2) / 4
    twin = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 1000})
    assert objective(rows, found.coef_, found.intercept_, regularization) == pytest.approx(-twin.fun, abs=1e-4)
    assert same((rows @ twin.x[:6].reshape(3, 2).T + twin.x[6:]).argmax(axis=1), found.predict(rows))


def test_answers_are_those_of_the_coefficients():
    found = model().fit(X)
    p = np.exp(log_softmax(X @ found.coef_.T + found.intercept_, axis=1))
    np.testing.assert_allclose(found.predict_proba(X), p, atol=1e-8)
    np.testing.assert_array_equal(found.predict(X), p.argmax(axis=1))
    np.testing.assert_allclose(found.conditional_entropy(X), -xlogy(p, p).sum(axis=1), atol=1e-8)
    np.testing.assert_allclose(found.weights_, p.mean(axis=0), atol=1e-8)
    information = objective(X, found.coef_, found.intercept_, 0.0)
    assert found.mutual_information_ == pytest.approx(information) == pytest.approx(found.score(X))
    table = found.table(X[:9])
    np.testing.assert_array_equal(table["prediction"], found.predict(X[:9]))
    np.testing.assert_allclose(table["entropy"], found.conditional_entropy(X[:9]))


@pytest.mark.parametrize("regularization", [3e-4, 1e-3, 3e-3])
def test_the_number_of_clusters_is_found(regularization):
    found = model(regularization=regularization).fit(X)
    assert found.n_clusters_ == 5
    assert same(found.predict(X), LABEL)


def test_the_regularisation_is_found():
    found = RIM(15, random_state=0).fit(X[:300])
    assert same(found.predict(X), LABEL)
    best = int(np.argmax(found.choice_["score"]))
    assert found.regularization_ == found.choice_["regularization"][best]
    assert found.choice_["n_clusters"][best] == 5
    assert model().fit(X).choice_ is None


def test_the_path_of_a_fitted_model():
    found = model(8).fit(X[:200])
    path = found.path([1e-2, 1e-3])
    assert path["regularization"][[0, -1]].tolist() == [1e-3, 1e-2]
    assert 1 < path["n_clusters"][0] <= 8
    np.testing.assert_array_equal(found.path([1e-3, 1e-2])["score"], path["score"])
    with pytest.raises(ValueError, match="positive numbers"):
        found.path([0.0])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda rows: 1000.0 * rows, "units"),
        (lambda rows: 1e-6 * rows, "units"),
        (lambda rows: rows + 50.0, "origin"),
        (lambda rows: np.repeat(rows, 2, axis=0), "number of rows"),
        (lambda rows: rows @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0], "rotation"),
    ],
)
def test_the_regularisation_carries_over(change, why):
    """The same clusters and the same information, although they overlap."""
    rows, _ = blobs(300, 4, 3, spread=3.0)
    one, other = model(n_clusters=4).fit(rows), model(n_clusters=4).fit(change(rows))
    assert other.mutual_information_ == pytest.approx(one.mutual_information_, abs=2e-3), why
    again = other.predict(change(rows))
    assert adjusted_rand_score(one.predict(rows), again if len(again) == 300 else again[::2]) > 0.97, why


def test_a_sample_has_the_information_of_all_rows():
    rows, _ = blobs(4000, 4, 3, spread=3.0)
    every, some = model(n_clusters=4).fit(rows), model(n_clusters=4).fit(rows[:500])
    assert some.score(rows) == pytest.approx(every.score(rows), abs=0.02)
    assert adjusted_rand_score(some.predict(rows), every.predict(rows)) > 0.9


def test_a_weight_of_three_is_a_row_three_times():
    weight = np.random.default_rng(0).choice([1, 3], len(X))
    weighted = model(n_clusters=5).fit(X, sample_weight=weight)
    repeated = model(n_clusters=5).fit(np.repeat(X, weight, axis=0))
    values = [objective(X, m.coef_, m.intercept_, LAMBDA, weight) for m in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], abs=1e-4)
    assert same(weighted.predict(X), repeated.predict(X))
    np.testing.assert_allclose(np.sort(weighted.weights_), np.sort(repeated.weights_), atol=1e-3)


def test_balance_splits_large_clusters_and_a_prior_does_not():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [940, 60])
    rows = np.column_stack([5.0 * label, np.zeros(1000)]) + rng.normal(size=(1000, 2))
    assert model(n_clusters=2).fit(rows).weights_.min() > 0.4
    given = model(n_clusters=2, prior=[0.94, 0.06]).fit(rows)
    assert adjusted_rand_score(given.predict(rows), label) > 0.95


@pytest.mark.parametrize("prior", ["power law", [0.4, 0.3, 0.1, 0.1, 0.1]])
def test_a_prior_leaves_separate_clusters_alone(prior):
    assert same(model(10, prior=prior).fit(X).predict(X), LABEL)


# ---- rows worth looking at ----------------------------------------------------------------------------


def test_typical_and_uncertain_rows():
    rows = np.vstack([X, (X[LABEL == 0].mean(axis=0) + X[LABEL == 1].mean(axis=0)) / 2])
    found = model().fit(rows)
    assert found.uncertain(3).ids[0] == len(X)
    np.testing.assert_array_equal(found.uncertain(1).rows, rows[-1:])
    picks = found.typical(4)
    assert [len(pick.rows) for pick in picks] == [4] * 5
    for k, pick in enumerate(picks):
        members = rows[found.predict(rows) == k]
        gaps = np.linalg.norm(members - members.mean(axis=0), axis=1)
        np.testing.assert_allclose(pick.rows, members[np.argsort(gaps)[:4]])
    np.testing.assert_array_equal(found.picks().rows, [pick.rows[0] for pick in picks])


def test_the_first_fit_numbers_clusters_from_the_largest():
    rows = np.concatenate([X[np.equal(LABEL, k)][: 30 + 20 * k] for k in range(5)])
    assert (np.diff(model().fit(rows).weights_) < 0).all()


# ---- streams ------------------------------------------------------------------------------------------


def test_clusters_keep_their_numbers():
    found = model(budget=300)
    chunks = np.array_split(X, 12)
    found.partial_fit(chunks[0])
    before = found.predict(X)
    for chunk in chunks[1:]:
        np.testing.assert_array_equal(found.partial_fit(chunk).predict(X), before)
    assert len(found.history_["n_seen"]) > 3
    assert same(before, LABEL)


def test_sorted_rows():
    order = np.argsort(LABEL, kind="stable")
    found = model(20, budget=200).fit(stream(X[order], chunk_size=50))
    assert found.n_retained_ <= 200
    assert same(found.predict(X), LABEL)


@pytest.mark.parametrize("features", ["linear", "diffusion"])
def test_four_shards(features):
    known = {"n_clusters": 5} if features == "diffusion" else {}
    order = np.argsort(LABEL, kind="stable")  # no shard has seen all clusters
    shards = np.array_split(X[order], 4)
    first, *others = [model(10, budget=200, features=features, **known).fit(shard) for shard in shards]
    for other in others:
        first.merge(other)
    assert first.n_seen_ == 600
    assert first.n_retained_ <= 200
    assert same(first.predict(X), LABEL)


def test_more_rows_than_are_held_are_all_used():
    """`fit` has all rows in memory: the model is that of all of them, not that of the sample."""
    rows, _ = blobs(3000, 3, 2, spread=2.5)
    every, some = model(n_clusters=3).fit(rows), model(n_clusters=3, budget=150).fit(rows)
    values = [objective(rows, m.coef_, m.intercept_, LAMBDA) for m in (every, some)]
    assert values[1] == pytest.approx(values[0], abs=1e-3)


def test_answers_asked_for_on_the_way_change_nothing():
    found, asked = model(10), model(10)
    found.learn(stream(X, chunk_size=250))
    asked.learn(stream(X, chunk_size=250), on_chunk=lambda one: one.mutual_information_)
    assert asked.mutual_information_ == found.mutual_information_
    assert found.history_["information"][-1] == pytest.approx(found.mutual_information_, rel=1e-9)


@pytest.mark.parametrize("size", [1000, 1001, 1300])
def test_chunks_of_any_size_keep_a_good_model(size):
    rows, _ = blobs(10_000, 4, 3, spread=5.0)
    found = model(n_clusters=4).partial_fit(rows[:4000])
    before = found.score(rows)
    for first in (4000, 5300, 6600):  # stochastic steps: the stream has not doubled
        found.partial_fit(rows[first : first + size])
    assert len(found.history_["n_seen"]) == 1
    assert found.score(rows) == pytest.approx(before, abs=0.01)


@pytest.mark.parametrize("before", [LAMBDA, "auto"])
@pytest.mark.parametrize("params", [{"regularization": 0.3}, {"n_clusters": 2, "regularization": "auto"}])
def test_parameters_set_on_the_way_count_from_the_next_fit_on(params, before):
    found = model(10, regularization=before).partial_fit(X[:200])
    assert found.n_clusters_ == 5
    earlier = found.regularization_
    found.set_params(**params).partial_fit(X[200:])
    assert found.n_clusters_ <= 2
    assert found.regularization_ != earlier


def test_a_number_that_is_named_later_has_a_regularisation_of_its_own():
    found = RIM(8, random_state=0).partial_fit(X[:150])
    assert "score" in found.choice_
    found.set_params(n_clusters=3).partial_fit(X[150:])
    assert found.n_clusters_ == 3
    assert "score" not in found.choice_


@pytest.mark.parametrize("ask", [RIM.path, RIM.typical, RIM.uncertain, RIM.picks])
def test_there_are_no_answers_before_rows(ask):
    with pytest.raises(NotFittedError):
        ask(RIM())


def test_saved_in_the_middle_of_a_stream(tmp_path):
    found = model(10, budget=200, features="diffusion").partial_fit(X[:150], np.where(LABEL < 2, LABEL, -1)[:150])
    found.save(tmp_path / "rim.mcm")
    again = load(tmp_path / "rim.mcm")
    for one in (found, again):
        one.partial_fit(X[150:400])
    np.testing.assert_array_equal(found.predict_proba(X), again.predict_proba(X))


# ---- labels of some rows ------------------------------------------------------------------------------


def partly(label, per_class, unknown=-1, dtype=None):
    """The labels of the first rows of each class, the others unknown."""
    y = np.full(len(label), unknown, dtype)
    for k in np.unique(label):
        at = np.flatnonzero(label == k)[:per_class]
        y[at] = label[at]
    return y


def test_labels_decide_names():
    y = partly(10 * (LABEL + 7), 2)
    found = model(5).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), 10 * (LABEL + 7))
    assert set(found.classes_) == {70, 80, 90, 100, 110}


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_a_labelled_row_of_weight_four_is_four_rows(tau):
    rows, label = blobs(120, 3, 2, spread=3.0)
    y, weight = partly(label, 6), np.where(label == 1, 4, 1)
    weighted = model(3, tau=tau, tol=1e-12).fit(rows, y, sample_weight=weight)
    copied = model(3, tau=tau, tol=1e-12).fit(np.repeat(rows, weight, axis=0), np.repeat(y, weight))
    plain = model(3, tau=tau, tol=1e-12).fit(rows, y)
    np.testing.assert_allclose(weighted.predict_proba(rows), copied.predict_proba(rows), atol=2e-3)
    assert np.abs(weighted.predict_proba(rows) - plain.predict_proba(rows)).max() > 0.05


@pytest.mark.parametrize("gap", ["", "nan", "number"])
def test_gaps_of_every_kind(gap):
    if gap == "":
        name = np.array(["ape", "bee", "cat", "dog", "elephant"])[LABEL]
        y, expected = partly(name, 3, "", "U9"), name
    else:
        y = partly(LABEL, 3, np.nan, float) if gap == "nan" else partly(LABEL, 3)
        expected = LABEL
    np.testing.assert_array_equal(model(5).fit(X, y).predict(X), expected)


def test_clusters_without_labels_are_new_ones():
    y = np.where(LABEL < 3, partly(LABEL, 4), -1)
    assert model(12).fit(X, y).n_clusters_ == 3
    found = model(12, new_clusters=True).fit(X, y)
    assert sorted(found.classes_) == [0, 1, 2, 3, 4]
    assert same(found.predict(X), LABEL)
    np.testing.assert_array_equal(found.predict(X)[LABEL < 3], LABEL[LABEL < 3])
    names = np.where(y < 0, "", np.array(["red", "green", "blue", "", ""])[LABEL])
    found = model(12, new_clusters=True).fit(X, names)
    assert set(found.classes_) == {"red", "green", "blue", "new 1", "new 2"}
    assert same(found.predict(X), LABEL)


@pytest.mark.parametrize("kind", ["U5", "S5"])
def test_names_of_new_clusters_are_free(kind):
    y = np.where(LABEL < 2, np.array(["new 1", "b", "", "", ""])[LABEL], "").astype(kind)
    classes = model(8, new_clusters=True).fit(X, y).classes_.astype(str).tolist()
    assert classes[2:] == ["new 2", "new 3", "new 4"]


def test_classes_that_are_named_later():
    found = model(12, budget=400)
    parts = np.array_split(np.arange(len(X)), 6)
    for i, at in enumerate(parts):
        known = partly(LABEL[at], 2)
        found.partial_fit(X[at], np.where(known < i, known, -1))
    np.testing.assert_array_equal(found.predict(X), LABEL)
    np.testing.assert_array_equal(np.sort(found.classes_), np.arange(5))


def test_one_label_and_all_labels():
    y = np.full(len(X), -1)
    y[0] = 42
    found = model(12, new_clusters=True).fit(X, y)
    assert found.predict(X[:1]) == 42
    assert same(found.predict(X), LABEL)
    assert (model(5).fit(X, LABEL).predict(X) == LABEL).all()
    assert (model(5, tau=0.0).fit(X, LABEL).predict(X) == LABEL).all()
    none = model(12).fit(X, np.full(len(X), -1))
    np.testing.assert_array_equal(none.predict_proba(X), model(12).fit(X).predict_proba(X))


def test_information_helps_few_labels():
    rows, label = blobs(600, 4, 3, spread=3.5)
    y = partly(label, 1)
    alone, both = (model(4, tau=tau).fit(rows, y) for tau in (0.0, 1.0))
    accuracy = [(found.predict(rows) == label).mean() for found in (alone, both)]
    assert accuracy[1] > accuracy[0] + 0.02


@pytest.mark.parametrize("missing", [float("nan"), None, "", " ", "\t "])
@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, object)])
def test_missing_names(missing, kind):
    y = [f"class {k}" if i < 50 else missing for i, k in enumerate(LABEL)]
    found = model().fit(X, kind(y))
    assert found.classes_.tolist() == [f"class {k}" for k in range(5)]
    assert (found.predict(X) == [f"class {k}" for k in LABEL]).all()


def test_new_clusters_are_never_called_minus_one():
    y = np.where(LABEL < 4, LABEL - 5, -1)  # classes -5 to -2
    found = model(5, new_clusters=True).fit(X, np.where(np.arange(len(X)) < 100, y, -1))
    assert -1 not in found.classes_
    assert found.classes_[:4].tolist() == [-5, -4, -3, -2]


def test_too_many_classes_are_refused():
    with pytest.raises(DataError, match="there are 5 classes, but at most 4 clusters"):
        model(4).fit(X, LABEL)
    found = model(4).partial_fit(X, np.where(LABEL < 4, LABEL, -1))
    before = found.predict(X)
    with pytest.raises(DataError, match="there are 5 classes"):
        found.partial_fit(X[LABEL == 4], LABEL[LABEL == 4])
    np.testing.assert_array_equal(found.predict(X), before)


def test_names_of_different_lengths_are_counted():
    found = model(2).partial_fit(X, np.where(LABEL == 0, "bee", np.where(LABEL == 1, "beetle", "")))
    with pytest.raises(DataError, match="there are 3 classes"):
        found.partial_fit(X[LABEL == 2], np.full((LABEL == 2).sum(), "ant"))


def test_classes_whose_labelled_rows_are_gone_keep_their_names():
    """The sample of labelled rows is a tenth of the budget: two rows cannot stand for five classes."""
    found = model(8, budget=20).fit(X, LABEL)
    assert len(found.classes_) == found.n_clusters_ == found.predict_proba(X[:3]).shape[1]
    assert set(found.predict(X)) <= set(found.classes_)


def test_shards_with_different_classes():
    y = partly(LABEL, 3)
    low = model(5).fit(X[LABEL < 3], y[LABEL < 3])
    high = model(5).fit(X[LABEL >= 2], y[LABEL >= 2])
    np.testing.assert_array_equal(low.merge(high).predict(X), LABEL)


# ---- rows of all kinds --------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["linear", "diffusion"])
def test_single_precision(features):
    double, single = (model(n_clusters=5, features=features).fit(X.astype(kind)) for kind in (np.float64, np.float32))
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert same(double.predict(X), single.predict(X.astype(np.float32)))
    assert double.mutual_information_ == pytest.approx(single.mutual_information_, abs=1e-3)


def test_sparse_rows():
    """Scaled, not centered, with the same clusters."""
    rows = np.where(np.abs(X) < 4, 0.0, X)
    dense, thin = model(10).fit(rows), model(10).fit(sparse.csr_array(rows))
    assert same(dense.predict(rows), thin.predict(sparse.csr_array(rows)))
    np.testing.assert_allclose(np.sort(dense.weights_), np.sort(thin.weights_), atol=2e-3)
    logits = rows @ thin.coef_.T + thin.intercept_
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(rows)), np.exp(log_softmax(logits, axis=1)))
    with pytest.raises((DataError, TypeError), match=r"[Ss]parse"):
        model(features="diffusion").fit(sparse.csr_array(rows))


def moons(n=400):
    from sklearn.datasets import make_moons

    return make_moons(n, noise=0.05, random_state=0)


@pytest.mark.parametrize(("offset", "constant"), [(0.0, 2000.0), (1e3, 0.0), (1e4, 0.0)])
def test_sparse_rows_may_be_far_from_zero(offset, constant):
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=600)
    rows = np.array([[0, 0], [8, 0], [4, 7]])[label] + rng.normal(size=(600, 2)) + offset
    rows = sparse.csr_array(np.column_stack([rows, np.full(600, constant)]))
    assert adjusted_rand_score(model(n_clusters=3).fit(rows).predict(rows), label) > 0.98


@pytest.mark.parametrize("far", [1e3, 1e12])
def test_an_outlier_does_not_hide_the_neighbours_of_others(far):
    rows = np.vstack([X, [[far] * 3]])
    found = model(n_clusters=5, features="diffusion").fit(rows)
    assert adjusted_rand_score(found.predict(X), LABEL) > 0.95


def test_diffusion_follows_shapes():
    rows, label = moons()
    assert same(model(n_clusters=2, features="diffusion").fit(rows).predict(rows), label)
    assert adjusted_rand_score(model(n_clusters=2).fit(rows).predict(rows), label) < 0.7
    with pytest.raises(AttributeError, match="linear"):
        model(features="diffusion").fit(rows).coef_  # noqa: B018


HOSTILE = {
    "one row": X[:1],
    "two rows": X[:2],
    "constant rows": np.ones((30, 3)),
    "duplicates": np.repeat(X[:4], 20, axis=0),
    "one column": X[:, :1],
    "a large offset": X + 1e8,
    "more columns than rows": np.random.default_rng(0).normal(size=(20, 100)),
    "a constant column": np.column_stack([X, np.full(len(X), 7.0)]),
    "tiny": 1e-45 * X,
    "huge": 1e45 * X,
    "an outlier": np.vstack([X, np.full((1, 3), 1e6)]),
}


@pytest.mark.parametrize("features", ["linear", "diffusion"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_rows(kind, features):
    rows = HOSTILE[kind]
    found = model(8, features=features, n_clusters=5).fit(rows)
    p = found.predict_proba(rows)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    assert 1 <= found.n_clusters_ <= min(5, len(rows))
    assert np.isfinite(found.mutual_information_)
    if kind in ("a large offset", "a constant column", "tiny", "huge"):
        assert same(found.predict(rows), LABEL)


@pytest.mark.parametrize("kind", ["one row", "constant rows", "duplicates"])
def test_hostile_rows_with_the_regularisation_to_choose(kind):
    found = RIM(6, random_state=0).fit(HOSTILE[kind][:100])
    assert 1 <= found.n_clusters_ <= 6


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_clusters": 3, "prior": [0.5, 0.5]}, "prior has 2 proportions, but n_clusters is 3"),
        ({"regularization": 1e200}, "regularization must be"),
        ({"tol": 1e10}, "tol must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params, says):
    with pytest.raises(ValueError, match=says):
        model(**params).fit(X)


def test_answers_refuse_what_makes_no_sense():
    found = model().fit(X)
    with pytest.raises(DataError, match="no rows"):
        found.score(X[:0])
    with pytest.raises(DataError, match="weight zero"):
        found.score(X, sample_weight=np.zeros(len(X)))
    for ask in (found.typical, found.uncertain):
        with pytest.raises(ValueError, match="n_rows must be"):
            ask(-1)
    with pytest.raises(ValueError, match="positive numbers"):
        found.path("a")


def test_nan_is_refused():
    rows = X.copy()
    rows[3, 1] = np.nan
    found = model(10).fit(X[:50])
    before = found.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        found.partial_fit(rows)
    np.testing.assert_array_equal(found.predict(X), before)


def test_a_class_without_rows_of_its_own_stays():
    rows = np.ones((50, 3))
    found = model(6).fit(rows, [0, 1, 1] + 47 * [-1]).partial_fit(rows)
    assert list(found.classes_) == [0, 1]
    assert list(model(6).fit(rows, [0, 0, 1] + 47 * [-1]).partial_fit(rows).classes_) == [0, 1]


def test_sparse_rows_of_tiny_float32_numbers():
    rows = sparse.csr_matrix((1e-30 * X).astype(np.float32))
    assert same(model(8, n_clusters=5).fit(rows).predict(rows), LABEL)


def test_names_of_classes_count_as_memory():
    labels = np.where(np.arange(len(X)) % 4 == 0, LABEL.astype(str), "")
    found = model(6, budget="32 KiB").fit(X, labels)
    before = found.to_bytes()
    with pytest.raises(BudgetError, match="names of classes take"):
        found.partial_fit(X, np.where(labels == "3", "a long name" * 100, ""))
    assert found.to_bytes() == before


def test_labelled_rows_make_room_for_larger_rows():
    found = model(6, budget="256 KiB", max_iter=20)
    for i in range(8):
        rows = sparse.random(200, 300, density=min(0.9, 0.005 * 2**i), format="csr", random_state=i)
        found.partial_fit(rows, np.arange(200) % 6 - 1)
        assert found.nbytes_ <= 256 * 1024


def test_merged_classes_are_not_more_than_clusters():
    some = model(6).fit(X, LABEL)
    before = some.to_bytes()
    with pytest.raises(DataError, match="at most 6 clusters"):
        some.merge(model(6).fit(X, LABEL + 10))
    assert some.to_bytes() == before


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("name", [str, int])
def test_missing_labels_among_objects(missing, name):
    known = np.arange(len(X)) % 4 == 0
    labels = np.array([name(label) if there else missing for label, there in zip(LABEL, known, strict=True)], object)
    found = model(6).fit(X, labels)
    assert sorted(found.classes_.tolist()) == [name(label) for label in range(5)]
    assert (found.predict(X) == LABEL.astype(found.classes_.dtype)).all()


@pytest.mark.parametrize("label", [np.uint64(2**64 - 1), 1e30, -1e30])
def test_labels_beyond_integers_are_refused(label):
    with pytest.raises(DataError, match=r"less than 2\*\*63"):
        model(6).fit(X, np.full(len(X), label))


@pytest.mark.parametrize(
    ("budget", "params"),
    [(200, {"features": "diffusion"}), ("64 KiB", {"max_clusters": 400}), ("64 KiB", {"n_clusters": 99})],
)
def test_parameters_that_divide_the_budget_stay(budget, params):
    found = model(6, budget=budget).fit(X).set_params(**params)
    with pytest.raises(ValueError, match="Call fit to start over"):
        found.partial_fit(X)
    found.fit(X)


def test_the_least_proportions():
    found = model(8, prior=[5e-324, 1.0]).fit(X)
    assert np.isfinite(found.predict_proba(X)).all()


def test_typical_sparse_rows_are_those_nearest_to_the_mean():
    X = sparse.random(200, 500, 0.03, format="csr", random_state=0)
    model = RIM(4, regularization=1e-3, random_state=0).fit(X)
    dense, labels = X.toarray(), model.predict(X)
    for name, typical in zip(model.classes_, model.typical(3), strict=True):
        members = np.flatnonzero(labels == name)
        distances = np.square(dense[members] - dense[members].mean(axis=0)).sum(axis=1)
        assert typical.ids.tolist() == members[np.argsort(distances, kind="stable")[:3]].tolist()
