"""Maximisation of the objective by L-BFGS, started from an over-segmentation (gomes2010rim, section 5.4.1)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.objective import Labelled, Objective
from modicum.cluster.information.priors import Prior

ROUND = 25  # iterations after which vanished categories are dropped
MEMORY = 20  # past steps that L-BFGS uses: iterations are few, and cost more than a longer memory
START_ITERATIONS = 10  # of the supervised fit: it is only a starting point
VANISHED = 0.5  # of a row: categories with less mass are dropped; nothing brings them back
LEAST_SLOPE = 0.1  # times `tol`: the largest entry of the gradient at which an ascent ends; plateaus are steeper


@dataclass(frozen=True)
class Problem:
    """Rows to cluster, as the model sees them: their features, shares that sum to 1, and labels of some of them."""

    rows: Any
    shares: np.ndarray
    labels: Labelled | None = None

    @property
    def n_classes(self) -> int:
        """Categories that belong to labels: the first ones."""
        return 0 if self.labels is None else max(self.labels.n_classes, int(self.labels.categories.max()) + 1)

    @property
    def vanished(self) -> float:
        """The share below which a category has no rows."""
        return VANISHED / len(self.shares)


@dataclass(frozen=True)
class Settings:
    """What is maximised, and when it is done."""

    regularization: float  # lambda of eq. 5.4.1, for the rows as they are given
    prior: Prior
    tau: float = 1.0
    tol: float = 1e-6  # relative change of the objective in an iteration
    max_iter: int = 500


@dataclass(frozen=True)
class Fit:
    """A model and its objective."""

    model: Multilogit
    value: float
    n_iter: int


def maximize(problem: Problem, settings: Settings, start: Multilogit, *, drop: bool = True) -> Fit:
    """The model that L-BFGS ascends to from a starting point, without the categories that became empty on the way.

    Every category of the answer is the most probable one of some row, or has a label; `drop=False` keeps all. A prior
    by rank takes effect after an ascent without it: among the small pieces of an over-segmentation ranks mean nothing.
    """
    prior = settings.prior
    if not prior.is_ranked:
        return _ascend(problem, settings, start, log_prior_of(prior, start, problem), drop)
    fit = _ascend(problem, settings, start, np.zeros(len(start)), drop)
    settings = replace(settings, max_iter=max(1, settings.max_iter - fit.n_iter))
    second = _ascend(problem, settings, fit.model, log_prior_of(prior, fit.model, problem), drop)
    return Fit(second.model, second.value, fit.n_iter + second.n_iter)


def log_prior_of(prior: Prior, model: Multilogit, problem: Problem) -> np.ndarray:
    """Logarithms of the proportions expected of the categories of a model."""
    if not prior.is_ranked:
        return prior.log_proportions(np.ones(len(model)))  # whatever the sizes are
    return prior.log_proportions(model.sizes(problem.rows, problem.shares))


def _ascend(problem: Problem, settings: Settings, model: Multilogit, log_prior: np.ndarray, drop: bool) -> Fit:
    """Rounds of L-BFGS: vanished categories are dropped between rounds, empty ones when it ends. Then it goes on."""
    done = 0
    while True:
        objective = objective_of(problem, settings, log_prior)
        left = max(1, settings.max_iter - done)
        options = {
            "maxiter": min(ROUND, left) if drop else left,
            "maxcor": MEMORY,
            "ftol": settings.tol,
            "gtol": LEAST_SLOPE * settings.tol,
        }
        start = objective.pack(model.weights, model.biases)
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        model, done = Multilogit(*objective.unpack(found.x)), done + found.nit
        ended = found.status != 1 or done >= settings.max_iter  # 1: the iterations of this round are used up
        alive = _alive(model, problem, populated=ended) if drop else np.arange(len(model))
        if ended and len(alive) == len(model):
            return Fit(model, -float(found.fun), done)
        model, log_prior = model.keep(alive), log_prior[alive]


def objective_of(problem: Problem, settings: Settings, log_prior: np.ndarray) -> Objective:
    """What is maximised, for categories of these expected proportions."""
    return Objective(
        problem.rows,
        problem.shares,
        len(log_prior),
        settings.regularization,
        log_prior=log_prior,
        labels=problem.labels,
        tau=settings.tau,
    )


def _alive(model: Multilogit, problem: Problem, *, populated: bool) -> np.ndarray:
    """Categories that have rows, by their mass or as the most probable one; those of labels always stay."""
    if populated:
        alive = np.bincount(model.labels(problem.rows), minlength=len(model)) > 0
    else:
        alive = model.sizes(problem.rows, problem.shares) > problem.vanished
    alive[: problem.n_classes] = True
    return np.flatnonzero(alive)


def supervised(problem: Problem, categories: np.ndarray, n_categories: int, regularization: float) -> Multilogit:
    """A short multilogit regression on categories of all rows: where the search starts."""
    every = Labelled(np.arange(len(categories)), categories, problem.shares)
    objective = Objective(problem.rows, problem.shares, n_categories, regularization, labels=every, tau=0.0)
    zero = np.zeros((problem.rows.shape[1] + 1) * n_categories)
    found = minimize(objective, zero, jac=True, method="L-BFGS-B", options={"maxiter": START_ITERATIONS})
    return Multilogit(*objective.unpack(found.x))
