"""Two-round selection: never worse than shards or their merge, and a bound that no set exceeds."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import modicum
from modicum import distribute
from modicum.distribute.selecting import _guarantee, second_round
from modicum.distribute.tasks import Start, merge
from modicum.kernels import RBF
from modicum.select.objectives.variance import VarianceReduction

X_COLUMNS = ["x0", "x1", "x2", "x3"]
VARIANCE = VarianceReduction(RBF(1.0))


def selected(selector, X, n_shards, passes=1):
    """Shards of every n-th row: (start, shards, state of the merge, state after the second round, what was best)."""
    start = Start.of(selector)
    shards = [start.shard(number, number) for number in range(n_shards)]
    for number, shard in enumerate(shards):
        ids = np.arange(number, len(X), n_shards)
        for _ in range(passes):
            shard.partial_fit(X[ids], row_ids=ids)
    states = [shard.to_bytes() for shard in shards]
    merged = merge(start, *states)
    return start, shards, merged, *second_round(start, merged, *states)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "selector",
    [
        modicum.OnlineGreedy(5, kernel=RBF(1.0), min_gain=0.0),
        modicum.StreamGreedy(5, objective=VARIANCE, random_state=0),
        modicum.ExemplarClustering(5, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_result_is_the_best_of_all(selector, seed):
    X = np.random.default_rng(seed).normal(size=(600, 2))
    start, shards, merged, state, chosen_by = selected(selector, X, 4)
    best, other = start.learner(state), start.learner(merged)
    value = "utility_" if isinstance(best, modicum.ExemplarClustering) else "value_"
    assert best.n_seen_ == 600
    assert getattr(best, value) >= getattr(other, value)
    if isinstance(best, modicum.OnlineGreedy):  # whose shards compute the same function
        assert best.value_ >= max(shard.value_ for shard in shards)
    assert chosen_by in ("second round", "merge", "shard")
    ids = best.picks().ids
    assert len(np.unique(ids)) == 5
    np.testing.assert_array_equal(best.picks().rows, X[ids])


def test_the_second_round_is_greedy_among_the_union():
    """Without swaps it chooses what a loop over all that the shards have chosen does."""
    X = np.random.default_rng(3).normal(size=(40, 2))
    start, shards, _, state, chosen_by = selected(modicum.OnlineGreedy(4, kernel=RBF(1.0), min_gain=100.0), X, 4)
    union = np.concatenate([shard.prototype_ids_ for shard in shards])
    K, chosen = np.eye(40) + RBF(1.0)(X, X), []
    for _ in range(4):
        values = [np.linalg.slogdet(K[np.ix_([*chosen, i], [*chosen, i])])[1] for i in union]
        chosen.append(union[int(np.argmax(values))])
    assert chosen_by == "second round"
    assert sorted(start.learner(state).prototype_ids_) == sorted(chosen)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("regularization", [0.3, 1.0])
def test_no_set_exceeds_the_bound(seed, regularization):
    """Against all sets of three among thirty rows; after several passes no refused row would gain, as is assumed."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    selector = modicum.OnlineGreedy(3, kernel=RBF(3.0), regularization=regularization, min_gain=0.0)
    start, shards, _, state, _ = selected(selector, X, 3, passes=6)
    found = _guarantee(start.learner(state), shards, 0.95)
    K = np.eye(30) + RBF(3.0)(X, X) / regularization
    best = max(np.linalg.slogdet(K[np.ix_(some, some)])[1] for some in itertools.combinations(range(30), 3))
    assert found.value <= best + 1e-9
    for bound in (found.optimum_at_most, found.of_shards, found.of_union):
        assert best <= bound + 1e-9
    assert found.of_shards == pytest.approx(sum(shard.guarantee().optimum_at_most for shard in shards))
    assert all(condition.startswith("in every shard") for condition in found.conditions)


def test_a_bound_that_says_something():
    """Rows on a line that a wide kernel covers: all that shards have chosen is hardly better than what is chosen."""
    X = np.random.default_rng(0).permutation(np.linspace(0, 1, 300))[:, None]
    selector = modicum.OnlineGreedy(12, kernel=RBF(0.5), regularization=0.01, min_gain=0.0)
    start, shards, _, state, _ = selected(selector, X, 3, passes=3)
    found = _guarantee(start.learner(state), shards, 0.95)
    assert found.says_something
    assert found.of_union < found.of_shards


@pytest.mark.parametrize(
    "selector",
    [
        modicum.ExemplarClustering(4, budget=200, random_state=0),
        modicum.StreamGreedy(4, objective=VARIANCE, n_validation=100, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_bounds_of_samples_say_what_they_assume(selector):
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    start, shards, _, state, _ = selected(selector, X, 4)
    found, surer = (_guarantee(start.learner(state), shards, confidence) for confidence in (0.9, 0.99))
    assert found.confidence == 0.9
    assert found.epsilon > 0
    assert found.value <= found.optimum_at_most <= found.ceiling
    assert any("dealt to the shards at random" in condition for condition in found.conditions)
    assert surer.of_shards > found.of_shards


def test_rows_of_different_shards_that_are_too_close_are_not_both_chosen():
    X = np.random.default_rng(0).normal(size=(200, 2))
    selector = modicum.OnlineGreedy(5, kernel=RBF(0.1), min_distance=1.5)  # without it, any rows do
    start, _, merged, _, _ = selected(selector, X, 4)
    chosen = start.learner(merged)
    chosen._choose_again(X, None, np.arange(200))
    assert pdist(chosen.prototypes_).min() > 1.5


def test_fewer_rows_than_are_to_be_chosen():
    X = np.random.default_rng(0).normal(size=(9, 2))
    start, _, _, state, chosen_by = selected(modicum.OnlineGreedy(20, kernel=RBF(1.0)), X, 3)
    assert chosen_by == "merge"
    assert len(start.learner(state).picks()) == 9


def test_what_has_no_second_round():
    for selector, said in (
        (modicum.StreamGreedy(3, objective="error"), "submodular"),
        (modicum.BlockGreedy(3), "BlockGreedy has no second round"),
        (modicum.ExemplarClustering(3, locked=np.zeros((1, 2))), "locked"),
        (modicum.ExemplarClustering(3, min_distance=0.1), "min_distance"),
    ):
        with pytest.raises(ValueError, match=said):
            distribute.select(selector, "rows.parquet")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestOnACluster:
    @pytest.mark.parametrize(
        "selector",
        [
            modicum.OnlineGreedy(8),
            modicum.StreamGreedy(8, objective="variance", n_validation=200, random_state=0),
            modicum.ExemplarClustering(8, random_state=0),
        ],
        ids=lambda one: type(one).__name__,
    )
    def test_files(self, client, folder, selector):
        found, again = (distribute.select(selector, folder, client, n_shards=4, columns=X_COLUMNS) for _ in range(2))
        assert found.selector.n_seen_ == 6_000
        assert len(found.picks()) == 8
        assert found.guarantee().n_shards == 4
        assert found.selector.to_bytes() == again.selector.to_bytes()

    def test_all_shards_have_one_kernel(self, client, folder, rows):
        da = pytest.importorskip("dask.array")
        for source, reading in ((folder, {"columns": X_COLUMNS}), (da.from_array(rows[0], chunks=(1_000, 4)), {})):
            found = distribute.select(modicum.OnlineGreedy(8), source, client, n_shards=3, **reading)
            kernels = [found._start.learner(state).kernel_ for state in found._shards]
            assert len({repr(kernel) for kernel in (*kernels, found.selector.kernel_)}) == 1
