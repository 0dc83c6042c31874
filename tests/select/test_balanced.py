"""Balanced selections: quotas against a slow twin, groups against learners of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

import modicum
from modicum import BalancedSelection, ExemplarClustering, OnlineGreedy, Reservoir, StreamGreedy
from modicum.exceptions import BudgetError, DataError, StateError
from modicum.kernels import RBF
from modicum.select.objectives import LogDet, VarianceReduction
from modicum.select.quotas import even_quotas

INNER = [
    Reservoir(20),
    ExemplarClustering(20, n_validation=100),
    OnlineGreedy(20),
    StreamGreedy(20),
    StreamGreedy(20, objective="variance", n_validation=60),
]


def slow_quotas(counts, total):
    """One place at a time to the group with fewest places that has a row left; of equal ones, the first."""
    quotas = np.zeros(len(counts), int)
    while quotas.sum() < total and (quotas < counts).any():
        can = np.flatnonzero(quotas < counts)
        quotas[can[np.argmin(quotas[can])]] += 1
    return quotas


def rows(n=600, seed=0, shares=(0.8, 0.15, 0.04, 0.01)):
    """Rows with unequal groups."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["cat", "dog", "fox", "owl"], size=n, p=shares)
    return rng.normal(size=(n, 3)), y


def chosen(model):
    """Picks by group."""
    values, counts = np.unique(model.picks().targets, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def expected(y, total):
    values = list(dict.fromkeys(y.tolist()))
    counts = np.array([(y == value).sum() for value in values])
    return {v: q for v, q in zip(values, slow_quotas(counts, total).tolist(), strict=True) if q}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 60))
def test_quotas_are_those_of_the_slow_twin(counts, total):
    quotas, room = even_quotas(np.array(counts), total)
    assert_array_equal(quotas, slow_quotas(counts, total))
    assert room >= quotas.max()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 12))
def test_room_never_rises(groups, total):
    """So that a group never needs rows that it gave up before."""
    counts, before = {}, total
    for group in groups:
        counts[group] = counts.get(group, 0) + 1
        _, room = even_quotas(np.array(list(counts.values())), total)
        assert room <= before
        before = room


@pytest.mark.parametrize("inner", INNER, ids=repr)
@pytest.mark.parametrize("order", ["as they come", "sorted", "rarest first"])
@pytest.mark.parametrize("chunk", [7, 100, 600])
def test_quotas_are_exact_in_any_order_and_chunks(inner, order, chunk):
    X, y = rows()
    by = {"as they come": np.arange(len(y)), "sorted": np.argsort(y), "rarest first": np.argsort(y)[::-1]}[order]
    X, y = X[by], y[by]
    model = BalancedSelection(inner, random_state=0)
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk], y[start : start + chunk])
        assert chosen(model) == expected(y[: start + chunk], 20)
    picks = model.picks()
    assert_array_equal(X[picks.ids], picks.rows)
    assert_array_equal(y[picks.ids], picks.targets)
    assert len(set(picks.ids.tolist())) == 20


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_a_group_is_what_a_learner_of_its_own_would_choose(inner):
    X, y = rows(shares=(0.4, 0.3, 0.2, 0.1))
    model = BalancedSelection(inner, random_state=0).fit(X, y)
    for value in model.groups_:
        member = model.learner_of(value)
        twin = type(inner)(**(member.get_params(deep=False))).fit(X[y == value])
        assert_array_equal(np.sort(twin.picks().rows, axis=0), np.sort(member.picks().rows, axis=0))


def mean_distance(rows, X):
    return -cdist(X, rows, "sqeuclidean").min(axis=1).mean()


def log_det(rows, X):
    return np.linalg.slogdet(RBF(1.0)(rows, rows) + np.eye(len(rows)))[1]


def variance_reduction(rows, X):
    K, k = RBF(1.0)(rows, rows) + 0.1 * np.eye(len(rows)), RBF(1.0)(X, rows)
    return np.einsum("ij,ij->i", k @ np.linalg.inv(K), k).mean()


@pytest.mark.parametrize(
    ("inner", "quality"),
    [
        (ExemplarClustering(20, n_validation=400), mean_distance),
        (OnlineGreedy(20, kernel=RBF(1.0)), log_det),
        (StreamGreedy(20, objective=LogDet(RBF(1.0))), log_det),
        (StreamGreedy(20, objective=VarianceReduction(RBF(1.0)), n_validation=400), variance_reduction),
    ],
    ids=["exemplar", "logdet", "logdet by blocks", "variance"],
)
def test_giving_up_rows_costs_little(inner, quality):
    """A stream that is sorted by group makes learners give up rows again and again."""
    X, y = rows(2000, shares=(0.3, 0.3, 0.2, 0.2))
    order = np.argsort(y, kind="stable")
    model = BalancedSelection(inner, random_state=0).learn(modicum.stream(X[order], target=y[order], chunk_size=50))
    for value in model.groups_:
        own, member = X[y == value], model.learner_of(value)
        twin = type(inner)(**member.get_params(deep=False)).fit(own)
        best = quality(twin.picks().rows, own)
        assert quality(member.picks().rows, own) >= best - 0.1 * abs(best)


def test_a_resized_learner_keeps_the_best():
    """Greedy among the present ones, by the definition of the objective."""
    X, _ = rows(200)
    model = OnlineGreedy(8, kernel=RBF(1.0)).fit(X)
    K = model.kernel_(model.prototypes_, model.prototypes_) + np.eye(8)
    best = []
    while len(best) < 3:
        others = [i for i in range(8) if i not in best]
        best.append(max(others, key=lambda i: np.linalg.slogdet(K[np.ix_([*best, i], [*best, i])])[1]))
    kept = model.prototype_ids_[best]
    model._resize(3, None)
    assert_array_equal(model.prototype_ids_, kept)
    assert model.value_ == pytest.approx(np.linalg.slogdet(K[np.ix_(best, best)])[1])


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_shards_merge_to_the_quotas_of_all_rows(inner):
    X, y = rows()
    order = np.argsort(y)  # groups of their own in each shard
    left, right = order[:500], order[500:]
    a = BalancedSelection(inner, random_state=0).fit(X[left], y[left])
    b = BalancedSelection(inner, random_state=1).partial_fit(X[right], y[right], row_ids=right)
    a.merge(b)
    counts = dict(zip(a.groups_, a.group_counts_.tolist(), strict=True))
    assert counts == {value: int((y == value).sum()) for value in counts}
    assert chosen(a) == dict(zip(counts, slow_quotas(list(counts.values()), 20), strict=True))


def test_saved_in_mid_stream_nothing_changes(tmp_path):
    X, y = rows()
    model = BalancedSelection(ExemplarClustering(10, n_validation=50), random_state=0).partial_fit(X[:300], y[:300])
    model.save(tmp_path / "m.mcm")
    again = modicum.load(tmp_path / "m.mcm").partial_fit(X[300:], y[300:])
    assert again.to_bytes() == model.partial_fit(X[300:], y[300:]).to_bytes()


def test_functions_come_back_from_the_given_learner(tmp_path):
    def apart(a, b):
        return abs(len(a) - len(b))

    words = ["a" * (1 + i % 30) for i in range(100)]
    learner = ExemplarClustering(4, dissimilarity=apart, n_validation=40)
    model = BalancedSelection(learner, random_state=0).fit(words, [len(word) % 2 for word in words])
    assert chosen(model) == {0: 2, 1: 2}
    model.save(tmp_path / "m.mcm")
    again = modicum.load(tmp_path / "m.mcm", learner=learner)
    assert again.picks().rows == model.picks().rows
    again.partial_fit(words, [0] * 100)


def test_given_quotas_are_upper_bounds_and_leave_other_values_out():
    X, y = rows()
    model = BalancedSelection(quotas={"cat": 5, "owl": 50, "bird": 3}, random_state=0).fit(X, y)
    assert chosen(model) == {"cat": 5, "owl": (y == "owl").sum()}
    assert model.n_seen_ == len(X)
    assert sorted(model.groups_) == ["cat", "owl"]


def test_quotas_may_name_numbers_by_their_text():
    X, _ = rows(90)
    for y in (np.arange(90) % 3, np.arange(90) % 3 + 0.0):
        assert chosen(BalancedSelection(quotas={"1": 4, 2: 5}).fit(X, y)) == {1: 4, 2: 5}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_no_row_with_a_quota_gives_no_picks(kind):
    X, y = rows()
    picks = BalancedSelection(quotas={"bird": 3}).fit(sparse.csr_matrix(X) if kind == "sparse" else X, y).picks()
    assert len(picks) == len(picks.ids) == len(picks.targets) == 0
    assert picks.rows.shape == (0, 3)


def test_more_groups_than_rows_to_choose():
    X, _ = rows(50)
    picks = BalancedSelection(Reservoir(7), random_state=0).fit(X, np.arange(50) % 20).picks()
    assert_array_equal(picks.targets, np.arange(7))


def test_rows_of_weight_0_are_absent():
    X, y = rows()
    model = BalancedSelection(random_state=0).fit(X, y, sample_weight=(y != "cat").astype(float))
    assert "cat" not in model.groups_


def test_all_groups_share_the_budget():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    model = BalancedSelection(ExemplarClustering(32, budget="1 MiB"), random_state=0)
    for start in range(0, 4000, 250):
        model.partial_fit(X[start : start + 250], rng.integers(1 + start // 250, size=250))
        assert model.nbytes_ <= 2**20
        assert sum(model.quotas_) == 32


def test_a_budget_too_small_for_the_groups_is_an_error():
    X, _ = rows()
    model = BalancedSelection(ExemplarClustering(32, budget="64 KiB"))
    with pytest.raises(BudgetError, match=r"16 groups share the learner's budget of 64 KiB.*needs a budget of"):
        model.fit(X, np.arange(len(X)) % 16)


def test_the_nearest_group_answers():
    X, y = rows()
    for inner, column, best in ((INNER[1], "dissimilarity", min), (INNER[2], "similarity", max)):
        model = BalancedSelection(inner, random_state=0).fit(X, y)
        table = model.table(X[:10])
        each = [model.learner_of(value).table(X[:10])[column] for value in model.groups_]
        assert_array_equal(table[column], [best(values) for values in zip(*each, strict=True)])
        assert set(table["group"]) <= set(model.groups_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"learner": modicum.SieveStreaming(5)}, "learner must be None or one of ExemplarClustering"),
        ({"learner": modicum.BlockGreedy(5)}, "learner must be"),
        ({"learner": Reservoir("4 KiB")}, "budget of the learner must be a number of rows; got '4 KiB'"),
        ({"learner": OnlineGreedy(None, budget=9)}, "n_prototypes of the learner must be a number of rows"),
        ({"learner": ExemplarClustering(5, locked=[[1.0, 2.0, 3.0]])}, "locked rows can't be balanced"),
        ({"learner": StreamGreedy(5, objective="error")}, "needs targets, but y has the groups"),
        ({"quotas": {}}, "quotas must be"),
        ({"quotas": {"cat": 0}}, "quotas must be"),
        ({"quotas": {"cat": 1.5}}, "quotas must be"),
        ({"quotas": "fair"}, "quotas must be"),
        ({"max_groups": 3}, "y has 4 values so far, and max_groups is 3"),
    ],
)
def test_hostile_parameters_are_named(params, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        BalancedSelection(**params).fit(X, y)


@pytest.mark.parametrize("value", [None, float("nan"), (1, 2), ["list"]])
def test_a_group_that_is_no_value_is_named_and_changes_nothing(value):
    X, y = rows(20)
    model = BalancedSelection(random_state=0).partial_fit(X, y)
    before = model.to_bytes()
    bad = np.empty(20, object)
    bad[:] = y.tolist()
    bad[5] = value
    with pytest.raises(DataError, match="group of row 5"):
        model.partial_fit(X, bad)
    assert model.to_bytes() == before


def test_too_many_groups_change_nothing_and_merge_refuses_them():
    X, _ = rows(40)
    model = BalancedSelection(max_groups=4).partial_fit(X, np.arange(40) % 4)
    before = model.to_bytes()
    with pytest.raises(DataError, match="5 values so far"):
        model.partial_fit(X[:1], [9])
    other = BalancedSelection(max_groups=4).partial_fit(X, np.arange(40) % 2 + 8)
    with pytest.raises(StateError, match="6 values"):
        model.merge(other)
    assert model.to_bytes() == before


def test_a_group_that_was_not_seen_has_no_learner():
    X, y = rows(20)
    with pytest.raises(ValueError, match="'cow'"):
        BalancedSelection().fit(X, y).learner_of("cow")
