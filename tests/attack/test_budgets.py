"""Budgets that are too small, at first or once rows have grown: what is said, and what is left of the learner."""

import re

import numpy as np
import pytest
from scipy import sparse

import modicum
from learners import LEARNERS, seeded
from modicum.checks.common import takes_counts
from modicum.exceptions import BudgetError
from modicum.rules.budget import parse_bytes

X = np.random.default_rng(0).normal(size=(700, 7))
BUDGETED = [
    pytest.param(learner, id=f"{name}-{i}", marks=[pytest.mark.slow] if i > 1 else [])
    for name, learners in LEARNERS.items()
    for i, learner in enumerate(learners)
    if "budget" in learner.get_params(deep=False)
]
REGRESSORS = ("KRLS", "SparseGPRegressor")


def targets(learner, rows):
    name, first = type(learner).__name__, np.arange(rows.shape[0])
    return first % 2 if name == "StreamSVC" else np.sin(first) if name in REGRESSORS else None


@pytest.mark.parametrize("budget", ["1 B", 1])
@pytest.mark.parametrize("learner", BUDGETED)
def test_the_budget_that_an_error_asks_for_is_sufficient(learner, budget):
    model = seeded(learner).set_params(budget=budget)
    if isinstance(budget, int) and getattr(model, "method", None) == "clumps" and takes_counts(model):
        pytest.skip("clumps of words need a budget in bytes")
    rows = np.abs(X).round() if takes_counts(model) else X
    try:
        model.fit(rows, targets(model, X))
    except BudgetError as error:
        number, unit = re.search(r"at least ([\d.,]+) (rows|[KM]?i?B)", str(error)).groups()
        number = number.replace(",", "")
        model.set_params(budget=int(number) if unit == "rows" else f"{number} {unit}").fit(rows, targets(model, X))
    if isinstance(model.budget, int):
        assert model.n_retained_ <= model.budget
    else:
        assert model.nbytes_ <= parse_bytes(model.budget)


GROWING = [
    modicum.Reservoir("8 KiB"),
    modicum.ExemplarClustering(3, budget="40 KiB"),
    modicum.KRLS(None, budget="40 KiB"),
    modicum.OnlineGreedy(None, budget="20 KiB"),
    modicum.BlockGreedy(None, budget="60 KiB"),
    modicum.StreamGreedy(5, objective="variance", budget="60 KiB"),
    modicum.SparseGPRegressor(5, budget="90 KiB", kernel="rbf", noise=0.1),
    modicum.StreamSVC(1.0, kernel="rbf", budget="90 KiB"),
]


def rows_of_density(count, density):
    return sparse.random(count, 3000, density=density, format="csr", random_state=0)


@pytest.mark.parametrize("learner", GROWING, ids=lambda learner: type(learner).__name__)
def test_rows_that_outgrow_a_budget_change_nothing(learner):
    n_thick = 1 if isinstance(learner, modicum.KRLS) else 400  # of many rows, KRLS drops the large ones again
    thin, thick = rows_of_density(60, 0.002), rows_of_density(n_thick, 0.9)
    model = seeded(learner).partial_fit(thin, targets(learner, thin))
    before = model.to_bytes()
    with pytest.raises(BudgetError, match="at least"):
        model.partial_fit(thick, targets(learner, thick))
    assert model.to_bytes() == before
    assert model.partial_fit(thin, targets(learner, thin)).n_seen_ == 120


def test_long_targets_that_outgrow_a_budget_change_nothing():
    model = modicum.Reservoir("4 KiB", random_state=0).partial_fit(X[:50], np.array(["a"] * 50))
    before = model.to_bytes()
    with pytest.raises(BudgetError, match="rows have grown too large"):
        model.partial_fit(X, np.array(["a" * 5000] * len(X)))
    assert model.to_bytes() == before


def test_a_budget_holds_when_larger_rows_are_merged():
    thin, thick = (sparse.random(200, 50, density=density, format="csr", random_state=0) for density in (0.1, 0.9))
    first, second = modicum.Reservoir("8 KiB", random_state=0), modicum.Reservoir("8 KiB", random_state=1)
    first.partial_fit(thin).merge(second.partial_fit(thin[:10]).partial_fit(thick[:9]))
    assert first.nbytes_ <= parse_bytes(first.budget)
    first, second = modicum.OnlineGreedy(None, budget="32 KiB"), modicum.OnlineGreedy(None, budget="32 KiB")
    before = first.partial_fit(thin).to_bytes()
    with pytest.raises(BudgetError, match="OnlineGreedy: rows have grown too large"):
        first.merge(second.partial_fit(thin[:10]).partial_fit(thick[:15]))
    assert first.to_bytes() == before
