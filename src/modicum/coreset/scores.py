"""Scores by which rows are drawn: a row of weight w is drawn with a probability proportional to w times its score.

The sensitivity of a row is the largest share of the total cost that it can have for any centers. Drawing rows by an
upper bound on it, with inverse weights, approximately preserves all costs.
"""

import math

import numpy as np

from modicum.coreset.cells import Cells


def sensitivity(cells: Cells) -> np.ndarray:
    """For k-means (feldman2011, as in lucic2015): high for far rows, rows of costly cells and rows of small cells."""
    alpha = 16 * (math.log(len(cells.centers)) + 2)
    total, cost = cells.weights.sum(), cells.costs.sum()
    shared = 4 * total / cells.weights
    if cost == 0:  # every row is a center
        return shared[cells.labels]
    shared += 2 * alpha * total * (cells.costs / cost / cells.weights)
    return alpha * total * (cells.gaps / cost) + shared[cells.labels]


def mixture(cells: Cells) -> np.ndarray:
    """For Gaussian mixtures (feldmanfaulkner2011, Algorithm 1)."""
    shared = 5 / cells.weights[cells.labels]
    cost = cells.costs.sum()
    return shared if cost == 0 else shared + cells.gaps / cost


def lightweight(cells: Cells) -> np.ndarray:
    """Half by weight, half by squared distance from the mean (bachem2018, Algorithm 1)."""
    total, cost = cells.weights.sum(), cells.costs.sum()
    flat = np.full(len(cells.gaps), 1 / total)
    return flat if cost == 0 else flat + cells.gaps / cost


def uniform(cells: Cells) -> np.ndarray:
    """Equal for all rows: a plain sample, for comparison."""
    return np.ones(len(cells.gaps))
