"""One fit: the regularisation, starting points, L-BFGS from each of them, and the numbers of the clusters."""

from dataclasses import dataclass, replace

import numpy as np

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.path import soften
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.rule import Choice, Source, choose, choose_known
from modicum.cluster.information.semi_supervised import REGULARIZATIONS, TAUS, choose_settings, fit_labelled
from modicum.cluster.information.solve import Problem, Settings, maximize, supervised
from modicum.cluster.information.start import kmeans_labels

KMEANS_SEEDS = 10  # per starting point: a single one costs up to 0.12 of the adjusted Rand index
START_REGULARIZATION = 1e-4  # of the regressions that searches start from


@dataclass(frozen=True)
class Request:
    """Parameters of a learner that determine a fit."""

    max_clusters: int
    n_clusters: int | None
    regularization: float | str
    prior: Prior
    tau: float | str
    new_clusters: bool
    n_init: int
    tol: float
    max_iter: int

    @property
    def n_categories(self) -> int:
        """Categories to start with."""
        return self.n_clusters or self.max_clusters

    @property
    def most_categories(self) -> int:
        """Categories that a model may have: labels may name more classes than `n_clusters`."""
        return max(self.n_categories, self.max_clusters)


@dataclass(frozen=True)
class Found:
    """A model, the settings it was found with, and how its regularisation was chosen, if it was."""

    model: Multilogit
    settings: Settings
    n_iter: int
    choice: Choice | None = None


def find(
    problem: Problem, request: Request, earlier: np.ndarray | None, source: Source | None, rng: np.random.Generator
) -> Found:
    """The clusters of rows, from the largest. `earlier` are numbers of rows before: clusters keep them if possible.

    `source` has the rows and how their features were learned, if they were.
    """
    if problem.labels is None:
        found = _clusters(problem, request, earlier, source, rng)
    else:
        found = _classes(problem, request, rng)
    labels = found.model.labels(problem.rows)
    before = np.zeros_like(labels) if earlier is None else earlier
    shared = np.zeros((len(found.model), int(before.max()) + 1))
    np.add.at(shared, (labels, before), problem.shares)
    return replace(found, model=found.model.keep(numbered(shared, problem.n_classes)))


def _clusters(
    problem: Problem, request: Request, earlier: np.ndarray | None, source: Source | None, rng: np.random.Generator
) -> Found:
    """The fit of the largest objective from several starting points."""
    choice = _choice(problem, request, source, rng)
    regularization = float(request.regularization) if choice is None else choice.regularization
    settings = Settings(regularization, request.prior, 1.0, request.tol, request.max_iter)
    if choice is None or request.n_clusters is not None:
        starts = _fresh_starts(problem, request, rng)
    else:  # other starts would have other numbers of clusters than the one that was chosen
        starts = [choice.model]
    if earlier is not None and earlier.max() < request.n_categories:
        starts.append(_model_of(problem, earlier))
    fits = [maximize(problem, settings, start) for start in starts]
    best = max(fits, key=lambda fit: fit.value)
    return Found(best.model, settings, best.n_iter, choice)


def _choice(problem: Problem, request: Request, source: Source | None, rng: np.random.Generator) -> Choice | None:
    """How the regularisation is chosen; None if it is given."""
    if request.regularization != "auto":
        return None
    if request.n_clusters is None:
        return choose(problem, request.max_clusters, request.n_init, request.prior, rng, source=source)
    return choose_known(problem, request.n_clusters, request.n_init, request.prior, rng)


def _fresh_starts(problem: Problem, request: Request, rng: np.random.Generator) -> list[Multilogit]:
    """Models of `n_init` over-segmentations; if the number of clusters is to be found, softened as well.

    Categories of a soft model merge and vanish more easily. Which of both leads further depends on the rows.
    """
    starts = []
    for _ in range(request.n_init):
        start = _model_of(problem, kmeans_labels(problem, request.n_categories, KMEANS_SEEDS, rng))
        starts += [start] if request.n_clusters is not None else [start, soften(start)]
    return starts


def _model_of(problem: Problem, labels: np.ndarray) -> Multilogit:
    return supervised(problem, labels, int(labels.max()) + 1, START_REGULARIZATION)


def _classes(problem: Problem, request: Request, rng: np.random.Generator) -> Found:
    """The classes of labelled rows, and clusters of rows that belong to none of them."""
    n_classes = problem.n_classes
    settings = choose_settings(
        problem,
        n_classes,
        rng,
        prior=None if request.prior.is_auto else request.prior,
        regularizations=REGULARIZATIONS if request.regularization == "auto" else (float(request.regularization),),
        taus=(float(request.tau),) if request.tau != "auto" else TAUS[:1] if request.new_clusters else TAUS,
    )
    settings = replace(settings, tol=request.tol, max_iter=request.max_iter)
    most = max(n_classes, request.n_categories if request.new_clusters else 0)
    fit = fit_labelled(problem, n_classes, most, settings, request.n_init, rng)
    return Found(fit.model, settings, fit.n_iter)


def numbered(shared: np.ndarray, n_classes: int) -> np.ndarray:
    """An order of clusters that gives them, as far as possible, the numbers of earlier ones; else from the largest.

    `shared` has the shares of rows that clusters have in common with earlier ones. Those with the most are paired.
    Entry i is the cluster that becomes number i. The first `n_classes` are those of labels, and stay.
    """
    from scipy.optimize import linear_sum_assignment

    n_new, n_old = shared.shape
    order = np.full(n_new, -1)
    order[:n_classes] = np.arange(n_classes)
    if n_old > 1:
        mine, theirs = linear_sum_assignment(-shared)
        keeps = (shared[mine, theirs] > 0) & (mine >= n_classes) & (theirs >= n_classes) & (theirs < n_new)
        order[theirs[keeps]] = mine[keeps]
    from_largest = np.argsort(-shared.sum(axis=1), kind="stable")
    order[order < 0] = from_largest[~np.isin(from_largest, order)]
    return order
