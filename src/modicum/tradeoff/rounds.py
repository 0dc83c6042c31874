"""Rounds of a search (lucic2015, section 6): learn some rows, summarize, solve, judge by rows held out."""

import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from modicum.contract.centers import CentersMixin
from modicum.contract.learner import Learner
from modicum.exceptions import BudgetError
from modicum.rows import n_rows
from modicum.rules.budget import as_budget
from modicum.tradeoff.truncation import Truncated

REFERENCE_ROWS = 100_000


class Round(NamedTuple):
    """What a round took, and the risk of its solution on rows held out."""

    rows: int
    size: int
    seconds: float
    validation_rows: int
    risk: float
    nbytes: int


class Rounds:
    """Fits an estimator to any number of rows, with a summary of any size that the budget allows.

    Attributes
    ----------
    n_parts : int
        Clusters or components of the model.
    square_radius : float or None
        The largest squared distance of the first rows from their mean, if squared distances are the risk.
    """

    def __init__(self, estimator: Learner, rows: Truncated, budget: int | str | None, rng: np.random.Generator):
        if budget is not None and not hasattr(estimator, "plan"):
            raise ValueError(f"Tram: {type(estimator).__name__} can't tell what it will hold. Leave out budget.")
        self._estimator, self._rows, self._rng = estimator, rows, rng
        self._budget = None if budget is None else as_budget(budget)
        head = rows.head()
        self._width = head.shape[1] if hasattr(head, "shape") else 1
        self._dtype = np.float32 if getattr(head, "dtype", None) == np.float32 else np.float64
        params = estimator.get_params(deep=False)
        self.n_parts = next((params[name] for name in ("n_clusters", "n_components") if name in params), 1)
        self.square_radius = _square_radius(head) if isinstance(estimator, CentersMixin) else None

    def run(self, rows: int, size: int, held_out: int) -> tuple[Learner, Round, bool]:
        """The fitted learner, what it took, and whether it learned all rows there are."""
        learner = self._learner(size)
        if "random_state" in learner.get_params(deep=False):
            learner.set_params(random_state=int(self._rng.integers(2**31)))
        start = time.perf_counter()
        learned, is_everything, judges = self._rows.learn(learner, rows, held_out)
        risk = -judges.score(learner)
        seconds = time.perf_counter() - start
        return learner, Round(learned, size, seconds, n_rows(judges.X), risk, learner.nbytes_), is_everything

    def reference(self) -> Round:
        """A round whose summary is so large that its risk is nearly the best there is."""
        size = max(REFERENCE_ROWS // 5, 100 * self.n_parts)
        return self.run(REFERENCE_ROWS, self.within_budget(size), REFERENCE_ROWS // 4)[1]

    def within_budget(self, size: int) -> int:
        """The size, halved until it fits."""
        while not self.fits(size):
            if size == 1:
                raise BudgetError(f"Tram: a budget of {self._budget} is too small for any summary.")
            size //= 2
        return size

    def fits(self, size: int) -> bool:
        """Whether the budget, and the estimator's own, allow a summary of so many points."""
        learner = self._learner(size)
        if not hasattr(learner, "plan"):
            return True
        try:
            plan = learner.plan(self._width, self._dtype)
        except BudgetError:
            return False
        if self._budget is None:
            return True
        rows, nbytes = self._budget.rows, self._budget.nbytes
        return plan.rows <= rows if nbytes is None else plan.nbytes <= nbytes

    def _learner(self, size: int) -> Learner:
        return clone(self._estimator).set_params(**{size_name(self._estimator): size})


def size_name(estimator: Learner) -> str:
    """The parameter that says how large the summary is; empty if there is none."""
    params = estimator.get_params(deep=False)
    return next((name for name in ("size", "budget") if name in params), "")


def _square_radius(X: Any) -> float:
    X = np.asarray(X, np.float64)
    return float(((X - X.mean(axis=0)) ** 2).sum(axis=1).max())
