"""The mixture of a stream: against the one of all rows, within its budget, in all its states."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import modicum
from modicum import DirichletProcessMixture, MemoryBoundedMixture
from modicum.clumps.factored_memory import FactoredMemory
from modicum.clumps.memory import Memory
from modicum.exceptions import BudgetError, DataError, StateError
from modicum.families import FullGaussian, Multinomial, as_family
from modicum.rules.budget import as_budget

CENTERS = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [20.0, 20.0]])


def clusters(count, kinds=(0, 1, 2, 3), seed=0):
    rng = np.random.default_rng(seed)
    return CENTERS[rng.choice(kinds, count)] + rng.normal(size=(count, 2))


def streamed(model, X, chunk=50):
    for start in range(0, len(X), chunk):
        model.partial_fit(X[start : start + chunk])
    return model


def spent(model):
    """Numbers that clumps and rows take, as the thesis counts them."""
    memory, d = model._memory, model.n_features_in_
    return len(memory.clump_counts) * (memory.clump_sums.shape[1] + 1) + len(memory.weights) * d


def assert_all_there(model, X):
    """Clumps represent every row."""
    kept = model.clumps_
    assert_allclose(kept["counts"].sum(), len(X))
    assert_allclose(kept["counts"] @ kept["means"], X.sum(axis=0), rtol=1e-9, atol=1e-6)
    assert model.n_seen_ == len(X)
    assert model.n_retained_ == len(kept["counts"]) == len(kept["labels"]) == len(kept["is_clump"])
    assert_allclose(kept["counts"][~kept["is_clump"]], 1)


# ---- against all rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 60, 99, 100])
def test_within_an_epoch_it_is_the_mixture_of_all_rows(name, count, rows):
    X, new = rows(name, count), rows(name, 20, seed=1)
    model = MemoryBoundedMixture(name, budget=200, epoch=100).partial_fit(X)
    batch = DirichletProcessMixture(name, tol=model.tol).fit(X)
    order = np.argsort(-model.weights_, kind="stable")
    assert model.n_components_ == batch.n_components_
    assert_allclose(model.free_energy_, batch.free_energy_)
    assert_allclose(model.means_[order], batch.means_)
    for ask in ("score_samples", "plug_in_score_samples", "novelty"):
        assert_allclose(getattr(model, ask)(new), getattr(batch, ask)(new), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "diagonal"])
def test_a_third_of_the_rows_is_nearly_as_good(kind):
    X, new = clusters(600), clusters(500, seed=1)
    model = streamed(MemoryBoundedMixture(kind, budget=200), X, 170)
    batch = DirichletProcessMixture(kind).fit(X)
    assert model.n_components_ == batch.n_components_ == 4
    assert model.score(new) > batch.score(new) - 0.05
    assert model.free_energy_ <= batch.free_energy_ + 0.01 * len(X)  # constraints can only cost, but for the tolerance
    assert model.free_energy_ > batch.free_energy_ - 0.1 * len(X)
    assert_all_there(model, X)


def test_topics_of_a_stream(rows):
    X = rows("multinomial", 500)
    model = streamed(MemoryBoundedMixture("multinomial", budget=100), X)
    assert model.n_components_ == 3
    order = model.means_.argmax(axis=1).argsort()
    assert_allclose(model.means_[order], 0.1 + 0.7 * np.eye(3), atol=0.03)
    assert_all_there(model, X)


def test_a_late_component_is_new_and_then_found():
    model = streamed(MemoryBoundedMixture(budget=200), clusters(400, (0, 1)))
    late = clusters(200, (3,), seed=1)
    assert model.n_components_ == 2
    assert (model.novelty(late) > 0.9).all()
    streamed(model, late)
    assert model.n_components_ == 3
    assert np.median(model.novelty(clusters(100, (3,), seed=2))) < 0.1
    assert np.unique(model.predict(late)).tolist() == [2]  # components are in the order in which they were found


def test_equal_rows_take_little_memory():
    """A stream of one kind does not grow components by its length."""
    rng = np.random.default_rng(0)
    model = streamed(MemoryBoundedMixture(budget=200), rng.normal(size=(600, 2)))
    assert model.n_components_ <= 2


# ---- budget --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"budget": 60}, {"budget": 90, "epoch": 50}, {"budget": 60, "horizon": 10_000}])
def test_rows_of_a_budget(name, options, rows):
    X = rows(name, 154)
    model = MemoryBoundedMixture(name, **options)
    for start in range(0, 154, 11):
        model.partial_fit(X[start : start + 11])
        assert spent(model) <= options["budget"] * 3
    assert_all_there(model, X)
    assert model.clumps_["is_clump"].any()


@pytest.mark.parametrize(("budget", "dtype"), [("9 KiB", np.float64), ("16 KiB", np.float32)])
def test_bytes_of_a_budget(name, budget, dtype, rows):
    X = rows(name, 260).astype(dtype)
    model, limit = MemoryBoundedMixture(name, budget=budget), as_budget(budget).nbytes
    for start in range(0, 200, 50):
        model.partial_fit(X[start : start + 50])
        assert model.nbytes_ <= limit
    model.merge(MemoryBoundedMixture(name, budget=budget).partial_fit(X[200:]))
    assert model.nbytes_ <= limit
    assert model.plan(3, dtype).nbytes <= limit


def test_bytes_of_a_budget_when_components_are_found():
    """At the end of an epoch there are more components, and its rows are still held."""
    rng = np.random.default_rng(0)
    centers = 20 * rng.normal(size=(40, 5))
    model = MemoryBoundedMixture(budget="16 KiB", epoch=100, horizon=100_000)
    for turn in range(12):
        near = centers[rng.integers(0, 3 * turn + 1, 100)]
        assert model.partial_fit(near + 0.1 * rng.normal(size=near.shape)).nbytes_ <= 16 * 1024
    assert model.n_components_ > 5


@pytest.mark.parametrize("budget", [50, "16 KiB"])
def test_no_more_is_held_than_planned(name, budget, rows):
    X = rows(name, 160)
    model = MemoryBoundedMixture(name, budget=budget)
    plan = model.plan(3)
    for start in range(0, 160, 40):
        assert model.partial_fit(X[start : start + 40]).nbytes_ <= plan.nbytes


@pytest.mark.parametrize("budget", [1, 3, "1 KiB"])
def test_a_budget_that_is_too_small(budget):
    with pytest.raises(BudgetError, match="MemoryBoundedMixture needs a budget of at least"):
        MemoryBoundedMixture(budget=budget).partial_fit(clusters(5))


# ---- streams -------------------------------------------------------------------------------------


def test_any_chunks_give_the_same(name, rows):
    X = rows(name, 100)
    one, many = MemoryBoundedMixture(name, budget=60).partial_fit(X), MemoryBoundedMixture(name, budget=60)
    for at, x in enumerate(X):
        many.partial_fit(x[None])
        if at % 20 == 0:
            many.predict(X)  # asking in between changes nothing
    assert one.to_bytes() == many.to_bytes()


def test_history_has_a_record_for_each_round(name, rows):
    model = streamed(MemoryBoundedMixture(name, budget=60), rows(name, 100))
    history = model.history_
    assert_array_equal(history["n_seen"], [30, 60, 90])
    assert set(history) >= {"n_seen", "components", "free_energy", "clumps", "singlets"}
    assert (history["components"] >= 1).all()
    assert history["clumps"][0] == 0
    assert np.isfinite(history["free_energy"]).all()


def test_the_end_of_a_stream_is_a_round(rows):
    X = rows("diagonal", 70)
    assert MemoryBoundedMixture("diagonal", budget=60).fit(X).history_["n_seen"].tolist() == [30, 60, 70]


def test_learning_continues_after_loading(name, rows, tmp_path):
    X = rows(name, 110)
    model = MemoryBoundedMixture(name, budget=60).partial_fit(X[:70])
    model.name_component(0, "first")
    model.save(tmp_path / "model.mcm")
    again = modicum.load(tmp_path / "model.mcm")
    for one in (model, again):
        one.partial_fit(X[70:])
    assert again.to_bytes() == model.to_bytes()
    assert_array_equal(again.score_samples(X), model.score_samples(X))
    assert again.component_names_ == model.component_names_


def test_weights_count_as_rows(name, rows):
    """While all rows are kept: a row of weight 2 is one to keep, a row given twice is two."""
    X, times = rows(name, 40), np.arange(40) % 3
    weighted = MemoryBoundedMixture(name, budget=400).partial_fit(X, sample_weight=times)
    repeated = MemoryBoundedMixture(name, budget=400).partial_fit(np.repeat(X, times, axis=0))
    assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-2, atol=0.1)
    assert_allclose(weighted.clumps_["counts"].sum(), times.sum())


def test_weights_are_in_clumps():
    X, weight = clusters(100), np.random.default_rng(0).uniform(0.5, 2.0, 100)
    model = MemoryBoundedMixture(budget=60).partial_fit(X, sample_weight=weight)
    kept = model.clumps_
    assert_allclose(kept["counts"].sum(), weight.sum())
    assert_allclose(kept["counts"] @ kept["means"], weight @ X)


# ---- merging -------------------------------------------------------------------------------------

STATES = {"nothing": 0, "few": 20, "an epoch": 30, "much": 70}


@pytest.mark.parametrize(("here", "there"), list(itertools.product(STATES, STATES)))
def test_merge_in_all_states(here, there, rows):
    name = ("gaussian", "diagonal", "multinomial")[(STATES[here] + STATES[there]) % 3]
    X = rows(name, 140)
    one, other = (MemoryBoundedMixture(name, budget=60) for _ in range(2))
    left, right = X[: STATES[here]], X[140 - STATES[there] :]
    one.partial_fit(left)
    other.partial_fit(right)
    before = other.to_bytes()
    assert one.merge(other) is one
    assert other.to_bytes() == before
    if here == there == "nothing":
        return
    assert_all_there(one, np.concatenate([left, right]))
    assert spent(one) <= 60 * 3
    assert np.isfinite(one.score_samples(X)).all()
    one.partial_fit(X[:40])
    assert spent(one) <= 60 * 3
    assert_all_there(one, np.concatenate([left, right, X[:40]]))
    assert one.history_["n_seen"][-1] <= one.n_seen_


def test_merged_shards_are_as_good_as_one_stream():
    X, new = clusters(450), clusters(300, seed=1)
    shards = [streamed(MemoryBoundedMixture(budget=200), part) for part in (X[:150], X[150:300], X[300:])]
    merged = shards[0].merge(shards[1]).merge(shards[2])
    assert merged.n_components_ == 4
    assert merged.score(new) > streamed(MemoryBoundedMixture(budget=200), X).score(new) - 0.1


def test_only_learners_with_equal_parameters_are_merged():
    X = clusters(60)
    model = MemoryBoundedMixture(FullGaussian(covariance=1.0), budget=100).partial_fit(X)
    with pytest.raises(StateError, match="family differs"):
        model.merge(MemoryBoundedMixture(FullGaussian(covariance=2.0), budget=100).partial_fit(X))
    with pytest.raises(StateError, match="budget differs"):
        model.merge(MemoryBoundedMixture(FullGaussian(covariance=1.0), budget=90).partial_fit(X))
    same = MemoryBoundedMixture(FullGaussian(covariance=1.0), budget=100).partial_fit(X)
    assert model.merge(same).n_seen_ == 120


# ---- clumps as factors ---------------------------------------------------------------------------

SIZES = {"budget": "12 KiB", "epoch": 60}


class DoubleMemory(Memory):
    """Sums of double precision, for which one pays no more than for factors."""

    clump_bytes = staticmethod(FactoredMemory.clump_bytes)


def wide(count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice([-8.0, 0.0, 8.0], (count, 1)) + rng.normal(size=(count, 5)) * [0.1, 0.5, 1.0, 2.0, 4.0]


def model_with(memory, X, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(MemoryBoundedMixture, "_kind_of_memory", lambda self, d: memory)
        return streamed(MemoryBoundedMixture(**SIZES), X)


def test_budgets_of_bytes_hold_factors():
    X = wide(300)
    kinds = [
        type(MemoryBoundedMixture(family, budget=budget).partial_fit(rows)._memory)
        for family, budget, rows in (
            ("gaussian", "12 KiB", X),
            ("gaussian", 100, X),
            ("diagonal", "12 KiB", X),
            ("gaussian", "12 KiB", X[:, :1]),
        )
    ]
    assert kinds == [FactoredMemory, Memory, Memory, Memory]


def test_factors_do_as_well_as_sums_of_double_precision(monkeypatch):
    X, new = wide(600), wide(300, seed=1)
    ours, twin = (model_with(kind, X, monkeypatch) for kind in (FactoredMemory, DoubleMemory))
    assert len(ours._memory.clump_counts) == len(twin._memory.clump_counts) > 10
    assert ours.n_components_ == twin.n_components_
    assert_allclose(ours.free_energy_, twin.free_energy_, rtol=1e-5)
    assert_allclose(ours.score_samples(new), twin.score_samples(new), atol=1e-3)
    assert_all_there(ours, X)


def test_they_hold_more_clumps(monkeypatch):
    ours, plain = (model_with(kind, wide(600), monkeypatch) for kind in (FactoredMemory, Memory))
    assert len(ours._memory.clump_counts) > 1.2 * len(plain._memory.clump_counts)
    for model in (ours, plain):
        assert model.nbytes_ <= 12 * 1024


def test_chunks_make_no_difference_to_factors():
    X = wide(300)
    one, many = MemoryBoundedMixture(**SIZES).partial_fit(X), streamed(MemoryBoundedMixture(**SIZES), X, 7)
    assert one.to_bytes() == many.to_bytes()
    again = MemoryBoundedMixture.from_bytes(one.to_bytes())
    assert again.to_bytes() == one.to_bytes()
    assert again.partial_fit(X).to_bytes() == many.partial_fit(X).to_bytes()


def test_a_state_with_sums_in_a_budget_of_bytes_still_loads(monkeypatch):
    X, new = wide(400), wide(300, seed=1)
    old = model_with(Memory, X, monkeypatch)
    model = MemoryBoundedMixture.from_bytes(old.to_bytes())
    assert type(model._memory) is FactoredMemory
    assert model.nbytes_ < old.nbytes_
    assert_allclose(model.score_samples(new), old.score_samples(new), atol=1e-3)
    streamed(model, new)
    assert model.nbytes_ <= 12 * 1024
    assert_all_there(model, np.concatenate([X, new]))
    fresh = streamed(MemoryBoundedMixture(**SIZES), new)
    assert_all_there(fresh.merge(MemoryBoundedMixture.from_bytes(old.to_bytes())), np.concatenate([X, new]))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("clump_scales", lambda values: 0 * values),
        ("clump_factors", lambda values: 2 * np.sign(values)),
        ("clump_factors", lambda values: values[:, 1:].copy()),
        ("clump_factors", lambda values: values.astype(np.float64)),
        ("clump_means", lambda values: values[1:].copy()),
    ],
)
def test_invalid_factors_are_refused(name, change):
    model = streamed(MemoryBoundedMixture(**SIZES), wide(300))
    setattr(model._memory, name, change(getattr(model._memory, name)))
    with pytest.raises(StateError, match=name):
        model.to_bytes()


def test_factors_of_another_family_are_refused():
    X = wide(300)
    model = streamed(MemoryBoundedMixture("diagonal", **SIZES), X)
    model._memory = streamed(MemoryBoundedMixture(**SIZES), X)._memory
    with pytest.raises(StateError, match="clump_factors"):
        model.to_bytes()


# ---- names ---------------------------------------------------------------------------------------


def at(model, row):
    """Name of the component of a row."""
    return model.component_names_[model.predict([row])[0]]


def named(model, kinds):
    for kind in kinds:
        model.name_component(int(model.predict([CENTERS[kind]])[0]), f"at {kind}")
    return model


def test_names_stay_with_their_rows():
    model = named(streamed(MemoryBoundedMixture(budget=200), clusters(200, (0, 1))), (0, 1))
    streamed(model, clusters(400, seed=1))
    assert model.n_components_ == len(set(model.component_names_)) == 4
    assert [at(model, CENTERS[kind]) for kind in (0, 1)] == ["at 0", "at 1"]
    assert set(model.table(CENTERS)["name"]) == set(model.component_names_)


def test_names_survive_a_merge():
    one = named(streamed(MemoryBoundedMixture(budget=200), clusters(200, (0, 1))), (0,))
    other = named(streamed(MemoryBoundedMixture(budget=200), clusters(200, (0, 1, 2), seed=1)), (1, 2))
    one.merge(other)
    assert one.n_components_ == 3
    assert [at(one, CENTERS[kind]) for kind in (0, 1, 2)] == ["at 0", "at 1", "at 2"]


def test_if_both_sides_use_a_name_this_side_keeps_it():
    one = named(streamed(MemoryBoundedMixture(budget=200), clusters(200, (0, 1))), (0, 1))
    other = streamed(MemoryBoundedMixture(budget=200), clusters(200, (0, 1), seed=1))
    other.name_component(int(other.predict([CENTERS[0]])[0]), "at 1")
    one.merge(other)
    assert [at(one, CENTERS[kind]) for kind in (0, 1)] == ["at 0", "at 1"]
    assert len(set(one.component_names_)) == one.n_components_


def test_a_name_before_the_first_round():
    model = MemoryBoundedMixture(budget=200).partial_fit(clusters(40, (0, 1)))
    named(model, (1,))
    streamed(model, clusters(200, (0, 1), seed=1))
    assert at(model, CENTERS[1]) == "at 1"


def test_bad_names():
    model = streamed(MemoryBoundedMixture(budget=200), clusters(200, (0, 1)))
    model.name_component(0, "hat")
    before = model.to_bytes()
    for k, name in ((1, "hat"), (2, "shoe"), (-1, "shoe"), ("hat", "shoe"), (1, ""), (1, 7), (1, "c9")):
        with pytest.raises(ValueError):
            model.name_component(k, name)
    assert model.to_bytes() == before
    assert model.name_component(0, "hat") is model
    with pytest.raises(ValueError, match="fitted"):
        MemoryBoundedMixture().name_component(0, "hat")


# ---- odd streams ---------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(70, 2))
ODD = {
    "equal": np.full((70, 2), 0.1),
    "zero": np.zeros((70, 2)),
    "equal, then others": np.concatenate([np.full((40, 2), 0.1), NORMAL]),
    "equal, then large": np.concatenate([np.ones((40, 2)), 1e6 * NORMAL]),
    "equal, then tiny": np.concatenate([np.zeros((40, 2)), 1e-6 * NORMAL]),
    "a constant column": np.stack([NORMAL[:, 0], np.full(70, 0.1)], axis=1),
    "repeated": np.repeat(NORMAL[:5], 20, axis=0),
    "repeated, shuffled": RNG.permutation(np.repeat(NORMAL[:5], 20, axis=0)),
    "drift": NORMAL + np.linspace(0, 1e4, 70)[:, None],
    "faster drift": NORMAL + np.exp(np.linspace(0, 20, 70))[:, None],
    "a jump": np.concatenate([NORMAL, NORMAL + 1e8]),
    "a longer jump": np.concatenate([NORMAL, NORMAL + 1e12]),
    "late outliers": np.concatenate([NORMAL, 1e6 * NORMAL[:5]]),
    "far": 1e8 + NORMAL,
    "heavy tails": RNG.standard_cauchy((100, 2)),
    "single precision": (1e3 + NORMAL).astype(np.float32),
    "integers": RNG.integers(0, 3, size=(70, 2)),
}


def test_rows_without_words():
    X = np.concatenate([np.zeros((40, 3)), np.eye(3), np.zeros((20, 3)), np.full((10, 3), 1e6)])
    model = streamed(MemoryBoundedMixture("multinomial", budget=60), X, 25)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("X", ODD.values(), ids=ODD)
@pytest.mark.parametrize(("kind", "budget"), [("gaussian", 60), ("gaussian", "9 KiB"), ("diagonal", 60)])
def test_odd_streams(kind, budget, X):
    model = streamed(MemoryBoundedMixture(kind, budget=budget, epoch=30), X, 25)
    for values in (model.free_energy_, model.score_samples(X), model.plug_in_score_samples(X), model.novelty(X)):
        assert np.isfinite(values).all()
    assert model.n_components_ <= 30
    assert model.nbytes_ <= 9 * 1024 if budget == "9 KiB" else spent(model) <= 60 * 2


@pytest.mark.parametrize("weight", [1e-9, 1e6])
def test_odd_weights(name, weight, rows):
    X = rows(name, 50)
    model = MemoryBoundedMixture(name, budget=60).partial_fit(X, sample_weight=np.full(50, weight))
    assert np.isfinite(model.score(X))
    wild = 10 ** np.random.default_rng(0).uniform(-6, 6, 50)
    assert np.isfinite(MemoryBoundedMixture(name, budget=60).partial_fit(X, sample_weight=wild).score(X))


def test_more_columns_than_rows():
    X = np.random.default_rng(0).normal(size=(40, 30))
    for kind in ("gaussian", "diagonal"):
        model = streamed(MemoryBoundedMixture(kind, budget=60), X, 7)
        assert np.isfinite(model.score(X))


# ---- what is given -------------------------------------------------------------------------------


def test_a_given_family(rows):
    prior = Multinomial([0.2, 0.5, 1.0])
    model = streamed(MemoryBoundedMixture(prior, budget=60), rows("multinomial", 100))
    assert prior.pseudocounts == [0.2, 0.5, 1.0]
    assert not hasattr(prior, "n_features")
    assert_allclose(clone(model).family.pseudocounts, prior.pseudocounts)
    again = type(model).from_bytes(model.to_bytes())
    assert_array_equal(again.predict(rows("multinomial", 20)), model.predict(rows("multinomial", 20)))


def test_an_invalid_prior_is_refused_immediately():
    model = MemoryBoundedMixture(FullGaussian(covariance=-1.0), budget=100)
    with pytest.raises(ValueError, match="covariance"):
        model.partial_fit(clusters(3))
    assert not model._is_fitted()


def test_counts_are_checked_before_they_are_learned():
    model = MemoryBoundedMixture("multinomial", budget=60).partial_fit(np.ones((5, 2)))
    before = model.to_bytes()
    with pytest.raises(DataError, match="row 1, column 0"):
        model.partial_fit(np.array([[1.0, 1.0], [-2.0, 1.0]]))
    assert model.to_bytes() == before


def test_families_by_name_are_those_with_their_own_priors(name, rows):
    X = rows(name, 35)
    by_name, given = (streamed(MemoryBoundedMixture(family, budget=60), X) for family in (name, as_family(name)))
    assert_array_equal(by_name.score_samples(X), given.score_samples(X))
