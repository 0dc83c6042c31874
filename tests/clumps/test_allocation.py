"""Division of a budget."""

import re

import numpy as np
import pytest
from scipy import sparse

from modicum.clumps.allocation import allocate
from modicum.exceptions import BudgetError
from modicum.rules.budget import as_budget

FIXED = 1000


def allocation(budget, epoch=None, d=4, p=14):
    return allocate(as_budget(budget), epoch, d, p, 8 * (p + 1), 8, FIXED, "Model")


def test_rows_are_counted_as_in_the_thesis():
    """Eq. 2.18: a clump takes (d^2 + 3 d) / 2 + 1 numbers, a row d. MNIST: 6,000 rows, half of them an epoch."""
    found = allocation(6000, d=50, p=50 * 53 // 2)
    assert found.epoch == 3000
    assert (found.cost.row, found.cost.clump) == (50, 1326)
    assert found.max_components == 3000 * 50 // 1326
    assert found.left == found.beside(17) == 3000 * 50


def test_a_given_epoch():
    assert allocation(100, epoch=20).epoch == 20
    assert allocation(100, epoch=20).left == 80 * 4


@pytest.mark.parametrize("budget", ["8 KiB", "64 KiB", "1 MiB"])
@pytest.mark.parametrize("epoch", [None, 10])
def test_bytes_cover_everything(budget, epoch):
    found, total = allocation(budget, epoch), as_budget(budget).nbytes
    assert found.cost.row >= 4 * 8  # a row and its weight
    assert found.cost.clump >= 15 * 8
    most = found.max_components
    assert FIXED + found.epoch * found.cost.row + most * found.per_component + found.beside(most) <= total
    assert found.beside(most) >= most * found.cost.clump  # each component can be a clump


def test_what_exceeds_a_budget():
    rows = np.zeros((10, 4))
    for budget, per_component in ((40, 0), ("8 KiB", 8 * 16)):
        found = allocation(budget, epoch=10)
        most = int(found.beside(3) / found.cost.clump)
        assert not found.is_exceeded_by(rows, most, 3)
        assert found.is_exceeded_by(rows, most + 1, 3)
        assert not found.is_exceeded_by(rows[:5], most + 1, 3)
        assert found.per_component == per_component


@pytest.mark.parametrize("epoch", [None, 1, 10])
@pytest.mark.parametrize(("d", "p"), [(1, 2), (4, 14), (4, 8), (20, 230), (20, 40)])
@pytest.mark.parametrize("budget", [1, 2, "1 KiB"])
def test_the_budget_that_is_asked_for_is_enough(epoch, d, p, budget):
    with pytest.raises(BudgetError, match="Model needs a budget of at least") as caught:
        allocation(budget, epoch, d, p)
    least = re.search("at least (.*); got", str(caught.value)).group(1)
    found = allocation(int(least.split()[0]) if least.endswith("rows") else least, epoch, d, p)
    assert found.max_components >= 1


def test_more_memory_allows_more_of_everything():
    for budgets in ((20, 40, 400), ("4 KiB", "8 KiB", "64 KiB")):
        found = [allocation(budget) for budget in budgets]
        for key in ("epoch", "left", "max_components", "max_rows"):
            values = [getattr(one, key) for one in found]
            assert values == sorted(set(values))


@pytest.mark.parametrize("epoch", [None, 3, 50])
def test_sparse_rows_take_what_they_take(epoch):
    found = allocate(as_budget("4 KiB"), epoch, 20, 20, 168, 8, FIXED, "Model", sparse=True)
    X = sparse.random(300, 20, 0.3, format="csr", random_state=0)
    held = [12 + 12 * np.diff(X.indptr)[:count].sum() / count for count in (1, 300)]
    assert found.cost.of_rows(X)[0] == held[0]
    assert found.cost.of_rows(X).mean() == pytest.approx(held[1])
    for n_buffered in (0, 2, 7):
        count = found.n_fitting(X[n_buffered:], X[:n_buffered])
        total = found.cost.of_rows(X[: n_buffered + count]).sum()
        assert n_buffered + count <= found.epoch or not count
        assert total <= found.for_epoch or not count
        more = found.cost.of_rows(X[: n_buffered + count + 1]).sum()
        assert n_buffered + count >= found.epoch or more > found.for_epoch
    assert found.for_epoch + found.left + FIXED == 4096
    assert found.for_epoch >= found.cost.row + 20 * found.cost.entry  # any row fits


def test_sparse_rows_count_like_dense_ones_to_a_budget_of_rows():
    dense, thin = (allocate(as_budget(40), None, 20, 20, 168, 8, FIXED, "Model", sparse=flag) for flag in (False, True))
    assert dense == thin


@pytest.mark.parametrize("epoch", [None, 1, 10])
def test_the_budget_that_is_asked_for_is_enough_for_sparse_rows(epoch):
    with pytest.raises(BudgetError) as caught:
        allocate(as_budget("1 KiB"), epoch, 200, 200, 1608, 8, FIXED, "Model", sparse=True)
    least = re.search("at least (.*); got", str(caught.value)).group(1)
    assert allocate(as_budget(least), epoch, 200, 200, 1608, 8, FIXED, "Model", sparse=True).max_components >= 1
