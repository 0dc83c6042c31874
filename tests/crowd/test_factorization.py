"""The crowd factorisation against dense matrices, one per worker; and what it finds among simulated workers."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import modicum
from modicum.crowd.answers import Answers
from modicum.crowd.factorization import CrowdFactorization, Factors, in_order, spectral_starts
from modicum.crowd.labels import PairLabels
from modicum.crowd.pairs import as_pairs
from modicum.crowd.views import Views
from modicum.exceptions import DataError


def random_labels(seed, n_items=9, n_workers=4, n=150):
    """Random pairs, some of them repeated, with random labels and weights."""
    rng = np.random.default_rng(seed)
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    rows = np.column_stack([first, second, rng.integers(n_workers, size=n)])
    return PairLabels(as_pairs("test", rows, rng.choice([-1, 1], n), rng.choice([0.5, 1.0, 2.0], n)))


def random_factors(labels, n_clusters, seed):
    rng = np.random.default_rng(seed)
    memberships = rng.dirichlet(np.ones(n_clusters), len(labels.items))
    confusions = rng.uniform(0.05, 0.95, (len(labels.workers), n_clusters, n_clusters))
    return Factors(memberships, (confusions + confusions.transpose(0, 2, 1)) / 2)


def schools(noise=0.0, n_items=60, n_workers=12, n_answers=90, size=12, seed=0):
    """Answers of workers of two schools, who see one of two attributes each; and the four kinds of items."""
    rng = np.random.default_rng(seed)
    attributes = np.arange(n_items)[:, None] // [1, 2] % 2
    columns = []
    for number in range(n_answers):
        worker, items = number % n_workers, rng.choice(n_items, size, replace=False)
        groups = np.where(rng.random(size) < noise, rng.integers(2, size=size), attributes[items, worker % 2])
        columns.append([np.full(size, worker), np.full(size, number), items, groups])
    return Answers(*np.concatenate(columns, axis=1)), attributes @ [1, 2]


def found(model, truth):
    return adjusted_rand_score(truth[model.items_], model.clusters_)


# ---- the dense twin ----------------------------------------------------------------------------------


class Dense:
    """Weights and mean labels of all pairs as matrices, one per worker; updates as they are written."""

    def __init__(self, labels):
        shape = (len(labels.workers), len(labels.items), len(labels.items))
        self.weight, self.yes = np.zeros(shape), np.zeros(shape)
        for a, b, j, label in zip(labels.first, labels.second, labels.worker, labels.label, strict=True):
            for pair in ((j, a, b), (j, b, a)):
                self.weight[pair] += abs(label)
                self.yes[pair] += abs(label) * (label > 0)
        self.n_labels_apart = sum(abs(labels.label)[labels.label > 0])  # sum of w label^2, for the objective

    def predictions(self, Z, W):
        return Z @ W @ Z.T

    def objective(self, Z, W, pooling):
        M = self.predictions(Z, W)
        error = self.n_labels_apart + (self.weight * M**2 - 2 * self.yes * M).sum() / 2
        apart = (W - W.mean(axis=0)) ** 2
        return error + pooling * sum(np.triu(matrix).sum() for matrix in apart)

    def move_workers(self, Z, W, pooling):
        M, typical = self.predictions(Z, W), W.mean(axis=0)
        per_label = 1 + np.eye(Z.shape[1])
        said = Z.T @ self.yes @ Z + pooling * per_label * typical
        expected = Z.T @ (self.weight * M) @ Z + pooling * per_label * W
        return np.minimum(W * said / expected, 1)

    def move_items(self, Z, W):
        Z = Z.copy()
        for i in range(len(Z)):
            M = self.predictions(Z, W)
            gain = sum(W[j] @ Z.T @ self.yes[j, i] for j in range(len(W)))
            cost = sum(W[j] @ Z.T @ (self.weight[j, i] * M[j, i]) for j in range(len(W)))
            moved = lambda shift, z=Z[i], gain=gain, cost=cost: np.maximum(z * (gain - shift) / cost, 0)  # noqa: E731
            low = gain.min() - (cost / Z[i]).max()
            Z[i] = moved(brentq(lambda shift: moved(shift).sum() - 1, low, gain.max(), xtol=1e-14))  # noqa: B023
        return Z


@pytest.mark.nojit
@pytest.mark.parametrize("pooling", [0.0, 2.0])
def test_updates_are_those_of_dense_matrices(pooling):
    labels = random_labels(0)
    factors, twin, order = random_factors(labels, 3, 1), Dense(labels), in_order(Views(labels))
    Z, W = factors.memberships.copy(), factors.confusions
    for _ in range(4):
        sums = factors.sums(order, pooling)
        assert factors.objective == pytest.approx(twin.objective(Z, W, pooling))
        factors.move_workers(sums)
        W = twin.move_workers(Z, W, pooling)
        np.testing.assert_allclose(factors.confusions, W, rtol=1e-9, atol=1e-11)
        factors.move_items(order)
        Z = twin.move_items(Z, W)
        np.testing.assert_allclose(factors.memberships, Z, rtol=1e-6, atol=1e-9)


@pytest.mark.nojit
def test_memberships_are_cut_at_zero_as_in_the_dense_twin():
    labels = random_labels(2)
    factors = random_factors(labels, 4, 2)
    factors.confusions *= 0.1  # predictions are too low, so that memberships are pulled to where they are highest
    Z = factors.memberships.copy()
    factors.move_items(in_order(Views(labels)))
    np.testing.assert_allclose(factors.memberships, Dense(labels).move_items(Z, factors.confusions), atol=1e-9)
    n_left = (factors.memberships > 0).sum(axis=1)
    assert ((n_left > 1) & (n_left < 4)).any()


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pooling", [0.0, 0.3, 5.0])
def test_the_objective_falls_with_both_updates(seed, pooling):
    labels = random_labels(seed, n=60)
    factors, order = random_factors(labels, 4, seed), in_order(Views(labels))
    sums, values = factors.sums(order, pooling), []
    for _ in range(25):
        values.append(factors.objective)
        factors.move_workers(sums)
        factors.sums(order, pooling)
        values.append(factors.objective)
        factors.move_items(order)
        sums = factors.sums(order, pooling)
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < 0.9 * values[0]
    np.testing.assert_allclose(factors.memberships.sum(axis=1), 1)
    np.testing.assert_array_equal(factors.confusions, factors.confusions.transpose(0, 2, 1))


# ---- the updates as printed, eq. 7.3.15 and 7.3.16 ---------------------------------------------------


def printed_workers(twin, Z, W):
    """The update of matrices after completion with predictions; all weights are 1."""
    S, M = Z.T @ Z, twin.predictions(Z, W)
    completed = np.where(twin.weight > 0, twin.yes, M)
    return W * np.sqrt((Z.T @ completed @ Z) / (S @ W @ S))


def printed_items(twin, Z, W):
    completed = np.where(twin.weight > 0, twin.yes, twin.predictions(Z, W))
    upper = (completed @ Z @ W).sum(axis=0)
    return Z * np.sqrt(upper / (Z @ (Z.T @ upper)))


def distinct_labels(seed, n_items=12, n_workers=3):
    """Each worker labels each pair at most once."""
    rng = np.random.default_rng(seed)
    rows = [(a, b, j) for a in range(n_items) for b in range(a) for j in range(n_workers)]
    rows = np.array(rows)[rng.random(len(rows)) < 0.2]
    return PairLabels(as_pairs("test", rows, rng.choice([-1, 1], len(rows))))


@pytest.mark.parametrize("seed", range(4))
def test_completed_matrices_move_more_slowly_to_the_same_fixed_points(seed):
    labels = distinct_labels(seed)
    factors, twin, order = random_factors(labels, 3, seed), Dense(labels), in_order(Views(labels))
    Z, W = factors.memberships, factors.confusions
    said, expected = factors.sums(order, 0.0)
    S = Z.T @ Z
    whole = S @ W @ S
    np.testing.assert_allclose(printed_workers(twin, Z, W), W * np.sqrt((whole + said - expected) / whole))
    ours, theirs = np.log(said / expected), np.log(printed_workers(twin, Z, W) / W)
    assert (np.sign(ours) == np.sign(theirs)).all()
    assert np.abs(theirs).mean() < 0.3 * np.abs(ours).mean()


def test_the_printed_update_of_matrices_never_raises_the_objective_but_that_of_items_may():
    rises = []
    for seed in (0, 3):
        labels = distinct_labels(seed)
        factors, twin = random_factors(labels, 3, seed), Dense(labels)
        Z, W = factors.memberships / np.linalg.norm(factors.memberships, axis=0), factors.confusions
        for step in range(260):
            before = twin.objective(Z, W, 0.0)
            W = printed_workers(twin, Z, W)
            between = twin.objective(Z, W, 0.0)
            assert between <= before + 1e-9
            Z = printed_items(twin, Z, W)
            if twin.objective(Z, W, 0.0) > between + 1e-6:
                rises.append(step)
    assert min(rises) == 0  # far from orthogonality
    assert max(rises) > 200  # and close to it


# ---- what is found -----------------------------------------------------------------------------------


def test_schools_of_workers_are_told_apart():
    answers, truth = schools(noise=0.05)
    model = CrowdFactorization(4, random_state=0).fit_groupings(answers)
    assert found(model, truth) > 0.95
    assert model.n_clusters_ == 4
    kinds = [np.bincount(truth[model.items_[model.clusters_ == k]]).argmax() for k in range(4)]  # of each cluster
    for worker, matrix in model.confusion_.items():
        attribute = np.array(kinds) // [1, 2][worker % 2] % 2
        assert matrix[np.equal.outer(attribute, attribute)].min() > 0.6
        assert matrix[np.not_equal.outer(attribute, attribute)].max() < 0.4


def test_spectral_starts_are_ahead_of_random_ones():
    labels = PairLabels(schools(noise=0.2)[0].pairs())
    views, model = Views(labels), CrowdFactorization(4, max_iter=20)
    [start] = spectral_starts(views, 4, 1, np.random.default_rng(0))
    random = [model._descend(in_order(views), random_factors(labels, 4, seed)).objective for seed in range(5)]
    assert model._descend(in_order(views), start).objective < min(random)


def test_more_starts_never_end_worse():
    answers, _ = schools(noise=0.3)
    one, five = (CrowdFactorization(6, n_init=n, random_state=0).fit_groupings(answers) for n in (1, 5))
    assert five.objective_ <= one.objective_


def test_pooling_predicts_new_labels_better_when_workers_said_little():
    answers, _ = schools(noise=0.2, n_workers=90)  # one answer each
    rng = np.random.default_rng(0)
    pairs = answers.pairs()
    rows = np.column_stack([pairs.items[pairs.first], pairs.items[pairs.second], pairs.workers[pairs.worker]])
    is_held = rng.random(len(rows)) < 0.2
    errors = []
    for pooling in (0.0, 2.0):
        model = CrowdFactorization(4, pooling=pooling, random_state=0).fit(rows[~is_held], pairs.label[~is_held])
        predicted = model.predict_pair(*rows[is_held][:, [2, 0, 1]].T)
        errors.append(np.mean((predicted - (pairs.label[is_held] > 0)) ** 2))
    assert errors[1] < errors[0]


def test_the_largest_cluster_is_first():
    kinds = np.repeat([0, 1, 2], [3, 12, 6])
    rows = [(a, b, "ann") for a in range(21) for b in range(a)]
    labels = [1 if kinds[a] == kinds[b] else -1 for a, b, _ in rows]
    model = CrowdFactorization(3, random_state=0).fit(rows, labels)
    np.testing.assert_array_equal(model.clusters_, np.array([2, 0, 1])[kinds])
    np.testing.assert_allclose(model.confusion_["ann"], np.eye(3), atol=0.05)


# ---- invariances, weights ----------------------------------------------------------------------------


def rows_of(answers):
    pairs = answers.pairs()
    rows = np.column_stack([pairs.items[pairs.first], pairs.items[pairs.second], pairs.workers[pairs.worker]])
    return rows, pairs.label


def test_order_of_labels_of_members_and_names_of_workers_are_of_no_concern():
    answers, _ = schools(noise=0.1)
    rows, label = rows_of(answers)
    model = CrowdFactorization(4, random_state=0).fit(rows, label)
    order = np.random.default_rng(0).permutation(len(rows))
    other = rows[order][:, [1, 0, 2]]
    other[:, 2] = 100 - other[:, 2]
    again = CrowdFactorization(4, random_state=0).fit(other, label[order])
    np.testing.assert_array_equal(again.items_, model.items_)
    np.testing.assert_allclose(again.cluster_proba_, model.cluster_proba_, atol=1e-6)
    np.testing.assert_allclose(again.confusion_[97], model.confusion_[3], atol=1e-6)


def test_names_of_items_do_not_change_clusters():
    answers, truth = schools(noise=0.1)
    rows, label = rows_of(answers)
    names = np.array([f"item {number:02}" for number in np.random.default_rng(1).permutation(60)])
    renamed = [(names[a], names[b], str(worker)) for a, b, worker in rows]
    model = CrowdFactorization(4, random_state=0).fit(renamed, label)
    kind = dict(zip(names.tolist(), truth.tolist(), strict=True))
    assert adjusted_rand_score([kind[name] for name in model.items_.tolist()], model.clusters_) > 0.95


def test_a_weight_of_two_counts_twice_and_of_zero_not_at_all():
    answers, _ = schools(noise=0.2)
    rows, label = rows_of(answers)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(rows))
    weighted = CrowdFactorization(4, random_state=0).fit(rows, label, sample_weight=weight)
    times = weight.astype(int)
    repeated = CrowdFactorization(4, random_state=0).fit(rows.repeat(times, axis=0), label.repeat(times))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(weighted.cluster_proba_, repeated.cluster_proba_, atol=1e-6)
    plain = CrowdFactorization(4, random_state=0).fit(rows, label)
    assert weighted.objective_ != pytest.approx(plain.objective_, rel=1e-3)


# ---- more labels, files ------------------------------------------------------------------------------


def test_saved_and_loaded_it_goes_on_as_before(tmp_path):
    answers, _ = schools(noise=0.1)
    more, _ = schools(noise=0.1, seed=1)
    model = CrowdFactorization(4, random_state=0).fit_groupings(answers)
    model.save(tmp_path / "crowd.mcm")
    loaded = modicum.load(tmp_path / "crowd.mcm")
    assert loaded.to_bytes() == model.to_bytes()
    for one in (model, loaded):
        one.partial_fit_groupings(more)
    assert loaded.to_bytes() == model.to_bytes()


def test_merged_sides_are_fitted_to_the_labels_of_both():
    answers, truth = schools(noise=0.1)
    early = answers.task < 45
    left, right = (CrowdFactorization(4, random_state=0).fit_groupings(answers.take(part)) for part in (early, ~early))
    before = right.to_bytes()
    merged, whole = left.merge(right), CrowdFactorization(4, random_state=0).fit_groupings(answers)
    assert right.to_bytes() == before
    assert merged.n_seen_ == merged.n_retained_ == whole.n_seen_
    assert merged.objective_ == pytest.approx(whole.objective_, rel=0.01)
    assert found(merged, truth) > 0.95


def test_new_labels_move_the_model_from_where_it_is(monkeypatch):
    answers, truth = schools(noise=0.1)
    rows, label = rows_of(answers)
    is_new = (rows[:, :2] >= 50).any(axis=1) | (rows[:, 2] >= 10)  # ten items and two workers come later
    model = CrowdFactorization(4, random_state=0).fit(rows[~is_new], label[~is_new])
    monkeypatch.delattr("modicum.crowd.factorization.spectral_starts")
    model.partial_fit(rows[is_new], label[is_new])
    monkeypatch.undo()
    assert len(model.items_) == 60
    assert len(model.workers_) == 12
    assert found(model, truth) > 0.95
    whole = CrowdFactorization(4, random_state=0).fit(rows, label)
    assert model.objective_ == pytest.approx(whole.objective_, rel=0.02)
    matrices = [model.confusion_[worker] for worker in (8, 10)]  # of the same school, one of them new
    assert np.abs(matrices[0] - matrices[1]).max() < 0.4


def test_a_bad_beginning_is_overcome():
    answers, truth = schools(noise=0.1)
    rows, label = rows_of(answers)
    order = np.random.default_rng(0).permutation(len(rows))
    model = CrowdFactorization(4, random_state=0)
    for chunk in np.array_split(order, [10, 40, 200, 1000]):
        model.partial_fit(rows[chunk], label[chunk])
    assert found(model, truth) > 0.95


def test_no_labels_change_nothing():
    answers, _ = schools()
    model = CrowdFactorization(4, random_state=0).fit_groupings(answers)
    before = model.to_bytes()
    model.partial_fit(np.empty((0, 3), int), [])
    assert model.to_bytes() == before


def test_memory_is_in_the_number_of_labels():
    rng = np.random.default_rng(0)
    first = rng.integers(3000, size=6000)
    rows = np.column_stack([first, (first + rng.integers(1, 3000, 6000)) % 3000, rng.integers(50, size=6000)])
    label = rng.choice([-1, 1], 6000)
    CrowdFactorization(3, max_iter=2, random_state=0).fit(rows, label)  # compiles
    tracemalloc.start()
    model = CrowdFactorization(3, max_iter=2, random_state=0).fit(rows, label)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6  # one dense matrix would have 72 MB
    assert model.nbytes_ < 0.5e6


# ---- answers, odd and wrong input --------------------------------------------------------------------


def test_predictions_are_products_of_memberships_and_matrices():
    answers, _ = schools(noise=0.1)
    model = CrowdFactorization(4, random_state=0).fit_groupings(answers)
    Z, C = model.cluster_proba_, model.confusion_
    assert model.predict_pair(3, 7, 20) == pytest.approx(Z[7] @ C[3] @ Z[20])
    assert isinstance(model.predict_pair(3, 7, 20), float)
    assert model.predict_pair(None, 7, 20) == pytest.approx(Z[7] @ np.mean(list(C.values()), axis=0) @ Z[20])
    np.testing.assert_allclose(
        model.predict_pair([3, 4], 7, [20, 21]), [Z[7] @ C[3] @ Z[20], Z[7] @ C[4] @ Z[21]], rtol=1e-12
    )
    np.testing.assert_allclose(model.predict_pair(None, [1, 2], [2, 1]), model.predict_pair(None, [2, 1], [1, 2]))


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 40])
def test_few_items_do(n_clusters):
    model = CrowdFactorization(n_clusters, random_state=0).fit([("a", "b", 1), ("b", "c", 1)], [1, -1])
    assert model.cluster_proba_.shape == (3, n_clusters)
    if n_clusters == 2:
        np.testing.assert_array_equal(model.clusters_, [0, 0, 1])


@pytest.mark.parametrize("label", [-1, 1])
def test_labels_that_are_all_equal_are_predicted(label):
    rows = [(a, b, 0) for a in range(30) for b in range(a)]
    model = CrowdFactorization(3, random_state=0).fit(rows, np.full(len(rows), label))
    assert abs(model.predict_pair(0, 1, 2) - (label > 0)) < 0.3
    assert np.isfinite(model.objective_)


def test_items_without_weight_keep_valid_memberships():
    model = CrowdFactorization(2, random_state=0)
    model.fit([(0, 1, 0), (1, 2, 0), (3, 4, 1)], [1, -1, 1], sample_weight=[1, 1, 0])
    np.testing.assert_allclose(model.cluster_proba_.sum(axis=1), 1)


def test_errors_name_what_is_wrong():
    rows, label = rows_of(schools()[0])
    with pytest.raises(ValueError, match=r"CrowdFactorization: n_clusters must be a positive int; got 0"):
        CrowdFactorization(0).fit(rows, label)
    with pytest.raises(ValueError, match=r"pooling must be a number from 0; got -1"):
        CrowdFactorization(pooling=-1.0).fit(rows, label)
    with pytest.raises(DataError, match=r"label of row 0 must be \+1 or -1; got"):
        CrowdFactorization().fit(rows, label + 1)
    with pytest.raises(NotFittedError):
        CrowdFactorization().predict_pair(0, 1, 2)
    model = CrowdFactorization(4, random_state=0).fit(rows, label)
    with pytest.raises(DataError, match="there is no item 99 among the 60"):
        model.predict_pair(0, 1, 99)
    with pytest.raises(DataError, match="there is no worker 'ann' among the 12"):
        model.predict_pair("ann", 1, 2)
    with pytest.raises(DataError, match=r"there are 2 and 3 names. Give single names, or lists of the same length"):
        model.predict_pair([0, 1], [1, 2, 3], 4)
    before = model.to_bytes()
    with pytest.raises(DataError, match="items are named by texts here"):
        model.partial_fit([("a", "b", 1)], [1])
    assert model.to_bytes() == before
