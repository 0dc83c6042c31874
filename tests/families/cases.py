"""Priors, rows and groups of the tests of families."""

import numpy as np
from scipy import stats

from modicum.families import DiagonalGaussian, FullGaussian, Multinomial, as_family

D = 3
NAMES = ["gaussian", "diagonal", "multinomial"]
GAUSSIANS = NAMES[:2]
COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, 0.5]])
GIVEN = {
    "gaussian": FullGaussian([1.0, -1.0, 0.5], COVARIANCE, mean_weight=0.7, degrees=6.3),
    "diagonal": DiagonalGaussian([1.0, -1.0, 0.5], [2.0, 1.0, 0.5], mean_weight=0.4, degrees=4.5),
    "multinomial": Multinomial([0.3, 1.2, 2.0]),
}


def rows(name, count=9, seed=0):
    rng = np.random.default_rng(seed)
    if name == "multinomial":
        return rng.integers(0, 6, size=(count, D)).astype(float)
    return rng.normal(size=(count, D)) * [2.0, 1.0, 0.3] + [3.0, -2.0, 0.0]


def bound(family, X):
    return family.bind(X, np.ones(len(X)))


def families(name):
    """With a given prior, and with the default prior."""
    return [bound(GIVEN[name], rows(name)), bound(as_family(name), rows(name))]


def group(family, X, weight=None):
    """Count and sum of statistics of rows, as those of one group."""
    weight = np.ones(len(X)) if weight is None else weight
    return np.array([weight.sum()]), (weight @ family.statistics(X))[None]


def groups(family, seed=0):
    """Counts and sums of three groups with weights."""
    rng = np.random.default_rng(seed)
    known = [group(family, rows(family.name, 20, seed + i), rng.uniform(0.1, 3.0, 20)) for i in range(3)]
    return np.concatenate([counts for counts, _ in known]), np.concatenate([sums for _, sums in known])


def projected(family, counts, averages):
    """Projections of items on the directions of one group."""
    return family.projections(counts, averages, np.zeros(1, np.intp))


def normal_wishart(family, X, weight):
    """Mean, its weight, degrees and scatter, of the posterior in textbook form."""
    count, center = weight.sum(), np.average(X, axis=0, weights=weight)
    prior = family.covariance if family.name == "gaussian" else np.diag(family.covariance)
    total, degrees = family.mean_weight + count, family.degrees + count
    mean = (family.mean_weight * family.mean + count * center) / total
    gap = center - family.mean
    scatter = family.degrees * prior + (weight[:, None] * (X - center)).T @ (X - center)
    return mean, total, degrees, scatter + family.mean_weight * count / total * np.outer(gap, gap)


def draws(family, X, weight, count=20_000):
    """Parameters from the posterior: means and precisions, or frequencies."""
    rng = np.random.default_rng(1)
    if family.name == "multinomial":
        return rng.dirichlet(family.pseudocounts + weight @ X, size=count)
    mean, total, degrees, scatter = normal_wishart(family, X, weight)
    if family.name == "diagonal":
        precisions = rng.gamma(degrees / 2, 2 / np.diag(scatter), size=(count, D))
        return mean + rng.normal(size=(count, D)) / np.sqrt(total * precisions), precisions
    precisions = stats.wishart(degrees, np.linalg.inv(scatter)).rvs(count, random_state=2)
    roots = np.linalg.cholesky(np.linalg.inv(total * precisions))
    return mean + np.einsum("nij,nj->ni", roots, rng.normal(size=(count, D))), precisions


def log_likelihoods(family, drawn, x):
    """Log-likelihoods of one row under each draw."""
    if family.name == "multinomial":
        return np.log(np.maximum(drawn, 1e-300)) @ x
    means, precisions = drawn
    if family.name == "diagonal":
        return stats.norm(means, 1 / np.sqrt(precisions)).logpdf(x).sum(axis=1)
    gaps = np.einsum("ni,nij,nj->n", x - means, precisions, x - means)
    return 0.5 * (np.linalg.slogdet(precisions)[1] - D * np.log(2 * np.pi) - gaps)


WEIGHT = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 0.2, 1.0, 1.0])
