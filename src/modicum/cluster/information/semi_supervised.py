"""Information maximisation with labels of some rows (gomes2010rim, section 5.6.1).

Categories 0 to c - 1 are the labelled classes, all others are latent. The search starts from the multilogit regression
on the labels alone, which is convex, and from segments without a label as latent categories; those that the data do
not support vanish. Class sizes are expected in proportion to the labels, as far as these differ from equal ones by
more than chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, softmax

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.objective import Labelled, Objective
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Fit, Problem, Settings, maximize, supervised
from modicum.cluster.information.start import kmeans_labels

REGULARIZATIONS = (1e-4, 3e-4, 1e-3, 3e-3)  # that are tried, the default first
TAUS = (1.0, 0.3, 0.0)
CONCENTRATIONS = np.geomspace(0.5, 1000.0, 12)  # of Dirichlet priors of the class sizes that are averaged
N_FOLDS = 5
LEAST_HELD_OUT = 20  # labels, with fewer the defaults are better than any choice
MOST_ROWS = 2000  # of a sample for the choice, besides the labelled ones
LATENTS = (3e-4, 1e-3, 3e-3, np.inf)  # regularisations under which latent categories have to survive
FEW_LABELS_LATENT = 1e-3
SOFT = 1e-3  # regularisation of the start with latent categories: segments still can give way
CERTAIN = 2.0  # standard errors by which a setting must beat the default

Fold = tuple[Problem, Labelled]  # a problem without some of the labels, and those


class ClassSizes(Prior):
    """Expected sizes of the labelled classes, in units of their mean, which is expected of latent categories."""

    @classmethod
    def of(cls, counts: np.ndarray) -> "ClassSizes":
        """Sizes from numbers of labels: nearly equal ones, unless the counts speak against it.

        The posterior means under symmetric Dirichlet priors, averaged by the evidence of each for the counts.
        """
        n, k, a = counts.sum(), len(counts), CONCENTRATIONS[:, None]
        evidence = gammaln(k * a) - gammaln(n + k * a) + (gammaln(counts + a) - gammaln(a)).sum(axis=1, keepdims=True)
        return cls(k * (softmax(evidence, axis=0) * (counts + a) / (n + k * a)).sum(axis=0))

    @property
    def is_ranked(self) -> bool:
        return False

    def log_proportions(self, sizes: np.ndarray) -> np.ndarray:
        """log d_k; the given sizes belong to the first categories, whatever their present sizes."""
        return np.log(np.concatenate([self.proportions, np.ones(len(sizes) - len(self.proportions))]))


def fit_labelled(
    problem: Problem,
    n_classes: int,
    max_clusters: int,
    settings: Settings,
    n_init: int,
    rng: np.random.Generator,
    latent: float | None = None,
) -> Fit:
    """The model of the labelled classes, and of latent categories if `max_clusters` is larger than their number.

    `latent` is the regularisation under which latent categories have to survive; None: chosen by held-out labels.
    """
    alone = labels_alone(problem, n_classes, settings.regularization)
    if max_clusters <= n_classes or settings.tau == 0.0:
        return _fit(problem, alone, settings)
    segments = kmeans_labels(problem, max_clusters, n_init, rng)
    if latent is None:
        latent = _choose_latent(problem, segments, n_classes, settings, rng)
    return _fit(problem, alone, settings, segments, latent)


def _fit(
    problem: Problem,
    alone: Fit,
    settings: Settings,
    segments: np.ndarray | None = None,
    latent: float = np.inf,
    *,
    drop: bool = True,
) -> Fit:
    """The fit from that of the labels alone; with latent categories, those segments that survive `latent`."""
    if settings.tau == 0.0:
        return alone
    start = alone.model
    if segments is not None and np.isfinite(latent):
        strict = replace(settings, regularization=max(latent, settings.regularization))
        start = maximize(problem, strict, _with_latent(problem, start, segments)).model
    return maximize(problem, settings, start, drop=drop)


def labels_alone(problem: Problem, n_classes: int, regularization: float) -> Fit:
    """The multilogit regression on the labelled rows, to convergence."""
    labels = _labels(problem)
    rows = problem.rows[labels.rows].astype(np.float64)
    n = rows.shape[0]
    every = replace(labels, rows=np.arange(n))
    objective = Objective(rows, np.full(n, 1.0 / n), n_classes, regularization, labels=every, tau=0.0)
    zero = np.zeros((rows.shape[1] + 1) * n_classes)
    options = {"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8}
    found = minimize(objective, zero, jac=True, method="L-BFGS-B", options=options)
    return Fit(Multilogit(*objective.unpack(found.x)), -float(found.fun), found.nit)


def _with_latent(problem: Problem, model: Multilogit, segments: np.ndarray) -> Multilogit:
    """A start whose latent categories are segments without a labelled row: the largest, no more than fit in."""
    sizes = np.bincount(segments, problem.shares)
    sizes[segments[_labels(problem).rows]] = 0.0
    empty = np.argsort(-sizes, kind="stable")[: max(0, len(sizes) - len(model))]
    empty = empty[sizes[empty] > 0.0]
    numbers = np.full(len(sizes), -1)
    numbers[empty] = len(model) + np.arange(len(empty))
    known = model.labels(problem.rows)
    categories = np.where(numbers[segments] < 0, known, numbers[segments])
    return supervised(problem, categories, len(model) + len(empty), SOFT)


def choose_settings(
    problem: Problem,
    n_classes: int,
    rng: np.random.Generator,
    *,
    prior: Prior | None = None,
    regularizations: Sequence[float] = REGULARIZATIONS,
    taus: Sequence[float] = TAUS,
) -> Settings:
    """The settings that classify held-out labels best; the first ones, unless others are better by more than chance.

    tau = 0, the labels alone, is one of them: information that misleads is left out. If classes without labels are to
    appear, take taus = (1.0,): held-out labels know nothing of them, and with less information they vanish.
    """
    labels = _labels(problem)
    prior = prior or ClassSizes.of(labels.counts(n_classes))
    grid = [Settings(regularization, prior, tau) for regularization, tau in product(regularizations, taus)]
    folds = list(_folds(_sample(problem, rng)[0], rng))
    if len(grid) == 1 or _n_held_out(folds) < LEAST_HELD_OUT:
        return grid[0]
    hits = np.hstack([_hits(fold, n_classes, grid) for fold in folds])  # (settings, held-out labels)
    gains = hits - hits[0]
    errors = gains.std(axis=1) / np.sqrt(gains.shape[1])
    return grid[int(np.argmax(gains.mean(axis=1) - CERTAIN * errors))]


def _choose_latent(
    problem: Problem, segments: np.ndarray, n_classes: int, settings: Settings, rng: np.random.Generator
) -> float:
    """The least regularisation of latent categories under which these do not claim labelled rows, up to chance.

    A category that splits a labelled class claims held-out rows of this class; one of a class without labels does not.
    """
    problem, rows = _sample(problem, rng)
    folds = list(_folds(problem, rng))
    if _n_held_out(folds) < LEAST_HELD_OUT:
        return FEW_LABELS_LATENT
    hits = np.hstack([_latent_hits(fold, n_classes, settings, segments[rows]) for fold in folds])
    losses = hits[-1] - hits  # to no latent categories at all
    errors = losses.std(axis=1) / np.sqrt(losses.shape[1])
    return LATENTS[int(np.argmax(losses.mean(axis=1) <= errors))]


def _n_held_out(folds: list[Fold]) -> int:
    return sum(len(held_out.rows) for _, held_out in folds)


def _hits(fold: Fold, n_classes: int, grid: list[Settings]) -> np.ndarray:
    """Which of the held-out labels are predicted under each of the settings."""
    problem, held_out = fold
    alone = {by: labels_alone(problem, n_classes, by) for by in {settings.regularization for settings in grid}}
    fits = [_fit(problem, alone[settings.regularization], settings, drop=False) for settings in grid]
    return np.array([_correct(fit, problem, held_out) for fit in fits])


def _latent_hits(fold: Fold, n_classes: int, settings: Settings, segments: np.ndarray) -> np.ndarray:
    """Which of the held-out labels are predicted under each regularisation of latent categories."""
    problem, held_out = fold
    alone = labels_alone(problem, n_classes, settings.regularization)
    fits = [_fit(problem, alone, settings, segments, latent, drop=False) for latent in LATENTS]
    return np.array([_correct(fit, problem, held_out) for fit in fits])


def _correct(fit: Fit, problem: Problem, held_out: Labelled) -> np.ndarray:
    found = fit.model.labels(problem.rows[held_out.rows])
    return (found == held_out.categories).astype(np.float64)


def _folds(problem: Problem, rng: np.random.Generator) -> Iterator[Fold]:
    """Problems without some of the labels, and those. Of each class the others keep one label at least."""
    labels = _labels(problem)
    order = rng.permutation(len(labels.rows))
    order = order[np.argsort(labels.categories[order], kind="stable")]  # folds take turns within each class
    fold = np.empty(len(order), np.int64)
    fold[order] = np.arange(len(order)) % N_FOLDS
    alone = np.bincount(labels.categories)[labels.categories] == 1
    fold[alone] = -1
    for number in range(N_FOLDS):
        out = fold == number
        if out.any():
            yield Problem(problem.rows, problem.shares, labels.take(~out)), labels.take(out)


def _sample(problem: Problem, rng: np.random.Generator) -> tuple[Problem, np.ndarray]:
    """The labelled rows and a uniform sample of the others, and their numbers."""
    labels = _labels(problem)
    known, where = np.unique(labels.rows, return_inverse=True)
    others = np.setdiff1d(np.arange(len(problem.shares)), known)
    rows = np.concatenate([known, rng.permutation(others)[:MOST_ROWS]])
    shares = problem.shares[rows]
    return Problem(problem.rows[rows], shares / shares.sum(), replace(labels, rows=where)), rows


def _labels(problem: Problem) -> Labelled:
    if problem.labels is None:
        raise ValueError("fit_labelled needs labels of some rows; maximize does without.")
    return problem.labels
