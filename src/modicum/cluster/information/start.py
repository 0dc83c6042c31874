"""Starting points: an over-segmentation of the rows by k-means (gomes2010rim, section 5.4.1)."""

import warnings
from typing import Any

import numpy as np

from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.solve import Problem, supervised


def oversegment(
    problem: Problem, n_categories: int, n_init: int, regularization: float, rng: np.random.Generator
) -> Multilogit:
    """A multilogit model of the best of `n_init` k-means clusterings."""
    return supervised(problem, kmeans_labels(problem, n_categories, n_init, rng), n_categories, regularization)


def kmeans_labels(problem: Problem, n_clusters: int, n_init: int, rng: np.random.Generator) -> Any:
    """Labels of the best of `n_init` k-means clusterings; fewer clusters if there are fewer different rows."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    n_clusters = min(n_clusters, problem.rows.shape[0])
    seed = int(rng.integers(2**31))
    weight = problem.shares * len(problem.shares)
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=seed)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # of fewer different rows than clusters
        return kmeans.fit(problem.rows, sample_weight=weight).labels_
