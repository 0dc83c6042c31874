"""Plans bound what is held, and budgets in rows and bytes are kept or refused."""

import numpy as np
import pytest

from modicum import StreamSVC
from modicum.exceptions import BudgetError
from modicum.rules.budget import as_budget
from modicum.svm.core_limits import CORE_VECTORS

SETTINGS = {
    "default": {},
    "diagonal": {"ellipsoid": "diagonal", "C": 1.0},
    "ball": {"ellipsoid": None, "n_initial": 100},
    "ball, much lookahead": {"ellipsoid": None, "lookahead": 40, "n_initial": 16, "fit_intercept": False},
    "paper": {"ellipsoid": None, "lookahead": 1, "n_initial": 1},
    "balls": {"n_balls": 7, "C": 1.0},
    "kernel": {"kernel": "rbf", "n_initial": 64},
    "kernel, not stationary": {"kernel": "polynomial", "C": 1.0, "n_initial": 64},
    "kernel, rows": {"kernel": "rbf", "n_initial": 64, "budget": 90},
    "kernel, bytes": {"kernel": "rbf", "n_initial": 64, "budget": "200 KiB"},
}


def data(count, n_classes, width=6, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, width))
    return X.astype(dtype), (X @ rng.normal(size=(width, n_classes)) + rng.normal(size=(count, n_classes))).argmax(1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_no_more_is_held_than_planned(settings, n_classes, dtype):
    X, y = data(700, n_classes, dtype=dtype)
    model = StreamSVC(**settings, random_state=0)
    plan = model.plan(6, dtype=dtype, n_classes=n_classes)
    budget = as_budget(model.budget)
    for start in range(0, 700, 140):
        model.partial_fit(X[start : start + 140], y[start : start + 140])
        model.predict(X[:3])
        assert model.nbytes_ <= plan.nbytes
        assert model.n_retained_ <= plan.rows or budget.nbytes is not None
        assert model.n_retained_ <= (budget.rows or np.inf)
        assert model.nbytes_ <= (budget.nbytes or np.inf)


def test_a_plan_is_not_much_more_than_what_is_held():
    X, y = data(1200, 2, width=40)
    for settings in ({"C": 1.0}, {"C": 1.0, "ellipsoid": "diagonal"}, {"C": 1.0, "n_balls": 7, "n_initial": 1}):
        model = StreamSVC(**settings)
        assert model.partial_fit(X, y).nbytes_ > 0.5 * model.plan(40).nbytes


def test_a_kernel_without_a_budget_keeps_a_bounded_number_of_core_vectors(monkeypatch):
    monkeypatch.setattr("modicum.svm.core_limits.CORE_VECTORS", 50)
    X, y = data(600, 3)
    model = StreamSVC(1.0, kernel="rbf", n_initial=16).partial_fit(X, y)
    assert max(ball.n_kept for ball in model._classifier.kernel_balls) <= 50
    assert CORE_VECTORS == 1000


@pytest.mark.parametrize("settings", [{}, {"C": 1.0, "ellipsoid": None, "n_initial": 100}, {"C": 1.0, "n_balls": 3}])
def test_a_budget_in_rows_of_linear_machines_is_enough_or_refused(settings):
    X, y = data(1200, 3)
    rows = StreamSVC(**settings).plan(6, n_classes=3).rows
    model = StreamSVC(**settings, budget=rows)
    for start in range(0, 1200, 100):
        assert model.partial_fit(X[start : start + 100], y[start : start + 100]).n_retained_ <= rows
    small = StreamSVC(**settings, budget=5)
    with pytest.raises(BudgetError, match="3 classes and 6 columns need a budget of at least"):
        small.partial_fit(X, y)


def test_first_rows_that_do_not_fit_are_refused_immediately():
    X, y = data(1000, 2)
    with pytest.raises(BudgetError, match="n_initial"):
        StreamSVC(1.0, ellipsoid=None, budget="32 KiB").partial_fit(X[:5], y[:5])
    StreamSVC(1.0, ellipsoid=None, n_initial=16, budget="32 KiB").partial_fit(X, y)


def test_a_plan_checks_parameters():
    with pytest.raises(ValueError, match="lookahead"):
        StreamSVC(lookahead=3).plan(5)
    with pytest.raises(BudgetError, match="balls"):
        StreamSVC(kernel="rbf", budget="1 KiB").plan(5)
