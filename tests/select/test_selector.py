"""How many rows selectors keep within a budget."""

import numpy as np
import pytest
from scipy import sparse

from modicum import BlockGreedy, OnlineGreedy, SieveStreaming, SieveStreamingPlusPlus, StreamGreedy, ThreeSieves
from modicum.exceptions import BudgetError
from modicum.kernels import RBF, Precomputed

X = np.random.default_rng(0).normal(size=(600, 4))
SELECTORS = [OnlineGreedy, BlockGreedy, StreamGreedy, SieveStreaming, SieveStreamingPlusPlus, ThreeSieves]
JUDGED = [StreamGreedy, SieveStreaming, SieveStreamingPlusPlus, ThreeSieves]


@pytest.mark.parametrize("cls", SELECTORS)
def test_either_a_number_or_a_budget(cls):
    with pytest.raises(ValueError, match=rf"{cls.__name__}: n_prototypes is None.* there is no budget\. Give one"):
        cls(None).fit(X)
    with pytest.raises(ValueError, match="there is no budget"):
        cls(None).plan(4)
    with pytest.raises(BudgetError, match="needs a budget of at least"):
        cls(50, budget=20).fit(X)
    with pytest.raises(BudgetError, match=r"needs a budget of at least .* [KM]iB; got 20 KiB"):
        cls(50, budget="20 KiB").fit(X)


@pytest.mark.parametrize("cls", JUDGED)
def test_validation_rows(cls):
    useful = 2000 if cls is StreamGreedy else 500
    Z = np.random.default_rng(0).normal(size=(2100, 2))
    kept = {"objective": "variance", "random_state": 0}
    assert len(cls(3, **kept).fit(Z)._sample) == useful
    assert len(cls(3, n_validation=70, **kept).fit(Z)._sample) == 70
    sets = cls(3)._plan(3, 0, 8).rows
    assert len(cls(3, budget=sets + 55, **kept).fit(Z)._sample) == 55
    assert cls(3, n_validation=70).fit(Z)._sample is None  # log-determinants need none


@pytest.mark.slow
@pytest.mark.parametrize("cls", SELECTORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("y", [None, X[:, 0]])
@pytest.mark.parametrize("sizes", [{"n_prototypes": 9}, {"n_prototypes": None, "budget": "200 KiB"}])
def test_no_more_is_held_than_planned_at_any_time(cls, dtype, y, sizes):
    objectives = [{}, {"objective": "variance"}] if cls in JUDGED else [{}, {"kernel": "rbf-ard"}]
    for objective in objectives:
        model = cls(**sizes, **objective)
        plan = model.plan(4, dtype)
        assert plan.nbytes <= 200 * 1024 or "budget" not in sizes
        for start in range(0, 600, 7) if "budget" not in sizes else range(0, 600, 100):
            rows = slice(start, start + (7 if "budget" not in sizes else 100))
            model.partial_fit(X[rows].astype(dtype), None if y is None else y[rows])
            assert model.nbytes_ <= plan.nbytes
            assert model.n_retained_ <= plan.rows


def test_a_matrix_of_kernel_values_is_planned_for():
    model = OnlineGreedy(5, kernel=Precomputed(RBF(1.0)(X, X)))
    assert model.fit(np.arange(600.0)[:, None]).nbytes_ <= model.plan(1).nbytes


def test_words_as_targets_stay_within_bytes():
    words = [f"{'long ' * (i // 20)}{i}" for i in range(600)]
    model = OnlineGreedy(None, budget="40 KiB").partial_fit(X[:100], np.array(words[:100]))
    with pytest.raises(BudgetError, match="rows have grown too large"):
        model.partial_fit(X[500:], np.array(words[500:]))
    assert model.nbytes_ <= 40 * 1024


def test_validation_samples_of_different_sizes_merge():
    """Sparse rows that differ in size give shards of one budget validation samples of different sizes."""
    wide, thin = (sparse.random(900, 60, density, format="csr", random_state=0) for density in (0.4, 0.05))
    params = {"budget": "150 KiB", "objective": "variance"}
    for one, two in ((wide, thin), (thin, wide)):
        left, right = (StreamGreedy(10, random_state=seed, **params).fit(Z) for seed, Z in enumerate((one, two)))
        smaller = min(len(left._sample), len(right._sample))
        assert left._sample.size != right._sample.size
        left._merge(right)  # without the check of the budget
        assert len(left._sample) == len(left._objective.rows) == len(left._objective.shares) == smaller
        left._check_state()
