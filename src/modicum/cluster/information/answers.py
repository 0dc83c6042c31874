"""Answers of RIM and KernelRIM: clusters of rows, how sure they are, the path, and rows worth looking at."""

from copy import deepcopy
from itertools import count, islice
from typing import Any

import numpy as np
from scipy.special import xlogy

from modicum.clumps.rounds import Rounds
from modicum.cluster.information.path import GRID, check_regularizations
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.rule import Source, choose
from modicum.cluster.information.solution import Solution
from modicum.cluster.information.solve import Problem
from modicum.contract.clusterer import Clusterer
from modicum.contract.labels import Labels
from modicum.contract.picks import Picks
from modicum.exceptions import DataError
from modicum.rows import is_sparse, n_rows, take
from modicum.rules.params import Int
from modicum.select.reservoir import Reservoir


class InformationAnswers(Clusterer):
    """Answers of a learner that has a sample of the stream and a solution fitted to it."""

    _sample: Reservoir
    _classes: Labels
    _solution: Solution
    _rounds: Rounds
    max_clusters: int
    prior: Any
    n_init: int

    def _source_of_features(self) -> Source | None:
        """Hook: the sampled rows and how features are learned from such rows; None if nothing of note is learned."""
        return None

    # ---- answers ---------------------------------------------------------------------------------

    @property
    def n_clusters_(self) -> int:
        return len(self._solution.model)

    @property
    def regularization_(self) -> float:
        return self._solution.regularization

    @property
    def choice_(self) -> dict[str, np.ndarray] | None:
        return self._solution.choice

    @property
    def n_iter_(self) -> int:
        """Iterations of the last fit to the sample."""
        return self._solution.n_iter

    @property
    def classes_(self) -> np.ndarray:
        """Labels of the clusters, in the order of the columns of `predict_proba`."""
        known, n_new = self._classes.values, self.n_clusters_ - len(self._classes)
        if not len(known):
            return np.arange(n_new)
        if known.dtype.kind in "US":
            free = (name for i in count(1) if (name := f"new {i}") not in known.astype(str))
            return np.concatenate([known, np.array(list(islice(free, n_new)), dtype=known.dtype.kind)])
        return np.concatenate([known, max(0, int(known.max()) + 1) + np.arange(n_new)]) if n_new else known

    @property
    def weights_(self) -> np.ndarray:
        return self._information()[1]

    @property
    def mutual_information_(self) -> float:
        return self._information()[0]

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._rounds.columns_as_arrays()

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest cluster of each row; the name of its class, if there are labels."""
        return self.classes_[self._log_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of clusters, of shape (n, k)."""
        return np.exp(self._log_proba(X))

    def transform(self, X: Any) -> np.ndarray:
        """Probabilities of clusters, of shape (n, k)."""
        return self.predict_proba(X)

    def conditional_entropy(self, X: Any) -> np.ndarray:
        """Entropy of the clusters of each row, in nats: large where clusters meet, and for odd rows."""
        return _entropies(self._log_proba(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mutual information of rows and clusters, in nats."""
        X = self._check_input(X)
        weight = self._check_weight(sample_weight, n_rows(X))
        if not (n_rows(X) if weight is None else weight.sum()):
            raise DataError(f"{type(self).__name__}.score: there are no rows, or all have weight zero.")
        return mutual_information(self._solution.log_proba(X), shares_from(n_rows(X), weight))[0]

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """The cluster of each row, its probability, and the entropy of the row's clusters."""
        log_p = self._log_proba(X)
        likeliest = self.classes_[log_p.argmax(axis=1)]
        return {"prediction": likeliest, "probability": np.exp(log_p.max(axis=1)), "entropy": _entropies(log_p)}

    def _log_proba(self, X: Any) -> np.ndarray:
        X = self._check_input(X)
        return self._solution.log_proba(X)

    def _information(self) -> tuple[float, np.ndarray]:
        """The mutual information of the sampled rows with clusters, and the shares of the clusters."""
        return self._derive("information", lambda: mutual_information(*self._sampled_log_proba()))

    def _sampled_log_proba(self) -> tuple[np.ndarray, np.ndarray]:
        sample = self._sample
        return self._solution.log_proba(sample.points_), shares_of(sample)

    def path(self, regularizations: Any = None) -> dict[str, np.ndarray]:
        """Numbers of clusters and their stability along rising regularisations, in a sample of the held rows.

        `regularization`, `n_clusters`, `stability` (agreement of models of two halves), that of rows without clusters
        (`null`) and the `score` by which "auto" chooses. Steps are finer where the number of clusters drops fast.
        """
        self._check_fitted()
        grid = GRID if regularizations is None else check_regularizations(regularizations)
        problem = Problem(self._solution.features(self._sample.points_), shares_of(self._sample))
        rng = np.random.default_rng(int(deepcopy(self._rng).integers(2**31)))  # asking again changes nothing
        source = self._source_of_features()
        return choose(
            problem, self.max_clusters, self.n_init, Prior(self.prior), rng, grid, source=source, fine=True
        ).table()

    # ---- rows worth looking at -------------------------------------------------------------------

    def typical(self, n_rows: int = 10) -> list[Picks]:
        """Sampled rows of each cluster that are nearest to the mean of its features, the nearest first."""
        _check_count(n_rows)
        return [self._picks("typical row", at) for at in self._central(n_rows)]

    def uncertain(self, n_rows: int = 10) -> Picks:
        """Sampled rows whose clusters have the largest entropy, the largest first."""
        self._check_fitted()
        _check_count(n_rows)
        entropies = _entropies(self._sampled_log_proba()[0])
        return self._picks("uncertain row", np.argsort(-entropies, kind="stable")[:n_rows])

    def picks(self) -> Picks:
        """The most typical row of each cluster that has sampled rows."""
        at = self._central(1)
        sizes = self.weights_ * self._sample.point_weights_.sum()
        found = self._picks("typical row", np.concatenate(at))
        return Picks(found.kind, found.rows, found.ids, sizes[[len(some) > 0 for some in at]])

    def _central(self, count: int) -> list[np.ndarray]:
        """Sampled rows of each cluster nearest to the mean of its features, as numbers; none of a cluster without."""
        self._check_fitted()
        features = self._solution.features(self._sample.points_)
        labels = self._solution.model.labels(features)
        return [_nearest_mean(features, np.flatnonzero(labels == k), count) for k in range(self.n_clusters_)]

    def _picks(self, kind: str, at: np.ndarray) -> Picks:
        at = at.astype(np.int64)
        return Picks(kind, take(self._sample.points_, at), self._sample.point_ids_[at])

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_


def _check_count(count: Any) -> None:
    if not Int(1).accepts(count):
        raise ValueError(f"n_rows must be {Int(1)}; got {count!r}.")


def shares_of(sample: Reservoir) -> np.ndarray:
    """The shares of the stream that sampled rows stand for."""
    return shares_from(sample.n_retained_, sample.point_weights_)


def shares_from(count: int, weight: np.ndarray | None) -> np.ndarray:
    """Weights that sum to 1."""
    return np.full(count, 1.0 / count) if weight is None else weight / weight.sum()


def mutual_information(log_p: np.ndarray, shares: np.ndarray) -> tuple[float, np.ndarray]:
    """I(y; x) in nats, and the shares of the clusters."""
    p = np.exp(log_p)
    sizes = shares @ p
    return float(shares @ np.einsum("ik,ik->i", p, log_p) - xlogy(sizes, sizes).sum()), sizes


def _entropies(log_p: np.ndarray) -> np.ndarray:
    """Entropy of each row's probabilities, in nats."""
    return -np.einsum("ik,ik->i", np.exp(log_p), log_p)


def _nearest_mean(features: Any, members: np.ndarray, count: int) -> np.ndarray:
    """The members nearest to their mean, the nearest first."""
    if not len(members):
        return members
    rows = features[members]
    if is_sparse(rows):  # up to a constant, and not densified
        distances = np.asarray(rows.multiply(rows).sum(axis=1) - 2.0 * (rows @ rows.mean(axis=0).T)).ravel()
    else:
        distances = np.square(rows - rows.mean(axis=0)).sum(axis=1)
    return members[np.argsort(distances, kind="stable")[:count]]
