"""Division of a budget."""

import re

import pytest

from modicum.clumps.allocation import allocate
from modicum.exceptions import BudgetError
from modicum.rules.budget import as_budget

FIXED = 1000


def allocation(budget, epoch=None, d=4, p=14):
    return allocate(as_budget(budget), epoch, d, p, 8, FIXED, "Model")


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
