"""Crowd clustering by non-negative factorisation of labels (gomes2011, section 7.3.2)."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from modicum._jit.crowd_factorization import TINY, move_items, sum_views
from modicum.crowd.labels import PairLabels
from modicum.crowd.learner import CrowdLearner
from modicum.crowd.progress import part, report
from modicum.crowd.start import spectral_start
from modicum.crowd.views import Views
from modicum.rules.invariants import Array, Is, Real, Whole
from modicum.rules.params import RANDOM_STATE, Int, Number

SOFTNESS = 0.8  # of memberships at the start, towards equal ones: harder starts end in worse optima
PRIOR_LABELS = 1.0  # of average labels per pair of clusters, in the first matrix of the crowd


Order = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # see `in_order`


class CrowdFactorization(CrowdLearner):
    """Clusters of items that workers have sorted, and how each worker confuses them: a non-negative factorisation.

    Items have memberships z_a in `n_clusters` clusters, and worker j has a symmetric matrix W_j: the probabilities that
    items of two clusters are put in one group. The label of the pair (a, b) is predicted as z_a' W_j z_b, and

        sum of (label - prediction)^2 over all labels, 1 or 0  +  pooling * sum_j sum_(k <= l) (W_jkl - mean W_kl)^2

    is made small in turns: multiplicative updates of memberships, item by item, and of matrices. Nothing is stored for
    pairs without a label. Prefer `CrowdClustering`, which finds the number of clusters and a map of the items; this is
    its simple, fast companion for a known number.

    Guarantee: the objective falls with every update, until it changes by less than `tol`; the optimum is local.
    Cost: O(n k + v k^2) time per iteration for n labels and k clusters, where v counts the items of all answers;
    O(n + (items + workers k) k) memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters; some may stay empty.
    pooling : float, default=2.0
        How many labels the mean matrix of all workers counts for, in each entry of the matrix of a worker. 0 fits
        every worker alone, which needs many labels of each.
    n_init : int, default=3
        Starting points: clusterings of a spectral embedding of the mean labels. The result of the smallest objective is
        kept.
    max_iter : int, default=300
        Iterations at most.
    tol : float, default=1e-4
        Relative change of the objective at which a fit ends.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    items_, workers_ : ndarray
        Names, in the order of all arrays by item and by worker.
    clusters_ : ndarray of shape (n_items,)
        The cluster of each item, the one of its largest membership; the largest cluster is 0.
    n_clusters_ : int
        Clusters that have items.
    cluster_proba_ : ndarray of shape (n_items, n_clusters)
        Memberships; they sum to 1 for each item.
    confusion_ : dict of ndarrays of shape (n_clusters, n_clusters)
        For each worker, the probabilities that items of two clusters are put in one group.
    objective_ : float
    n_iter_ : int
        Iterations of the best start.

    Examples
    --------
    Ann tells cats, dogs and cars apart; Bob only pets and cars.

    >>> from modicum.crowd.factorization import CrowdFactorization
    >>> sees = {"ann": ["cat"] * 4 + ["dog"] * 4 + ["car"] * 4, "bob": ["pet"] * 8 + ["car"] * 4}
    >>> pairs = [(a, b, worker) for a in range(12) for b in range(a) for worker in sees]
    >>> labels = [1 if sees[worker][a] == sees[worker][b] else -1 for a, b, worker in pairs]
    >>> model = CrowdFactorization(3, random_state=0).fit(pairs, labels)
    >>> [len(set(model.clusters_[of])) for of in (slice(0, 4), slice(4, 8), slice(8, 12), slice(0, 12))]
    [1, 1, 1, 3]
    >>> [round(model.predict_pair(worker, 0, 4), 1) for worker in ("ann", "bob")]  # a cat and a dog
    [0.1, 0.9]

    References
    ----------
    gomes2011, section 7.3.2, eq. 7.3.12 to 7.3.16. Departures: updates are summed over labels alone, where the thesis
    completes all matrices with predictions first (eq. 7.3.15). The fixed points of the matrices are the same, but
    completed ones move by the share of pairs that have labels, often 1 in 1000, while orthogonality soon fixes the
    clusters of the start; and the printed update of memberships may raise the objective. Memberships sum to 1 for each
    item instead of being orthogonal, so that matrices are probabilities; memberships of 0 and 1 are both. Items move
    one by one, so that no square roots are needed. Labels count one by one, not averaged by pair and worker. Pooling
    and spectral starts are ours.
    """

    _constraints = {
        "n_clusters": [Int(1)],
        "pooling": [Number(0.0)],
        "n_init": [Int(1)],
        "max_iter": [Int(1)],
        "tol": [Number(0.0)],
        "random_state": [RANDOM_STATE],
    }
    _invariants = {
        "_labels": Is(PairLabels, n_items="n_items", n_workers="n_workers"),
        "cluster_proba_": Array("float64", "n_items", "n_clusters", low=0.0, high=1.0),
        "_confusions": Array("float64", "n_workers", "n_clusters", "n_clusters", low=0.0, high=1.0),
        "objective_": Real(0.0),
        "n_iter_": Whole(0),
        "_n_at_start": Whole(1),
    }
    _n_at_start: int  # labels when starts were made anew

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        pooling: float = 2.0,
        n_init: int = 3,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.pooling = pooling
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------------

    def _solve(self, *, anew: bool) -> None:
        views = Views(self._labels)
        starts = [] if anew else [self._continued()]
        if anew or len(self._labels) >= 2 * self._n_at_start:  # what began with few labels may have begun badly
            self._n_at_start = len(self._labels)
            starts += spectral_starts(views, self.n_clusters, self.n_init, self._rng)
        order = in_order(views)
        for number, start in enumerate(starts):
            with part(number, number + 1, of=len(starts), words=f"fitting, start {number + 1} of {len(starts)}"):
                self._descend(order, start)
        best = min(starts, key=lambda factors: factors.objective).sorted()
        self.cluster_proba_, self._confusions = best.memberships, best.confusions
        self.objective_, self.n_iter_ = best.objective, best.n_iter

    def _descend(self, order: Order, factors: "Factors") -> "Factors":
        """The factors after iterations from a start, which is changed."""
        sums = factors.sums(order, self.pooling)
        for iteration in range(self.max_iter):
            report(iteration / self.max_iter)
            before = factors.objective
            factors.move_workers(sums)
            factors.move_items(order)
            sums = factors.sums(order, self.pooling)
            factors.n_iter += 1
            if before - factors.objective <= self.tol * before:
                break
        return factors

    def _continued(self) -> "Factors":
        """A start from the present factors: new items get random memberships, new workers the mean matrix."""
        memberships, confusions = self.cluster_proba_, self._confusions
        n_items, n_workers = len(self.items_) - len(memberships), len(self.workers_) - len(confusions)
        new = self._rng.dirichlet(np.ones(self.n_clusters), n_items)
        typical = np.broadcast_to(confusions.mean(axis=0), (n_workers, *confusions.shape[1:]))
        return Factors(softened(np.concatenate([memberships, new])), np.concatenate([confusions, typical]))

    # ---- answers ---------------------------------------------------------------------------------

    @property
    def clusters_(self) -> np.ndarray:
        return self.cluster_proba_.argmax(axis=1)

    @property
    def n_clusters_(self) -> int:
        return len(np.unique(self.clusters_))

    @property
    def confusion_(self) -> dict[Any, np.ndarray]:
        return dict(zip(self.workers_.tolist(), self._confusions, strict=True))

    def _pair_probability(self, first: np.ndarray, second: np.ndarray, worker: np.ndarray | None) -> np.ndarray:
        matrices = self._confusions.mean(axis=0)[None] if worker is None else self._confusions[worker]
        left, right = self.cluster_proba_[first], self.cluster_proba_[second]
        return ((left[:, None] @ matrices)[:, 0] * right).sum(axis=1)


def in_order(views: Views) -> Order:
    """The arrays that loops go through."""
    return views.item_start, views.view_worker, views.start, views.other, views.label[views.edge]


@dataclass
class Factors:
    """Memberships of items and matrices of workers."""

    memberships: np.ndarray  # (n_items, k)
    confusions: np.ndarray  # (n_workers, k, k)
    objective: float = np.inf  # set by `sums`
    n_iter: int = 0

    def sums(self, order: Order, pooling: float) -> tuple[np.ndarray, np.ndarray]:
        """Numerators and denominators of the update of matrices, pseudo-labels included; sets the objective."""
        said, expected = np.zeros_like(self.confusions), np.zeros_like(self.confusions)
        error = sum_views(*order, self.memberships, self.confusions, said, expected)
        typical = self.confusions.mean(axis=0)
        pooled = pooling * (1.0 + np.eye(len(typical)))  # sums count each label twice on the diagonal
        self.objective = error + float((pooled / 2 * (self.confusions - typical) ** 2).sum())
        return said + pooled * typical, expected + pooled * self.confusions

    def move_workers(self, sums: tuple[np.ndarray, np.ndarray]) -> None:
        """Improve the matrix of each worker, memberships fixed."""
        said, expected = sums
        moved = self.confusions * np.maximum(said, TINY) / np.maximum(expected, TINY)
        moved = (moved + moved.transpose(0, 2, 1)) / 2  # errors of rounding would grow: the items' step needs symmetry
        self.confusions = np.clip(moved, TINY, 1.0)

    def move_items(self, order: Order) -> None:
        """Improve the memberships of each item, all else fixed."""
        move_items(*order, self.memberships, self.confusions)

    def sorted(self) -> Self:
        """The same with the largest cluster first; of clusters with as many items, that of larger memberships."""
        sizes = np.bincount(self.memberships.argmax(axis=1), minlength=self.memberships.shape[1])
        order = np.lexsort((-self.memberships.sum(axis=0), -sizes))
        self.memberships = self.memberships[:, order].copy()
        self.confusions = self.confusions[:, order][:, :, order].copy()
        return self


# ---- starts ------------------------------------------------------------------------------------------


def spectral_starts(views: Views, n_clusters: int, n_init: int, rng: np.random.Generator) -> list[Factors]:
    """Starts from clusters of a spectral embedding; workers are alike at first."""
    rows = spectral_start(views, n_clusters, rng)
    return [start_from(views, cluster(rows, n_clusters, rng), n_clusters) for _ in range(n_init)]


def start_from(views: Views, clusters: np.ndarray, n_clusters: int) -> Factors:
    """Soft memberships in given clusters; all workers have the mean labels within and between them."""
    at = clusters[views.first] * n_clusters + clusters[views.second]
    together, all_of_them = (
        np.bincount(at, weight, n_clusters**2).reshape(n_clusters, n_clusters)
        for weight in (np.maximum(views.label, 0.0), np.abs(views.label))
    )
    prior = PRIOR_LABELS * views.share_together()
    matrix = (together + together.T + prior) / (all_of_them + all_of_them.T + PRIOR_LABELS)
    return Factors(softened(np.eye(n_clusters)[clusters]), np.repeat(matrix[None], views.n_workers, axis=0))


def softened(memberships: np.ndarray) -> np.ndarray:
    return (1.0 - SOFTNESS) * memberships + SOFTNESS / memberships.shape[1]


def cluster(rows: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Clusters of rows by k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(min(n_clusters, len(rows)), n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # of fewer different rows than clusters
        return means.fit(rows).labels_
