"""Random labels and posteriors for tests of crowd clustering."""

import numpy as np

from modicum.crowd.labels import PairLabels
from modicum.crowd.pairs import Pairs
from modicum.crowd.posterior import CrowdPosterior

N_ITEMS, N_WORKERS, N_ANSWERS = 7, 3, 6


def random_labels(rng, n_items=N_ITEMS, n_workers=N_WORKERS, n_answers=N_ANSWERS, size=4):
    """PairLabels of random groupings; some pairs have other weights than 1."""
    parts = []
    for answer in range(n_answers):
        items, groups = rng.choice(n_items, size, replace=False), rng.integers(3, size=size)
        for a, b in zip(*np.triu_indices(size, 1), strict=True):
            sign = 1.0 if groups[a] == groups[b] else -1.0
            parts.append((items[a], items[b], answer % n_workers, sign * rng.choice([1.0, 0.5, 2.0]), answer))
    a, b, worker, label, answer = (np.array(column) for column in zip(*parts, strict=True))
    codes = (column.astype(np.int32) for column in (a, b, worker))
    return PairLabels(Pairs(np.arange(n_items), np.arange(n_workers), *codes, label, answer.astype(np.int32)))


def random_posterior(rng, model, n_dims, n_items=N_ITEMS, n_workers=N_WORKERS):
    """A posterior with covariances of full rank, whose priors are not the first ones."""
    made = CrowdPosterior(model, rng.normal(size=(n_items, n_dims)), n_workers, -0.3, pooled=True, slips=True)
    made.covariance = random_covariances(rng, n_items, n_dims)
    n = made.coefficient.shape[1]
    made.coefficient = rng.normal(size=(n_workers, n))
    made.coefficient_covariance = random_covariances(rng, n_workers, n)
    made.prior_variance = rng.uniform(0.5, 2, n)
    made.item_variance = 1.7
    return made


def random_covariances(rng, count, size):
    root = rng.normal(size=(count, size, size)) / size
    return root @ root.transpose(0, 2, 1) + 0.05 * np.eye(size)
