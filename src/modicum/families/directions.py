"""Principal directions of groups of items, for splitting components.

Items are sorted by group; `starts` is the index of the first item of each group.
"""

import numpy as np

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


def _normalized(directions: np.ndarray) -> np.ndarray:
    directions = directions / np.maximum(np.abs(directions).max(axis=1, keepdims=True), TINY)  # squares stay finite
    return directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), TINY)
