"""How alike workers sort, and schools of workers who sort alike (gomes2011, section 7.5)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum._optional import require

MOST_WORKERS = 100  # with more, cells of a matrix are too small to see
MOST_SCHOOLS = 8
N_PAIRS = 1_000  # of items for which predictions are compared
APART = 0.2  # mean distance, 1 - correlation, of workers of different schools: nearer ones are of one school
CLEAR = 0.3  # mean silhouette of schools: with less, all workers are of one
USUAL = "usual"  # the kind of workers that have a school


@dataclass(frozen=True)
class Agreement:
    """Correlations of what workers say of pairs of items: school after school, then random and adversarial workers."""

    workers: np.ndarray  # names
    kinds: np.ndarray  # "usual", "random" or "adversarial"
    matrix: np.ndarray  # (J, J): correlations of the predicted probabilities of "same group"
    schools: np.ndarray  # (J,): the school of each worker, from 0, largest first; -1 if not of the usual kind

    @classmethod
    def of(cls, learner: Any, most: int = MOST_WORKERS) -> "Agreement":
        """The agreement of the workers with the most labels."""
        summary = summary_of(learner)
        shown = np.argsort(-np.asarray(summary["n_labels"]), kind="stable")[:most]
        workers, kinds = (np.asarray(summary[name])[shown] for name in ("worker", "kind"))
        matrix = correlations(predicted(learner, workers))
        usual = np.flatnonzero(kinds == USUAL)
        others = [np.flatnonzero(kinds == kind) for kind in sorted({*kinds.tolist()} - {USUAL}, reverse=True)]
        order, schools = _in_schools(matrix[np.ix_(usual, usual)])
        order = np.concatenate([usual[order], *others])
        schools = np.concatenate([schools, np.full(len(order) - len(schools), -1)])
        return cls(workers[order], kinds[order], matrix[np.ix_(order, order)], schools)

    @property
    def n_schools(self) -> int:
        return int(self.schools.max(initial=-1)) + 1

    def typical(self, school: int) -> Any:
        """The worker of a school who agrees most with the others."""
        members = np.flatnonzero(self.schools == school)
        return self.workers[members[self.matrix[np.ix_(members, members)].sum(axis=1).argmax()]]


def summary_of(learner: Any) -> dict[str, Any]:
    """What is known of workers, in columns; of a learner without a summary, all are usual ones."""
    if hasattr(learner, "worker_summary"):
        return learner.worker_summary()
    n = len(learner.workers_)
    return {"worker": learner.workers_, "n_labels": np.zeros(n, int), "kind": np.full(n, USUAL)}


def predicted(learner: Any, workers: np.ndarray, n_pairs: int = N_PAIRS) -> np.ndarray:
    """Probabilities that workers put pairs of items in one group: a row per worker, the same pairs for all.

    Half of the pairs are of one cluster: among pairs drawn at random, these are few if there are many clusters.
    """
    a, b = (learner.items_[places] for places in _some_pairs(learner.clusters_, n_pairs))
    found = [learner.predict_pair(worker, a, b) for worker in workers.tolist()]
    return np.reshape(found, (len(workers), len(a)))


def correlations(rows: np.ndarray) -> np.ndarray:
    """Correlations among rows; that of a constant row with another one is 0."""
    centered = rows - rows.mean(axis=1, keepdims=True)
    length = np.sqrt((centered**2).sum(axis=1))
    unit = centered / np.where(length > 1e-12, length, np.inf)[:, None]
    found = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def _some_pairs(clusters: np.ndarray, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different items; every other one is of one cluster, unless it has no other item."""
    rng = np.random.default_rng(0)
    first = rng.integers(len(clusters), size=n_pairs)
    second = (first + rng.integers(1, len(clusters), size=n_pairs)) % len(clusters)
    order = np.argsort(clusters, kind="stable")
    place = np.argsort(order, kind="stable")
    sizes = np.bincount(clusters)
    starts = (np.cumsum(sizes) - sizes)[clusters[first]]
    size = sizes[clusters[first]]
    step = rng.integers(1, np.maximum(size, 2))
    alike = order[starts + (place[first] - starts + step) % size]
    return first, np.where((np.arange(n_pairs) % 2 == 0) & (size > 1), alike, second)


def _in_schools(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of workers in which neighbours agree, school after school, and their schools in that order."""
    if len(matrix) < 3:  # too few for schools
        return np.arange(len(matrix)), np.zeros(len(matrix), int)
    hierarchy = require("scipy.cluster.hierarchy", "plots")
    apart = 1.0 - matrix
    tree = hierarchy.linkage(apart[np.triu_indices(len(apart), 1)], "average", optimal_ordering=True)
    cuts = (hierarchy.fcluster(tree, n, "maxclust") - 1 for n in range(2, min(MOST_SCHOOLS, len(matrix) - 1) + 1))
    found = max(cuts, key=lambda schools: _clearness(apart, schools), default=np.zeros(len(matrix), int))
    if _clearness(apart, found) < CLEAR:
        found = np.zeros(len(matrix), int)
    rank = np.argsort(np.argsort(-np.bincount(found), kind="stable"), kind="stable")
    leaves = hierarchy.leaves_list(tree)
    order = leaves[np.argsort(rank[found[leaves]], kind="stable")]
    return order, rank[found[order]]


def _clearness(apart: np.ndarray, schools: np.ndarray) -> float:
    """The mean silhouette of schools; -1 if they are hardly apart."""
    members = np.eye(schools.max() + 1)[schools]
    sizes = members.sum(axis=0)
    if len(sizes) < 2:
        return -1.0
    sums = members.T @ apart @ members
    means = sums / np.outer(sizes, sizes)
    between = means[~np.eye(len(sizes), dtype=bool)]
    if between.min() < APART:
        return -1.0
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(apart - np.diag(np.diag(apart)), schools, metric="precomputed"))
