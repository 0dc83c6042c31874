"""Rounds of a search (lucic2015, section 6): learn some rows, summarize, fit, evaluate on held-out rows."""

import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from modicum.contract.centers import CentersMixin
from modicum.contract.learner import Learner
from modicum.exceptions import BudgetError
from modicum.rows import n_rows
from modicum.rules.budget import as_budget
from modicum.tradeoff.truncation import Labeled, Truncated

REFERENCE_ROWS = 100_000
MOST_RUNS = 20  # of the reference: the best of them rarely improves after
RUN_WORK = 1e9  # multiplications per iteration in all runs of the reference together: a few seconds
SUMMARY_PARAMETERS = ("n_points", "n_validation", "n_prototypes", "budget")  # the first that a learner has
CLUSTER_PARAMETERS = ("n_clusters", "n_components", "n_exemplars")


class Round(NamedTuple):
    """Rows learned, points of the summary, time, held-out rows evaluated, their risk, and bytes held."""

    n_rows: int
    n_points: int
    seconds: float
    n_validation: int
    risk: float
    nbytes: int


class Rounds:
    """Fits an estimator to any number of rows, with a summary of any number of points that the budget allows.

    Attributes
    ----------
    n_clusters : int
        Clusters, components or exemplars of the model; 1 for other models.
    square_radius : float or None
        The largest squared distance of the first rows from their mean, if the risk is a mean of squared distances.
    n_runs : int
        Runs of the reference, if there was one: seedings of the model, of which the best is kept.
    held_out : Labeled
        The held-out rows of the round that was evaluated on most.
    """

    held_out: Labeled

    def __init__(self, estimator: Learner, rows: Truncated, budget: int | str | None, rng: np.random.Generator):
        if budget is not None and not hasattr(estimator, "plan"):
            raise ValueError(f"Tram: {type(estimator).__name__} has no `plan` of what it holds. Leave out budget.")
        self._estimator, self._rows, self._rng = estimator, rows, rng
        self._budget = as_budget(budget)
        head = rows.head()
        self._width = head.shape[1] if hasattr(head, "shape") else 1
        self._dtype = np.float32 if getattr(head, "dtype", None) == np.float32 else np.float64
        params = estimator.get_params(deep=False)
        self.n_clusters = next((params[name] for name in CLUSTER_PARAMETERS if name in params), 1)
        self.square_radius = _square_radius(head) if isinstance(estimator, CentersMixin) else None
        self.n_runs = self.given_runs = params.get("n_init", 1)

    def run(
        self, count: int, n_points: int, n_validation: int, n_runs: int | None = None
    ) -> tuple[Learner, Round, bool]:
        """The learner fitted to `count` rows, what the round took, and whether it learned all rows."""
        learner = self._learner(n_points)
        if n_runs is not None and "n_init" in learner.get_params(deep=False):
            learner.set_params(n_init=n_runs)
        if "random_state" in learner.get_params(deep=False):
            learner.set_params(random_state=int(self._rng.integers(2**31)))
        started = time.perf_counter()
        learned, is_everything, held_out = self._rows.learn(learner, count, n_validation)
        risk = -held_out.score(learner)
        seconds = time.perf_counter() - started
        if not hasattr(self, "held_out") or n_rows(held_out.X) > n_rows(self.held_out.X):
            self.held_out = held_out
        return learner, Round(learned, n_points, seconds, n_rows(held_out.X), risk, learner.nbytes_), is_everything

    def reference(self) -> tuple[Learner, Round]:
        """A learner with so large a summary that little is lost by it, and the best of several runs on the summary."""
        n_points = self.within_budget(max(REFERENCE_ROWS // 5, 100 * self.n_clusters))
        if "n_init" in self._estimator.get_params(deep=False):
            width = self._width if self.square_radius is not None else self._width**2  # that of a covariance
            affordable = int(RUN_WORK / (n_points * self.n_clusters * width))
            self.n_runs = max(self.given_runs, min(affordable, MOST_RUNS))
        learner, done, _ = self.run(REFERENCE_ROWS, n_points, REFERENCE_ROWS // 4, self.n_runs)
        return learner, done

    def within_budget(self, n_points: int) -> int:
        """The number of points, halved until it fits."""
        while not self.fits(n_points):
            if n_points == 1:
                which = "that of the estimator" if self._budget == as_budget(None) else str(self._budget)
                raise BudgetError(f"Tram: the budget, {which}, is too small for any summary.")
            n_points //= 2
        return n_points

    def fits(self, n_points: int) -> bool:
        """Whether the budget, and that of the estimator, allow a summary of this many points."""
        learner = self._learner(n_points)
        if not hasattr(learner, "plan"):
            return True
        try:
            plan = learner.plan(self._width, self._dtype)
        except BudgetError:
            return False
        if self._budget.nbytes is not None:
            return plan.nbytes <= self._budget.nbytes
        return self._budget.rows is None or plan.rows <= self._budget.rows

    def _learner(self, n_points: int) -> Learner:
        name = summary_parameter(self._estimator)
        assert name is not None
        return clone(self._estimator).set_params(**{name: n_points})


def summary_parameter(estimator: Learner) -> str | None:
    """The parameter that sets the size of the estimator's summary; None if it has no such parameter."""
    params = estimator.get_params(deep=False)
    return next((name for name in SUMMARY_PARAMETERS if name in params), None)


def _square_radius(X: Any) -> float:
    X = np.asarray(X, np.float64)
    return float(((X - X.mean(axis=0)) ** 2).sum(axis=1).max())
