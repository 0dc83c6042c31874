"""Principal directions of groups of items, for splitting components.

Items are sorted by group; `starts` is the index of the first item of each group.
"""

from typing import Any

import numpy as np

from modicum.numeric.distances import square_norms
from modicum.numeric.grouped import dots, weighted_sums
from modicum.rows import take

POWER_ITERATIONS = 30  # enough to split along the direction found
TINY = 1e-300  # a divisor instead of 0


def groups_of_items(starts: np.ndarray, count: int) -> np.ndarray:
    """The group of each item."""
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=count))


def group_means(weights: np.ndarray, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Weighted means of groups."""
    totals = np.maximum(np.add.reduceat(weights, starts), TINY)
    return np.add.reduceat(weights[:, None] * values, starts) / totals[:, None]


def leading_directions(scatter: np.ndarray) -> np.ndarray:
    """Leading eigenvectors of positive semidefinite matrices, by power iteration."""
    largest = np.abs(scatter).sum(axis=2).argmax(axis=1)
    directions = _normalized(scatter[np.arange(len(scatter)), largest])
    for _ in range(POWER_ITERATIONS):
        directions = _normalized(np.einsum("gij,gj->gi", scatter, directions))
    return directions


def principal_directions(steps: np.ndarray, weights: np.ndarray, starts: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Principal directions of the steps of each group from its mean.

    `within` are the variances of columns within the items of each group, added to the scatter between items.
    """
    group = groups_of_items(starts, len(steps))
    shares = weights / np.maximum(np.add.reduceat(weights, starts), TINY)[group]
    long = shares * np.einsum("id,id->i", steps, steps)
    order = np.lexsort([-long, group])[starts]  # the longest step of each group
    directions = _normalized(steps[order])
    for _ in range(POWER_ITERATIONS):
        along = shares * np.einsum("id,id->i", steps, directions[group])
        directions = _normalized(np.add.reduceat(along[:, None] * steps, starts) + within * directions)
    return directions


def sparse_projections(values: Any, weights: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Projections of the rows of a CSR matrix on the principal directions of their groups, 0 at the mean of a group.

    The steps of rows from means would be dense, so products with both are subtracted.
    """
    group, totals = groups_of_items(starts, len(weights)), np.maximum(np.add.reduceat(weights, starts), TINY)
    shares = weights / totals[group]
    means = weighted_sums(values, shares, starts)

    def project(directions: np.ndarray) -> np.ndarray:
        return dots(values, directions, group) - np.einsum("gd,gd->g", means, directions)[group]

    lengths = square_norms(values) - 2 * dots(values, means, group) + np.einsum("gd,gd->g", means, means)[group]
    longest = np.lexsort([-shares * lengths, group])[starts]
    directions = _normalized(take(values, longest).toarray() - means)
    for _ in range(POWER_ITERATIONS):
        along = shares * project(directions)
        steps = weighted_sums(values, along, starts) - np.add.reduceat(along, starts)[:, None] * means
        directions = _normalized(steps)
    return project(directions)


def _normalized(directions: np.ndarray) -> np.ndarray:
    directions = directions / np.maximum(np.abs(directions).max(axis=1, keepdims=True), TINY)  # squares stay finite
    return directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), TINY)
