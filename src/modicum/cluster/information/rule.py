"""Choice of the regularisation without labels: the clusters should come back from other rows.

Models of two disjoint halves of a sample label all of its rows. The agreement of their labels, the mean of adjusted
Rand index and normalised mutual information, is the stability of a regularisation. A few clusters are stable for rows
of any kind, so stability alone prefers them. What counts is by how much rows are more stable than a null: as many rows
of a Gaussian with their mean and covariance, which has no clusters,

    score = (stability - null) / (CEILING - null) * log2(number of clusters) ** GROWTH.

The last factor decides between numbers of clusters that are about equally stable: more of them say more. Rows are
split several times, and the path of each half serves all regularisations. Features that are learned from rows are
learned from each half anew: otherwise both halves would agree on what they have in common, the features.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.path import GRID, START, Path, climb, sweep, until_drop
from modicum.cluster.information.principal_axes import PrincipalAxes
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.solve import Problem
from modicum.cluster.information.start import oversegment
from modicum.numeric.parallel import single_threaded_blas

SAMPLE = 2000  # rows
ROWS_PER_CATEGORY = 40  # of larger samples: half of them in each half
SPLITS = 4  # into halves, of the rows and of the null; with fewer, choices are noticeably less sure
CEILING = 1.05  # above 1: where rows and null are both stable, their difference is noise
GROWTH = 0.35
LEAST_ROWS = 3  # per category at the start; with fewer, categories would be single rows
TOL = 1e-4  # of the paths of halves: their models are only compared
KNOWN_GRID = np.geomspace(1e-6, 1e-1, 11)  # steps of 3.2: many clusters of a known number need a weak one
MIDDLE = 4  # of KNOWN_GRID: most numbers are kept there, so that the path can start with it
KNOWN_SAMPLE = 500  # rows
KNOWN_ROWS = 50  # per cluster of larger samples
LEAST_SCORE = 0.15  # below this, the best score may be that of noise; rows of a Gaussian of two columns reached .28
SURE_SCORE = 0.3


Features = Callable[[Any], Any]


@dataclass(frozen=True)
class Source:
    """Rows as they are given, and how a map from rows to features is learned from some of them and their shares."""

    rows: np.ndarray
    learn: Callable[[np.ndarray, np.ndarray], Features]


@dataclass(frozen=True)
class Choice:
    """A regularisation, and what speaks for it; arrays run along the path."""

    at: int  # on the path
    path: Path  # of the sample
    stability: np.ndarray | None = None
    null: np.ndarray | None = None
    score: np.ndarray | None = None  # None: the number of clusters was known

    @property
    def regularization(self) -> float:
        """The regularisation that was chosen."""
        return float(self.path.regularizations[self.at])

    @property
    def n_clusters(self) -> int:
        """The number of clusters found with it in the sample."""
        return int(self.path.n_clusters[self.at])

    @property
    def model(self) -> Multilogit:
        """The model found with it in the sample."""
        return self.path.models[self.at]

    def table(self) -> dict[str, np.ndarray]:
        """What was found at each regularisation, as columns by name."""
        found = {"regularization": self.path.regularizations, "n_clusters": self.path.n_clusters}
        judged = {"stability": self.stability, "null": self.null, "score": self.score}
        return found | {name: column for name, column in judged.items() if column is not None}


def choose(
    problem: Problem,
    max_clusters: int,
    n_init: int,
    prior: Prior,
    rng: np.random.Generator,
    regularizations: np.ndarray = GRID,
    *,
    source: Source | None = None,
    fine: bool = False,
) -> Choice:
    """The regularisation of the best score; `fine` adds steps where the number of clusters drops. Labels are not used.

    `source` has the rows whose features the problem has, if those were learned.
    Cost: a path of a sample of the rows, and 4 * SPLITS paths of half as many.
    """
    some = rng.permutation(problem.rows.shape[0])[: max(SAMPLE, ROWS_PER_CATEGORY * max_clusters)]
    with single_threaded_blas():  # once for all small products
        sample, axes = _sample(problem, some)
        path = sweep(
            sample, _categories(len(some), max_clusters), n_init, prior, rng, regularizations=regularizations, fine=fine
        )
        rows = sample.rows if source is None else source.rows[some]
        trial = Trial(
            sample.shares, source.learn if source else _as_they_are, max_clusters, prior, path.regularizations
        )
        stable = np.mean([trial.stability(rows, rng) for _ in range(SPLITS)], axis=0)
        null = np.mean([trial.stability(gaussian(rows, sample.shares, rng), rng) for _ in range(SPLITS)], axis=0)
    score = (stable - null) / (CEILING - null) * np.log2(path.n_clusters) ** GROWTH
    at = int(np.argmax(score)) if score.max() >= LEAST_SCORE else len(path) - 1
    return Choice(at, _mapped(path, axes), stable, null, score)


def choose_known(problem: Problem, n_clusters: int, n_init: int, prior: Prior, rng: np.random.Generator) -> Choice:
    """A regularisation that keeps a known number of clusters: the one before the largest of KNOWN_GRID that does.

    The smallest one where none keeps them all. Cost: part of a path of a small sample.
    """
    some = rng.permutation(problem.rows.shape[0])[: max(KNOWN_SAMPLE, KNOWN_ROWS * n_clusters)]
    with single_threaded_blas():
        sample, axes = _sample(problem, some)
        n_categories = min(n_clusters, len(some))
        start = oversegment(sample, n_categories, n_init, START, rng)
        for grid in (KNOWN_GRID[MIDDLE:], KNOWN_GRID):
            path = Path.of(until_drop(climb(sample, start, prior, grid, fine=False, tol=TOL)))
            kept = np.flatnonzero(path.n_clusters >= path.n_clusters[0])
            if len(kept) > 1 and path.n_clusters[0] == n_categories:
                break
    return Choice(max(0, int(kept[-1]) - 1), _mapped(path, axes))


def _sample(problem: Problem, some: np.ndarray) -> tuple[Problem, PrincipalAxes]:
    """Some of the rows without their labels, in coordinates by their principal axes."""
    rows, shares = problem.rows[some], _shares(problem.shares, some)
    axes = PrincipalAxes.of(rows, shares)
    return Problem(axes.coordinates(rows), shares), axes


def _shares(shares: np.ndarray, some: np.ndarray) -> np.ndarray:
    return shares[some] / shares[some].sum()


def _mapped(path: Path, axes: PrincipalAxes) -> Path:
    return replace(path, models=tuple(axes.restored(model) for model in path.models))


def _as_they_are(rows: np.ndarray, shares: np.ndarray) -> Features:
    return lambda some: some


def _categories(count: int, max_clusters: int) -> int:
    """The number of categories at the start of a path of so many rows."""
    return max(1, min(max_clusters, count // LEAST_ROWS))


@dataclass(frozen=True)
class Trial:
    """How rows are tried: the same for all of their halves, and for those of the null."""

    shares: np.ndarray
    learn: Callable[[np.ndarray, np.ndarray], Features]
    max_clusters: int
    prior: Prior
    regularizations: np.ndarray

    def stability(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The agreement of models of two halves on all rows, at each regularisation."""
        order = rng.permutation(len(rows))
        middle = (len(order) + 1) // 2
        both = [self._labels(rows, half, rng) for half in (order[:middle], order[len(order) - middle :])]
        return np.array([agreement(a, b) for a, b in zip(*both, strict=True)])

    def _labels(self, rows: np.ndarray, half: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Labels of all rows by models of half of them, of shape (regularisations, n)."""
        shares = _shares(self.shares, half)
        features = self.learn(rows[half], shares)(rows)
        problem, count = Problem(features[half], shares), _categories(len(half), self.max_clusters)
        grid = self.regularizations
        return sweep(problem, count, 1, self.prior, rng, regularizations=grid, fine=False, tol=TOL).labels(features)


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """The mean of adjusted Rand index and normalised mutual information; 0 if a labeling has a single cluster."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    if min(np.ptp(a), np.ptp(b)) == 0:
        return 0.0
    return float(adjusted_rand_score(a, b) + normalized_mutual_info_score(a, b)) / 2


def gaussian(rows: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many rows of a Gaussian with the same mean and covariance."""
    mean = shares @ rows
    root = np.sqrt(shares)[:, None] * (rows - mean)  # the covariance is root' root
    if len(root) > root.shape[1]:
        root = np.linalg.qr(root, mode="r")
    noise = rng.standard_normal((len(rows), len(root)), dtype=np.float32)
    return (mean + noise @ root).astype(rows.dtype)
